//! The names of goods.

use std::collections::HashMap;

use kiosque_model::{GroupNo, UnixMs};

use super::super::figures::products::SalesOfProduct;
use crate::db::Read;
use crate::error::Error;
use crate::fleet::products_by_id;
use crate::sql::{Value, distinct, statements};

statements! {
    /// The names of goods that are no products, as of their latest sale in a group.
    OTHER_GOODS() -> (String, (UnixMs, String)) = "select n.goods_id, n.sale_at_ms,
            n.goods_name
        from {rows r: group_no bigint, goods text} cross join goods_names n
        where n.group_no = r.group_no and n.goods_id = r.goods";
}

/// Returns the names of goods that these groups sold.
pub(super) async fn of_goods(
    read: &Read<'_>,
    groups: &[GroupNo],
    goods: &[(String, SalesOfProduct)],
) -> Result<HashMap<String, String>, Error> {
    let ids = distinct(goods.iter().map(|(id, _)| id.as_str()));
    let products = products_by_id(read, &ids).await?.into_iter();
    let mut names: HashMap<String, String> =
        products.map(|(id, product)| (id, product.goods_name)).collect();
    let others = goods.iter().filter(|(id, _)| !names.contains_key(id));
    let others: Vec<[Value<'_>; 2]> = others
        .flat_map(|(id, _)| groups.iter().map(move |group| [(*group).into(), id.as_str().into()]))
        .collect();
    let mut others: Vec<(String, (UnixMs, String))> =
        read.all_of(&OTHER_GOODS, &others, &[]).await?;
    // The latest name of each comes last, and replaces the others.
    others.sort_unstable();
    names.extend(others.into_iter().map(|(id, (_, name))| (id, name)));
    Ok(names)
}
