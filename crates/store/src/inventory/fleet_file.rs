//! The stored fleet as a fleet file: applied again, it changes nothing.

use kiosque_contract::{FleetFile, FleetGroup, FleetProduct, Object};
use kiosque_model::UnixMs;
use kiosque_model::fleet::{EntryId, EntryKind};

use super::accounts::{Passwords, fleet_accounts};
use super::devices::fleet_devices;
use super::{Listed, Listing};
use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::sql::{row, statements};
use crate::views::Inventory;

row! {
    for FleetGroup { id, name, active }
    for FleetProduct { id, name, category, currency, default_price }
}

statements! {
    GROUPS(after, count) -> FleetGroup = "select group_id as id, group_name as name, active
        from groups where group_id > $after order by group_id limit $count";
    PRODUCTS(after, count) -> FleetProduct = "select goods_id as id, goods_name as name, category,
            currency, default_price
        from products where goods_id > $after order by goods_id limit $count";
}

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
    let mut fleet = FleetFile::default();
    let mut left = listing.limit;
    loop {
        let of_kind = Listing { after: Some(key.id), limit: left };
        let (next, following) = match key.kind {
            EntryKind::Group => {
                let part = of_kind.read(read, &GROUPS, &[], |one: &FleetGroup| &one.id).await?;
                (taken(part, &mut fleet.group, &mut left), Some(EntryKind::Account))
            }
            EntryKind::Account => {
                let part = fleet_accounts(read, &of_kind, passwords).await?;
                (taken(part, &mut fleet.account, &mut left), Some(EntryKind::Product))
            }
            EntryKind::Product => {
                let part = of_kind.read(read, &PRODUCTS, &[], |one: &FleetProduct| &one.id).await?;
                (taken(part, &mut fleet.product, &mut left), Some(EntryKind::Device))
            }
            EntryKind::Device => {
                let part = fleet_devices(read, &of_kind, now).await?;
                (taken(part, &mut fleet.device, &mut left), None)
            }
        };
        if let Some(id) = next {
            return Ok(FleetPart { fleet, next: Some(EntryId::new(key.kind, id)) });
        }
        match following.map(|kind| EntryId::new(kind, "")) {
            Some(following) if left > 0 => key = following,
            next => return Ok(FleetPart { fleet, next }),
        }
    }
}

/// Moves the entries of a part to a list of the file. Returns the key of the last one if there are
/// more.
fn taken<T>(part: Listed<T>, list: &mut Vec<Object<T>>, left: &mut usize) -> Option<String> {
    *left = left.saturating_sub(part.entries.len());
    list.extend(part.entries.into_iter().map(Object));
    part.next
}
