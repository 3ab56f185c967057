//! The owners of devices and their orders in plain maps: the reference for the store's outcomes.

use std::collections::BTreeMap;

/// A step of a history. Groups, devices and orders are numbers.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Creates a device, or moves it.
    Move { device: usize, group: usize, since: Option<i64> },
    /// Deletes a device.
    Delete { device: usize },
    /// Receives orders in one batch.
    Receive(Vec<Order>),
    /// Archives the orders that started before a time.
    Archive { before: i64, by: ArchivedBy },
}

/// Who archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArchivedBy {
    /// A server, which moves boundaries forward only.
    Server,
    /// A command, which may return orders.
    Command,
}

/// An order as it is sent. The version decides its amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) id: usize,
    pub(crate) device: usize,
    pub(crate) start: i64,
    pub(crate) version: i64,
}

/// The outcome of a step, or of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Refused,
    Accepted,
    Updated,
    Unchanged,
    Rejected,
}

/// The orders that a group has of a device, in the order of their arrival.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(crate) orders: Vec<Order>,
    pub(crate) archived: usize,
}

type LedgerKey = (usize, usize);

/// Everything that the steps so far have led to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Model {
    /// By device: the owners over time, each with its start.
    owners: BTreeMap<usize, Vec<(usize, i64)>>,
    /// By group and device.
    pub(crate) ledgers: BTreeMap<LedgerKey, Ledger>,
    /// The time before which orders were archived last.
    archived_before: i64,
}

impl Model {
    pub(crate) fn take(&mut self, step: &Step, now: i64) -> Vec<Outcome> {
        match step {
            Step::Move { device, group, since } => {
                vec![self.move_device(*device, *group, *since, now)]
            }
            Step::Delete { device } => vec![self.delete(*device)],
            Step::Receive(orders) => {
                let before = self.ledgers.clone();
                orders.iter().map(|order| self.receive(*order, &before)).collect()
            }
            Step::Archive { before, by } => vec![self.archive(*before, now, *by)],
        }
    }

    /// Returns the owner of a device at a time.
    fn owner(&self, device: usize, at: i64) -> Option<usize> {
        let owners = self.owners.get(&device)?;
        let latest = owners.iter().rev().find(|(_, since)| *since <= at);
        latest.or(owners.first()).map(|(group, _)| *group)
    }

    fn move_device(
        &mut self,
        device: usize,
        group: usize,
        since: Option<i64>,
        now: i64,
    ) -> Outcome {
        let mut owners = self.owners.get(&device).cloned().unwrap_or_default();
        let at = since.unwrap_or(now);
        while let Some((last, start)) = owners.last().copied() {
            let is_planned = start > now;
            if !is_planned || (start < at && last != group) {
                break;
            }
            owners.pop();
        }
        match (owners.last().copied(), since) {
            (None, Some(since)) if since > now => return Outcome::Refused,
            (None, _) => owners.push((group, 0)),
            (Some((last, start)), since) if last == group => {
                if since.is_some_and(|since| start != 0 && since != start) {
                    return Outcome::Refused;
                }
            }
            (Some((_, start)), None) => owners.push((group, now.max(start + 1))),
            (Some((last, start)), Some(since)) => {
                let ledger = self.ledgers.get(&(last, device));
                let orders = ledger.into_iter().flat_map(|ledger| &ledger.orders);
                let passed = since..=now;
                if since <= start || orders.into_iter().any(|one| passed.contains(&one.start)) {
                    return Outcome::Refused;
                }
                owners.push((group, since));
            }
        }
        self.owners.insert(device, owners);
        Outcome::Done
    }

    fn delete(&mut self, device: usize) -> Outcome {
        let has_orders = self.ledgers.keys().any(|(_, of)| *of == device);
        if has_orders || self.owners.remove(&device).is_none() {
            return Outcome::Refused;
        }
        Outcome::Done
    }

    /// Returns the groups of the stored orders with an id, and these orders.
    fn with_id(&mut self, id: usize) -> impl Iterator<Item = (usize, &mut Order)> {
        let ledgers = self.ledgers.iter_mut();
        ledgers.flat_map(move |((group, _), ledger)| {
            let orders = ledger.orders.iter_mut().filter(move |order| order.id == id);
            orders.map(|order| (*group, order))
        })
    }

    /// An order stays with the group that had it with this start `before` the batch.
    fn receive(&mut self, new: Order, before: &BTreeMap<LedgerKey, Ledger>) -> Outcome {
        let Some(owner) = self.owner(new.device, new.start) else { return Outcome::Rejected };
        let is_same =
            |one: &Order| (one.id, one.device, one.start) == (new.id, new.device, new.start);
        let had_it = before.iter().find(|(_, ledger)| ledger.orders.iter().any(is_same));
        let group = had_it.map_or(owner, |((group, _), _)| *group);
        if let Some((_, stored)) = self.with_id(new.id).find(|(of, _)| *of == group) {
            if stored.device != new.device {
                return Outcome::Rejected;
            }
            let is_same = *stored == new;
            *stored = new;
            return if is_same { Outcome::Unchanged } else { Outcome::Updated };
        }
        if self.with_id(new.id).any(|(_, stored)| stored.device == new.device) {
            return Outcome::Rejected;
        }
        self.ledgers.entry((group, new.device)).or_default().orders.push(new);
        Outcome::Accepted
    }

    /// The boundary follows the last old order before the first recent one. An earlier time than
    /// the last one places it among all orders.
    fn archive(&mut self, before: i64, now: i64, by: ArchivedBy) -> Outcome {
        let is_earlier = by == ArchivedBy::Command && before < self.archived_before;
        let mut has_moved = false;
        for ledger in self.ledgers.values_mut() {
            let from = if is_earlier { 0 } else { ledger.archived };
            let is_recent = |one: &Order| (before..=now).contains(&one.start);
            let asked = &ledger.orders[from..];
            let until = asked.iter().position(is_recent).unwrap_or(asked.len());
            let old = asked[..until].iter().rposition(|one| one.start < before);
            let boundary = old.map_or(from, |at| from + at + 1);
            has_moved |= boundary != ledger.archived;
            ledger.archived = boundary;
        }
        if is_earlier {
            self.archived_before = before;
        } else if has_moved {
            self.archived_before = self.archived_before.max(before);
        }
        Outcome::Done
    }
}
