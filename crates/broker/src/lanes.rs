//! The calls of workers that are under way or wait for their group, for the status.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::GroupId;

/// The calls that are not answered yet, by number.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls(Mutex<Numbered>);

#[derive(Debug, Default)]
struct Numbered {
    last: u64,
    calls: BTreeMap<u64, (GroupId, Instant)>,
}

/// Counts a call until it is dropped.
pub(crate) struct OpenCall {
    calls: Arc<OpenCalls>,
    number: u64,
}

impl OpenCalls {
    /// Counts a call for a group.
    pub(crate) fn begin(self: &Arc<Self>, group: GroupId) -> OpenCall {
        let mut numbered = lock_ignoring_poison(&self.0);
        numbered.last += 1;
        let number = numbered.last;
        numbered.calls.insert(number, (group, Instant::now()));
        OpenCall { calls: Arc::clone(self), number }
    }

    /// Returns the number of calls of each group, and when the oldest one was made.
    pub(crate) fn by_group(&self) -> BTreeMap<GroupId, (usize, Instant)> {
        let mut groups = BTreeMap::new();
        for (group, since) in lock_ignoring_poison(&self.0).calls.values() {
            // The first one is the oldest.
            groups.entry(group.clone()).or_insert((0, *since)).0 += 1;
        }
        groups
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        lock_ignoring_poison(&self.calls.0).calls.remove(&self.number);
    }
}
