//! The list of products.

use std::collections::HashMap;

use kiosque_contract::inventory::ProductItem;

use super::{Listed, Listing};
use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::fleet::products_by_id;
use crate::sql::{distinct, statements};
use crate::views::Inventory;

statements! {
    PRODUCTS(after, count) -> ProductItem = "select p.goods_id, p.goods_name, p.category,
            p.currency, p.default_price
        from products p where p.goods_id > $after order by p.goods_id limit $count";
}

impl Inventory<'_> {
    /// Returns a part of the list of products, by `goodsId`.
    ///
    /// # Errors
    /// The store failed.
    pub async fn products(self, listing: Listing) -> Result<Listed<ProductItem>, Error> {
        let list = async move |read: &Read<'_>| {
            listing.read(read, &PRODUCTS, &[], |row: &ProductItem| &row.goods_id).await
        };
        self.0.db.read(Deadline::OfRequest, list).await
    }

    /// Returns the products with these ids. Unknown ids are left out.
    ///
    /// # Errors
    /// The store failed.
    pub async fn products_by_id(
        self,
        ids: Vec<String>,
    ) -> Result<HashMap<String, ProductItem>, Error> {
        let find = async move |read: &Read<'_>| {
            products_by_id(read, &distinct(ids.iter().map(String::as_str))).await
        };
        self.0.db.read(Deadline::OfRequest, find).await
    }
}
