//! The orders of one transaction: a fair share of each waiting submission.

use kiosque_model::GroupNo;
use kiosque_store::{BatchPart, Incoming};

use super::submission::Submission;

/// The orders of one transaction, and the submissions that they belong to.
pub(super) struct Batch {
    pub(super) parts: Vec<Part>,
    pub(super) orders: Vec<Incoming>,
}

/// The part of a submission in a batch.
pub(super) struct Part {
    pub(super) submission: Submission,
    pub(super) lines: Vec<u64>,
    /// Its orders in the batch.
    pub(super) orders: BatchPart,
}

impl Batch {
    /// Takes at most `size` orders to decide, a fair share of each submission.
    pub(super) fn of(submissions: Vec<Submission>, size: usize) -> Batch {
        let waiting: Vec<usize> = submissions.iter().map(Submission::len).collect();
        let mut orders = Vec::with_capacity(size);
        let mut parts = Vec::with_capacity(submissions.len());
        for (mut submission, share) in submissions.into_iter().zip(shares(&waiting, size)) {
            let mut lines = Vec::with_capacity(share);
            let part = submission.fill(&mut orders, &mut lines, share);
            parts.push(Part { submission, lines, orders: part });
        }
        Batch { parts, orders }
    }

    /// Returns the group of the next order of the submission with the most remaining orders.
    pub(super) fn current_group(&self) -> Option<GroupNo> {
        let submissions = self.parts.iter().map(|part| &part.submission);
        submissions.max_by_key(|submission| submission.len()).and_then(Submission::group)
    }
}

/// Returns the max-min fair share of each submission in a batch of `size`: small ones are taken
/// entirely, and large ones share the rest, so that one order never waits for a thousand others.
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
pub(super) mod tests {
    use std::sync::Arc;

    use kiosque_model::KeyName;
    use kiosque_store::FleetSnapshot;
    use tokio::sync::{Semaphore, oneshot};

    use super::*;
    use crate::storage_order::sort_for_storage;
    use crate::storage_order::tests::{checked, groups};

    pub(in crate::group_commit) fn submission(orders: &[&str]) -> Submission {
        let bytes = Arc::new(Semaphore::new(1)).try_acquire_owned().expect("a free permit");
        let mut fleet = FleetSnapshot::default();
        fleet.groups_by_device = groups();
        let orders = sort_for_storage(checked(orders), &groups());
        let key = KeyName::parse("tills").expect("a name");
        Submission::new(orders, key, Arc::new(fleet), bytes, oneshot::channel().0)
    }

    #[test]
    fn the_current_group_is_that_of_the_largest_remainder() {
        let all = &["1@a1", "2@a1", "3@b1", "4@b1", "5@c1"][..];
        for (submissions, size, group) in [
            (&[all][..], 2, Some(2)),
            (&[all, &["6@b1"]], 2, Some(1)),
            (&[&["6@c1", "7@c1", "8@c1"], all], 4, Some(2)),
            (&[&["6@a1", "7@b1"], &["8@c1"]], 8, None),
            (&[], 8, None),
        ] {
            let waiting = submissions.iter().map(|orders| submission(orders)).collect();
            let batch = Batch::of(waiting, size);
            assert_eq!(batch.current_group(), group.map(GroupNo), "{submissions:?} in {size}");
        }
    }

    #[test]
    fn small_submissions_are_taken_whole_and_large_ones_share_the_rest() {
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
