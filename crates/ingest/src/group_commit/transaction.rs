//! The orders of one transaction, and their division into several.

use std::collections::BTreeMap;
use std::sync::Arc;

use kiosque_model::GroupNo;
use kiosque_store::{BatchPart, Error, Incoming, OrderOutcome};

/// An order, its index in the batch, and its outcome, or the failure of its transaction.
pub(super) type Decided = (usize, Incoming, Result<OrderOutcome, Arc<Error>>);

/// Orders of a batch that are stored together.
#[derive(Default)]
pub(super) struct Transaction {
    pub(super) orders: Arc<Vec<Incoming>>,
    /// Their indexes in the batch.
    indexes: Vec<usize>,
    /// The parts of the transaction, each with the index of its part in the batch.
    parts: Vec<(usize, BatchPart)>,
}

impl Transaction {
    /// Returns the transaction that stores a whole batch.
    pub(super) fn of_all(orders: Vec<Incoming>, parts: Vec<BatchPart>) -> Transaction {
        let indexes = (0..orders.len()).collect();
        let parts = parts.into_iter().enumerate().collect();
        Transaction { orders: Arc::new(orders), indexes, parts }
    }

    pub(super) fn parts(&self) -> Vec<BatchPart> {
        self.parts.iter().map(|(_, part)| part.clone()).collect()
    }

    /// Divides the orders by a key of the part and the group of each. `groups` has the groups of
    /// the orders.
    pub(super) fn divide<K: Ord>(
        self,
        groups: &[Option<GroupNo>],
        key: impl Fn(usize, Option<GroupNo>) -> K,
    ) -> Vec<Transaction> {
        let mut divided: BTreeMap<K, Transaction> = BTreeMap::new();
        let orders = Arc::unwrap_or_clone(self.orders).into_iter().zip(self.indexes);
        let mut orders = orders.zip(groups);
        for (of, part) in self.parts {
            for at in part.orders.clone() {
                let Some(((order, index), group)) = orders.next() else { break };
                let transaction = divided.entry(key(of, *group)).or_default();
                let own = Arc::make_mut(&mut transaction.orders);
                if transaction.parts.last().is_none_or(|(last, _)| *last != of) {
                    let none = own.len()..own.len();
                    transaction.parts.push((of, BatchPart { orders: none, sorted: 0, ..part }));
                }
                own.push(order);
                transaction.indexes.push(index);
                if let Some((_, last)) = transaction.parts.last_mut() {
                    last.orders.end = own.len();
                    last.sorted += usize::from(at < part.orders.start.saturating_add(part.sorted));
                }
            }
        }
        divided.into_values().collect()
    }

    /// Returns the orders with their outcomes.
    pub(super) fn decided(self, outcomes: Vec<OrderOutcome>) -> Vec<Decided> {
        let orders = self.indexes.into_iter().zip(Arc::unwrap_or_clone(self.orders));
        orders.zip(outcomes).map(|((index, order), outcome)| (index, order, Ok(outcome))).collect()
    }

    /// Returns the orders, which have all failed.
    pub(super) fn failed(self, error: &Arc<Error>) -> Vec<Decided> {
        let orders = self.indexes.into_iter().zip(Arc::unwrap_or_clone(self.orders));
        orders.map(|(index, order)| (index, order, Err(Arc::clone(error)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage_order::tests::checked;

    /// The parts of a transaction: for each, the part of the batch, its orders and how many of them
    /// are sorted.
    fn parts(transaction: &Transaction) -> Vec<(usize, Vec<&str>, usize)> {
        let part = |(of, part): &(usize, BatchPart)| {
            let orders = transaction.orders[part.orders.clone()].iter();
            (*of, orders.map(|order| order.order_id.as_str()).collect(), part.sorted)
        };
        transaction.parts.iter().map(part).collect()
    }

    #[test]
    fn a_division_keeps_the_order_of_the_lines_and_of_the_parts() {
        let orders = checked(&["1@a1", "2@b1", "3@a1", "4@c1", "5@b1", "6@a1", "7@b1"]);
        let orders = orders.into_iter().map(|one| one.incoming).collect();
        let part = |orders, sorted| BatchPart { orders, sorted, orders_max: 9, arrival: None };
        let all = Transaction::of_all(orders, vec![part(0..5, 2), part(5..7, 2)]);
        let groups = [1, 2, 1, 0, 2, 1, 2].map(|group| Some(GroupNo(group)).filter(|g| g.0 > 0));
        let divided = all.divide(&groups, |_, group| group);
        let [unknown, first, second] = divided.as_slice() else { panic!("not by group") };
        assert_eq!(parts(unknown), [(0, vec!["4"], 0)]);
        assert_eq!(parts(first), [(0, vec!["1", "3"], 1), (1, vec!["6"], 1)]);
        assert_eq!(parts(second), [(0, vec!["2", "5"], 1), (1, vec!["7"], 1)]);
        let groups = [Some(GroupNo(2)); 3];
        let second = divided.into_iter().next_back().expect("three");
        let of_parts = second.divide(&groups, |part, group| (part, group));
        let decided: Vec<usize> = of_parts
            .into_iter()
            .flat_map(|one| one.decided(vec![OrderOutcome::Accepted; 2]))
            .map(|(index, ..)| index)
            .collect();
        assert_eq!(decided, [1, 4, 6]);
    }
}
