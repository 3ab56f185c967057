//! Whether the store answers requests and takes orders.

use kiosque_model::{Claim, PresentedToken, UnixMs};

use crate::db::{Deadline, Write};
use crate::error::{Error, Refused};
use crate::{Store, inventory, metadata, transfer};

impl Store {
    /// Checks that a request with a session would be answered: the data is where it was opened, is
    /// not known to be damaged, and has not been moved to a database, the session check can be
    /// read, and this node may answer for sessions.
    ///
    /// # Errors
    /// The failure of such a request.
    pub async fn answers(&self, now: UnixMs) -> Result<(), Error> {
        transfer::check_complete(&self.db).await?;
        self.check_undamaged().await?;
        match self.session(Claim { token: PresentedToken::unissued(), now }).await {
            Ok(()) | Err(Refused::Refusal(_)) => Ok(()),
            Err(Refused::Store(error)) => Err(error),
        }
    }

    /// Checks that orders would be stored: the data is where it was opened and has not been moved
    /// to a database, there is room for it, and it can be written. After a write that the file
    /// system prevented, this is tried.
    ///
    /// # Errors
    /// The reason why no orders can be stored.
    pub async fn takes_orders(&self) -> Result<(), Error> {
        transfer::check_complete(&self.db).await?;
        self.db.check_writable()?;
        if self.db.last_write_failed() {
            let change = async |write: &Write<'_>| metadata::change_nothing(write).await;
            self.db.write(Deadline::OfRequest, change).await?;
        }
        Ok(())
    }

    /// Checks that the database file is not known to be damaged: neither this program has found it,
    /// nor the latest backup.
    ///
    /// # Errors
    /// The damage, with the way out, or the store failed.
    pub async fn check_undamaged(&self) -> Result<(), Error> {
        self.db.check_undamaged(None)?;
        if !self.db.is_file() {
            return Ok(());
        }
        let found = inventory::damage_found(&self.db).await?;
        self.db.check_undamaged(found.as_deref())
    }

    /// Looks whether the files of the data are those that were opened, and refuses every request
    /// while they are not: writes to a file that was replaced, moved, removed or overwritten would
    /// be lost. The program calls this once a second.
    pub fn check_files(&self) {
        self.db.compare_files();
    }
}
