//! Applies a fleet: entries are created or changed, the rest of the data stays, and nothing is
//! applied if any entry has a fault.

mod accounts;
mod devices;

use std::collections::HashMap;
use std::fmt;

use kiosque_model::audit::AccountChange;
use kiosque_model::fleet::{Fleet, GroupEntry, ProductEntry};
use kiosque_model::{ActedBy, GroupId, GroupNo, Minor};

use crate::audit::LiveSession;
use crate::db::{Deadline, Read, Write};
use crate::sql::{Row, Sql, row, statements};
use crate::{Error, Store, audit, metadata};

row! {
    struct GroupRow { group_no: GroupNo, group_name: String, active: bool }
    #[derive(Clone, Default, PartialEq)]
    struct ProductRow {
        goods_name: String,
        category: String,
        currency: String,
        default_price: Minor,
    }
    struct ProductName { goods_id: String, goods_name: String }
    struct DeviceGroup { device_code: String, group_no: GroupNo }
}

statements! {
    GROUP_BY_ID(group_id) -> GroupRow = "select group_no, group_name, active from groups
        where group_id = $group_id";
    NEXT_GROUP() -> i64 = "select coalesce(max(group_no), 0) + 1 from groups";
    INSERT_GROUP(group_no, group_id, group_name, active) = "insert into groups
            (group_no, group_id, group_name, active)
        values ($group_no, $group_id, $group_name, $active)";
    UPDATE_GROUP(group_no, group_name, active) = "update groups
        set group_name = $group_name, active = $active where group_no = $group_no";
    PRODUCT(goods_id) -> ProductRow = "select goods_name, category, currency, default_price
        from products where goods_id = $goods_id";
    SET_PRODUCT(goods_id, goods_name, category, currency, default_price) = "insert into products
            (goods_id, goods_name, category, currency, default_price)
        values ($goods_id, $goods_name, $category, $currency, $default_price)
        on conflict (goods_id) do update set goods_name = excluded.goods_name,
            category = excluded.category, currency = excluded.currency,
            default_price = excluded.default_price";
    PRODUCT_NAMES() -> ProductName = "select goods_id, goods_name from products";
    DEVICE_CODES() -> String = "select device_code from devices";
    GROUPS_BY_DEVICE() -> DeviceGroup = "select device_code, group_no
        from device_owners order by since_ms";
}

/// Every statement of this module and of those below it.
pub(crate) fn all() -> impl Iterator<Item = &'static Sql> {
    [ALL, accounts::ALL, devices::ALL].into_iter().flatten().copied()
}

/// New password hashes by login name, for the accounts whose password changes.
pub type NewHashes = HashMap<String, String>;

/// The part of the fleet that incoming orders need, from one snapshot.
#[derive(Debug, Default)]
pub struct FleetSnapshot {
    version: Option<i64>,
    /// The name of every product, by `goodsId`.
    pub product_names: HashMap<String, String>,
    /// The present or next group of every device, by device code.
    pub groups_by_device: HashMap<String, GroupNo>,
}

/// The numbers of entries of one kind that were created, changed and left unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// Created.
    pub created: usize,
    /// Changed.
    pub changed: usize,
    /// Left unchanged.
    pub unchanged: usize,
}

impl fmt::Display for ChangeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} created, {} changed, {} unchanged",
            self.created, self.changed, self.unchanged
        )
    }
}

/// The effect of applying one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryChange {
    Created,
    Changed,
    Unchanged,
}

impl EntryChange {
    pub(crate) fn between<T: PartialEq>(old: &T, new: &T) -> EntryChange {
        if old == new { EntryChange::Unchanged } else { EntryChange::Changed }
    }
}

impl ChangeCounts {
    pub(crate) fn count(&mut self, change: EntryChange) {
        match change {
            EntryChange::Created => self.created += 1,
            EntryChange::Changed => self.changed += 1,
            EntryChange::Unchanged => self.unchanged += 1,
        }
    }
}

/// The result of applying a fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Groups.
    pub groups: ChangeCounts,
    /// Accounts.
    pub accounts: ChangeCounts,
    /// Products.
    pub products: ChangeCounts,
    /// Devices.
    pub devices: ChangeCounts,
    /// Sessions that ended because their account lost its access.
    pub sessions_ended: usize,
}

