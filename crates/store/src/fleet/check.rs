//! Checks a fleet without applying it.

use std::sync::Arc;

use kiosque_model::UnixMs;
use kiosque_model::fleet::Fleet;

use super::{ApplyError, FleetError, NewHashes, plan, read_stored};
use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::views::FleetView;

impl FleetView<'_> {
    /// Returns the errors that an apply of the fleet would report. Passwords are not checked.
    ///
    /// # Errors
    /// The store failed.
    pub async fn errors(self, fleet: Arc<Fleet>, now: UnixMs) -> Result<Vec<FleetError>, Error> {
        let check = async move |read: &Read<'_>| {
            let stored = read_stored(read, &fleet).await?;
            match plan(read, &fleet, stored, &NewHashes::new(), now).await {
                // No password is compared.
                Ok(_) | Err(ApplyError::PasswordChanged) => Ok(Vec::new()),
                Err(ApplyError::Invalid(errors)) => Ok(errors),
                Err(ApplyError::Store(error)) => Err(error),
            }
        };
        self.0.db.read(Deadline::OfRequest, check).await
    }
}
