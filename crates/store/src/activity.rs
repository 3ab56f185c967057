//! The time at which each device was last active. Heartbeats are frequent and small: they are
//! buffered in memory, where the next read sees them, and written to the ledger in batches. A crash
//! loses the heartbeats since the last write; an orderly shutdown writes them.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use kiosque_locks::{read_ignoring_poison, write_ignoring_poison};
use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use crate::owners::Owners;

/// The latest heartbeat of each (group, device) that has sent one since the store was opened.
///
/// Written heartbeats are kept as well, for reads whose snapshot is older than the write, and so
/// are those of deleted devices: reads use the ones of the devices in their snapshots.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// After a failover that lost the creation of a device, its number may be another device's,
    /// which then shows this heartbeat until it has sent a later one itself.
    latest: RwLock<HashMap<LedgerKey, LatestHeartbeat>>,
    /// One batch at a time looks up its devices, so that the next one finds them here.
    pub(crate) owners: Arc<tokio::sync::Mutex<Owners>>,
}

pub(crate) type LedgerKey = (GroupNo, DeviceNo);
/// Times of heartbeats, by the ledger row that they belong to.
pub(crate) type OwnedHeartbeats = Vec<(LedgerKey, UnixMs)>;

#[derive(Clone, Copy, Debug)]
struct LatestHeartbeat {
    at: UnixMs,
    unwritten: bool,
}

impl Activity {
    /// Returns when a device was last active in a group: the time in its ledger row, or the time of
    /// a later heartbeat.
    pub(crate) fn merged(&self, key: LedgerKey, row: Option<UnixMs>) -> Option<UnixMs> {
        let latest = read_ignoring_poison(&self.latest).get(&key).map(|beat| beat.at);
        // `None` comes before any time.
        row.max(latest)
    }

    /// Returns the time of the latest unwritten heartbeat in each group. A snapshot that begins
    /// later has the written ones, except those of deleted devices.
    pub(crate) fn latest_unwritten(&self) -> HashMap<GroupNo, UnixMs> {
        let mut by_group = HashMap::new();
        let latest = read_ignoring_poison(&self.latest);
        for ((group, _), beat) in latest.iter().filter(|(_, beat)| beat.unwritten) {
            let latest = by_group.entry(*group).or_insert(beat.at);
            *latest = beat.at.max(*latest);
        }
        by_group
    }

    pub(crate) fn record(&self, beats: &[(LedgerKey, UnixMs)]) {
        let mut latest = write_ignoring_poison(&self.latest);
        for (key, at) in beats {
            let new = LatestHeartbeat { at: *at, unwritten: true };
            let known = latest.entry(*key).or_insert(new);
            if known.at < *at {
                *known = new;
            }
        }
    }

    /// Replaces later times by `now`: the clock was ahead, and was set back.
    pub(crate) fn cap(&self, now: UnixMs) {
        let mut latest = write_ignoring_poison(&self.latest);
        for beat in latest.values_mut() {
            beat.at = beat.at.min(now);
        }
    }

    /// Returns the heartbeats to write, approximately in the order of the ledger's key, for page
    /// locality.
    pub(crate) fn unwritten(&self) -> OwnedHeartbeats {
        let latest = read_ignoring_poison(&self.latest);
        let unwritten = latest.iter().filter(|(_, beat)| beat.unwritten);
        let mut unwritten: OwnedHeartbeats = unwritten.map(|(key, beat)| (*key, beat.at)).collect();
        drop(latest);
        unwritten.sort_unstable();
        unwritten
    }

    /// Returns the number of heartbeats to write.
    pub(crate) fn unwritten_count(&self) -> usize {
        read_ignoring_poison(&self.latest).values().filter(|beat| beat.unwritten).count()
    }

    /// Marks heartbeats as written, unless a later one was recorded meanwhile.
    pub(crate) fn mark_written(&self, written: &[(LedgerKey, UnixMs)]) {
        let mut latest = write_ignoring_poison(&self.latest);
        for (key, at) in written {
            if let Some(beat) = latest.get_mut(key).filter(|beat| beat.at == *at) {
                beat.unwritten = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: LedgerKey = (GroupNo(1), DeviceNo(2));

    #[test]
    fn a_heartbeat_during_a_write_is_written_by_the_next() {
        let activity = Activity::default();
        assert_eq!(activity.merged(KEY, Some(UnixMs(5))), Some(UnixMs(5)));
        activity.record(&[(KEY, UnixMs(10))]);
        let written = activity.unwritten();
        assert_eq!(written, [(KEY, UnixMs(10))]);
        activity.record(&[(KEY, UnixMs(11))]);
        activity.mark_written(&written);
        assert_eq!(activity.unwritten(), [(KEY, UnixMs(11))]);
        activity.mark_written(&activity.unwritten());
        // Repeated and earlier heartbeats change nothing.
        activity.record(&[(KEY, UnixMs(11)), (KEY, UnixMs(9))]);
        assert_eq!(activity.unwritten(), []);
        assert_eq!(activity.merged(KEY, None), Some(UnixMs(11)));
        assert_eq!(activity.merged(KEY, Some(UnixMs(12))), Some(UnixMs(12)));
    }
}
