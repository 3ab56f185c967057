//! The calls that read the stored data: `GET /operator/v1/status`, and lists in pages.

use http::StatusCode;
use kiosque_contract::inventory::{
    AccountItem, DeviceDetail, DeviceItem, FleetPage, GroupItem, ImportItem, Listed, OrderItem,
    ProductItem, RateItem, SessionItem, Status,
};
use kiosque_contract::inventory::{ListFilter, OrderListFilter};
use kiosque_contract::operator_call::{
    ListAccounts, ListDevices, ListGroups, ListImports, ListOrders, ListProducts, ListRates,
    ListSessions, OperatorCall, ReadFleet, ShowDevice,
};
use kiosque_model::order::{PayStatus, ShipmentStatus};
use kiosque_model::{DeviceCode, GroupId, UnixMs};
use kiosque_store::{Listing, OrderFilter, OrdersOf, Passwords, Span};

use super::call::Call;
use super::cursor::Cursor;
use super::problem::Problem;
use super::query::{self, QueryFaults};
use crate::answer::Failure;

pub(super) async fn status(call: &mut Call<'_>) -> Result<Status, Problem> {
    Ok(call.app.store.inventory().status(call.now).await.map_err(Failure::from)?)
}

pub(super) async fn groups(call: &mut Call<'_>) -> Result<Listed<GroupItem>, Problem> {
    let listing = listing::<ListGroups, _>(call)?;
    page(call.app.store.inventory().groups(listing, call.now).await)
}

pub(super) async fn accounts(call: &mut Call<'_>) -> Result<Listed<AccountItem>, Problem> {
    let listing = listing::<ListAccounts, _>(call)?;
    page(call.app.store.inventory().accounts(listing, call.now).await)
}

pub(super) async fn sessions(call: &mut Call<'_>) -> Result<Listed<SessionItem>, Problem> {
    let listing = listing::<ListSessions, _>(call)?;
    page(call.app.store.inventory().sessions(listing, call.now).await)
}

pub(super) async fn products(call: &mut Call<'_>) -> Result<Listed<ProductItem>, Problem> {
    let listing = listing::<ListProducts, _>(call)?;
    page(call.app.store.inventory().products(listing).await)
}

pub(super) async fn rates(call: &mut Call<'_>) -> Result<Listed<RateItem>, Problem> {
    let listing = listing::<ListRates, _>(call)?;
    page(call.app.store.inventory().rates(listing).await)
}

pub(super) async fn imports(call: &mut Call<'_>) -> Result<Listed<ImportItem>, Problem> {
    let listing = listing::<ListImports, _>(call)?;
    page(call.app.store.intake().imports(listing, call.now).await)
}

pub(super) async fn fleet(call: &mut Call<'_>) -> Result<FleetPage, Problem> {
    let listing = listing::<ReadFleet, _>(call)?;
    let part = call.app.store.inventory().fleet_file(listing, Passwords::Left, call.now).await;
    let part = part.map_err(Failure::from)?;
    Ok(FleetPage { fleet: part.fleet, next: part.next.map(|next| next.write()) })
}

pub(super) async fn devices(call: &mut Call<'_>) -> Result<Listed<DeviceItem>, Problem> {
    let mut faults = QueryFaults::default();
    let filter = query::read::<ListDevices>(call.query(), &mut faults)?;
    let group = faults.group(("groupId", filter.group_id.as_deref()));
    let listing = listing_of(filter.limit, filter.cursor, faults)?;
    known(call, group.as_ref()).await?;
    page(call.app.store.inventory().devices(group, listing, call.now).await)
}

pub(super) async fn orders(call: &mut Call<'_>) -> Result<Listed<OrderItem>, Problem> {
    let mut faults = QueryFaults::default();
    let filter = query::read::<ListOrders>(call.query(), &mut faults)?;
    let group = faults.group(("groupId", filter.group_id.as_deref()));
    let device = device_code(&mut faults, filter.device_code.as_deref());
    let selected = order_filter(call, &mut faults, &filter);
    let inventory = call.app.store.inventory();
    if device.is_none() && selected != OrderFilter::default() {
        let listing = listing_of(filter.limit, filter.cursor, faults)?;
        known(call, group.as_ref()).await?;
        return page(inventory.orders_newest_first(group, selected, listing).await);
    }
    let listing = listing_of(filter.limit, filter.cursor, faults)?;
    known(call, group.as_ref()).await?;
    let of = OrdersOf { group, device, filter: selected };
    let orders = inventory.orders(of, listing).await;
    let Listed { entries, next } = page(orders)?;
    let entries = entries.into_iter().map(|order| order.map(|order| order.item));
    let entries = entries.collect::<Result<_, _>>().map_err(|damaged| Failure::from(damaged.error));
    Ok(Listed { entries: entries?, next })
}

