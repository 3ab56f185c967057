//! Deletes old entries.

use kiosque_model::UnixMs;

use crate::error::Error;
use crate::sql::statements;
use crate::views::Trail;

statements! {
    OLDEST() -> UnixMs = "select at_ms from audit order by at_ms limit 1";
    PURGE(before_ms, most) = "delete from audit where entry_no in (
        select entry_no from audit where at_ms < $before_ms order by at_ms limit $most)";
}

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
    pub async fn purge(self, before: UnixMs) -> Result<u64, Error> {
        self.0.db.purge(&PURGE, before).await
    }
}
