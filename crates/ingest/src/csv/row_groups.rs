//! Rows grouped by the key of their order, and the ids of the orders read so far.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::vec::IntoIter;

use super::assemble::assemble;
use super::bound_mapping::BoundMapping;
use super::row::Row;
use super::{MappedOrder, OF_ANY_ORDER, RejectedRows};
use crate::masking::masked_reason;

/// Rows grouped by the key of their order.
#[derive(Default)]
pub(super) struct RowGroups {
    groups: Vec<Vec<Row>>,
    by_key: HashMap<Vec<String>, usize>,
    bytes: usize,
}

impl RowGroups {
    /// Adds a row to the group of its key.
    pub(super) fn add(&mut self, key: Vec<String>, row: Row) {
        self.bytes += row.weight();
        let known = self.by_key.get(&key).copied();
        match known.and_then(|index| self.groups.get_mut(index)) {
            Some(group) => group.push(row),
            None => {
                self.bytes += key.iter().map(String::len).sum::<usize>();
                self.by_key.insert(key, self.groups.len());
                self.groups.push(vec![row]);
            }
        }
    }

    /// Returns the approximate size of the rows in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the groups in the order of their first rows.
    pub(super) fn into_groups(self) -> IntoIter<Vec<Row>> {
        self.groups.into_iter()
    }
}

/// The ids of the orders read so far. A second order with the same id would silently overwrite the
/// first, because it would count as an update, also when the file of rejected rows is imported.
#[derive(Default)]
pub(super) struct SeenIds {
    hashers: (RandomState, RandomState),
    lines: HashMap<u128, u64>,
}

impl SeenIds {
    /// Assembles the order of rows.
    ///
    /// # Errors
    /// The rows, if they are not an order or their device has another order with the same id.
    pub(super) fn assemble(
        &mut self,
        mapping: &BoundMapping<'_>,
        rows: Vec<Row>,
    ) -> Result<MappedOrder, RejectedRows> {
        let order = assemble(mapping, rows)?;
        let device = order.order.device_code.as_deref().unwrap_or_default();
        let id = order.order.order_id.as_deref().unwrap_or_default();
        // Random keys and 128 bits make collisions, accidental or malicious, negligible.
        let key = (device, id);
        let halves = (self.hashers.0.hash_one(key), self.hashers.1.hash_one(key));
        let digest = (u128::from(halves.0) << 64) | u128::from(halves.1);
        let line = order.first_line;
        let first = *self.lines.entry(digest).or_insert(line);
        let earlier = order.rows.iter().filter_map(|row| mapping.header.earlier_reason(row));
        let mut earlier = earlier.peekable();
        if first == line && earlier.peek().is_none() {
            return Ok(order);
        }
        let repeated = format!(
            "already has an order with this orderId for the same device ({id:?} of {device:?})"
        );
        // Reasons are written with masked digits.
        let masked = masked_reason(&repeated);
        let unique = "make orderId unique, or combine the rows by order.key";
        let reason = if first != line {
            format!("line {first} {repeated}; {unique}")
        } else if earlier.clone().any(|reason| reason.contains(&masked)) {
            // The other order was stored by the import of the report.
            format!("another line of the report {repeated}; {unique}")
        } else if earlier.any(|reason| reason.contains(OF_ANY_ORDER)) {
            OF_ANY_ORDER.to_owned()
        } else {
            return Ok(order);
        };
        Err(RejectedRows::new(order.rows, &format!("line {line}: {reason}")))
    }
}
