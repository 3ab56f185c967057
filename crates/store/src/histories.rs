//! The histories of a group: which of its changes belong to the same data.
//!
//! Change numbers alone do not reveal that data went back: after a restore, or a failover that lost
//! something, other changes get the numbers of the lost ones. So each change belongs to a history,
//! and a cursor has the history of the last change that it covers.
//!
//! Data goes back only while nothing has it open, or together with the database server. So each
//! opening of the data begins its own history in a group when it first changes an order there, and
//! does so again on a server with another timeline or start time. The history then remains one of
//! the group's: further changes continue the latest history, whichever opening began it. A group
//! gets at most one row for each opening that changes it.

use std::sync::atomic::{AtomicU64, Ordering};

use kiosque_model::{GroupNo, HistoryId};
use sha2::{Digest, Sha256};

use crate::db::{Bound, Reading, Write};
use crate::error::Error;
use crate::sql::{row, statements};

row! {
    /// The change numbers of a group.
    pub(crate) struct ChangeCounter {
        pub(crate) last_change_no: i64,
        history: HistoryId,
        /// Whether the history of this opening is one of the group's.
        has_history: bool,
    }
}

statements! {
    COUNTER(group_no, history) -> ChangeCounter = "select last_change_no, history,
            exists (select 1 from group_histories h
                where h.group_no = $group_no and h.history = $history) as has_history
        from group_changes where group_no = $group_no";
    SET_LAST_CHANGE_NO(group_no, last_change_no, history, refunding) = "update group_changes
        set last_change_no = $last_change_no, history = $history,
            refunding = refunding + $refunding
        where group_no = $group_no";
    BEGIN_HISTORY(group_no, first_change_no, history) = "insert into group_histories
        (group_no, first_change_no, history) values ($group_no, $first_change_no, $history)";
}

/// The number of writes of this process that were assigned a number.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// An opening of the data by a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening(pub(crate) [u8; 16]);

impl Opening {
    /// Returns the history that this opening begins on the server of a transaction.
    pub(crate) fn history(self, write: &Write<'_>) -> HistoryId {
        HistoryId(self.digest(write, &[]))
    }

    /// Returns a number for a write that no other write of any process gets, even after the data
    /// went back.
    pub(crate) fn version(self, write: &Write<'_>) -> i64 {
        self.digest(write, &WRITES.fetch_add(1, Ordering::Relaxed).to_be_bytes())
    }

    fn digest(self, write: &Write<'_>, of_write: &[u8]) -> i64 {
        let digest = Sha256::new().chain_update(self.0).chain_update(of_write);
        let digest = digest.chain_update(write.server()).finalize();
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(digest).for_each(|(byte, of_digest)| *byte = of_digest);
        i64::from_be_bytes(bytes)
    }
}

impl ChangeCounter {
    /// Reads the change numbers of a group that is locked.
    pub(crate) fn read(group: GroupNo, history: HistoryId) -> Reading<Option<ChangeCounter>> {
        Bound::new(&COUNTER, [group.into(), history.into()]).one()
    }

    /// Stores a later last change number, and begins the history before the first of the changes
    /// since the previous one. They add `refunding` orders that are being refunded.
    pub(crate) async fn advance(
        &self,
        write: &Write<'_>,
        group: GroupNo,
        history: HistoryId,
        last_change_no: i64,
        refunding: i64,
    ) -> Result<(), Error> {
        let history = if self.has_history { self.history } else { history };
        if !self.has_history {
            let first = self.last_change_no.saturating_add(1);
            write.execute(&BEGIN_HISTORY, &[group.into(), first.into(), history.into()]).await?;
        }
        let params = [group.into(), last_change_no.into(), history.into(), refunding.into()];
        write.execute(&SET_LAST_CHANGE_NO, &params).await.map(|_| ())
    }
}
