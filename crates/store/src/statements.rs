//! All statements, and injected faults, for tests.

use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::sql::statements;
use crate::views::Upkeep;
use crate::{
    account_use, accounts, aisle_texts, archive, arrivals, audit, console, dashboard, devices,
    dictionaries, fleet, heartbeats, histories, imports, inventory, keys, known_sources, metadata,
    migrate, orders, owners, rates, receive, refused_requests, session_clock, sessions, sums,
    verify, versions,
};

// Every statement but those that move data to another store, which are built from its catalog.
statements! {
    [
        account_use, accounts, aisle_texts, archive, arrivals, audit, console, dashboard, devices,
        dictionaries, fleet, heartbeats, histories, imports, inventory, keys, known_sources,
        metadata, migrate, orders, owners, rates, receive, refused_requests, session_clock,
        sessions, sums, verify, versions
    ]
}

impl Upkeep<'_> {
    /// Prepares every statement of this crate on the engine, and checks its columns, for tests.
    /// Returns their number.
    ///
    /// # Errors
    /// The name of the first statement that is refused, and why.
    pub async fn prepare_all(self) -> Result<usize, Error> {
        let prepare =
            async move |read: &Read<'_>| read.prepare_all(all(), sessions::check_statement()).await;
        self.0.db.read(Deadline::None, prepare).await?;
        Ok(all().len())
    }

    /// Makes one statement of this store fail, for tests: `statements` succeed before it. The end
    /// of a transaction counts as a statement, and the report of a commit as another. Without debug
    /// assertions, none fails.
    pub fn arm_fault(self, statements: usize, error: fn() -> Error) {
        self.0.db.faults().arm(Some((statements, error)));
    }

    /// Removes an injected fault that has not occurred. Returns whether there was one.
    #[must_use]
    pub fn disarm_fault(self) -> bool {
        self.0.db.faults().arm(None)
    }
}
