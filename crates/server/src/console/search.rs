//! The search of every page.

use kiosque_console::search::{self, Hit, Search};
use kiosque_contract::inventory::DeviceItem;
use kiosque_model::{DeviceCode, LoginName};
use kiosque_store::{DeviceSearch, FoundDevices, Listing, NumberedOrders, Oversight};

use super::choices::choice;
use super::fields::Fields;
use super::reply::Reply;
use super::request::SignedIn;
use crate::failure::Failure;

/// The hits of each kind.
const HITS: usize = 20;
/// Maximum devices that a search reads.
const DEVICES_READ_MAX: usize = 10_000;

/// Redirects to the only match of the query's text, or shows all matches.
pub(super) async fn show(caller: &SignedIn<'_>, _: Oversight<'_>) -> Result<Reply, Failure> {
    let store = &caller.call.app.store;
    let text = caller.call.known_fields(&["q"])?.trimmed("q").unwrap_or_default();
    let mut found = Found::default();
    if !text.is_empty() {
        add_devices(caller, &text, &mut found).await?;
        add_others(caller, &text, &mut found).await?;
    }
    let Found { mut exact, others, has_more, has_more_orders, accounts_after } = found;
    let only = match (exact.as_slice(), others.as_slice()) {
        ([hit], _) => Some(hit),
        ([], [hit]) if !has_more => Some(hit),
        _ => None,
    };
    if let Some(hit) = only {
        return Ok(Reply::see_other(&hit.path()));
    }
    exact.extend(others);
    let groups = choice(store, &Fields::default()).await?;
    let view = Search { text, groups, hits: exact, has_more, has_more_orders, accounts_after };
    Ok(Reply::page(search::page(&caller.frame(), &view)))
}

#[derive(Default)]
struct Found {
    /// Matches of the whole name.
    exact: Vec<Hit>,
    /// Matches of a part of the name.
    others: Vec<Hit>,
    /// Whether more devices match a part of the name.
    has_more: bool,
    /// Whether more orders have the text as a number.
    has_more_orders: bool,
    /// The account after which more accounts begin with the text.
    accounts_after: Option<String>,
}

async fn add_devices(caller: &SignedIn<'_>, text: &str, found: &mut Found) -> Result<(), Failure> {
    let (app, now) = (caller.call.app, caller.call.now);
    let today = app.store.zone().day_of(now);
    let wanted = DeviceSearch {
        group: None,
        text: text.to_owned(),
        state: None,
        only: None,
        online: app.online_since(now),
        first_day: today,
        last_day: today,
        read_max: DEVICES_READ_MAX,
    };
    // The search for a part of a name may end before the device with this code.
    if let Ok(code) = DeviceCode::parse(text) {
        let detail = app.store.inventory().device_detail(code, now).await?;
        found.exact.extend(detail.map(|detail| hit(detail.device)));
    }
    let listing = Listing { after: None, limit: HITS };
    let FoundDevices { devices, next, .. } =
        app.store.inventory().search_devices(wanted, listing, now).await?;
    found.has_more = next.is_some();
    let others = devices.into_iter().map(|device| device.item);
    for device in others.filter(|device| device.device_code != text) {
        let is_exact = device.device_code.eq_ignore_ascii_case(text) || device.device_name == text;
        if is_exact { &mut found.exact } else { &mut found.others }.push(hit(device));
    }
    Ok(())
}

fn hit(device: DeviceItem) -> Hit {
    let DeviceItem { device_code: code, device_name: name, group_id, .. } = device;
    Hit::Device { code, name, group_id }
}

async fn add_others(caller: &SignedIn<'_>, text: &str, found: &mut Found) -> Result<(), Failure> {
    let (store, now) = (&caller.call.app.store, caller.call.now);
    let number = text.to_owned();
    let by = NumberedOrders { number, limit: HITS, ..NumberedOrders::default() };
    let numbered = store.inventory().orders_by_number(by).await?.unwrap_or_default();
    found.has_more_orders = numbered.is_cut;
    let orders = numbered.orders.into_iter();
    found.exact.extend(
        orders.map(|order| Hit::Order { id: order.record.head.order_id, group_id: order.group_id }),
    );
    let request = store.trail().refused_request(text.to_owned(), now).await?;
    found.exact.extend(request.map(|request| Hit::Request(request.request_id)));
    if LoginName::parse(text).is_err() {
        return Ok(());
    }
    let uses = store.trail().uses_of(vec![text.to_owned()]).await?;
    found.exact.extend(uses.into_keys().map(Hit::Account));
    // One more, to see whether there are further ones.
    let listing = Listing { after: Some(text.to_owned()), limit: HITS + 1 };
    let longer = store.inventory().accounts(listing, now).await?.entries.into_iter();
    let longer = longer.map(|account| account.account).filter(|name| name.starts_with(text));
    let mut longer: Vec<String> = longer.collect();
    if longer.len() > HITS {
        longer.truncate(HITS);
        found.accounts_after = longer.last().cloned();
    }
    found.others.extend(longer.into_iter().map(Hit::Account));
    Ok(())
}
