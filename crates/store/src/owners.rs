//! The owners of each device over time. The first known owner owns all earlier time.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use futures_util::future::try_join_all;

use crate::db::{Read, Write};
use crate::error::Error;
use crate::metadata;
use crate::record::Incoming;
use crate::sql::{distinct, row, statements};

row! {
    struct PeriodRow<'r> {
        device_code: &'r str,
        group_no: GroupNo,
        since_ms: UnixMs,
        device_no: DeviceNo,
    }
}

statements! {
    PERIODS() -> PeriodRow<'_> = "select d.device_code, o.group_no, o.since_ms, o.device_no
        from {rows r: code text} cross join devices d
        cross join device_owners o where d.device_code = r.code and o.device_no = d.device_no";
    LEDGERS() -> (&str, GroupNo) = "select l.device_code, l.group_no
        from {rows r: code text} cross join ledger l where l.device_code = r.code";
    DEVICES_OF_GROUP(group_no, now_ms) -> String = "select device_code from device_owners
        where group_no = $group_no and since_ms <= $now_ms and until_ms > $now_ms";
    GROUPS_SINCE(from_ms) -> GroupNo = "select distinct l.group_no
        from {rows r: device_code text} cross join ledger l
        where l.device_code = r.device_code and l.last_active_ms >= $from_ms";
    LOCK_GROUP(group_no) = "update group_changes set last_change_no = last_change_no
        where group_no = $group_no";
    GROUP_LOCK(group_no) -> GroupNo = "select group_no from group_changes
        where group_no = $group_no";
}

/// A device and its owners, each with the start of its period, the first one first.
#[derive(Clone, Debug)]
pub(crate) struct Ownership {
    pub(crate) device: DeviceNo,
    periods: Vec<(GroupNo, UnixMs)>,
    groups: Vec<GroupNo>,
}

impl Ownership {
    /// Returns the group that owned the device at `at`.
    pub(crate) fn owner_at(&self, at: UnixMs) -> Option<GroupNo> {
        let latest = self.periods.iter().rev().find(|(_, since)| *since <= at);
        latest.or(self.periods.first()).map(|(group, _)| *group)
    }

    /// Returns the last owner, which may be the target of a planned move.
    pub(crate) fn last_owner(&self) -> Option<GroupNo> {
        self.periods.last().map(|(group, _)| *group)
    }

    /// Returns every group that may have orders of the device, by number: its owners at any time,
    /// and groups that keep orders of a period that was replaced.
    pub(crate) fn groups(&self) -> &[GroupNo] {
        &self.groups
    }
}

/// Returns the groups with sales of the current devices of one group, or of all groups. To one
/// group it adds those in which its devices were active since a time: former owners, and groups
/// that keep orders of a period that was replaced.
pub(crate) async fn with_earlier_groups(
    read: &Read<'_>,
    groups: Vec<GroupNo>,
    from: UnixMs,
    now: UnixMs,
) -> Result<Vec<GroupNo>, Error> {
    let [group] = groups[..] else { return Ok(groups) };
    let of_group = [group.into(), now.into()];
    let devices: Vec<String> = read.all(&DEVICES_OF_GROUP, &of_group).await?;
    let devices = distinct(devices.iter().map(String::as_str));
    let groups: Vec<GroupNo> = read.all_of(&GROUPS_SINCE, &devices, &[from.into()]).await?;
    let all: BTreeSet<GroupNo> = groups.into_iter().chain([group]).collect();
    Ok(all.into_iter().collect())
}

/// The latest group of every device, and the earlier ones of the devices that moved.
#[derive(Clone, Debug, Default)]
pub struct DeviceGroups {
    latest: HashMap<String, GroupNo>,
    earlier: HashMap<String, Vec<GroupNo>>,
}

impl DeviceGroups {
    /// Returns the current group of a device, or the next one if a move is pending.
    pub fn latest(&self, code: &str) -> Option<GroupNo> {
        self.latest.get(code).copied()
    }

    /// Returns the codes of all devices.
    pub fn into_codes(self) -> impl Iterator<Item = String> {
        self.latest.into_keys()
    }

    /// Returns whether orders of a device may belong to several groups.
    pub fn has_moved(&self, code: &str) -> bool {
        !self.earlier.is_empty() && self.earlier.contains_key(code)
    }

    /// Returns all groups to which orders of a device may belong; `None` for an unknown device.
    pub fn all(&self, code: &str) -> impl Iterator<Item = Option<GroupNo>> {
        let earlier = self.earlier.get(code).into_iter().flatten();
        earlier.copied().map(Some).chain([self.latest(code)])
    }
}

impl Extend<(String, GroupNo)> for DeviceGroups {
    /// Adds periods of ownership, sorted by time for each device.
    fn extend<I: IntoIterator<Item = (String, GroupNo)>>(&mut self, periods: I) {
        for (code, group) in periods {
            match self.latest.entry(code) {
                Entry::Vacant(vacant) => {
                    vacant.insert(group);
                }
                Entry::Occupied(mut latest) => {
                    let earlier = self.earlier.entry(latest.key().clone()).or_default();
                    earlier.push(latest.insert(group));
                }
            }
        }
    }
}

/// A cache of device owners, validated by the version of the fleet, which is not assigned twice,
/// even after the data went back.
#[derive(Debug, Default)]
pub struct Owners {
    fleet_version: i64,
    /// The owners of each device by its code; `None` for an unknown code.
    by_code: HashMap<String, Option<Arc<Ownership>>>,
}

