//! The input of a process's streams in the last minutes: orders by key, and the latest rejected
//! lines. It is bounded, in memory, and lost at a restart.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use kiosque_contract::{FailedOrder, RejectedOrder};
use kiosque_locks::lock_ignoring_poison;
use kiosque_model::UnixMs;
use kiosque_model::intake::{KeyOrders, NewestOrder, OrderCounts};
use kiosque_store::{Error, Incoming};

/// The length of a slot, whose orders are counted together.
const SLOT_MS: i64 = 10_000;
/// The slots of a minute.
const MINUTE_SLOTS: i64 = 6;
/// The minutes for which orders are counted.
pub const MINUTES: usize = 15;
/// The number of keys that are counted separately; the others are counted together, without a name.
const KEYS_MAX: usize = 100;
/// The maximum number of rejected lines that are kept.
const REJECTED_MAX: usize = 200;

/// The outcomes of lines of a stream.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    pub(crate) counts: OrderCounts,
    /// The latest start of a trade among the orders that are stored.
    pub(crate) newest_trade: Option<UnixMs>,
    /// The rejected lines; all are counted here.
    pub(crate) rejected: Vec<RejectedOrder>,
    /// The lines whose transaction failed: not stored, or not known to be stored.
    pub(crate) failed: Vec<FailedOrder>,
    /// The first of the failures.
    pub(crate) failure: Option<Arc<Error>>,
}

impl Outcomes {
    /// Returns the outcomes of lines that are all rejected.
    pub(crate) fn of_rejected(rejected: Vec<RejectedOrder>) -> Outcomes {
        let lines = u64::try_from(rejected.len()).unwrap_or(u64::MAX);
        let counts = OrderCounts { rejected: lines, ..OrderCounts::default() };
        Outcomes { counts, rejected, ..Outcomes::default() }
    }

    /// Adds a line whose transaction failed.
    pub(crate) fn fail(&mut self, line: u64, order: &Incoming, error: &Arc<Error>) {
        self.failed.push(FailedOrder { line, order_id: order.order_id.as_str().to_owned() });
        self.failure.get_or_insert_with(|| Arc::clone(error));
    }

    /// Adds the outcomes of other lines.
    pub(crate) fn add(&mut self, mut other: Outcomes) {
        self.counts.add(other.counts);
        self.newest_trade = self.newest_trade.max(other.newest_trade);
        self.rejected.append(&mut other.rejected);
        self.failed.append(&mut other.failed);
        self.failure = self.failure.take().or(other.failure);
    }
}

/// A rejected line of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct RejectedLine {
    /// When it was rejected.
    pub at: UnixMs,
    /// The name of the key.
    pub key: String,
    /// The line, its order id and the reason.
    pub line: RejectedOrder,
}

/// The record of a process.
#[derive(Debug, Default)]
pub(crate) struct IntakeRecord(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    by_key: BTreeMap<Option<String>, OfKey>,
    rejected: VecDeque<RejectedLine>,
}

/// The latest orders of a key.
#[derive(Debug, Default)]
struct OfKey {
    slots: VecDeque<Slot>,
    newest: Option<NewestOrder>,
}

/// The orders of a slot of time.
#[derive(Clone, Copy, Debug)]
struct Slot {
    number: i64,
    counts: OrderCounts,
}

impl IntakeRecord {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock_ignoring_poison(&self.0)
    }

    /// Adds lines of a stream whose outcomes are now durable.
    pub(crate) fn add(&self, key: &str, now: UnixMs, outcomes: &Outcomes) {
        if outcomes.counts == OrderCounts::default() {
            return;
        }
        let mut inner = self.lock();
        inner.count(key, now, outcomes);
        // If a whole chunk is wrong, the last lines are enough.
        let rejected = &outcomes.rejected;
        let latest = rejected.get(rejected.len().saturating_sub(REJECTED_MAX)..);
        for line in latest.unwrap_or_default() {
            let (key, line) = (key.to_owned(), line.clone());
            inner.rejected.push_back(RejectedLine { at: now, key, line });
        }
        let beyond = inner.rejected.len().saturating_sub(REJECTED_MAX);
        inner.rejected.drain(..beyond);
    }

    /// Returns the orders of each key in the last minutes.
    pub(crate) fn by_key(&self, now: UnixMs) -> Vec<KeyOrders> {
        let mut inner = self.lock();
        inner.forget(now);
        inner.by_key.iter().map(|(key, of_key)| of_key.sum(key.as_ref(), now)).collect()
    }

    /// Returns the latest rejected lines, the last one first.
    pub(crate) fn rejected(&self) -> Vec<RejectedLine> {
        self.lock().rejected.iter().rev().cloned().collect()
    }
}

impl Inner {
    fn count(&mut self, key: &str, now: UnixMs, outcomes: &Outcomes) {
        let number = now.0.div_euclid(SLOT_MS);
        let mut key = Some(key.to_owned());
        if !self.by_key.contains_key(&key) {
            self.forget(now);
            if self.by_key.len() >= KEYS_MAX {
                key = None;
            }
        }
        let counts = outcomes.counts;
        let OfKey { slots, newest } = self.by_key.entry(key).or_default();
        if slots.back().is_none_or(|last| minutes_ago(*last, now).is_none()) {
            *newest = None;
        }
        let before = newest.map(|order| order.trade_start);
        if let Some(trade_start) = outcomes.newest_trade.filter(|start| Some(*start) > before) {
            *newest = Some(NewestOrder { trade_start, stored_at: now });
        }
        match slots.back_mut() {
            Some(last) if last.number == number => last.counts.add(counts),
            _ => slots.push_back(Slot { number, counts }),
        }
        let most = MINUTES.saturating_mul(usize::try_from(MINUTE_SLOTS).unwrap_or_default());
        if slots.len() > most {
            slots.pop_front();
        }
    }