/// Returns the states and the times that a query selects.
fn order_filter(
    call: &Call<'_>,
    faults: &mut QueryFaults,
    filter: &OrderListFilter,
) -> OrderFilter {
    let one_of = |words: &[&str]| format!("one or more of {}", words.join(", "));
    let (payment, shipment) = (filter.payment.as_deref(), filter.shipment.as_deref());
    let payment =
        faults.parse(("payment", payment), &one_of(PayStatus::WORDS), PayStatus::of_words);
    let shipment = faults.parse(
        ("shipment", shipment),
        &one_of(ShipmentStatus::WORDS),
        ShipmentStatus::of_words,
    );
    let time = |text: &str| call.app.store.zone().parse_time_or_date(text).ok();
    let expected = "RFC 3339, or yyyy-MM-dd, or yyyy-MM-dd HH:mm:ss";
    let since = faults.parse(("since", filter.since.as_deref()), expected, time);
    let until = faults.parse(("until", filter.until.as_deref()), expected, time);
    let (start, end) = (since.unwrap_or(UnixMs(i64::MIN)), until.unwrap_or(UnixMs(i64::MAX)));
    OrderFilter {
        payment: payment.unwrap_or_default(),
        shipment: shipment.unwrap_or_default(),
        counted: since.or(until).map(|_| Span { start, end }),
    }
}

pub(super) async fn device(call: &mut Call<'_>) -> Result<DeviceDetail, Problem> {
    let mut faults = QueryFaults::default();
    let filter = query::read::<ShowDevice>(call.query(), &mut faults)?;
    let given = filter.device_code.unwrap_or_default();
    let code = device_code(&mut faults, Some(&given));
    if let Some(faults) = faults.finish() {
        return Err(Problem::bad_query(faults));
    }
    let unknown = || Problem::new(StatusCode::NOT_FOUND, format!("no device {given} is known"));
    let code = code.ok_or_else(unknown)?;
    let found =
        call.app.store.inventory().device_detail(code, call.now).await.map_err(Failure::from)?;
    found.ok_or_else(unknown)
}

/// Reads the query string of a list without filters.
fn listing<C, K>(call: &Call<'_>) -> Result<Listing<K>, Problem>
where
    C: OperatorCall<Query = ListFilter>,
    K: Cursor,
{
    let mut faults = QueryFaults::default();
    let filter = query::read::<C>(call.query(), &mut faults)?;
    listing_of(filter.limit, filter.cursor, faults)
}

/// Returns the part that a query selects.
///
/// # Errors
/// Everything that is wrong with the query.
fn listing_of<K: Cursor>(
    limit: Option<String>,
    cursor: Option<String>,
    mut faults: QueryFaults,
) -> Result<Listing<K>, Problem> {
    let limit = faults.limit(limit.as_deref());
    let after = faults.cursor(cursor.as_deref());
    match faults.finish() {
        Some(faults) => Err(Problem::bad_query(faults)),
        None => Ok(Listing { after, limit }),
    }
}

/// Refuses a group that does not exist: an empty list would say that it has no entries.
async fn known(call: &Call<'_>, group: Option<&GroupId>) -> Result<(), Problem> {
    let Some(group) = group else { return Ok(()) };
    match call.app.store.inventory().has_group(group).await.map_err(Failure::from)? {
        true => Ok(()),
        false => Err(Problem::unknown_group(group.as_str())),
    }
}

fn device_code(faults: &mut QueryFaults, text: Option<&str>) -> Option<DeviceCode> {
    let parse = |text: &str| DeviceCode::parse(text.to_owned()).ok();
    faults.parse(("deviceCode", text), "the code of a device", parse)
}

fn page<T, K: Cursor>(
    listed: Result<kiosque_store::Listed<T, K>, kiosque_store::Error>,
) -> Result<Listed<T>, Problem> {
    let kiosque_store::Listed { entries, next } = listed.map_err(Failure::from)?;
    Ok(Listed { entries, next: next.map(|key| key.write()) })
}
