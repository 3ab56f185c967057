//! The list of orders, and one order.

use kiosque_console::order::{self, Arrived, Order};
use kiosque_console::orders::{self, Fields, Found, Orders, Searched};
use kiosque_console::period::day;
use kiosque_model::order::{PayStatus, ShipmentStatus};
use kiosque_model::{DeviceCode, GroupId, GroupNo, OrderId, UnixMs};
use kiosque_store::{
    ARRIVAL_MAX_MS, Arrival, DeviceOrders, FoundOrders, Listing, NumberedOrders, OrderFilter,
    OrderPlace, OrderPosition, OrderSource, OrdersOf, Oversight, Span,
};

use super::choices::{choice, chosen, format};
use super::fields::Fields as Query;
use super::reply::Reply;
use super::request::SignedIn;
use crate::failure::Failure;
use crate::operator::read_place;

/// The orders of a page.
const PAGE: usize = 50;
/// Maximum records that a search reads for a page.
const RECORDS_READ_MAX: usize = 5_000;

/// Shows the list of orders that the query selects.
pub(super) async fn list(caller: &SignedIn<'_>, _: Oversight<'_>) -> Result<Reply, Failure> {
    let store = &caller.call.app.store;
    let known =
        ["q", "device", "card", "shipment", "payment", "from", "to", "group", "after", "format"];
    let query = caller.call.known_fields(&known)?;
    let text = |name: &str| query.trimmed(name).unwrap_or_default();
    let fields = Fields {
        number: text("q"),
        device: query.text("device").unwrap_or_default(),
        card: text("card"),
        shipment: text("shipment"),
        payment: text("payment"),
        from: text("from"),
        to: text("to"),
    };
    let groups = choice(store, &query).await?;
    let group = chosen(store, &groups).await?;
    let filter = filter(caller, &query)?;
    let (found, next) = match (fields.number.as_str(), fields.device.as_str()) {
        ("", "") if !fields.card.is_empty() => (Found::Nothing, None),
        ("", "") => newest_first(caller, group, filter, &query).await?,
        ("", _) => of_device(caller, &fields, group, filter, &query).await?,
        _ => (with_number(caller, &fields, group, filter).await?, None),
    };
    let view = Orders { groups, fields, found, after: query.text("after"), next };
    Ok(caller.reply(format(&query)?, &view, orders::page, "orders.csv", orders::csv))
}

/// Returns a part of the orders by time, and the key of the next one.
async fn newest_first(
    caller: &SignedIn<'_>,
    group: Option<GroupId>,
    filter: OrderFilter,
    query: &Query,
) -> Result<(Found, Option<String>), Failure> {
    let store = &caller.call.app.store;
    let after = query.parsed("after", |key| read_place(key, '.'))?;
    let listing = Listing { after, limit: PAGE };
    let listed = store.inventory().orders_newest_first(group, filter, listing).await?;
    let is_cut = listed.next.is_some() && listed.entries.len() < PAGE;
    let searched = if is_cut { Searched::Partly } else { Searched::Whole };
    let next = listed.next.map(|OrderPlace { at, group, device, seq }| {
        format!("{}.{}.{}.{seq}", at.0, group.0, device.0)
    });
    Ok((Found::Orders(listed.entries, searched), next))
}

/// Returns a part of the orders of a device, and the key of the next one.
async fn of_device(
    caller: &SignedIn<'_>,
    fields: &Fields,
    group: Option<GroupId>,
    filter: OrderFilter,
    query: &Query,
) -> Result<(Found, Option<String>), Failure> {
    let store = &caller.call.app.store;
    let Ok(device) = DeviceCode::parse(fields.device.as_str()) else {
        return Ok((Found::NoDevice, None));
    };
    let of = DeviceOrders {
        device,
        group,
        filter,
        card_end: card_end(fields),
        after: query.parsed("after", position)?,
        limit: PAGE,
        read_max: RECORDS_READ_MAX,
    };
    let Some(FoundOrders { orders, next, is_cut }) = store.inventory().latest_orders(of).await?
    else {
        return Ok((Found::NoDevice, None));
    };
    let searched = if is_cut { Searched::Partly } else { Searched::Whole };
    let next = next.map(|OrderPosition { group, seq }| format!("{}.{seq}", group.0));
    Ok((Found::Orders(orders, searched), next))
}

