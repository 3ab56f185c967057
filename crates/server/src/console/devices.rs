//! The list of devices, and one device.

use std::collections::BTreeSet;

use kiosque_console::device::{self, Aisle, Device};
use kiosque_console::devices::{self, DeviceRow, Devices, WEEK_DAYS};
use kiosque_console::sort::PARAMETER;
use kiosque_contract::inventory::AisleItem;
use kiosque_model::{Day, DeviceCode, DeviceState, GroupId, Need, Zone};
use kiosque_store::{
    DeviceOrders, DeviceSearch, FleetSalesQuery, FoundDevice, FoundDevices, Listing, OrderFilter,
    Oversight, SaleTimes,
};

use super::choices::{choice, chosen, format, sort};
use super::reply::Reply;
use super::request::SignedIn;
use crate::failure::Failure;

/// The devices of a page.
const PAGE: usize = 50;
/// Maximum devices that a search reads for a page.
const DEVICES_READ_MAX: usize = 10_000;
/// Maximum orders on the page of a device.
const ORDERS: usize = 10;

/// Shows the list of devices that the query selects.
pub(super) async fn list(caller: &SignedIn<'_>, _: Oversight<'_>) -> Result<Reply, Failure> {
    let (app, now) = (caller.call.app, caller.call.now);
    let known = ["q", "state", "needs", "group", "after", PARAMETER, "format"];
    let query = caller.call.known_fields(&known)?;
    let sort = sort::<DeviceRow>(&query)?;
    let state = query.parsed("state", |code| code.parse::<DeviceState>().ok())?;
    let groups = choice(&app.store, &query).await?;
    let needs = query.parsed("needs", |code| code.parse::<Need>().ok())?;
    let search = query.trimmed("q").unwrap_or_default();
    let after = query.text("after");
    if after.as_deref().is_some_and(|after| DeviceCode::parse(after).is_err()) {
        return Err(Failure::Parameter("after"));
    }
    let today = app.store.zone().day_of(now);
    let group = chosen(&app.store, &groups).await?;
    let only = match needs {
        Some(need) => Some(in_need(caller, group.clone(), need).await?),
        None => None,
    };
    let wanted = DeviceSearch {
        group,
        text: search.clone(),
        state,
        only,
        online: app.online_since(now),
        first_day: first_of_week(today),
        last_day: today,
        // Few of them are compared further.
        read_max: if needs.is_some() { usize::MAX } else { DEVICES_READ_MAX },
    };
    let listing = Listing { after: after.clone(), limit: PAGE };
    let found = app.store.inventory().search_devices(wanted, listing, now).await?;
    let FoundDevices { devices, next, is_cut: is_partial } = found;
    let row = |FoundDevice { item, state, orders: week }| DeviceRow { item, state, week };
    let devices = devices.into_iter().map(row).collect();
    let sort = sort.of_part(after.as_deref(), next.as_deref());
    let view = Devices { groups, search, state, needs, after, next, devices, is_partial, sort };
    Ok(caller.reply(format(&query)?, &view, devices::page, "devices.csv", devices::csv))
}

/// Returns the codes of the devices that need attention for a reason.
async fn in_need(
    caller: &SignedIn<'_>,
    group: Option<GroupId>,
    need: Need,
) -> Result<BTreeSet<String>, Failure> {
    let (app, now) = (caller.call.app, caller.call.now);
    let today = app.store.zone().day_of(now);
    let sales = app.store.reports().fleet_sales(FleetSalesQuery {
        group,
        totals_from: today,
        first_day: today,
        last_day: today,
        products_max: 0,
        online: app.online_since(now),
        now,
    });
    let mut needs = sales.await?.ok_or_else(Failure::not_found)?.attention.needs;
    Ok(needs.remove(&need).unwrap_or_default())
}

/// Shows a device.
pub(super) async fn one(
    caller: &SignedIn<'_>,
    _: Oversight<'_>,
    code: &str,
) -> Result<Reply, Failure> {
    let (app, now) = (caller.call.app, caller.call.now);
    caller.call.known_fields(&[])?;
    let code = DeviceCode::parse(code).map_err(|_| Failure::not_found())?;
    let found = app
        .store
        .inventory()
        .device_detail(code.clone(), now)
        .await?
        .ok_or_else(Failure::not_found)?;
    let zone = app.store.zone();
    let today = zone.day_of(now);
    let from = zone.start_of(first_of_week(today));
    let times = app.store.inventory().sale_times(code.clone(), from).await?;
    let sales = app.store.reports().device_days(code.clone(), device::sales_days(today)).await?;
    let orders = app.store.inventory().latest_orders(DeviceOrders {
        device: code,
        group: None,
        filter: OrderFilter::default(),
        card_end: None,
        after: None,
        limit: ORDERS,
        read_max: ORDERS,
    });
    let orders = orders.await?.map(|found| found.orders).unwrap_or_default();
    let state = app.store.inventory().device_state(&found.device, app.online_since(now)).await?;
    let view = Device {
        state,
        groups: choice(&app.store, &super::fields::Fields::default()).await?,
        aisles: aisles(caller, found.aisles).await?,
        sales,
        hours: hours(&times, zone, today),
        hours_of_latest: times.of_latest,
        owners: found.owners,
        device: found.device,
        orders,
    };
    Ok(Reply::page(device::page(&caller.frame(), &view)))
}

async fn aisles(caller: &SignedIn<'_>, aisles: Vec<AisleItem>) -> Result<Vec<Aisle>, Failure> {
    let ids = aisles.iter().map(|aisle| aisle.goods_id.clone()).collect();
    let products = caller.call.app.store.inventory().products_by_id(ids).await?;
    let aisles = aisles.into_iter().map(|aisle| {
        let product = products.get(&aisle.goods_id);
        let currency = product.map(|product| product.currency.clone()).unwrap_or_default();
        Aisle { goods_name: product.map(|product| product.goods_name.clone()), currency, aisle }
    });
    Ok(aisles.collect())
}

/// Returns the first of the days whose orders are shown.
fn first_of_week(today: Day) -> Day {
    Day(today.0 + 1 - WEEK_DAYS)
}

/// Counts sales by day and hour of the zone.
fn hours(sales: &SaleTimes, zone: &Zone, today: Day) -> Vec<(Day, [i64; 24])> {
    let first = first_of_week(today);
    let mut hours: Vec<(Day, [i64; 24])> =
        (first.0..=today.0).map(|day| (Day(day), [0; 24])).collect();
    for at in &sales.times {
        let (day, hour) = (zone.day_of(*at), zone.civil(*at).hour());
        let counts = usize::try_from(day.0 - first.0).ok().and_then(|at| hours.get_mut(at));
        let count =
            usize::try_from(hour).ok().zip(counts).and_then(|(at, (_, counts))| counts.get_mut(at));
        if let Some(count) = count {
            *count += 1;
        }
    }
    hours
}
