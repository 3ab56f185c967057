//! The stored fleet as a fleet file: applied again, it changes nothing.

use kiosque_contract::FleetFile;
use kiosque_model::UnixMs;
use kiosque_model::fleet::{EntryId, EntryKind};

use super::accounts::{Passwords, fleet_accounts};
use super::devices::fleet_devices;
use super::groups::fleet_groups;
use super::products::fleet_products;
use super::{Listed, Listing};
use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::views::Inventory;

/// A part of the fleet.
#[derive(Clone, Debug, Default)]
pub struct FleetPart {
    /// The entries.
    pub fleet: FleetFile,
    /// `after` of the next part; `None` in the last one. An empty id is before all entries of its
    /// kind.
    pub next: Option<EntryId>,
}

impl Inventory<'_> {
    /// Returns a part of the fleet, all of it from one snapshot.
    ///
    /// # Errors
    /// The store failed.
    pub async fn fleet_file(
        self,
        listing: Listing<EntryId>,
        passwords: Passwords,
        now: UnixMs,
    ) -> Result<FleetPart, Error> {
        let deadline = match listing.limit {
            usize::MAX => Deadline::None,
            _ => Deadline::OfRequest,
        };
        let read = async move |read: &Read<'_>| part(read, listing, passwords, now).await;
        self.0.db.read(deadline, read).await
    }
}

async fn part(
    read: &Read<'_>,
    listing: Listing<EntryId>,
    passwords: Passwords,
    now: UnixMs,
) -> Result<FleetPart, Error> {
    let mut key = listing.after.unwrap_or(EntryId::new(EntryKind::Group, ""));
    let (mut fleet, mut left) = (FleetFile::default(), listing.limit);
    loop {
        let of_kind = Listing { after: Some(key.id), limit: left };
        let next = match key.kind {
            EntryKind::Group => {
                taken(fleet_groups(read, &of_kind).await?, &mut fleet.group, &mut left)
            }
            EntryKind::Account => {
                let part = fleet_accounts(read, &of_kind, passwords).await?;
                taken(part, &mut fleet.account, &mut left)
            }
            EntryKind::Product => {
                taken(fleet_products(read, &of_kind).await?, &mut fleet.product, &mut left)
            }
            EntryKind::Device => {
                taken(fleet_devices(read, &of_kind, now).await?, &mut fleet.device, &mut left)
            }
        };
        if let Some(id) = next {
            return Ok(FleetPart { fleet, next: Some(EntryId::new(key.kind, id)) });
        }
        match next_kind(key.kind).map(|kind| EntryId::new(kind, "")) {
            Some(following) if left > 0 => key = following,
            next => return Ok(FleetPart { fleet, next }),
        }
    }
}

/// Moves the entries of a part to a list of the file. Returns the key of the last one if there are
/// more.
fn taken<T>(part: Listed<T>, list: &mut Vec<T>, left: &mut usize) -> Option<String> {
    *left = left.saturating_sub(part.entries.len());
    list.extend(part.entries);
    part.next
}

/// Returns the kind that follows another one in a fleet file; `None` after devices.
fn next_kind(kind: EntryKind) -> Option<EntryKind> {
    match kind {
        EntryKind::Group => Some(EntryKind::Account),
        EntryKind::Account => Some(EntryKind::Product),
        EntryKind::Product => Some(EntryKind::Device),
        EntryKind::Device => None,
    }
}