    /// Removes entries that are too old, or in the future of a clock that was set back.
    fn forget(&mut self, now: UnixMs) {
        for of_key in self.by_key.values_mut() {
            of_key.slots.retain(|slot| minutes_ago(*slot, now).is_some());
        }
        self.by_key.retain(|_, of_key| !of_key.slots.is_empty());
    }
}

impl OfKey {
    fn sum(&self, key: Option<&String>, now: UnixMs) -> KeyOrders {
        let newest = self.newest;
        let mut sum = KeyOrders { key: key.cloned(), newest, ..KeyOrders::default() };
        sum.by_minute = vec![0; MINUTES];
        for slot in &self.slots {
            sum.counts.add(slot.counts);
            let minute = minutes_ago(*slot, now).map(|ago| MINUTES - 1 - ago);
            if let Some(stored) = minute.and_then(|minute| sum.by_minute.get_mut(minute)) {
                let OrderCounts { accepted, updated, unchanged, rejected: _ } = slot.counts;
                *stored += i64::try_from(accepted + updated + unchanged).unwrap_or(i64::MAX);
            }
        }
        sum
    }
}

/// Returns the minutes between a slot and now, if it is counted.
fn minutes_ago(slot: Slot, now: UnixMs) -> Option<usize> {
    let slots = now.0.div_euclid(SLOT_MS) - slot.number;
    let minutes = usize::try_from(slots.div_euclid(MINUTE_SLOTS)).ok()?;
    (minutes < MINUTES).then_some(minutes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(accepted: u64, rejected: u64) -> OrderCounts {
        OrderCounts { accepted, rejected, ..OrderCounts::default() }
    }

    fn outcomes(accepted: u64, rejected: Vec<RejectedOrder>) -> Outcomes {
        let mut outcomes = Outcomes::of_rejected(rejected);
        outcomes.counts.accepted = accepted;
        outcomes
    }

    fn line(line: u64) -> RejectedOrder {
        RejectedOrder { line, order_id: None, reason: "x".to_owned() }
    }

    fn at(minutes: i64) -> UnixMs {
        UnixMs(1_772_445_600_000 + minutes * 60_000)
    }

    #[test]
    fn orders_are_counted_by_key_and_minute_for_fifteen_minutes() {
        let record = IntakeRecord::default();
        record.add("till", at(0), &outcomes(5, vec![]));
        record.add("till", at(14), &outcomes(2, vec![line(1)]));
        record.add("lab", at(14), &outcomes(1, vec![]));
        // A chunk that waits for a lock has no outcome yet.
        record.add("waiting", at(14), &outcomes(0, vec![]));
        let by_minute = |first, last| {
            let mut minutes = vec![0; MINUTES];
            (minutes[0], minutes[MINUTES - 1]) = (first, last);
            minutes
        };
        let of = |name: &str, counts, by_minute| KeyOrders {
            key: Some(name.to_owned()),
            counts,
            by_minute,
            newest: None,
        };
        assert_eq!(
            record.by_key(at(14)),
            [of("lab", counts(1, 0), by_minute(0, 1)), of("till", counts(7, 1), by_minute(5, 2))]
        );
        assert_eq!(record.by_key(at(28)).len(), 2);
        assert_eq!(record.by_key(at(29)), []);
    }

    #[test]
    fn the_newest_order_is_the_one_whose_trade_started_last() {
        let record = IntakeRecord::default();
        let add = |stored_at, newest_trade| {
            let stored = Outcomes { newest_trade, ..outcomes(1, vec![]) };
            record.add("till", stored_at, &stored);
            record.by_key(stored_at)[0].newest
        };
        let newest = |trade_start, stored_at| Some(NewestOrder { trade_start, stored_at });
        assert_eq!(add(at(5), None), None);
        assert_eq!(add(at(6), Some(at(4))), newest(at(4), at(6)));
        // An older order, such as a resent one, does not replace it.
        assert_eq!(add(at(7), Some(at(1))), newest(at(4), at(6)));
        assert_eq!(add(at(8), Some(at(8))), newest(at(8), at(8)));
        assert_eq!(add(at(60), None), None, "the earlier orders are forgotten");
    }

    #[test]
    fn keys_and_rejected_lines_are_bounded() {
        let record = IntakeRecord::default();
        for number in 0..300 {
            record.add(&format!("key {number}"), at(0), &outcomes(1, vec![line(number)]));
        }
        let keys = record.by_key(at(0));
        assert_eq!(keys.len(), KEYS_MAX + 1);
        assert_eq!((keys[0].key.as_ref(), keys[0].counts), (None, counts(200, 200)));
        let lines: Vec<u64> = record.rejected().iter().map(|one| one.line.line).collect();
        assert_eq!(lines, (100..300).rev().collect::<Vec<u64>>());
        record.add("key", at(0), &outcomes(0, (0..1_000).map(line).collect()));
        assert_eq!(record.rejected().len(), REJECTED_MAX);
        assert_eq!(record.rejected()[0].line.line, 999);
    }
}
