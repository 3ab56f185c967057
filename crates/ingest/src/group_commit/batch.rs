//! What goes into one transaction of a stream's writer: a fair share of each parcel that waits.

use std::ops::Range;
use std::sync::Arc;

use kiosque_model::GroupNo;
use kiosque_store::{Incoming, yield_if_due};

use super::Parcel;

/// What goes into one transaction.
pub(super) struct Batch {
    pub(super) pieces: Vec<Piece>,
    pub(super) orders: Arc<Orders>,
}

/// Orders of a transaction. There may be thousands, and each is many small pieces of memory.
pub(super) struct Orders(pub(super) Vec<Incoming>);

impl AsRef<[Incoming]> for Orders {
    fn as_ref(&self) -> &[Incoming] {
        &self.0
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        for order in self.0.drain(..) {
            drop(order);
            yield_if_due();
        }
    }
}

/// A part of a parcel in a transaction, and where its orders stand there.
pub(super) struct Piece {
    pub(super) parcel: Parcel,
    pub(super) lines: Vec<u64>,
    pub(super) place: Range<usize>,
}

impl Batch {
    pub(super) fn of(parcels: Vec<Parcel>, size: usize) -> Batch {
        let waiting: Vec<usize> = parcels.iter().map(|parcel| parcel.orders.len()).collect();
        let mut orders = Vec::with_capacity(size);
        let mut pieces = Vec::with_capacity(parcels.len());
        for (mut parcel, share) in parcels.into_iter().zip(shares(&waiting, size)) {
            let start = orders.len();
            let mut lines = Vec::with_capacity(share);
            for one in parcel.orders.by_ref().take(share) {
                yield_if_due();
                lines.push(one.line);
                orders.push(one.incoming);
            }
            pieces.push(Piece { parcel, lines, place: start..orders.len() });
        }
        Batch { pieces, orders: Arc::new(Orders(orders)) }
    }

    /// The group that comes next in the parcel of which most is left.
    pub(super) fn current_group(&self) -> Option<GroupNo> {
        let parcels = self.pieces.iter().map(|piece| &piece.parcel);
        parcels.max_by_key(|parcel| parcel.orders.len()).and_then(Parcel::group)
    }
}

/// How many orders each that waits may have in a transaction: the same for all, and what the small
/// ones leave goes to the large ones, so that one order never waits for a thousand others.
fn shares(waiting: &[usize], size: usize) -> Vec<usize> {
    let mut smallest_first: Vec<usize> = (0..waiting.len()).collect();
    smallest_first.sort_by_key(|at| waiting[*at]);
    let mut shares = vec![0; waiting.len()];
    let (mut left, mut of) = (size, waiting.len());
    for at in smallest_first {
        shares[at] = waiting[at].min(left / of);
        left -= shares[at];
        of -= 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use kiosque_store::FleetSnapshot;
    use tokio::sync::{Semaphore, oneshot};

    use super::*;
    use crate::group_commit::Stored;
    use crate::import::in_turn;
    use crate::import::tests::{groups, prepared};

    fn parcel(orders: &[&str]) -> Parcel {
        let room = Arc::new(Semaphore::new(1)).try_acquire_owned().expect("room");
        let mut fleet = FleetSnapshot::default();
        fleet.groups_by_device = groups();
        let orders = in_turn(prepared(orders), &groups()).into_orders().into_iter();
        let (stored, answer) = (Stored::default(), oneshot::channel().0);
        Parcel { orders, fleet: Arc::new(fleet), stored, answer, _room: room }
    }

    #[test]
    fn who_comes_begins_where_the_longest_has_come_to() {
        let all = &["1@a1", "2@a1", "3@b1", "4@b1", "5@c1"][..];
        for (parcels, size, group) in [
            (&[all][..], 2, Some(2)),
            (&[all, &["6@b1"]], 2, Some(1)),
            (&[&["6@c1", "7@c1", "8@c1"], all], 4, Some(2)),
            (&[&["6@a1", "7@b1"], &["8@c1"]], 8, None),
            (&[], 8, None),
        ] {
            let batch = Batch::of(parcels.iter().map(|orders| parcel(orders)).collect(), size);
            assert_eq!(batch.current_group(), group.map(GroupNo), "{parcels:?} at {size}");
        }
    }

    #[test]
    fn the_small_go_in_whole_and_the_large_share_the_rest() {
        for (waiting, size, want) in [
            (&[1_000][..], 64, &[64][..]),
            (&[1_000, 1], 64, &[63, 1]),
            (&[1_000, 1, 1_000, 3], 64, &[30, 1, 30, 3]),
            (&[5, 5, 5], 64, &[5, 5, 5]),
            (&[9, 9, 9], 3, &[1, 1, 1]),
            (&[], 8, &[]),
        ] {
            assert_eq!(shares(waiting, size), want, "{waiting:?} into {size}");
        }
    }
}
