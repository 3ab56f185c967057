//! The owners of each device over time. The first known owner owns all earlier time. A move takes
//! effect after the orders that are stored already, so that each order stays with its group.

use std::collections::HashMap;

use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use futures_util::future::try_join_all;

use crate::db::{Read, Write};
use crate::sql::{Value, row, statements};
use crate::{Error, metadata};

row! {
    struct PeriodRow<'r> {
        device_code: &'r str,
        group_no: GroupNo,
        since_ms: UnixMs,
        device_no: DeviceNo,
    }
    struct MoveRow { new_group_no: GroupNo, old_group_no: GroupNo }
    struct LastPeriod { group_no: GroupNo, since_ms: UnixMs, group_id: String }
}

statements! {
    PERIODS() -> PeriodRow<'_> = "select d.device_code, o.group_no, o.since_ms, o.device_no
        from {rows r: code text} cross join devices d
        cross join device_owners o where d.device_code = r.code and o.device_no = d.device_no";
    LOCK_GROUP(group_no) = "update group_changes set last_change_no = last_change_no
        where group_no = $group_no";
    GROUPS_OF_MOVES(last_ms) -> MoveRow = "select g.group_no as new_group_no,
            o.group_no as old_group_no
        from {rows r: code text, id text} cross join groups g
        cross join devices d cross join device_owners o
        where g.group_id = r.id and d.device_code = r.code and o.device_no = d.device_no
            and o.until_ms = $last_ms and o.group_no <> g.group_no";
    GROUPS_OF_NEW_DEVICES() -> GroupNo = "select g.group_no
        from {rows r: code text, id text} cross join groups g
        where g.group_id = r.id
            and not exists (select 1 from devices d where d.device_code = r.code)";
    LAST_PERIOD(device_no) -> LastPeriod = "select o.group_no, o.since_ms, g.group_id
        from device_owners o join groups g on g.group_no = o.group_no
        where o.device_no = $device_no order by o.since_ms desc limit 1";
    END_PERIOD(group_no, device_code, since_ms, until_ms) = "update device_owners
        set until_ms = $until_ms
        where group_no = $group_no and device_code = $device_code and since_ms = $since_ms";
    ADD_PERIOD(group_no, device_code, since_ms, until_ms, listed, device_no) = "
        insert into device_owners
            (group_no, device_code, since_ms, until_ms, listed, device_no)
        values ($group_no, $device_code, $since_ms, $until_ms, $listed, $device_no)";
    OPEN_LEDGER(group_no, device_code, device_no, since_ms) = "insert into ledger
            (group_no, device_code, device_no, since_ms, first_seq, archived_seq, last_seq)
        values ($group_no, $device_code, $device_no, $since_ms, 1, 0, 0)
        on conflict (group_no, device_code) do nothing";
    OPEN_CHANGES(group_no) = "insert into group_changes (group_no, last_change_no)
        values ($group_no, 0)
        on conflict (group_no) do nothing";
    LATEST_TRADE(group_no, device_no, from_ms) -> UnixMs = "select trade_start_ms from orders
        where group_no = $group_no and device_no = $device_no and trade_start_ms >= $from_ms
        order by trade_start_ms desc limit 1";
}

/// A device and its owners, each with the start of its period, the first one first.
#[derive(Clone, Debug)]
pub(crate) struct Ownership {
    pub(crate) device: DeviceNo,
    periods: Vec<(GroupNo, UnixMs)>,
}

impl Ownership {
    /// Returns the group that owned the device at `at`.
    pub(crate) fn owner_at(&self, at: UnixMs) -> Option<GroupNo> {
        let latest = self.periods.iter().rev().find(|(_, since)| *since <= at);
        latest.or(self.periods.first()).map(|(group, _)| *group)
    }

    /// Returns every group that owns the device or ever owned it, once each.
    pub(crate) fn groups(&self) -> Vec<GroupNo> {
        let mut groups: Vec<GroupNo> = self.periods.iter().map(|(group, _)| *group).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }
}

/// A cache of device owners, validated by the version counter of the fleet.
#[derive(Debug, Default)]
pub struct Owners {
    fleet_version: i64,
    /// By device code; `None` for a code that no device has.
    by_code: HashMap<String, Option<Ownership>>,
}

impl Owners {
    /// Clears the cache if the fleet has changed.
    pub(crate) async fn refresh(&mut self, read: &Read<'_>) -> Result<(), Error> {
        let version = metadata::fleet_version(read).await?;
        if version != self.fleet_version {
            self.by_code.clear();
            self.fleet_version = version;
        }
        Ok(())
    }

    /// Returns whether the fleet is unchanged since [`Owners::refresh`].
    pub(crate) async fn are_current(&self, read: &Read<'_>) -> Result<bool, Error> {
        Ok(metadata::fleet_version(read).await? == self.fleet_version)
    }

    /// Reads the owners of the devices that are not cached yet.
    pub(crate) async fn load<'c>(
        &mut self,
        read: &Read<'_>,
        codes: impl Iterator<Item = &'c str>,
    ) -> Result<(), Error> {
        let mut new: Vec<&str> = codes.filter(|code| !self.by_code.contains_key(*code)).collect();
        if new.is_empty() {
            return Ok(());
        }
        new.sort_unstable();
        new.dedup();
        let rows: Vec<[Value<'_>; 1]> = new.iter().map(|code| [(*code).into()]).collect();
        self.by_code.extend(new.iter().map(|code| ((*code).to_owned(), None)));
        let by_code = &mut self.by_code;
        read.each_of(&PERIODS, &rows, &[], |row| {
            let PeriodRow { device_code, group_no, since_ms, device_no } = row.read()?;
            let Some(entry) = by_code.get_mut(device_code) else { return Ok(()) };
            let new = || Ownership { device: device_no, periods: Vec::new() };
            entry.get_or_insert_with(new).periods.push((group_no, since_ms));
            Ok(())
        })
        .await?;
        for code in new {
            if let Some(Some(owned)) = self.by_code.get_mut(code) {
                owned.periods.sort_unstable_by_key(|(_, since)| *since);
            }
        }
        Ok(())
    }

    /// Returns the owners of a device, if the device exists and was loaded.
    pub(crate) fn get(&self, code: &str) -> Option<&Ownership> {
        self.by_code.get(code)?.as_ref()
    }

    /// Removes one device from the cache.
    pub(crate) fn forget(&mut self, code: &str) {
        self.by_code.remove(code);
    }
}

