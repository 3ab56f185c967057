//! Every business request of the store, for tests of the statements that it sends.

use std::time::Duration;

use kiosque_model::order::ShipmentStatus;
use kiosque_model::sales::{Sale, Sold};
use kiosque_model::{
    Claim, Currency, DeviceCode, GroupId, Minor, PageRequest, PresentedToken, UnixMs,
};
use kiosque_store::{
    DashboardQuery, Device, DeviceElement, DevicePart, DeviceQuery, Error, History, OnlineSince,
    OpenOptions, OrderQuery, ProfileElement, SessionLease, Span, Store, StoreLocation,
    TradeNumbers,
};
use kiosque_testkit::entries::{first_devices, order, sold};
use kiosque_testkit::{NOW, TestData, TestStore, open_options};

use super::relay::Relay;

/// The names of all requests.
pub(crate) const REQUESTS: [&str; 18] = [
    "session",
    "order page",
    "order page in a span",
    "order detail",
    "device page",
    "device page of another group",
    "summary",
    "summary of some devices",
    "summary of cut days",
    "summary of another group",
    "sales trend",
    "sales by device",
    "best sellers",
    "best sellers of cut days",
    "device profile",
    "profile of a group",
    "aisles of a group",
    "device aisles",
];

/// A store behind a relay, with a session, and the store that wrote its data.
pub(crate) struct Requests {
    pub(crate) relay: Relay,
    pub(crate) fixture: TestStore,
    pub(crate) store: Store,
    pub(crate) session: PresentedToken,
}

impl Requests {
    /// Opens new data on PostgreSQL through a relay, with 40 orders of one device.
    pub(crate) async fn through(relay: impl FnOnce(&str) -> Relay) -> Requests {
        let data = TestData::postgres();
        let StoreLocation::Postgres(url) = data.location() else {
            panic!("PostgreSQL was asked for")
        };
        let relay = relay(url);
        let url = relay.url();
        let fixture = TestStore::with_fleet_on(data).await;
        let orders = (0..40).map(|at| {
            let goods =
                vec![Sold { goods_id: "p".to_owned(), items: 1, amount: Minor(7), name: None }];
            let (amount, refund, shipment) = (Minor(7), Minor(0), ShipmentStatus::Success);
            let currency = Currency::parse("EUR").unwrap();
            let sale = Sale { at: UnixMs(at), currency, amount, refund, shipment, goods };
            sold(order(&format!("o{at}"), "d1", at), sale)
        });
        fixture.receive_new(orders.collect()).await;
        let session = fixture.log_in("ops").await.unwrap();
        // A long lease, so that only requests are sent meanwhile.
        let lease = SessionLease { length: Duration::from_secs(3_600), ..SessionLease::default() };
        let place = StoreLocation::Postgres(&url);
        let opening = OpenOptions { place, lease, ..open_options(&fixture.data) };
        let store = Store::open(&opening).await.unwrap();
        Requests { relay, fixture, store, session }
    }

    /// Sends one of [`REQUESTS`].
    pub(crate) async fn ask(&self, name: &str) {
        let store = &self.store;
        let claim = Claim { token: self.session.clone(), now: NOW };
        let online = OnlineSince(UnixMs(0));
        let span = Span { start: UnixMs(0), end: UnixMs(1_000) };
        let some = DashboardQuery { devices: vec![DeviceCode::parse("d1")], ..all() };
        let cut = DashboardQuery { start: UnixMs(5), end: UnixMs(30), ..all() };
        let other = DashboardQuery { group: Some(GroupId::parse("b")), ..all() };
        let inner = Some("oid:o3".to_owned());
        let done = match name {
            "session" => store.session(claim).await,
            "order page" => store.order_page(claim, orders(None)).await.map(|_| ()),
            "order page in a span" => store.order_page(claim, orders(Some(span))).await.map(|_| ()),
            "order detail" => {
                let numbers = TradeNumbers { out: None, inner };
                store.order_detail(claim, numbers).await.map(|_| ())
            }
            "device page" => {
                store.device_page(claim, online, devices(None), no_device).await.map(|_| ())
            }
            "device page of another group" => {
                let ask = devices(Some("b"));
                store.device_page(claim, online, ask, no_device).await.map(|_| ())
            }
            "summary" => store.summary(claim, online, all()).await.map(|_| ()),
            "summary of some devices" => store.summary(claim, online, some).await.map(|_| ()),
            "summary of cut days" => store.summary(claim, online, cut).await.map(|_| ()),
            "summary of another group" => store.summary(claim, online, other).await.map(|_| ()),
            "sales trend" => store.sales_trend(claim, all()).await.map(|_| ()),
            "sales by device" => store.sales_by_device(claim, all()).await.map(|_| ()),
            "best sellers" => store.best_sellers(claim, all(), 10).await.map(|_| ()),
            "best sellers of cut days" => store.best_sellers(claim, cut, 10).await.map(|_| ()),
            "device profile" => store
                .device_profile(claim, all(), DevicePart::first(10), no_device)
                .await
                .map(|_| ()),
            "profile of a group" => store
                .group_profile(claim, all(), DevicePart::first(10), no_element)
                .await
                .map(|_| ()),
            "aisles of a group" => {
                store.group_aisles(claim, all(), DevicePart::first(10), 1_000).await.map(|_| ())
            }
            "device aisles" => {
                store.device_aisles(claim, all(), DevicePart::first(10), no_line).await.map(|_| ())
            }
            name => panic!("no request {name}"),
        };
        done.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    }
}

fn all() -> DashboardQuery {
    DashboardQuery { group: None, devices: Vec::new(), start: UnixMs(0), end: UnixMs(2_000_000) }
}

fn orders(span: Option<Span>) -> OrderQuery {
    let (device, page) = (DeviceCode::parse("d1").ok(), PageRequest::new(2, 10).unwrap());
    OrderQuery { device, history: History::Left, span, page }
}

fn devices(group: Option<&str>) -> DeviceQuery {
    DeviceQuery { group: group.map(GroupId::parse), ..first_devices(10) }
}

type Nothing = ();

fn no_device(_: &mut Nothing, _: Device<'_>) -> Result<(), Error> {
    Ok(())
}

fn no_element(_: &mut Nothing, _: ProfileElement<'_>) -> Result<(), Error> {
    Ok(())
}

fn no_line(_: &mut Nothing, _: DeviceElement<'_>) -> Result<(), Error> {
    Ok(())
}
