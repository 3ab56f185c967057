//! Products of a fleet.

use std::collections::HashMap;

use kiosque_model::Minor;
use kiosque_model::fleet::{Fleet, ProductEntry};

use super::chunks::{each_in_chunks, execute_in_chunks, keys};
use super::{ChangeCounts, EntryChange};
use crate::Error;
use crate::db::{Read, Write};
use crate::sql::{row, statements};

row! {
    #[derive(Clone, PartialEq)]
    pub(crate) struct ProductRow {
        pub(crate) goods_name: String,
        pub(crate) category: String,
        pub(crate) currency: String,
        pub(crate) default_price: Minor,
    }
    struct KeyedProduct { goods_id: String, product: ProductRow }
}

statements! {
    PRODUCTS_BY_ID() -> KeyedProduct = "select p.goods_id, p.goods_name, p.category, p.currency,
            p.default_price
        from {rows r: id text} cross join products p where p.goods_id = r.id";
    SET_PRODUCTS() = "insert into products
            (goods_id, goods_name, category, currency, default_price)
        select r.id, r.name, r.category, r.currency, r.price
        from {rows r: id text, name text, category text, currency text, price bigint} where true
        on conflict (goods_id) do update set goods_name = excluded.goods_name,
            category = excluded.category, currency = excluded.currency,
            default_price = excluded.default_price";
}

/// The products that a fleet refers to: the stored ones, and those that it creates.
pub(super) struct Products {
    by_id: HashMap<String, ProductRow>,
}

/// A product that an apply creates or changes.
pub(crate) struct ChangedProduct<'a> {
    pub(crate) id: &'a str,
    /// `None` for a new product.
    pub(crate) old: Option<ProductRow>,
    pub(crate) new: ProductRow,
}

impl ChangedProduct<'_> {
    /// Returns whether the name of the product is new.
    pub(super) fn is_renamed(&self) -> bool {
        self.old.as_ref().is_none_or(|old| old.goods_name != self.new.goods_name)
    }
}

impl Products {
    /// Reads every product that a fleet refers to.
    pub(super) async fn read(read: &Read<'_>, fleet: &Fleet) -> Result<Products, Error> {
        let entries = fleet.products.iter().map(|entry| entry.id.as_str());
        let aisles = fleet.devices.iter().flat_map(|entry| entry.aisles.iter().flatten());
        let ids = keys(entries.chain(aisles.map(|aisle| aisle.goods_id.as_str())));
        let mut by_id = HashMap::new();
        each_in_chunks(read, &PRODUCTS_BY_ID, &ids, |row| {
            let KeyedProduct { goods_id, product } = row.read()?;
            by_id.insert(goods_id, product);
            Ok(())
        })
        .await?;
        Ok(Products { by_id })
    }

    /// Returns whether a product is stored, or created by the fleet.
    pub(super) fn contains(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    /// Returns the products that entries create or change.
    pub(super) fn plan<'a>(
        &mut self,
        entries: &'a [ProductEntry],
        counts: &mut ChangeCounts,
        faults: &mut Vec<String>,
    ) -> Vec<ChangedProduct<'a>> {
        let mut changes = Vec::new();
        for entry in entries {
            let id = entry.id.as_str();
            let old = self.by_id.get(id);
            let new = match merged(entry, old) {
                Ok(new) => new,
                Err(missing) => {
                    faults.push(format!("product {id}: {missing}: required for a new product"));
                    continue;
                }
            };
            let change = EntryChange::between(old, &new);
            counts.count(change);
            if change != EntryChange::Unchanged {
                let old = self.by_id.insert(id.to_owned(), new.clone());
                changes.push(ChangedProduct { id, old, new });
            }
        }
        changes
    }
}

/// Returns the row with the fields of an entry, and the old ones that the entry leaves out; or the
/// name of the field that a new product lacks.
fn merged(entry: &ProductEntry, old: Option<&ProductRow>) -> Result<ProductRow, &'static str> {
    let name = entry.name.clone().or_else(|| Some(old?.goods_name.clone()));
    let currency = entry.currency.map(|currency| currency.code().to_owned());
    let category = entry.category.clone().or_else(|| Some(old?.category.clone()));
    let default_price = entry.default_price.or_else(|| Some(old?.default_price));
    Ok(ProductRow {
        goods_name: name.ok_or("name")?,
        category: category.unwrap_or_default(),
        currency: currency.or_else(|| Some(old?.currency.clone())).ok_or("currency")?,
        default_price: default_price.unwrap_or_default(),
    })
}

/// Writes the products that a plan changes.
pub(super) async fn write(write: &Write<'_>, changes: &[ChangedProduct<'_>]) -> Result<(), Error> {
    let rows = changes.iter().map(|ChangedProduct { id, new, .. }| {
        let ProductRow { goods_name, category, currency, default_price } = new;
        let (name, category) = (goods_name.as_str(), category.as_str());
        let currency = currency.as_str();
        [(*id).into(), name.into(), category.into(), currency.into(), (*default_price).into()]
    });
    execute_in_chunks(write, &SET_PRODUCTS, rows).await
}
