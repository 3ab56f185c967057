//! What is remembered of rows that were read: which order each belongs to, and which ids are taken.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::vec::IntoIter;

use serde_json::Value;

use super::order::{Checked, Desk};
use super::{MappedOrder, RejectedRows};

/// Rows that wait for the other rows of their orders.
#[derive(Default)]
pub(super) struct Held {
    orders: Vec<Vec<Checked>>,
    by_key: HashMap<Vec<String>, usize>,
    bytes: usize,
}

impl Held {
    /// Puts a row to the others of its key.
    pub(super) fn put(&mut self, key: Vec<String>, row: Checked) {
        self.bytes += row.row.weight();
        let known = self.by_key.get(&key).copied();
        match known.and_then(|index| self.orders.get_mut(index)) {
            Some(order) => order.push(row),
            None => {
                self.bytes += key.iter().map(String::len).sum::<usize>();
                self.by_key.insert(key, self.orders.len());
                self.orders.push(vec![row]);
            }
        }
    }

    /// What the rows take in memory, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The rows of each order, orders by their first line.
    pub(super) fn into_orders(self) -> IntoIter<Vec<Checked>> {
        self.orders.into_iter()
    }
}

/// The orders that a report has told already. Two that share an id would overwrite each other
/// unnoticed, because the second would count as an update of the first.
#[derive(Default)]
pub(super) struct Seen {
    hashers: (RandomState, RandomState),
    lines: HashMap<u128, u64>,
}

impl Seen {
    /// Makes an order of rows, unless its device has told one of the same id before.
    pub(super) fn claim(
        &mut self,
        desk: &Desk<'_>,
        rows: &[Checked],
    ) -> Result<MappedOrder, RejectedRows> {
        let order = desk.order(rows)?;
        let text = |name| order.order.get(name).and_then(Value::as_str).unwrap_or_default();
        let id = (text("deviceCode"), text("orderId"));
        // Random keys and 128 bits: two ids that meet by chance or by intent are out of reach.
        let halves = (self.hashers.0.hash_one(id), self.hashers.1.hash_one(id));
        let digest = (u128::from(halves.0) << 64) | u128::from(halves.1);
        let line = order.first_line;
        match *self.lines.entry(digest).or_insert(line) {
            first if first == line => Ok(order),
            first => {
                let reason = format!(
                    "line {line}: line {first} gave its device an order with the same orderId \
                     already; orderId must tell them apart, or order.key make them one"
                );
                Err(desk.rejected(rows, &reason))
            }
        }
    }
}
