//! Who owned which device when. The first known owner owns all earlier time; a move never reaches
//! back over orders that are kept already, so that each order stays with its group.

use std::collections::HashMap;

use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use crate::db::{Read, Write};
use crate::sql::statements;
use crate::{Error, house};

statements! {
    PERIODS = "select o.group_no, o.since_ms, o.device_no
        from devices d join device_owners o on o.device_no = d.device_no
        where d.device_code = $1 order by o.since_ms";
    LAST_PERIOD = "select o.group_no, o.since_ms, g.group_id
        from device_owners o join groups g on g.group_no = o.group_no
        where o.device_no = $1 order by o.since_ms desc limit 1";
    END_PERIOD = "update device_owners set until_ms = $4
        where group_no = $1 and device_code = $2 and since_ms = $3";
    ADD_PERIOD = "insert into device_owners
            (group_no, device_code, since_ms, until_ms, listed, device_no)
        values ($1, $2, $3, $4, $5, $6)";
    OPEN_LEDGER = "insert into ledger (group_no, device_code, device_no, since_ms,
            first_seq, archived_seq, last_seq)
        values ($1, $2, $3, $4, 1, 0, 0)
        on conflict (group_no, device_code) do nothing";
    OPEN_CHANGES = "insert into group_changes (group_no, last_change_no) values ($1, 0)
        on conflict (group_no) do nothing";
    LATEST_TRADE = "select trade_start_ms from orders
        where group_no = $1 and device_no = $2 and trade_start_ms >= $3
        order by trade_start_ms desc limit 1";
}

/// One device and the periods of its owners, from the first.
#[derive(Clone, Debug)]
pub(crate) struct Ownership {
    pub(crate) device: DeviceNo,
    periods: Vec<(GroupNo, UnixMs)>,
}

impl Ownership {
    /// The group that owned the device at `at`.
    pub(crate) fn owner_at(&self, at: UnixMs) -> Option<GroupNo> {
        let later = self.periods.iter().rev().find(|(_, since)| *since <= at);
        later.or(self.periods.first()).map(|(group, _)| *group)
    }

    /// Every group that owns the device or ever did, once each.
    pub(crate) fn groups(&self) -> Vec<GroupNo> {
        let mut groups: Vec<GroupNo> = self.periods.iter().map(|(group, _)| *group).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }
}

/// What an import has read of the fleet; forgotten as soon as the fleet changes.
#[derive(Debug, Default)]
pub struct Owners {
    fleet_version: i64,
    known: HashMap<String, Option<Ownership>>,
}

impl Owners {
    /// Forgets everything if the fleet has changed since.
    pub(crate) fn refresh(&mut self, read: &Read<'_>) -> Result<(), Error> {
        let version = house::fleet_version(read)?;
        if version != self.fleet_version {
            self.known.clear();
            self.fleet_version = version;
        }
        Ok(())
    }

    pub(crate) fn of(&mut self, read: &Read<'_>, code: &str) -> Result<Option<Ownership>, Error> {
        if let Some(known) = self.known.get(code) {
            return Ok(known.clone());
        }
        let mut device = None;
        let periods = read.all(&PERIODS, &[code.into()], |row| {
            device = Some(DeviceNo(row.int(2)?));
            Ok((GroupNo(row.int(0)?), UnixMs(row.int(1)?)))
        })?;
        let ownership = device.map(|device| Ownership { device, periods });
        self.known.insert(code.to_owned(), ownership.clone());
        Ok(ownership)
    }

    /// Forgets one device.
    pub(crate) fn forget(&mut self, code: &str) {
        self.known.remove(code);
    }
}

/// A device as far as its owners are concerned.
pub(crate) struct Owned<'a> {
    pub(crate) device: DeviceNo,
    pub(crate) code: &'a str,
    pub(crate) listed: bool,
}

/// Whether a device changed hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handover {
    Moved,
    Stayed,
}

/// The device's first owner.
pub(crate) fn start(write: &Write<'_>, owned: &Owned<'_>, group: GroupNo) -> Result<(), Error> {
    add_period(write, owned, group, UnixMs(0))
}

/// Gives a device to `group` at `since`, or now. `Err` inside says why it cannot be.
pub(crate) fn give(
    write: &Write<'_>,
    owned: &Owned<'_>,
    group: GroupNo,
    since: Option<UnixMs>,
    now: UnixMs,
) -> Result<Result<Handover, String>, Error> {
    let last = write.one(&LAST_PERIOD, &[owned.device.0.into()], |row| {
        Ok((GroupNo(row.int(0)?), UnixMs(row.int(1)?), row.text(2)?.to_owned()))
    })?;
    let Some((owner, owner_since, owner_id)) = last else {
        start(write, owned, group)?;
        return Ok(Ok(Handover::Moved));
    };
    if owner == group {
        return Ok(stays(owner_since, since, &owner_id));
    }
    let latest_from = |from: UnixMs| {
        let params = [owner.0.into(), owned.device.0.into(), from.0.into()];
        write.one(&LATEST_TRADE, &params, |row| row.int(0))
    };
    let since = match since {
        None => latest_from(now)?.map_or(now, |latest| UnixMs(latest).plus_ms(1)),
        Some(since) if latest_from(since)?.is_some() => {
            return Ok(Err(format!(
                "since: orders that started at or after it are kept for group {owner_id}; \
                 a move takes effect after them"
            )));
        }
        Some(since) => since,
    };
    if since <= owner_since {
        return Ok(Err(format!("since: is not after the move to group {owner_id}")));
    }
    let end = [owner.0.into(), owned.code.into(), owner_since.0.into(), since.0.into()];
    write.execute(&END_PERIOD, &end)?;
    add_period(write, owned, group, since)?;
    Ok(Ok(Handover::Moved))
}

/// The first owner owns all earlier time, so that any `since` of its own is true already.
fn stays(owner_since: UnixMs, since: Option<UnixMs>, owner_id: &str) -> Result<Handover, String> {
    match since {
        Some(since) if owner_since.0 != 0 && since != owner_since => Err(format!(
            "since: the device moved to group {owner_id} at another time, which is not changed"
        )),
        _ => Ok(Handover::Stayed),
    }
}

fn add_period(
    write: &Write<'_>,
    owned: &Owned<'_>,
    group: GroupNo,
    since: UnixMs,
) -> Result<(), Error> {
    let period = [
        group.0.into(),
        owned.code.into(),
        since.0.into(),
        i64::MAX.into(),
        owned.listed.into(),
        owned.device.0.into(),
    ];
    write.execute(&ADD_PERIOD, &period)?;
    let account = [group.0.into(), owned.code.into(), owned.device.0.into(), since.0.into()];
    write.execute(&OPEN_LEDGER, &account)?;
    write.execute(&OPEN_CHANGES, &[group.0.into()])?;
    Ok(())
}
