//! Received orders: their counts by outcome, and those that streams have sent in the last minutes.

use std::fmt;

use crate::time::UnixMs;

/// The number of lines of a stream, or of orders of a file, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderCounts {
    /// New orders.
    pub accepted: u64,
    /// Orders that replaced a stored one.
    pub updated: u64,
    /// Orders that were stored already.
    pub unchanged: u64,
    /// Lines that were not stored.
    pub rejected: u64,
}

impl OrderCounts {
    /// Adds the counts of other lines.
    pub fn add(&mut self, other: OrderCounts) {
        self.accepted += other.accepted;
        self.updated += other.updated;
        self.unchanged += other.unchanged;
        self.rejected += other.rejected;
    }
}

impl fmt::Display for OrderCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OrderCounts { accepted, updated, unchanged, rejected } = self;
        write!(
            f,
            "{accepted} accepted, {updated} updated, {unchanged} unchanged, {rejected} rejected"
        )
    }
}

/// The newest order of the streams of a key, by the start of its trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewestOrder {
    /// The start of its trade.
    pub trade_start: UnixMs,
    /// When it was stored.
    pub stored_at: UnixMs,
}

/// The orders of the streams of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyOrders {
    /// The name of the key; `None` for the keys that are counted together.
    pub key: Option<String>,
    /// All orders of the last minutes, by outcome.
    pub counts: OrderCounts,
    /// Orders that were stored in each of the last minutes, the last one last.
    pub by_minute: Vec<i64>,
    /// The newest order; `None` if no line was stored.
    pub newest: Option<NewestOrder>,
}
