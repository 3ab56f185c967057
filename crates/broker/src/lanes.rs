//! The unanswered calls of workers, and the time from an answer to the next call, by group, for the
//! status.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::GroupId;

use crate::durations::Durations;

/// The calls of each group.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls(Mutex<BTreeMap<GroupId, OfGroup>>);

/// The calls of a group.
#[derive(Debug, Default)]
struct OfGroup {
    open: usize,
    /// When the last call was answered, if none is open.
    idle_since: Option<Instant>,
    think_times: Durations,
}

/// Counts a call until it is dropped.
pub(crate) struct OpenCall {
    calls: Arc<OpenCalls>,
    group: GroupId,
}

impl OpenCalls {
    /// Counts a call for a group.
    pub(crate) fn begin(self: &Arc<Self>, group: GroupId) -> OpenCall {
        self.begun(Instant::now(), &group);
        OpenCall { calls: Arc::clone(self), group }
    }

    fn begun(&self, now: Instant, group: &GroupId) {
        let mut groups = lock_ignoring_poison(&self.0);
        let calls = groups.entry(group.clone()).or_default();
        calls.open += 1;
        if let Some(since) = calls.idle_since.take() {
            calls.think_times.add(now.saturating_duration_since(since));
        }
    }

    fn ended(&self, now: Instant, group: &GroupId) {
        let mut groups = lock_ignoring_poison(&self.0);
        let Some(calls) = groups.get_mut(group) else { return };
        calls.open = calls.open.saturating_sub(1);
        calls.idle_since = (calls.open == 0).then_some(now);
    }

    /// Returns the number of unanswered calls of each group, and its think time: the median time
    /// from an answer after which no call was open to the next call.
    pub(crate) fn by_group(&self) -> BTreeMap<GroupId, (usize, Option<Duration>)> {
        let groups = lock_ignoring_poison(&self.0);
        let of_group = |calls: &OfGroup| (calls.open, calls.think_times.median());
        groups.iter().map(|(group, calls)| (group.clone(), of_group(calls))).collect()
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.calls.ended(Instant::now(), &self.group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_think_time_begins_when_no_call_is_open() {
        let calls = Arc::new(OpenCalls::default());
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let [north, south] = ["north", "south"].map(|id| GroupId::parse(id).expect("an id"));
        calls.begun(at(0), &north);
        calls.begun(at(1), &north);
        calls.begun(at(0), &south);
        calls.ended(at(5), &north);
        calls.ended(at(6), &north);
        calls.begun(at(9), &north);
        let think_time = Some(Duration::from_millis(3));
        let expected = BTreeMap::from([(north.clone(), (1, think_time)), (south, (1, None))]);
        assert_eq!(calls.by_group(), expected);
        drop(calls.begin(north.clone()));
        assert_eq!(calls.by_group()[&north], (1, think_time));
    }
}
