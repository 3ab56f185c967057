//! The waiting calls, by their group.

use std::collections::BTreeMap;
use std::time::Instant;

use kiosque_model::GroupId;

/// The group that a call runs in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Whichever group is selected: for calls whose answer does not depend on it.
    Any,
    /// The group that a login selects (AUTH-4).
    Default,
    /// This group.
    Group(GroupId),
}

/// The number of a call, in the order in which calls were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Ticket(pub(super) u64);

/// A call that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// When the call was made.
    pub(super) since: Instant,
    /// How often it was refused with -4.
    pub(super) refusals: u32,
    pub(super) length: Length,
}

/// Whether a call only waits for something to happen, and may be interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Short,
    Long,
}

/// The waiting calls of all lanes. The waiting lanes are derived from their calls: a separate list
/// of lanes would have to agree with them, and would lose a lane whose call arrives during a
/// switch.
#[derive(Debug, Default)]
pub(super) struct Lanes(BTreeMap<Lane, BTreeMap<Ticket, Waiting>>);

impl Lanes {
    pub(super) fn add(&mut self, lane: Lane, ticket: Ticket, waiting: Waiting) {
        self.0.entry(lane).or_default().insert(ticket, waiting);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the lane with the oldest call among some lanes.
    pub(super) fn oldest_of(&self, belongs: impl Fn(&Lane) -> bool) -> Option<&Lane> {
        let lanes = self.0.iter().filter(|(lane, _)| belongs(lane));
        let firsts = lanes.filter_map(|(lane, calls)| Some((calls.first_key_value()?.0, lane)));
        firsts.min_by_key(|(first, _)| **first).map(|(_, lane)| lane)
    }

    /// Removes the first call of a lane.
    pub(super) fn take(&mut self, lane: &Lane) -> Option<(Ticket, Waiting)> {
        let calls = self.0.get_mut(lane)?;
        let first = calls.pop_first();
        if calls.is_empty() {
            self.0.remove(lane);
        }
        first
    }

    /// Counts a refusal of each call of a lane. Removes and returns those that were refused
    /// `refusals_max` times.
    pub(super) fn refuse(&mut self, lane: &Lane, refusals_max: u32) -> Vec<Ticket> {
        let Some(calls) = self.0.get_mut(lane) else { return Vec::new() };
        let refused = calls.extract_if(.., |_, waiting| {
            waiting.refusals = waiting.refusals.saturating_add(1);
            waiting.refusals >= refusals_max
        });
        let refused = refused.map(|(ticket, _)| ticket).collect();
        if calls.is_empty() {
            self.0.remove(lane);
        }
        refused
    }

    /// Removes all calls of some lanes.
    pub(super) fn take_all_of(&mut self, belongs: impl Fn(&Lane) -> bool) -> Vec<Ticket> {
        let lanes = self.0.extract_if(.., |lane, _| belongs(lane));
        lanes.flat_map(|(_, calls)| calls.into_keys()).collect()
    }

    /// Returns when the oldest call was made.
    pub(super) fn oldest_since(&self) -> Option<Instant> {
        let firsts = self.0.values().filter_map(|calls| calls.first_key_value());
        firsts.map(|(_, waiting)| waiting.since).min()
    }

    /// Returns the number of calls of each lane, and when the oldest was made.
    pub(super) fn waiting(&self) -> BTreeMap<Lane, (usize, Instant)> {
        let lanes = self.0.iter().filter_map(|(lane, calls)| {
            let (_, oldest) = calls.first_key_value()?;
            Some((lane.clone(), (calls.len(), oldest.since)))
        });
        lanes.collect()
    }

    /// Removes the calls that were made at this time or earlier.
    pub(super) fn take_until(&mut self, time: Instant) -> Vec<(Ticket, Waiting)> {
        let mut taken = Vec::new();
        self.0.retain(|_, calls| {
            taken.extend(calls.extract_if(.., |_, waiting| waiting.since <= time));
            !calls.is_empty()
        });
        taken
    }

    /// Moves the calls for the default group to the lane of that group.
    pub(super) fn resolve_default(&mut self, group: &GroupId) {
        if let Some(calls) = self.0.remove(&Lane::Default) {
            self.0.entry(Lane::Group(group.clone())).or_default().extend(calls);
        }
    }
}