impl fmt::Display for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Applied { groups, accounts, products, devices, sessions_ended } = self;
        write!(f, "groups: {groups}; accounts: {accounts}; products: {products}; ")?;
        write!(f, "devices: {devices}; sessions ended: {sessions_ended}")
    }
}

/// The reason why a fleet was not applied, not even in part.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The faults, each naming its entry.
    #[error("{}", .0.join("\n"))]
    Faults(Vec<String>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Error),
}

/// An apply in progress. Faults are collected, so that all are reported at once.
pub(crate) struct FleetApplier<'a> {
    pub(crate) write: &'a Write<'a>,
    pub(crate) by: &'a ActedBy,
    /// Sessions to record in the audit trail, which is written last: writing locks it, and a login
    /// that waits for it may hold a session that a later entry needs.
    pub(crate) ended: Vec<EndedSession>,
    pub(crate) faults: Vec<String>,
}

/// A session that ended because its account lost its access.
pub(crate) struct EndedSession {
    pub(crate) account: String,
    pub(crate) reason: AccountChange,
    pub(crate) session: LiveSession,
}

impl Store {
    /// Applies a fleet, all or nothing, and records it in the audit trail. `new_hashes` has the
    /// hashes of new passwords.
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
            .write(Deadline::None, async move |write: &Write<'_>| {
                apply(write, &fleet, &new_hashes, &by).await
            })
            .await
    }

    /// Returns the name of every product by `goodsId`, for order lines without a name.
    ///
    /// # Errors
    /// The store failed.
    pub async fn product_names(&self) -> Result<HashMap<String, String>, Error> {
        self.db.read(Deadline::None, product_names).await
    }

    /// Returns the present or next group of every device, by device code.
    ///
    /// # Errors
    /// The store failed.
    pub async fn groups_by_device(&self) -> Result<HashMap<String, GroupNo>, Error> {
        self.db.read(Deadline::None, groups_by_device).await
    }

    /// Returns a snapshot of the fleet if the fleet has changed since `known`. Without a change it
    /// only reads a version counter.
    ///
    /// # Errors
    /// The store failed.
    pub async fn newer_fleet_snapshot(
        &self,
        known: &FleetSnapshot,
    ) -> Result<Option<FleetSnapshot>, Error> {
        if Some(metadata::fleet_version_now(&self.db).await?) == known.version {
            return Ok(None);
        }
        let read = async |read: &Read<'_>| {
            Ok(FleetSnapshot {
                version: Some(metadata::fleet_version(read).await?),
                product_names: product_names(read).await?,
                groups_by_device: groups_by_device(read).await?,
            })
        };
        self.db.read(Deadline::OfRequest, read).await.map(Some)
    }

    /// Returns the code of every device.
    ///
    /// # Errors
    /// The store failed.
    pub async fn device_codes(&self) -> Result<std::collections::HashSet<String>, Error> {
        let codes = async |read: &Read<'_>| read.all(&DEVICE_CODES, &[], |row| row.read()).await;
        Ok(self.db.read(Deadline::None, codes).await?.into_iter().collect())
    }
}

async fn product_names(read: &Read<'_>) -> Result<HashMap<String, String>, Error> {
    let name = |row: &Row<'_>| {
        let ProductName { goods_id, goods_name } = row.read()?;
        Ok((goods_id, goods_name))
    };
    Ok(read.all(&PRODUCT_NAMES, &[], name).await?.into_iter().collect())
}

async fn groups_by_device(read: &Read<'_>) -> Result<HashMap<String, GroupNo>, Error> {
    let group = |row: &Row<'_>| {
        let DeviceGroup { device_code, group_no } = row.read()?;
        Ok((device_code, group_no))
    };
    Ok(read.all(&GROUPS_BY_DEVICE, &[], group).await?.into_iter().collect())
}

