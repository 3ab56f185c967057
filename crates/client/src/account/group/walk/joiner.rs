//! Joins pages by the ordinals of their orders.

use std::collections::VecDeque;

use crate::error::WalkError;
use crate::order::Order;

use super::PageOf;

/// Consecutive pages that may have nothing new, because orders arrive faster than pages.
const MISSES_MAX: u32 = 100;

/// The orders that were read so far, and the page to read next.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    device: String,
    /// Maximum orders of a page.
    pub(super) size_max: u64,
    /// All orders up to this ordinal were read.
    pub(super) read_to: u64,
    /// The number of orders in the last answer.
    total: Option<u64>,
    /// Orders that arrived between the last two answers.
    growth: u64,
    misses: u32,
    /// The ids of the last orders that were read, up to `read_to`.
    last_ids: VecDeque<String>,
}

impl Joiner {
    pub(super) fn new(device: &str, size_max: u64) -> Joiner {
        Joiner { device: device.to_owned(), size_max, ..Joiner::default() }
    }

    /// Sets the id of the order up to which all were read.
    pub(super) fn after_id(mut self, id: &str) -> Joiner {
        self.last_ids = VecDeque::from([id.to_owned()]);
        self
    }

    /// Returns whether all orders of the last answer were read.
    pub(super) fn is_complete(&self) -> bool {
        self.total == Some(self.read_to)
    }

    /// Returns the number and the size of the page to read next. The remaining orders are divided
    /// into pages of equal size: if all had the largest size, the page with the next order might
    /// have only the orders that have just arrived. Up to twice as many orders may arrive before
    /// the answer as arrived before the last one.
    pub(super) fn next_page(&self) -> (u64, u64) {
        let Some(total) = self.total else { return (1, self.size_max) };
        let arriving = self.growth.saturating_mul(2);
        let left = total.saturating_add(arriving).saturating_sub(self.read_to).max(1);
        let pages = left.div_ceil(self.size_max);
        (pages, left.div_ceil(pages))
    }

    /// Adds a page, and returns its new orders by ordinal; none if the page does not continue where
    /// the last one ended.
    pub(super) fn join(&mut self, page: PageOf<Order>) -> Result<Vec<(u64, Order)>, WalkError> {
        let PageOf { total, current, size, records } = page;
        if total < self.read_to {
            let device = self.device.clone();
            let had = self.read_to;
            return Err(WalkError::Shorter { device, had, total });
        }
        if size < self.next_page().1 {
            // The server has a smaller limit for pages.
            self.size_max = size.max(1);
        }
        let highest = total.saturating_sub(current.saturating_sub(1).saturating_mul(size));
        let rows = records.len() as u64;
        let expected = highest.min(size);
        if rows != expected {
            let device = self.device.clone();
            return Err(WalkError::ShortPage { device, current, rows, expected });
        }
        self.growth = self.total.map_or(0, |before| total.saturating_sub(before));
        self.total = Some(total);
        let lowest = highest - rows + 1;
        if total > self.read_to && !(lowest..=highest).contains(&(self.read_to + 1)) {
            return self.missed();
        }
        self.misses = 0;
        let orders = (lowest..=highest).zip(records.into_iter().rev());
        let mut new = Vec::new();
        for (ordinal, order) in orders {
            if ordinal <= self.read_to {
                self.compare(ordinal, &order)?;
            } else {
                self.last_ids.push_back(order.id().to_owned());
                self.read_to = ordinal;
                new.push((ordinal, order));
            }
        }
        let surplus = (self.last_ids.len() as u64).saturating_sub(self.size_max);
        self.last_ids.drain(..usize::try_from(surplus).unwrap_or(self.last_ids.len()));
        Ok(new)
    }

    fn missed(&mut self) -> Result<Vec<(u64, Order)>, WalkError> {
        self.misses += 1;
        if self.misses < MISSES_MAX {
            return Ok(Vec::new());
        }
        Err(WalkError::TooFast { device: self.device.clone(), pages: self.misses })
    }

