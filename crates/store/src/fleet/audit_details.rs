//! The details of an apply for the audit trail.

use kiosque_contract::{AuditDetails, ChangedEntry, FleetCounts};

use super::changes::FleetChanges;
use super::devices::ChangedDevice;

/// Maximum number of entries in the trail.
const ENTRIES_MAX: usize = 100;

/// Returns the counts and the changed entries of an apply, moves of devices first.
pub(super) fn audit_details(counts: FleetCounts, changes: &FleetChanges<'_>) -> AuditDetails {
    let (moved, others): (Vec<_>, Vec<_>) =
        changes.devices.iter().partition(|device| is_move(device));
    let groups =
        changes.groups.iter().map(|group| entry("group", &group.new.group_id, group.old.is_none()));
    let accounts = changes
        .accounts
        .iter()
        .map(|account| entry("account", account.name.as_str(), account.old.is_none()));
    let products =
        changes.products.iter().map(|one| entry("product", &one.new.goods_id, one.old.is_none()));
    let moved = moved.into_iter().map(device_entry);
    let all = moved.chain(groups).chain(accounts).chain(products);
    let mut all = all.chain(others.into_iter().map(device_entry));
    let entries = all.by_ref().take(ENTRIES_MAX).collect();
    let more = all.count();
    AuditDetails {
        fleet: Some(counts),
        entries,
        more_entries: Some(more).filter(|more| *more > 0),
        ..AuditDetails::default()
    }
}

fn is_move(device: &ChangedDevice<'_>) -> bool {
    device.old.is_some() && device.owners.is_some()
}

fn entry(kind: &'static str, id: &str, is_new: bool) -> ChangedEntry {
    ChangedEntry {
        kind: kind.into(),
        id: id.to_owned(),
        change: if is_new { "created" } else { "changed" }.into(),
        from_group_id: None,
        group_id: None,
        since_timestamp: None,
    }
}

fn device_entry(device: &ChangedDevice<'_>) -> ChangedEntry {
    let mut entry = entry("device", device.code, device.old.is_none());
    let Some(owners) = &device.owners else { return entry };
    let owner = owners.new.last();
    entry.group_id = owner.map(|period| period.group_id.clone());
    if is_move(device) {
        entry.change = "moved".into();
        // A planned move that is cancelled comes from its own group.
        let before = owners.ended().map(|(period, _)| period);
        let before = before.filter(|period| Some(&period.group_id) != entry.group_id.as_ref());
        entry.from_group_id = before.or(owners.old.last()).map(|period| period.group_id.clone());
        entry.since_timestamp = owner.map(|period| period.since.0);
    }
    entry
}