impl Owners {
    /// Clears the cache if the fleet has changed.
    pub(crate) async fn refresh(&mut self, read: &Read<'_>) -> Result<(), Error> {
        let version = metadata::last(read, metadata::FLEET).await?;
        if version != self.fleet_version {
            self.by_code.clear();
            self.fleet_version = version;
        }
        Ok(())
    }

    /// Returns the version of the fleet in which the cached owners own their devices.
    pub(crate) fn fleet_version(&self) -> i64 {
        self.fleet_version
    }

    /// Reads the owners of the devices that are not cached yet. A failed read does not change the
    /// cache: a code is cached as unknown only after a complete answer without it.
    pub(crate) async fn load<'c>(
        &mut self,
        read: &Read<'_>,
        codes: impl Iterator<Item = &'c str>,
    ) -> Result<(), Error> {
        let new = codes.filter(|code| !self.by_code.contains_key(*code));
        let mut found: HashMap<&str, Option<Ownership>> = new.map(|code| (code, None)).collect();
        if found.is_empty() {
            return Ok(());
        }
        let rows = distinct(found.keys().copied());
        read.each_of(&PERIODS, &rows, &[], |row| {
            let PeriodRow { device_code, group_no, since_ms, device_no } = row.read()?;
            let Some(entry) = found.get_mut(device_code) else { return Ok(()) };
            let new = || Ownership { device: device_no, periods: Vec::new(), groups: Vec::new() };
            let ownership = entry.get_or_insert_with(new);
            ownership.periods.push((group_no, since_ms));
            ownership.groups.push(group_no);
            Ok(())
        })
        .await?;
        read.each_of(&LEDGERS, &rows, &[], |row| {
            let (device_code, group_no): (&str, _) = row.read()?;
            if let Some(Some(ownership)) = found.get_mut(device_code) {
                ownership.groups.push(group_no);
            }
            Ok(())
        })
        .await?;
        for ownership in found.values_mut().flatten() {
            ownership.periods.sort_unstable_by_key(|(_, since)| *since);
            ownership.groups.sort_unstable();
            ownership.groups.dedup();
        }
        let found = found.into_iter().map(|(code, found)| (code.to_owned(), found.map(Arc::new)));
        self.by_code.extend(found);
        Ok(())
    }

    /// Returns whether the devices of all orders were loaded.
    pub(crate) fn has_all_of(&self, batch: &[Incoming]) -> bool {
        batch.iter().all(|order| self.by_code.contains_key(order.device_code.as_str()))
    }

    /// Returns the owners of a device, if the device exists and was loaded.
    pub(crate) fn get(&self, code: &str) -> Option<&Arc<Ownership>> {
        self.by_code.get(code)?.as_ref()
    }

    /// Returns the number of the first group that each order may affect, alone or together with
    /// another order; `None` for orders of unknown devices, which affect none.
    pub(crate) fn first_groups(&self, batch: &[Incoming]) -> Vec<Option<GroupNo>> {
        let mut firsts = BTreeMap::new();
        let groups = |order: &Incoming| {
            Some(self.get(order.device_code.as_str())?.groups()).filter(|groups| !groups.is_empty())
        };
        for together in batch.iter().filter_map(groups) {
            let first = together.iter().map(|group| first_of(&firsts, *group)).min();
            for group in together {
                firsts.insert(first_of(&firsts, *group), first.unwrap_or(*group));
            }
        }
        let first = |order| Some(first_of(&firsts, *groups(order)?.first()?));
        batch.iter().map(first).collect()
    }

    /// Removes one device from the cache.
    pub(crate) fn forget(&mut self, code: &str) {
        self.by_code.remove(code);
    }
}

/// Returns the first of the groups that belong together with one.
fn first_of(firsts: &BTreeMap<GroupNo, GroupNo>, mut group: GroupNo) -> GroupNo {
    while let Some(first) = firsts.get(&group).filter(|first| **first != group) {
        group = *first;
    }
    group
}

/// Locks the ledgers and the orders of these groups, and the ownership of their devices, until the
/// transaction ends. The groups are sorted, so that two transactions cannot deadlock.
pub(crate) async fn lock_groups(
    write: &Write<'_>,
    groups: &BTreeSet<GroupNo>,
) -> Result<(), Error> {
    // The statements are sent in this order, and the server runs them one after the other.
    try_join_all(groups.iter().map(|group| lock_group(write, *group))).await.map(|_| ())
}

/// Locks one group like [`lock_groups`].
pub(crate) async fn lock_group(write: &Write<'_>, group: GroupNo) -> Result<(), Error> {
    write.execute(&LOCK_GROUP, &[group.into()]).await.map(|_| ())
}

/// Locks the groups that no other transaction has locked, like [`lock_groups`], without waiting for
/// the others. Returns those that it could not lock.
pub(crate) async fn try_lock_groups(
    write: &Write<'_>,
    groups: &BTreeSet<GroupNo>,
) -> Result<Vec<GroupNo>, Error> {
    let locks = groups.iter().map(|group| async {
        let locked = write.try_lock(&GROUP_LOCK, &[(*group).into()]).await?;
        Ok::<_, Error>((!locked).then_some(*group))
    });
    Ok(try_join_all(locks).await?.into_iter().flatten().collect())
}
