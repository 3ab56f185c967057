//! Whether the store answers requests and accepts orders.

use kiosque_model::{Claim, PresentedToken, UnixMs};

use crate::db::{Deadline, Write};
use crate::error::{Error, Refused};
use crate::views::{Sessions, Upkeep};
use crate::{inventory, metadata, transfer};

impl Upkeep<'_> {
    /// Checks that a request with a session would be answered: the data is where it was opened, is
    /// not known to be damaged, and has not been moved to a database, the session check can be
    /// read, and this node may answer for sessions.
    ///
    /// # Errors
    /// The failure of such a request.
    pub async fn answers(self, now: UnixMs) -> Result<(), Error> {
        self.check_undamaged().await?;
        let claim = Claim { token: PresentedToken::unissued(), now };
        match Sessions(self.0).prove(claim).await {
            Ok(()) | Err(Refused::Refusal(_)) => Ok(()),
            Err(Refused::Store(error)) => Err(error),
        }
    }

    /// Checks that orders would be stored: the data is where it was opened, is not known to be
    /// damaged, and has not been moved to a database, there is space for it, and it can be written.
    /// After a write that the file system prevented, this is tried.
    ///
    /// # Errors
    /// The reason why no orders can be stored.
    pub async fn takes_orders(self) -> Result<(), Error> {
        self.check_undamaged().await?;
        transfer::check_complete(&self.0.db).await?;
        self.0.db.check_writable()?;
        if self.0.db.last_write_failed() {
            let change = async |write: &Write<'_>| metadata::change_nothing(write).await;
            self.0.db.write(Deadline::OfRequest, change).await?;
        }
        Ok(())
    }

    /// Checks that the database file is not known to be damaged, from reads of this program or from
    /// the latest backup.
    ///
    /// # Errors
    /// The damage, with the remedy, or the store failed.
    pub async fn check_undamaged(self) -> Result<(), Error> {
        self.0.db.check_undamaged(None)?;
        if !self.0.db.is_file() {
            return Ok(());
        }
        let found = inventory::damage_found(&self.0.db).await?;
        self.0.db.check_undamaged(found.as_deref())
    }
}
