//! Deletes old entries.

use kiosque_model::UnixMs;

use crate::db::{Deadline, Write};
use crate::error::Error;
use crate::sql::{row, statements};
use crate::views::Trail;

row! {
    struct EntryTime { entry_no: i64, at_ms: UnixMs }
}

statements! {
    OLDEST() -> UnixMs = "select at_ms from audit order by at_ms limit 1";
    OLDEST_ENTRIES(after_no, count) -> EntryTime = "select entry_no, at_ms
        from audit where entry_no > $after_no order by entry_no limit $count";
    DELETE_ENTRIES(after_no, last_no, before_ms) = "delete from audit
        where entry_no > $after_no and entry_no <= $last_no and at_ms < $before_ms";
}

/// Maximum number of entries that one transaction purges; other writers wait for it.
const PURGED_PER_TRANSACTION: usize = 500;

impl Trail<'_> {
    /// Returns the time of the oldest entry.
    ///
    /// # Errors
    /// The store failed.
    pub async fn oldest_entry(self) -> Result<Option<UnixMs>, Error> {
        self.0.db.one(&OLDEST, &[]).await
    }

    /// Deletes the entries of events before `before`, the oldest first. Returns their number.
    ///
    /// # Errors
    /// The store failed; entries purged so far stay purged.
    pub async fn purge(self, before: UnixMs) -> Result<usize, Error> {
        let (mut purged, mut next) = (0, Some(0));
        while let Some(after) = next {
            let step = async move |write: &Write<'_>| purge(write, after, before).await;
            let (count, last) = self.0.db.write(Deadline::OfRequest, step).await?;
            (purged, next) = (purged + count, last);
        }
        Ok(purged)
    }
}

/// Purges some entries after a number. Returns how many, and the number after which the next
/// transaction continues, if any.
async fn purge(
    write: &Write<'_>,
    after: i64,
    before: UnixMs,
) -> Result<(usize, Option<i64>), Error> {
    let params = [after.into(), PURGED_PER_TRANSACTION.into()];
    let oldest: Vec<EntryTime> = write.all(&OLDEST_ENTRIES, &params).await?;
    let Some(last_old) = oldest.iter().rfind(|entry| entry.at_ms < before) else {
        return Ok((0, None));
    };
    let params = [after.into(), last_old.entry_no.into(), before.into()];
    let purged = write.execute(&DELETE_ENTRIES, &params).await?;
    let last = oldest.last().filter(|_| oldest.len() == PURGED_PER_TRANSACTION);
    let purged = usize::try_from(purged).unwrap_or(usize::MAX);
    Ok((purged, last.map(|entry| entry.entry_no)))
}
