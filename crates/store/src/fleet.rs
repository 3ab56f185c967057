//! Applying a fleet: what is named is created or changed, what is not named stays, and a fault
//! anywhere means that nothing is applied.

mod accounts;
mod devices;

use std::collections::HashMap;
use std::fmt;

use kiosque_model::audit::TakenAway;
use kiosque_model::fleet::{Fleet, GroupEntry, ProductEntry};
use kiosque_model::{ActedBy, GroupId, GroupNo};

use crate::audit::Live;
use crate::db::{Length, Read, Write};
use crate::sql::{Row, Sql, statements};
use crate::{Error, Store, audit, metadata};

statements! {
    GROUP = "select group_no, group_name, active from groups where group_id = $1";
    NEXT_GROUP = "select coalesce(max(group_no), 0) + 1 from groups";
    ADD_GROUP = "insert into groups (group_no, group_id, group_name, active)
        values ($1, $2, $3, $4)";
    CHANGE_GROUP = "update groups set group_name = $2, active = $3 where group_no = $1";
    PRODUCT = "select goods_name, category, currency, default_price from products
        where goods_id = $1";
    SET_PRODUCT = "insert into products (goods_id, goods_name, category, currency, default_price)
        values ($1, $2, $3, $4, $5)
        on conflict (goods_id) do update set goods_name = excluded.goods_name,
            category = excluded.category, currency = excluded.currency,
            default_price = excluded.default_price";
    PRODUCT_NAMES = "select goods_id, goods_name from products";
    DEVICE_CODES = "select device_code from devices";
    GROUPS_BY_DEVICE = "select device_code, group_no from device_owners order by since_ms";
}

/// Every statement of this module and of those below it.
pub(crate) fn all() -> impl Iterator<Item = &'static Sql> {
    [ALL, accounts::ALL, devices::ALL].into_iter().flatten().copied()
}

/// The new password hashes of accounts, by login name: only of those whose password changes.
pub type NewHashes = HashMap<String, String>;

/// What orders that come in need to know of the fleet, as it was at one moment.
#[derive(Debug, Default)]
pub struct FleetSeen {
    version: Option<i64>,
    /// The name of every product, by `goodsId`.
    pub product_names: HashMap<String, String>,
    /// The group that every device belongs to, or last will, by code.
    pub groups_by_device: HashMap<String, GroupNo>,
}

/// How many entries of one kind an apply made, changed, and found as they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// ReportContext.
    pub created: usize,
    /// Changed.
    pub changed: usize,
    /// As they were.
    pub unchanged: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} created, {} changed, {} unchanged",
            self.created, self.changed, self.unchanged
        )
    }
}

/// What became of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportContext {
    Created,
    Changed,
    Unchanged,
}

impl ReportContext {
    pub(crate) fn changed_if_different<T: PartialEq>(was: &T, becomes: &T) -> ReportContext {
        if was == becomes { ReportContext::Unchanged } else { ReportContext::Changed }
    }
}

impl Tally {
    pub(crate) fn count(&mut self, made: ReportContext) {
        match made {
            ReportContext::Created => self.created += 1,
            ReportContext::Changed => self.changed += 1,
            ReportContext::Unchanged => self.unchanged += 1,
        }
    }
}

/// What an apply did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Groups.
    pub groups: Tally,
    /// Accounts.
    pub accounts: Tally,
    /// Products.
    pub products: Tally,
    /// Devices.
    pub devices: Tally,
    /// Sessions that ended because of what was taken away.
    pub sessions_ended: usize,
}

impl fmt::Display for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Applied { groups, accounts, products, devices, sessions_ended } = self;
        write!(f, "groups: {groups}; accounts: {accounts}; products: {products}; ")?;
        write!(f, "devices: {devices}; sessions ended: {sessions_ended}")
    }
}

/// Why a fleet was not applied; nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The faults, each naming its entry.
    #[error("{}", .0.join("\n"))]
    Faults(Vec<String>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Error),
}

