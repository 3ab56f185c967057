//! Groups of a fleet.

use std::collections::HashMap;

use kiosque_contract::ChangeCounts;
use kiosque_model::fleet::{EntryKind, Fleet, GroupEntry};
use kiosque_model::{GroupId, GroupNo};

use super::{FleetError, count_entry, next_number};
use crate::accounts::GroupRow;
use crate::change_counts::Changed;
use crate::db::{Read, Write};
use crate::error::Error;
use crate::sql::{distinct, statements};

statements! {
    GROUPS_BY_ID() -> GroupRow = "select g.group_no, g.group_id, g.group_name, g.active
        from {rows r: id text} cross join groups g where g.group_id = r.id";
    NEXT_GROUP() -> i64 = "select coalesce(max(group_no), 0) + 1 from groups";
    SET_GROUPS() = "insert into groups (group_no, group_id, group_name, active)
        select r.number, r.id, r.name, r.active
        from {rows r: number bigint, id text, name text, active boolean} where true
        on conflict (group_no) do update set group_name = excluded.group_name,
            active = excluded.active";
}

impl Changed<GroupRow> {
    /// Returns the number of a stored group that is renamed.
    pub(super) fn renamed(&self) -> Option<GroupNo> {
        let old = self.old.as_ref()?;
        (old.group_name != self.new.group_name).then_some(old.group_no)
    }
}

/// The groups that a fleet refers to: the stored ones, and those that it creates.
pub(super) struct Groups {
    by_id: HashMap<String, GroupRow>,
    next: i64,
}

impl Groups {
    /// Reads every group that a fleet refers to.
    pub(super) async fn read(read: &Read<'_>, fleet: &Fleet) -> Result<Groups, Error> {
        let entries = fleet.groups.iter().map(|entry| &entry.id);
        let of_accounts = fleet.accounts.iter().flat_map(|entry| entry.groups.iter().flatten());
        let of_devices = fleet.devices.iter().filter_map(|entry| entry.group.as_ref());
        let ids = distinct(entries.chain(of_accounts).chain(of_devices).map(GroupId::as_str));
        let groups: Vec<GroupRow> = read.all_of(&GROUPS_BY_ID, &ids, &[]).await?;
        let by_id = groups.into_iter().map(|group| (group.group_id.clone(), group)).collect();
        let next = if fleet.groups.is_empty() { 0 } else { next_number(read, &NEXT_GROUP).await? };
        Ok(Groups { by_id, next })
    }

    /// Returns a group.
    pub(super) fn get(&self, id: &GroupId) -> Option<&GroupRow> {
        self.by_id.get(id.as_str())
    }

    /// Returns the rows that entries create or change.
    pub(super) fn plan(
        &mut self,
        entries: &[GroupEntry],
        counts: &mut ChangeCounts,
        errors: &mut Vec<FleetError>,
    ) -> Vec<Changed<GroupRow>> {
        let mut changes = Vec::new();
        for entry in entries {
            let id = entry.id.as_str();
            let old = self.by_id.get(id);
            let group_name = entry.name.clone().or_else(|| Some(old?.group_name.clone()));
            if group_name.is_none() {
                errors.push(FleetError::required(EntryKind::Group, id, &["name"]));
            }
            // An invalid group is known to entries that refer to it.
            let group_name = group_name.unwrap_or_default();
            let active = entry.active.unwrap_or_else(|| old.is_none_or(|group| group.active));
            let group_no = old.map_or(GroupNo(self.next), |group| group.group_no);
            self.next += i64::from(old.is_none());
            let new = GroupRow { group_no, group_id: id.to_owned(), group_name, active };
            if count_entry(counts, old, &new) {
                let old = self.by_id.insert(id.to_owned(), new.clone());
                changes.push(Changed { old, new });
            }
        }
        changes
    }
}

/// Writes the rows that a plan changes.
pub(super) async fn write(write: &Write<'_>, changes: &[Changed<GroupRow>]) -> Result<(), Error> {
    let rows = changes.iter().map(|group| {
        let GroupRow { group_no, group_id, group_name, active } = &group.new;
        let (id, name) = (group_id.as_str(), group_name.as_str());
        [(*group_no).into(), id.into(), name.into(), (*active).into()]
    });
    write.execute_each(&SET_GROUPS, rows, &[]).await
}