/// Returns the orders with a number that the other fields select.
async fn with_number(
    caller: &SignedIn<'_>,
    fields: &Fields,
    group: Option<GroupId>,
    filter: OrderFilter,
) -> Result<Found, Failure> {
    let device = Some(fields.device.as_str()).filter(|code| !code.is_empty());
    let Ok(device) = device.map(DeviceCode::parse).transpose() else {
        return Ok(Found::NoDevice);
    };
    let by = NumberedOrders {
        number: fields.number.clone(),
        of: OrdersOf { group, device, filter },
        card_end: card_end(fields),
        limit: PAGE,
        read_max: RECORDS_READ_MAX,
    };
    let found = caller.call.app.store.inventory().orders_by_number(by).await?;
    Ok(match found {
        Some(FoundOrders { orders, is_cut: true, .. }) => Found::Orders(orders, Searched::Limited),
        Some(FoundOrders { orders, .. }) => Found::Orders(orders, Searched::Whole),
        None => Found::NoDevice,
    })
}

/// Returns the end of the number of a card, if it is given.
fn card_end(fields: &Fields) -> Option<String> {
    Some(fields.card.clone()).filter(|card| !card.is_empty())
}

/// Returns the states and the days of a query.
fn filter(caller: &SignedIn<'_>, query: &Query) -> Result<OrderFilter, Failure> {
    Ok(OrderFilter {
        payment: query.parsed("payment", PayStatus::of_words)?.unwrap_or_default(),
        shipment: query.parsed("shipment", ShipmentStatus::of_words)?.unwrap_or_default(),
        counted: span(caller, query)?,
    })
}

/// Returns the span of the days of a query, which may be open at one end; `None` without any.
fn span(caller: &SignedIn<'_>, query: &Query) -> Result<Option<Span>, Failure> {
    let zone = caller.call.app.store.zone();
    let (first, last) = (query.parsed("from", day)?, query.parsed("to", day)?);
    if first.is_none() && last.is_none() {
        return Ok(None);
    }
    let start = first.map_or(UnixMs(0), |first| zone.start_of(first));
    let end = last.map_or(UnixMs::MAX, |last| zone.start_of(last.next()));
    if start >= end { Err(Failure::Parameter("from")) } else { Ok(Some(Span { start, end })) }
}

/// Parses the key of a list of a device: the number of a group, and a sequence number in it.
fn position(key: &str) -> Option<OrderPosition> {
    let (group, seq) = key.split_once('.')?;
    Some(OrderPosition { group: GroupNo(group.parse().ok()?), seq: seq.parse().ok()? })
}

/// Shows the order of a group with an id.
pub(super) async fn one(
    caller: &SignedIn<'_>,
    _: Oversight<'_>,
    group: &str,
    id: &str,
) -> Result<Reply, Failure> {
    let store = &caller.call.app.store;
    caller.call.known_fields(&[])?;
    let group = GroupId::parse(group).map_err(|_| Failure::not_found())?;
    let order_id = OrderId::parse(id).map_err(|_| Failure::not_found())?;
    let by = NumberedOrders {
        number: id.to_owned(),
        of: OrdersOf { group: Some(group.clone()), ..OrdersOf::default() },
        limit: PAGE,
        ..NumberedOrders::default()
    };
    let found = store.inventory().orders_by_number(by).await?.unwrap_or_default().orders;
    let found = found.into_iter().find(|order| order.record.head.order_id == id);
    let order = found.ok_or_else(Failure::not_found)?;
    let groups = choice(store, &Query::default()).await?;
    let group_name = groups.name_of(&order.group_id).to_owned();
    let record = serde_json::to_string_pretty(&order.record);
    let record = record.map_err(|error| Failure::internal(&error))?;
    let arrived = match store.intake().arrival_of(group, order_id).await? {
        Some(arrival) => arrived(caller, arrival).await?,
        None => None,
    };
    let view = Order { order, group_name, record, arrived };
    Ok(Reply::page(order::page(&caller.frame(), &view)))
}

/// Returns the source of an order, with the details of an import.
async fn arrived(caller: &SignedIn<'_>, arrival: Arrival) -> Result<Option<Arrived>, Failure> {
    let Arrival { since, source } = arrival;
    let number = match source {
        OrderSource::Import(number) => number,
        OrderSource::Stream { key_name, node } => {
            let between = [since, since.plus_ms(ARRIVAL_MAX_MS)];
            return Ok(Some(Arrived::Stream { key_name, node, between }));
        }
    };
    let call = caller.call;
    let listing = Listing { after: Some(number.saturating_add(1)), limit: 1 };
    let imports = call.app.store.intake().imports(listing, call.now).await?.entries;
    let import = imports.into_iter().find(|import| import.import_id == number.to_string());
    Ok(import.map(|import| Arrived::Import(Box::new(import))))
}
