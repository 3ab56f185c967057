//! The owners of each device over time. The first known owner owns all earlier time.

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
}

statements! {
    PERIODS() -> PeriodRow<'_> = "select d.device_code, o.group_no, o.since_ms, o.device_no
        from {rows r: code text} cross join devices d
        cross join device_owners o where d.device_code = r.code and o.device_no = d.device_no";
    LOCK_GROUP(group_no) = "update group_changes set last_change_no = last_change_no
        where group_no = $group_no";
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
