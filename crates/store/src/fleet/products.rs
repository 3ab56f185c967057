//! Products of a fleet.

use std::collections::HashMap;

use kiosque_contract::ChangeCounts;
use kiosque_contract::inventory::ProductItem;
use kiosque_model::fleet::{EntryKind, Fleet, ProductEntry};

use super::{FleetError, count_entry};
use crate::change_counts::Changed;
use crate::db::{Deadline, Read, Write};
use crate::error::Error;
use crate::sql::{Value, distinct, row, statements};
use crate::views::FleetView;

row! {
    for ProductItem { goods_id, goods_name, category, currency, default_price }
}

statements! {
    PRODUCTS_BY_ID() -> ProductItem = "select p.goods_id, p.goods_name, p.category, p.currency,
            p.default_price
        from {rows r: id text} cross join products p where p.goods_id = r.id";
    SET_PRODUCTS() = "insert into products
            (goods_id, goods_name, category, currency, default_price)
        select r.id, r.name, r.category, r.currency, r.price
        from {rows r: id text, name text, category text, currency text, price bigint} where true
        on conflict (goods_id) do update set goods_name = excluded.goods_name,
            category = excluded.category, currency = excluded.currency,
            default_price = excluded.default_price";
    UNPRICED_PRODUCTS() -> String = "select goods_id from products
        where default_price is null";
}

/// The products that a fleet refers to: the stored ones, and those that it creates.
pub(super) struct Products {
    by_id: HashMap<String, ProductItem>,
}

impl FleetView<'_> {
    /// Returns the ids of the products without a default price.
    ///
    /// # Errors
    /// The store failed.
    pub async fn unpriced_products(self) -> Result<Vec<String>, Error> {
        let unpriced = async |read: &Read<'_>| read.all(&UNPRICED_PRODUCTS, &[]).await;
        self.0.db.read(Deadline::None, unpriced).await
    }
}

impl Changed<ProductItem> {
    /// Returns whether the name of the product is new.
    pub(super) fn is_renamed(&self) -> bool {
        self.old.as_ref().is_none_or(|old| old.goods_name != self.new.goods_name)
    }

    /// Returns whether the name or the currency of a stored product changes.
    pub(super) fn is_relabeled(&self) -> bool {
        self.old.as_ref().is_some_and(|old| {
            old.goods_name != self.new.goods_name || old.currency != self.new.currency
        })
    }
}

/// Returns the products with these ids, by id.
pub(crate) async fn products_by_id(
    read: &Read<'_>,
    ids: &[[Value<'_>; 1]],
) -> Result<HashMap<String, ProductItem>, Error> {
    let products: Vec<ProductItem> = read.all_of(&PRODUCTS_BY_ID, ids, &[]).await?;
    Ok(products.into_iter().map(|product| (product.goods_id.clone(), product)).collect())
}

impl Products {
    /// Reads every product that a fleet refers to.
    pub(super) async fn read(read: &Read<'_>, fleet: &Fleet) -> Result<Products, Error> {
        let entries = fleet.products.iter().map(|entry| entry.id.as_str());
        let aisles = fleet.devices.iter().flat_map(|entry| entry.aisles.iter().flatten());
        let ids = distinct(entries.chain(aisles.map(|aisle| aisle.goods_id.as_str())));
        Ok(Products { by_id: products_by_id(read, &ids).await? })
    }

    /// Returns an entry for a product that is not stored; for one without a price, an entry that
    /// only sets its price, if it has one in its currency.
    pub(super) fn completing(&self, entry: ProductEntry) -> Option<ProductEntry> {
        let Some(stored) = self.by_id.get(&entry.id) else { return Some(entry) };
        let is_same = entry.currency.is_some_and(|currency| currency.code() == stored.currency);
        let is_priced = entry.default_price.is_some();
        (stored.default_price.is_none() && is_priced && is_same).then_some(ProductEntry {
            name: None,
            category: None,
            ..entry
        })
    }

    /// Returns whether a product is stored, or created by the fleet.
    pub(super) fn contains(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    /// Returns the products that entries create or change.
    pub(super) fn plan(
        &mut self,
        entries: &[ProductEntry],
        counts: &mut ChangeCounts,
        errors: &mut Vec<FleetError>,
    ) -> Vec<Changed<ProductItem>> {
        let mut changes = Vec::new();
        for entry in entries {
            let id = entry.id.as_str();
            let old = self.by_id.get(id);
            let new = merged(entry, old, errors);
            // An invalid product is known to entries that refer to it.
            if count_entry(counts, old, &new) {
                let old = self.by_id.insert(id.to_owned(), new.clone());
                changes.push(Changed { old, new });
            }
        }
        changes
    }
}

/// Returns the row with the fields of an entry, and the old values of fields that it leaves out.
/// Adds an error for each field that a new product lacks.
fn merged(
    entry: &ProductEntry,
    old: Option<&ProductItem>,
    errors: &mut Vec<FleetError>,
) -> ProductItem {
    let name = entry.name.clone().or_else(|| Some(old?.goods_name.clone()));
    let currency = entry.currency.map(|currency| currency.code().to_owned());
    let currency = currency.or_else(|| Some(old?.currency.clone()));
    let category = entry.category.clone().or_else(|| Some(old?.category.clone()));
    if name.is_none() {
        errors.push(FleetError::required(EntryKind::Product, &entry.id, &["name"]));
    }
    if currency.is_none() {
        errors.push(FleetError::required(EntryKind::Product, &entry.id, &["currency"]));
    }
    ProductItem {
        goods_id: entry.id.clone(),
        goods_name: name.unwrap_or_default(),
        category: category.unwrap_or_default(),
        currency: currency.unwrap_or_default(),
        default_price: entry.default_price.map(|price| price.0).or_else(|| old?.default_price),
    }
}

/// Writes the products that a plan changes.
pub(super) async fn write(
    write: &Write<'_>,
    changes: &[Changed<ProductItem>],
) -> Result<(), Error> {
    let rows = changes.iter().map(|Changed { new, .. }| {
        let ProductItem { goods_id, goods_name, category, currency, default_price } = new;
        [
            goods_id.as_str().into(),
            goods_name.as_str().into(),
            category.as_str().into(),
            currency.as_str().into(),
            (*default_price).into(),
        ]
    });
    write.execute_each(&SET_PRODUCTS, rows, &[]).await
}
