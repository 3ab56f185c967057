//! The stored fleet as a fleet file: applied again, it changes nothing.

use kiosque_contract::FleetFile;
use kiosque_model::UnixMs;

use super::accounts::{Passwords, fleet_accounts};
use super::devices::fleet_devices;
use super::groups::fleet_groups;
use super::products::fleet_products;
use super::{Listed, Listing};
use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::views::Inventory;

/// The key of an entry, in the order of a fleet file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetKey {
    /// A group, by its `groupId`.
    Group(String),
    /// An account, by its login name.
    Account(String),
    /// A product, by its `goodsId`.
    Product(String),
    /// A device, by its code.
    Device(String),
}

/// A part of the fleet.
#[derive(Clone, Debug, Default)]
pub struct FleetPart {
    /// The entries.
    pub fleet: FleetFile,
    /// `after` of the next part; `None` in the last one. An empty key is before all entries of its
    /// kind.
    pub next: Option<FleetKey>,
}

impl Inventory<'_> {
    /// Returns a part of the fleet, all of it from one snapshot.
    ///
    /// # Errors
    /// The store failed.
    pub async fn fleet_file(
        self,
        listing: Listing<FleetKey>,
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
    listing: Listing<FleetKey>,
    passwords: Passwords,
    now: UnixMs,
) -> Result<FleetPart, Error> {
    let mut key = listing.after.unwrap_or(FleetKey::Group(String::new()));
    let (mut fleet, mut left) = (FleetFile::default(), listing.limit);
    loop {
        let after = Some(key.text().to_owned());
        let of_kind = Listing { after, limit: left };
        let next = match &key {
            FleetKey::Group(_) => {
                taken(fleet_groups(read, &of_kind).await?, &mut fleet.group, &mut left)
            }
            FleetKey::Account(_) => {
                let part = fleet_accounts(read, &of_kind, passwords).await?;
                taken(part, &mut fleet.account, &mut left)
            }
            FleetKey::Product(_) => {
                taken(fleet_products(read, &of_kind).await?, &mut fleet.product, &mut left)
            }
            FleetKey::Device(_) => {
                taken(fleet_devices(read, &of_kind, now).await?, &mut fleet.device, &mut left)
            }
        };
        if let Some(text) = next {
            return Ok(FleetPart { fleet, next: Some(key.with(text)) });
        }
        match key.next_kind() {
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

impl FleetKey {
    /// Returns the key as a text.
    #[must_use]
    pub fn text(&self) -> &str {
        let (FleetKey::Group(text)
        | FleetKey::Account(text)
        | FleetKey::Product(text)
        | FleetKey::Device(text)) = self;
        text
    }

    /// Returns a key of the same kind.
    #[must_use]
    pub fn with(&self, text: String) -> FleetKey {
        match self {
            FleetKey::Group(_) => FleetKey::Group(text),
            FleetKey::Account(_) => FleetKey::Account(text),
            FleetKey::Product(_) => FleetKey::Product(text),
            FleetKey::Device(_) => FleetKey::Device(text),
        }
    }

    /// Returns the key before all entries of the next kind; `None` after devices.
    fn next_kind(&self) -> Option<FleetKey> {
        match self {
            FleetKey::Group(_) => Some(FleetKey::Account(String::new())),
            FleetKey::Account(_) => Some(FleetKey::Product(String::new())),
            FleetKey::Product(_) => Some(FleetKey::Device(String::new())),
            FleetKey::Device(_) => None,
        }
    }
}
