//! The calls that read the stored data: `GET /operator/v1/status`, and lists in pages.

use http::StatusCode;
use kiosque_contract::inventory::{
    AccountItem, DeviceDetail, DeviceItem, FleetPage, GroupItem, ImportItem, Listed, OrderItem,
    ProductItem, RateItem, SessionItem, Status,
};
use kiosque_model::order::{PayStatus, ShipmentStatus};
use kiosque_model::{GroupId, UnixMs};
use kiosque_store::{OrderFilter, OrdersOf, Passwords, Span};

use super::call::Caller;
use super::cursor::Cursor;
use super::query::Query;
use crate::call::Call;
use crate::failure::Failure;

pub(super) async fn status(Caller { call, .. }: Caller<'_>) -> Result<Status, Failure> {
    Ok(call.app.store.inventory().status(call.now).await?)
}

pub(super) async fn groups(caller: Caller<'_>) -> Result<Listed<GroupItem>, Failure> {
    page(caller.call.app.store.inventory().groups(caller.query.listing()?, caller.call.now).await)
}

pub(super) async fn accounts(caller: Caller<'_>) -> Result<Listed<AccountItem>, Failure> {
    page(caller.call.app.store.inventory().accounts(caller.query.listing()?, caller.call.now).await)
}

pub(super) async fn sessions(caller: Caller<'_>) -> Result<Listed<SessionItem>, Failure> {
    page(caller.call.app.store.inventory().sessions(caller.query.listing()?, caller.call.now).await)
}

pub(super) async fn products(caller: Caller<'_>) -> Result<Listed<ProductItem>, Failure> {
    page(caller.call.app.store.inventory().products(caller.query.listing()?).await)
}

pub(super) async fn rates(caller: Caller<'_>) -> Result<Listed<RateItem>, Failure> {
    page(caller.call.app.store.inventory().rates(caller.query.listing()?).await)
}

pub(super) async fn imports(caller: Caller<'_>) -> Result<Listed<ImportItem>, Failure> {
    page(caller.call.app.store.intake().imports(caller.query.listing()?, caller.call.now).await)
}

pub(super) async fn fleet(caller: Caller<'_>) -> Result<FleetPage, Failure> {
    let Caller { call, query, .. } = caller;
    let inventory = call.app.store.inventory();
    let listing = query.listing()?;
    let part = inventory.fleet_file(listing, Passwords::Left, call.now).await?;
    Ok(FleetPage { fleet: part.fleet, next: part.next.map(|next| next.write()) })
}

pub(super) async fn devices(caller: Caller<'_>) -> Result<Listed<DeviceItem>, Failure> {
    let Caller { call, mut query, .. } = caller;
    let group = query.group("groupId");
    let listing = query.listing()?;
    known(call, group.as_ref()).await?;
    page(call.app.store.inventory().devices(group, listing, call.now).await)
}

pub(super) async fn orders(caller: Caller<'_>) -> Result<Listed<OrderItem>, Failure> {
    let Caller { call, mut query, .. } = caller;
    let group = query.group("groupId");
    let device = query.text("deviceCode").and_then(|text| query.device_of("deviceCode", text));
    let filter = order_filter(call, &mut query);
    let inventory = call.app.store.inventory();
    if device.is_none() && filter != OrderFilter::default() {
        let listing = query.listing()?;
        known(call, group.as_ref()).await?;
        return page(inventory.orders_newest_first(group, filter, listing).await);
    }
    let listing = query.listing()?;
    known(call, group.as_ref()).await?;
    let of = OrdersOf { group, device, filter };
    let orders = inventory.orders(of, listing).await;
    let Listed { entries, next } = page(orders)?;
    let entries = entries.into_iter().map(|order| order.map(|order| order.item));
    let entries = entries.collect::<Result<_, _>>().map_err(|damaged| Failure::from(damaged.error));
    Ok(Listed { entries: entries?, next })
}

/// Returns the states and the times selected by a query.
fn order_filter(call: &Call<'_>, query: &mut Query) -> OrderFilter {
    let one_of = |words: &[&str]| format!("one or more of {}", words.join(", "));
    let payments = one_of(PayStatus::WORDS);
    let payment = query.parse("payment", &payments, PayStatus::of_words);
    let shipments = one_of(ShipmentStatus::WORDS);
    let shipment = query.parse("shipment", &shipments, ShipmentStatus::of_words);
    let zone = call.app.store.zone();
    let since = query.time("since", zone);
    let until = query.time("until", zone);
    let (start, end) = (since.unwrap_or(UnixMs(i64::MIN)), until.unwrap_or(UnixMs(i64::MAX)));
    if start > end {
        query.refuse("until", "is before since");
    }
    OrderFilter {
        payment: payment.unwrap_or_default(),
        shipment: shipment.unwrap_or_default(),
        counted: since.or(until).map(|_| Span { start, end }),
    }
}

pub(super) async fn device(caller: Caller<'_>) -> Result<DeviceDetail, Failure> {
    let Caller { call, mut query, .. } = caller;
    let given = query.text("deviceCode").unwrap_or_default();
    let code = query.device_of("deviceCode", given.clone());
    query.finish()?;
    let unknown = || Failure::denied(StatusCode::NOT_FOUND, format!("no device {given} is known"));
    let code = code.ok_or_else(unknown)?;
    let found = call.app.store.inventory().device_detail(code, call.now).await?;
    found.ok_or_else(unknown)
}

/// Refuses a nonexistent group: an empty list would say that it has no entries.
async fn known(call: &Call<'_>, group: Option<&GroupId>) -> Result<(), Failure> {
    let Some(group) = group else { return Ok(()) };
    match call.app.store.inventory().has_group(group).await? {
        true => Ok(()),
        false => Err(Failure::unknown_group(group.as_str())),
    }
}

fn page<T, K: Cursor>(
    listed: Result<kiosque_store::Listed<T, K>, kiosque_store::Error>,
) -> Result<Listed<T>, Failure> {
    let kiosque_store::Listed { entries, next } = listed?;
    Ok(Listed { entries, next: next.map(|key| key.write()) })
}