async fn apply(
    write: &Write<'_>,
    fleet: &Fleet,
    new_hashes: &NewHashes,
    by: &ActedBy,
) -> Result<Applied, ApplyError> {
    // First, since it locks out other applies.
    metadata::fleet_changes(write).await?;
    let mut applier = FleetApplier { write, by, ended: Vec::new(), faults: Vec::new() };
    let mut applied = Applied::default();
    for entry in &fleet.groups {
        applied.groups.count(applier.group(entry).await?);
    }
    for entry in &fleet.products {
        applied.products.count(applier.product(entry).await?);
    }
    for entry in &fleet.accounts {
        let new_hash = new_hashes.get(entry.login_name.as_str()).map(String::as_str);
        applied.accounts.count(applier.account(entry, new_hash).await?);
    }
    applier.lock_moves(&fleet.devices).await?;
    for entry in &fleet.devices {
        applied.devices.count(applier.device(entry).await?);
    }
    if !applier.faults.is_empty() {
        return Err(ApplyError::Faults(applier.faults));
    }
    applied.sessions_ended = applier.ended.len();
    for EndedSession { account, reason, session } in applier.ended {
        audit::session_ended(write, (&account, reason), session, by).await?;
    }
    audit::fleet_applied(write, by, applied.to_string()).await?;
    Ok(applied)
}

impl FleetApplier<'_> {
    /// Records a fault. The entry counts as unchanged, and nothing will be applied.
    pub(crate) fn fault(&mut self, fault: String) -> EntryChange {
        self.faults.push(fault);
        EntryChange::Unchanged
    }

    pub(crate) async fn group_no(&self, group: &GroupId) -> Result<Option<GroupNo>, Error> {
        let group = self.stored_group(group).await?;
        Ok(group.map(|group| group.group_no))
    }

    /// Returns the next free number, read by `sql`.
    pub(crate) async fn next_no(&self, sql: &'static Sql) -> Result<i64, Error> {
        let next = self.write.one(sql, &[], |row| row.read()).await?;
        next.ok_or_else(|| Error::Data(format!("{} returned no row", sql.name)))
    }

    async fn stored_group(&self, group: &GroupId) -> Result<Option<GroupRow>, Error> {
        self.write.one(&GROUP_BY_ID, &[group.as_str().into()], |row| row.read()).await
    }

    async fn group(&mut self, entry: &GroupEntry) -> Result<EntryChange, Error> {
        let id = entry.id.as_str();
        let Some(old) = self.stored_group(&entry.id).await? else {
            let Some(name) = &entry.name else {
                return Ok(self.fault(format!("group {id}: name: required for a new group")));
            };
            let number = self.next_no(&NEXT_GROUP).await?;
            let active = entry.active.unwrap_or(true);
            let params = [number.into(), id.into(), name.as_str().into(), active.into()];
            self.write.execute(&INSERT_GROUP, &params).await?;
            return Ok(EntryChange::Created);
        };
        let name = entry.name.as_ref().unwrap_or(&old.group_name);
        let active = entry.active.unwrap_or(old.active);
        let params = [old.group_no.into(), name.as_str().into(), active.into()];
        self.write.execute(&UPDATE_GROUP, &params).await?;
        Ok(EntryChange::between(&(&old.group_name, old.active), &(name, active)))
    }

    async fn product(&mut self, entry: &ProductEntry) -> Result<EntryChange, Error> {
        let id = entry.id.as_str();
        let known: Option<ProductRow> =
            self.write.one(&PRODUCT, &[id.into()], |row| row.read()).await?;
        let old = known.clone().unwrap_or_default();
        let currency = entry.currency.map(|currency| currency.code().to_owned());
        if known.is_none() && (entry.name.is_none() || currency.is_none()) {
            let missing = if entry.name.is_none() { "name" } else { "currency" };
            return Ok(self.fault(format!("product {id}: {missing}: required for a new product")));
        }
        let new = ProductRow {
            goods_name: entry.name.clone().unwrap_or(old.goods_name),
            category: entry.category.clone().unwrap_or(old.category),
            currency: currency.unwrap_or(old.currency),
            default_price: entry.default_price.unwrap_or(old.default_price),
        };
        let params = [
            id.into(),
            new.goods_name.as_str().into(),
            new.category.as_str().into(),
            new.currency.as_str().into(),
            new.default_price.into(),
        ];
        self.write.execute(&SET_PRODUCT, &params).await?;
        Ok(match known {
            None => EntryChange::Created,
            Some(old) => EntryChange::between(&old, &new),
        })
    }
}
