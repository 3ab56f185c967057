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
    let mut found = Search { text, ..Search::default() };
    let mut others = Vec::new();
    if !found.text.is_empty() {
        others.extend(add_devices(caller, &mut found).await?);
        others.extend(add_others(caller, &mut found).await?);
    }
    let only = match (found.hits.as_slice(), others.as_slice()) {
        ([hit], _) => Some(hit),
        ([], [hit]) if !found.has_more => Some(hit),
        _ => None,
    };
    if let Some(hit) = only {
        return Ok(Reply::see_other(&hit.path()));
    }
    found.hits.extend(others);
    found.groups = choice(store, &Fields::default()).await?;
    Ok(Reply::page(search::page(&caller.frame(), &found)))
}

/// Adds the devices whose code or name is the text, and returns those that have it as a part.
async fn add_devices(caller: &SignedIn<'_>, found: &mut Search) -> Result<Vec<Hit>, Failure> {
    let app = caller.call.app;
    let now = caller.call.now;
    let text = found.text.as_str();
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
        found.hits.extend(detail.map(|detail| hit(detail.device)));
    }
    let listing = Listing { after: None, limit: HITS };
    let FoundDevices { devices, next, .. } =
        app.store.inventory().search_devices(wanted, listing, now).await?;
    found.has_more = next.is_some();
    let devices = devices.into_iter().map(|device| device.item);
    let (exact, others): (Vec<DeviceItem>, Vec<DeviceItem>) =
        devices.filter(|device| device.device_code != text).partition(|device| {
            device.device_code.eq_ignore_ascii_case(text) || device.device_name == text
        });
    found.hits.extend(exact.into_iter().map(hit));
    Ok(others.into_iter().map(hit).collect())
}

fn hit(device: DeviceItem) -> Hit {
    let DeviceItem { device_code: code, device_name: name, group_id, .. } = device;
    Hit::Device { code, name, group_id }
}

/// Adds what else has the text as its name, and returns the accounts whose name begins with it.
async fn add_others(caller: &SignedIn<'_>, found: &mut Search) -> Result<Vec<Hit>, Failure> {
    let store = &caller.call.app.store;
    let now = caller.call.now;
    let text = found.text.as_str();
    let number = text.to_owned();
    let by = NumberedOrders { number, limit: HITS, ..NumberedOrders::default() };
    let numbered = store.inventory().orders_by_number(by).await?.unwrap_or_default();
    found.has_more_orders = numbered.is_cut;
    let orders = numbered.orders.into_iter();
    found.hits.extend(
        orders.map(|order| Hit::Order { id: order.record.head.order_id, group_id: order.group_id }),
    );
    let request = store.trail().refused_request(text.to_owned(), now).await?;
    found.hits.extend(request.map(|request| Hit::Request(request.request_id)));
    if LoginName::parse(text).is_err() {
        return Ok(Vec::new());
    }
    let uses = store.trail().uses_of(vec![text.to_owned()]).await?;
    found.hits.extend(uses.into_keys().map(Hit::Account));
    // One more, to see whether there are further ones.
    let listing = Listing { after: Some(text.to_owned()), limit: HITS + 1 };
    let longer = store.inventory().accounts(listing, now).await?.entries.into_iter();
    let longer = longer.map(|account| account.account).filter(|name| name.starts_with(text));
    let mut longer: Vec<String> = longer.collect();
    if longer.len() > HITS {
        longer.truncate(HITS);
        found.accounts_after = longer.last().cloned();
    }
    Ok(longer.into_iter().map(Hit::Account).collect())
}
