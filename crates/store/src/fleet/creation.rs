//! Creates the products and devices of a fleet that do not exist. Existing ones are only changed if
//! they are products without a price and the fleet has one.

use std::sync::Arc;

use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_model::{ActedBy, GroupNo, UnixMs};

use super::{Apply, ApplyError, NewHashes, StoredFleet, plan, read_stored};
use crate::audit::Act;
use crate::db::{Deadline, Read, Write};
use crate::error::Error;
use crate::histories::Opening;
use crate::metadata;
use crate::views::FleetView;

impl FleetView<'_> {
    /// Checks the products and devices of a fleet that do not exist, or lack a price, as an apply
    /// would. Returns the codes of the devices, each with the number of its group.
    ///
    /// # Errors
    /// All errors of these entries, or the store failed.
    pub async fn check_new_entries(
        self,
        fleet: Arc<Fleet>,
        now: UnixMs,
    ) -> Result<Vec<(String, GroupNo)>, ApplyError> {
        let check = async move |read: &Read<'_>| {
            let NewEntries { fleet, stored } = NewEntries::read(read, (*fleet).clone()).await?;
            let (changes, _) = plan(read, &fleet, stored, &NewHashes::new(), now).await?;
            let devices = changes.devices.iter();
            let devices = devices.flat_map(|device| {
                device.present_groups.iter().map(|group| (device.code.to_owned(), *group))
            });
            Ok(devices.collect())
        };
        self.0.db.read(Deadline::None, check).await
    }
}

/// The products and devices of a fleet that do not exist, or lack a price.
pub(crate) struct NewEntries {
    fleet: Fleet,
    stored: StoredFleet,
}

impl NewEntries {
    /// Locks the fleet until the transaction ends, and reads which entries do not exist.
    pub(crate) async fn lock(write: &Write<'_>, fleet: Fleet) -> Result<NewEntries, Error> {
        metadata::lock(write, metadata::FLEET).await?;
        NewEntries::read(write, fleet).await
    }

    async fn read(read: &Read<'_>, mut fleet: Fleet) -> Result<NewEntries, Error> {
        let stored = read_stored(read, &fleet).await?;
        let (_, products, _, devices) = &stored;
        let entries = fleet.products.into_iter();
        fleet.products = entries.filter_map(|entry| products.completing(entry)).collect();
        fleet.devices.retain(|entry| !devices.contains(entry.code.as_str()));
        Ok(NewEntries { fleet, stored })
    }

    /// Returns the groups of the devices.
    pub(crate) fn groups(&self) -> impl Iterator<Item = GroupNo> {
        let (groups, ..) = &self.stored;
        let group = |entry: &DeviceEntry| Some(groups.get(entry.group.as_ref()?)?.group_no);
        self.fleet.devices.iter().filter_map(group)
    }

    /// Creates the entries. Returns them, and their entry for the audit trail, unless there was
    /// nothing to create.
    pub(crate) async fn create(
        self,
        write: &Write<'_>,
        by: &ActedBy,
        opening: Opening,
    ) -> Result<(Fleet, Option<Act>), ApplyError> {
        let NewEntries { fleet, stored } = self;
        let mut act = None;
        if fleet != Fleet::default() {
            let new_hashes = &NewHashes::new();
            let apply = Apply { write, new_hashes, by, opening, is_dry_run: false };
            act = Some(apply.change(&fleet, stored).await?.act);
        }
        Ok((fleet, act))
    }
}