    fn compare(&self, ordinal: u64, order: &Order) -> Result<(), WalkError> {
        let first = self.read_to + 1 - self.last_ids.len() as u64;
        let at = ordinal.checked_sub(first).and_then(|at| usize::try_from(at).ok());
        match at.and_then(|at| self.last_ids.get(at)) {
            Some(was) if was != order.id() => {
                let device = self.device.clone();
                let was = was.clone();
                let is = order.id().to_owned();
                Err(WalkError::Moved { device, ordinal, was, is })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use kiosque_testkit::{Rng, seed};
    use serde_json::json;

    use super::*;

    fn order(id: u64) -> Order {
        let json = json!({
            "orderId": format!("o{id}"), "tradeNo": "", "currency": "EUR", "totalAmount": 1,
            "payAmount": 1, "tradeStartTime": "2026-03-02 10:00:00", "payEndTime": null
        });
        serde_json::from_value(json).expect("an order")
    }

    /// A page of the list that has these orders, the oldest first.
    fn page(orders: &[u64], current: u64, size: u64) -> PageOf<Order> {
        let skip = usize::try_from((current - 1) * size).expect("small");
        let rows = orders.iter().rev().skip(skip).take(usize::try_from(size).expect("small"));
        let records = rows.map(|id| order(*id)).collect();
        PageOf { total: orders.len() as u64, current, size, records }
    }

    /// PAGE-8: whatever arrives between two pages, each order is read once, at its own ordinal.
    #[test]
    fn a_walk_neither_loses_nor_repeats_an_order_while_orders_arrive() {
        let seed = seed();
        println!("KIOSQUE_SEED={seed}");
        let mut rng = Rng::seeded(seed);
        for _ in 0..30 {
            let size = rng.range(2..30).unsigned_abs();
            let mut list: Vec<u64> = (1..=rng.range(0..200).unsigned_abs()).collect();
            let mut joiner = Joiner::new("d", size);
            let mut read = Vec::new();
            let mut arrivals = 60;
            while !joiner.is_complete() {
                let (current, size) = joiner.next_page();
                let page = page(&list, current, size);
                read.extend(joiner.join(page).expect("a walk"));
                if arrivals > 0 {
                    arrivals -= 1;
                    let more = rng.below(usize::try_from(size).expect("small"));
                    list.extend((list.len() as u64 + 1..).take(more));
                }
            }
            let ids: Vec<(u64, String)> =
                read.iter().map(|(at, order)| (*at, order.id().to_owned())).collect();
            let all: Vec<(u64, String)> = list[..usize::try_from(joiner.read_to).expect("small")]
                .iter()
                .map(|id| (*id, format!("o{id}")))
                .collect();
            assert_eq!(ids, all);
        }
    }

    /// PAGE-8: orders that arrive make a walk longer by their own pages, not by a request for each
    /// few of them.
    #[test]
    fn each_request_of_a_walk_reads_most_of_a_page_while_orders_arrive() {
        let mut list: Vec<u64> = (1..=12_000).collect();
        let (mut joiner, mut requests) = (Joiner::new("d", 500), 0);
        while !joiner.is_complete() && requests < 1_000 {
            let (current, size) = joiner.next_page();
            joiner.join(page(&list, current, size)).expect("a walk");
            requests += 1;
            let arrivals = if joiner.read_to < 12_000 { 2 } else { 0 };
            list.extend((list.len() as u64 + 1..).take(arrivals));
        }
        assert!(joiner.is_complete() && requests < 30, "{requests} requests");
    }

    /// PAGE-5: a `total` that no list can have causes no overflow.
    #[test]
    fn the_largest_total_does_not_overflow() {
        let mut joiner = Joiner::new("d", 4);
        joiner.join(page(&[1, 2], 1, 4)).expect("a page");
        let records = vec![order(1); 4];
        let all = PageOf { total: u64::MAX, current: 1, size: 4, records };
        assert_eq!(joiner.join(all).expect("a page that does not continue"), []);
        assert_eq!(joiner.next_page().1, 4);
    }

    /// ORD-3: an order whose place is known from an earlier walk must still have it.
    #[test]
    fn a_later_walk_compares_the_last_order_of_the_earlier_one() {
        let list: Vec<u64> = (1..=10).collect();
        let later = || Joiner { read_to: 8, ..Joiner::new("d", 4) };
        assert_eq!(later().after_id("o8").join(page(&list, 1, 4)).expect("a page").len(), 2);
        let moved = later().after_id("o7").join(page(&list, 1, 4));
        assert!(matches!(moved, Err(WalkError::Moved { ordinal: 8, .. })), "{moved:?}");
    }

    #[test]
    fn a_list_that_does_not_only_grow_is_an_error() {
        let list: Vec<u64> = (1..=10).collect();
        let begun = || {
            let mut joiner = Joiner::new("d", 4);
            joiner.join(page(&list, 1, 4)).expect("the total");
            assert_eq!(joiner.next_page(), (3, 4));
            assert_eq!(joiner.join(page(&list, 3, 4)).expect("a page").len(), 2);
            assert_eq!(joiner.read_to, 2);
            joiner
        };
        let mut joiner = begun();
        let archived = page(&list[9..], 1, 4);
        assert!(matches!(joiner.join(archived), Err(WalkError::Shorter { had: 2, total: 1, .. })));

        let mut joiner = begun();
        let mut sorted = list.clone();
        sorted.insert(0, 99);
        let moved = joiner.join(page(&sorted, 3, 4));
        let Err(WalkError::Moved { ordinal, was, is, .. }) = moved else { panic!("{moved:?}") };
        assert_eq!((ordinal, was.as_str(), is.as_str()), (1, "o1", "o99"));

        let mut joiner = begun();
        let mut dropped = page(&list, 2, 4);
        dropped.records.pop();
        let short = joiner.join(dropped);
        assert!(matches!(short, Err(WalkError::ShortPage { rows: 3, expected: 4, .. })));

        let mut joiner = begun();
        let newest = || page(&list, 1, 4);
        let misses = (1..MISSES_MAX).all(|_| joiner.join(newest()).is_ok_and(|new| new.is_empty()));
        assert!(misses);
        assert!(matches!(joiner.join(newest()), Err(WalkError::TooFast { pages: 100, .. })));
    }
}