/// An apply under way: faults are collected, so that all are told at once.
pub(crate) struct Applying<'a> {
    pub(crate) write: &'a Write<'a>,
    pub(crate) by: &'a ActedBy,
    /// For the trail, which comes last: while it is written nobody else writes to it, and a login
    /// that does may be the next that this would wait for.
    pub(crate) ended: Vec<Ended>,
    pub(crate) faults: Vec<String>,
}

/// A session that ended because of what was taken away.
pub(crate) struct Ended {
    pub(crate) account: String,
    pub(crate) why: TakenAway,
    pub(crate) live: Live,
}

impl Store {
    /// Applies a fleet, all or nothing, and tells the trail. `new_hashes` has the hashes of the
    /// passwords that are new.
    ///
    /// # Errors
    /// Every fault of the fleet, or the store failed.
    pub async fn apply(
        &self,
        fleet: Fleet,
        new_hashes: NewHashes,
        by: ActedBy,
    ) -> Result<Applied, ApplyError> {
        self.db
            .write(Length::Long, async move |write: &Write<'_>| {
                apply(write, &fleet, &new_hashes, &by).await
            })
            .await
    }

    /// The name of every product, for the lines of orders that come without one.
    ///
    /// # Errors
    /// The store failed.
    pub async fn product_names(&self) -> Result<HashMap<String, String>, Error> {
        self.db.read(Length::Long, product_names).await
    }

    /// The group that every device belongs to, or last will, by code.
    ///
    /// # Errors
    /// The store failed.
    pub async fn groups_by_device(&self) -> Result<HashMap<String, GroupNo>, Error> {
        self.db.read(Length::Long, groups_by_device).await
    }

    /// What orders need to know of the fleet, unless that is what is known already. Takes long
    /// after a change, and nearly no time before.
    ///
    /// # Errors
    /// The store failed.
    pub async fn fleet_seen(&self, known: &FleetSeen) -> Result<Option<FleetSeen>, Error> {
        if Some(metadata::fleet_version_now(&self.db).await?) == known.version {
            return Ok(None);
        }
        let see = async |read: &Read<'_>| {
            Ok(FleetSeen {
                version: Some(metadata::fleet_version(read).await?),
                product_names: product_names(read).await?,
                groups_by_device: groups_by_device(read).await?,
            })
        };
        self.db.read(Length::Short, see).await.map(Some)
    }

    /// The code of every device.
    ///
    /// # Errors
    /// The store failed.
    pub async fn device_codes(&self) -> Result<std::collections::HashSet<String>, Error> {
        let codes = async |read: &Read<'_>| {
            read.all(&DEVICE_CODES, &[], |row| Ok(row.text(0)?.to_owned())).await
        };
        Ok(self.db.read(Length::Long, codes).await?.into_iter().collect())
    }
}

async fn product_names(read: &Read<'_>) -> Result<HashMap<String, String>, Error> {
    let name = |row: &Row<'_>| Ok((row.text(0)?.to_owned(), row.text(1)?.to_owned()));
    Ok(read.all(&PRODUCT_NAMES, &[], name).await?.into_iter().collect())
}

async fn groups_by_device(read: &Read<'_>) -> Result<HashMap<String, GroupNo>, Error> {
    let group = |row: &Row<'_>| Ok((row.text(0)?.to_owned(), GroupNo(row.int(1)?)));
    Ok(read.all(&GROUPS_BY_DEVICE, &[], group).await?.into_iter().collect())
}