/// Locks the ledgers and the orders of these groups, and the ownership of their devices, until the
/// transaction ends. The groups are sorted, so that two transactions cannot deadlock.
pub(crate) async fn lock_groups(write: &Write<'_>, groups: &[GroupNo]) -> Result<(), Error> {
    let locks =
        groups.iter().map(|group| async { write.execute(&LOCK_GROUP, &[(*group).into()]).await });
    // The statements are sent in this order, and the server runs them one after the other.
    try_join_all(locks).await.map(|_| ())
}

/// Locks all groups between which devices will move. `moves` has device codes and the ids of their
/// new groups. An apply locks them all at once, since its entries are in any order.
pub(crate) async fn lock_moves(write: &Write<'_>, moves: &[[Value<'_>; 2]]) -> Result<(), Error> {
    let mut groups = Vec::new();
    let last = [i64::MAX.into()];
    write
        .each_of(&GROUPS_OF_MOVES, moves, &last, |row| {
            let MoveRow { new_group_no, old_group_no } = row.read()?;
            groups.extend([new_group_no, old_group_no]);
            Ok(())
        })
        .await?;
    write
        .each_of(&GROUPS_OF_NEW_DEVICES, moves, &[], |row| {
            groups.push(row.read()?);
            Ok(())
        })
        .await?;
    groups.sort_unstable();
    groups.dedup();
    lock_groups(write, &groups).await
}

/// The columns of a device that its periods of ownership repeat.
pub(crate) struct OwnedDevice<'a> {
    pub(crate) device_no: DeviceNo,
    pub(crate) code: &'a str,
    pub(crate) listed: bool,
}

/// Whether a device has a new owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnerChange {
    Moved,
    Unchanged,
}

/// Adds the first owner of a device.
pub(crate) async fn add_first_owner(
    write: &Write<'_>,
    device: &OwnedDevice<'_>,
    group: GroupNo,
) -> Result<(), Error> {
    add_period(write, device, group, UnixMs(0)).await
}

/// Moves a device to `group` at `since`, or now. The inner `Err` is the fault to report. The groups
/// are locked (see [`lock_moves`]), so that no order of the present owner is added meanwhile.
pub(crate) async fn move_device(
    write: &Write<'_>,
    device: &OwnedDevice<'_>,
    group: GroupNo,
    since: Option<UnixMs>,
    now: UnixMs,
) -> Result<Result<OwnerChange, String>, Error> {
    let last = write.one(&LAST_PERIOD, &[device.device_no.into()], |row| row.read()).await?;
    let Some(LastPeriod { group_no: owner, since_ms: owner_since, group_id: owner_id }) = last
    else {
        add_first_owner(write, device, group).await?;
        return Ok(Ok(OwnerChange::Moved));
    };
    if owner == group {
        return Ok(check_unmoved(owner_since, since, &owner_id));
    }
    let latest_from = async |from: UnixMs| {
        let params = [owner.into(), device.device_no.into(), from.into()];
        write.one(&LATEST_TRADE, &params, |row| row.read::<UnixMs>()).await
    };
    let since = match since {
        None => latest_from(now).await?.map_or(now, |latest| latest.plus_ms(1)),
        Some(since) if latest_from(since).await?.is_some() => {
            return Ok(Err(format!(
                "since: group {owner_id} has orders that started at or after it; \
                 a move takes effect after them"
            )));
        }
        Some(since) => since,
    };
    if since <= owner_since {
        return Ok(Err(format!("since: is not after the move to group {owner_id}")));
    }
    let end = [owner.into(), device.code.into(), owner_since.into(), since.into()];
    write.execute(&END_PERIOD, &end).await?;
    add_period(write, device, group, since).await?;
    Ok(Ok(OwnerChange::Moved))
}

/// Checks the `since` of a device that its group owns already. The first owner owns all earlier
/// time, so that any `since` agrees with it.
fn check_unmoved(
    owner_since: UnixMs,
    since: Option<UnixMs>,
    owner_id: &str,
) -> Result<OwnerChange, String> {
    match since {
        Some(since) if owner_since.0 != 0 && since != owner_since => Err(format!(
            "since: the device moved to group {owner_id} at another time, which is not changed"
        )),
        _ => Ok(OwnerChange::Unchanged),
    }
}

async fn add_period(
    write: &Write<'_>,
    device: &OwnedDevice<'_>,
    group: GroupNo,
    since: UnixMs,
) -> Result<(), Error> {
    let period = [
        group.into(),
        device.code.into(),
        since.into(),
        i64::MAX.into(),
        device.listed.into(),
        device.device_no.into(),
    ];
    write.execute(&ADD_PERIOD, &period).await?;
    let ledger = [group.into(), device.code.into(), device.device_no.into(), since.into()];
    write.execute(&OPEN_LEDGER, &ledger).await?;
    write.execute(&OPEN_CHANGES, &[group.into()]).await?;
    Ok(())
}
