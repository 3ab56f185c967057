//! The owners of the devices of a batch, before it is stored.

use std::sync::Arc;

use kiosque_model::GroupNo;

use super::Owners;
use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::record::Incoming;
use crate::views::Intake;

impl Intake<'_> {
    /// Adds the owners of the devices of a batch to a cache.
    async fn cache_owners(
        self,
        owners: Arc<tokio::sync::Mutex<Owners>>,
        batch: Arc<Vec<Incoming>>,
    ) -> Result<(), Error> {
        let mut owners = owners.lock_owned().await;
        let load = async move |read: &Read<'_>| {
            owners.refresh(read).await?;
            owners.load(read, batch.iter().map(|order| order.device_code.as_str())).await
        };
        self.0.db.read(Deadline::OfRequest, load).await
    }

    /// Returns a group for each order of a batch. Orders with different groups do not depend on one
    /// another, and separate transactions may store them. Orders of a device that moved have the
    /// same group as the orders of all its groups.
    ///
    /// # Errors
    /// The store failed.
    pub async fn separable_groups(
        self,
        owners: &Arc<tokio::sync::Mutex<Owners>>,
        batch: &Arc<Vec<Incoming>>,
    ) -> Result<Vec<Option<GroupNo>>, Error> {
        let has_all = owners.lock().await.has_all_of(batch);
        if !has_all {
            self.cache_owners(Arc::clone(owners), Arc::clone(batch)).await?;
        }
        Ok(owners.lock().await.first_groups(batch))
    }
}