async fn apply(
    write: &Write<'_>,
    fleet: &Fleet,
    new_hashes: &NewHashes,
    by: &ActedBy,
) -> Result<Applied, ApplyError> {
    // First, so that no other apply comes between what is read here and what is written.
    metadata::fleet_changes(write).await?;
    let mut applying = Applying { write, by, ended: Vec::new(), faults: Vec::new() };
    let mut applied = Applied::default();
    for entry in &fleet.groups {
        applied.groups.count(applying.group(entry).await?);
    }
    for entry in &fleet.products {
        applied.products.count(applying.product(entry).await?);
    }
    for entry in &fleet.accounts {
        let new_hash = new_hashes.get(entry.login_name.as_str()).map(String::as_str);
        applied.accounts.count(applying.account(entry, new_hash).await?);
    }
    applying.lock_moves(&fleet.devices).await?;
    for entry in &fleet.devices {
        applied.devices.count(applying.device(entry).await?);
    }
    if !applying.faults.is_empty() {
        return Err(ApplyError::Faults(applying.faults));
    }
    applied.sessions_ended = applying.ended.len();
    for Ended { account, why, live } in applying.ended {
        audit::session_ended(write, (&account, why), live, by).await?;
    }
    audit::fleet_applied(write, by, applied.to_string()).await?;
    Ok(applied)
}

impl Applying<'_> {
    /// Notes a fault; the entry counts as unchanged, and nothing will be applied.
    pub(crate) fn fault(&mut self, fault: String) -> ReportContext {
        self.faults.push(fault);
        ReportContext::Unchanged
    }

    pub(crate) async fn group_no(&self, group: &GroupId) -> Result<Option<GroupNo>, Error> {
        self.write.one(&GROUP, &[group.as_str().into()], |row| Ok(GroupNo(row.int(0)?))).await
    }

    pub(crate) async fn next(&self, sql: &'static Sql) -> Result<i64, Error> {
        let next = self.write.one(sql, &[], |row| row.int(0)).await?;
        next.ok_or_else(|| Error::Data(format!("{} gave no number", sql.name)))
    }

    async fn group(&mut self, entry: &GroupEntry) -> Result<ReportContext, Error> {
        let id = entry.id.as_str();
        let known = self
            .write
            .one(&GROUP, &[id.into()], |row| {
                Ok((row.int(0)?, row.text(1)?.to_owned(), row.flag(2)?))
            })
            .await?;
        let Some((number, name, active)) = known else {
            let Some(name) = &entry.name else {
                return Ok(self.fault(format!("group {id}: name: needed for a new group")));
            };
            let number = self.next(&NEXT_GROUP).await?;
            let active = entry.active.unwrap_or(true);
            let params = [number.into(), id.into(), name.as_str().into(), active.into()];
            self.write.execute(&ADD_GROUP, &params).await?;
            return Ok(ReportContext::Created);
        };
        let becomes =
            (entry.name.clone().unwrap_or_else(|| name.clone()), entry.active.unwrap_or(active));
        let params = [number.into(), becomes.0.as_str().into(), becomes.1.into()];
        self.write.execute(&CHANGE_GROUP, &params).await?;
        Ok(ReportContext::changed_if_different(&(name, active), &becomes))
    }

    async fn product(&mut self, entry: &ProductEntry) -> Result<ReportContext, Error> {
        let id = entry.id.as_str();
        let known = self
            .write
            .one(&PRODUCT, &[id.into()], |row| {
                let (name, category) = (row.text(0)?.to_owned(), row.text(1)?.to_owned());
                Ok((name, category, row.text(2)?.to_owned(), row.int(3)?))
            })
            .await?;
        let was = known.clone().unwrap_or_default();
        let currency = entry.currency.map(|currency| currency.code().to_owned());
        if known.is_none() && (entry.name.is_none() || currency.is_none()) {
            let missing = if entry.name.is_none() { "name" } else { "currency" };
            return Ok(self.fault(format!("product {id}: {missing}: needed for a new product")));
        }
        let becomes = (
            entry.name.clone().unwrap_or_else(|| was.0.clone()),
            entry.category.clone().unwrap_or_else(|| was.1.clone()),
            currency.unwrap_or_else(|| was.2.clone()),
            entry.default_price.map_or(was.3, |price| price.0),
        );
        let params = [
            id.into(),
            becomes.0.as_str().into(),
            becomes.1.as_str().into(),
            becomes.2.as_str().into(),
            becomes.3.into(),
        ];
        self.write.execute(&SET_PRODUCT, &params).await?;
        Ok(match known {
            None => ReportContext::Created,
            Some(was) => ReportContext::changed_if_different(&was, &becomes),
        })
    }
}
