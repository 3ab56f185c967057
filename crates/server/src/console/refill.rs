//! `/console/refill`

use kiosque_console::refill::{self, Refill};
use kiosque_console::sort::{PARAMETER, Sort};
use kiosque_contract::inventory::RefillItem;
use kiosque_store::Oversight;

use super::choices::{Format, choice, chosen, format, sort};
use super::reply::Reply;
use super::request::SignedIn;
use crate::failure::Failure;

/// The aisles of a page.
const PAGE: usize = 200;
/// The aisles of a file.
const FILE: usize = 20_000;

/// Shows the aisles of the group that the query chooses, or of all groups.
pub(super) async fn show(caller: &SignedIn<'_>, _: Oversight<'_>) -> Result<Reply, Failure> {
    let (store, now) = (&caller.call.app.store, caller.call.now);
    let query = caller.call.known_fields(&["group", "product", PARAMETER, "format"])?;
    let groups = choice(store, &query).await?;
    let format = format(&query)?;
    let sort = sort::<RefillItem>(&query)?;
    let limit = if format == Format::Csv { FILE } else { PAGE };
    let product = query.text("product");
    let group = chosen(store, &groups).await?;
    let mut items = store.inventory().refill(group, product.clone(), limit + 1, now).await?;
    let is_cut = items.len() > limit;
    items.truncate(limit);
    let sort = if is_cut { Sort::Fixed } else { sort };
    let view = Refill { groups, product, items, is_cut, sort };
    Ok(caller.reply(format, &view, refill::page, "refill.csv", refill::csv))
}
