//! Every business request of the store, for tests of the statements that it sends.

use std::time::Duration;

use kiosque_model::order::Order;
use kiosque_model::{
    ChangeCursor, Claim, DeviceCode, GroupId, GroupNo, HistoryId, PageRequest, PresentedToken,
    UnixMs,
};
use kiosque_store::{
    ChangeQuery, DashboardQuery, Device, DevicePart, DeviceQuery, GroupTotals, History,
    OnlineSince, OpenOptions, OrderQuery, SessionLease, Span, Store, StoreLocation, TradeNumbers,
};
use kiosque_testkit::entries::{bare_order, first_devices, order, rendered, sale, sold, trade_no};
use kiosque_testkit::{NOW, TestData, TestStore, open_options};

use super::relay::Relay;

/// The names of the requests that are no reports. A request and its query are apart by a comma.
const LISTS: [&str; 18] = [
    "session",
    "order page",
    "order page, with history",
    "order page, in a span",
    "order page, in a long span",
    "order detail",
    "order detail, by the outer number",
    "order detail, by both numbers",
    "order changes",
    "order changes, after a cursor",
    "order changes, with totals",
    "device page",
    "device page, of another group",
    "device page, of a code",
    "device page, of a name",
    "devices of a group",
    // Before the profile is cached.
    "online devices, a later part",
    "online devices",
];
/// The names of the reports, and of their queries.
const REPORTS: [&str; 6] = [
    "summary",
    "sales trend",
    "sales by device",
    "best sellers",
    "device profile",
    "device aisles",
];
const QUERIES: [&str; 7] = [
    "of all days",
    "of some devices",
    "of cut days",
    "of another group",
    "of a month",
    "of years",
    "of some devices in years",
];

/// Returns the names of all requests.
pub(crate) fn all_requests() -> Vec<String> {
    let lists = LISTS.iter().map(|&list| list.to_owned());
    let report = |name| QUERIES.iter().map(move |query| format!("{name}, {query}"));
    lists.chain(REPORTS.into_iter().flat_map(report)).collect()
}

/// A store behind a relay, with a session, and the store that wrote its data.
pub(crate) struct Requests {
    pub(crate) relay: Relay,
    pub(crate) fixture: TestStore,
    pub(crate) store: Store,
    pub(crate) session: PresentedToken,
}

impl Requests {
    /// Opens new data on PostgreSQL through a relay, with 40 orders of one device and one of
    /// another.
    pub(crate) async fn through(relay: impl FnOnce(&str) -> Relay) -> Requests {
        let data = TestData::postgres();
        let StoreLocation::Postgres(url) = data.location() else {
            panic!("PostgreSQL was asked for")
        };
        let relay = relay(url);
        let url = relay.url();
        let fixture = TestStore::with_fleet_on(data).await;
        let orders = (0..40)
            .map(|at| sold(order(&format!("o{at}"), "d1", at), sale(at, "EUR", &[("p", 1, 7)])));
        fixture.receive_new(orders.collect()).await;
        let (trade_no, trade_no_in) = (trade_no("t1"), trade_no("i1"));
        let numbered = Order { trade_no, trade_no_in, ..bare_order("numbered", "d2", 50) };
        fixture.receive_new(vec![rendered(numbered)]).await;
        let session = fixture.log_in("ops").await.unwrap();
        // A long lease, so that only requests are sent meanwhile.
        let lease = SessionLease { length: Duration::from_secs(3_600), ..SessionLease::default() };
        let place = StoreLocation::Postgres(&url);
        let opening = OpenOptions { place, lease, ..open_options(&fixture.data) };
        let store = Store::open(&opening).await.unwrap();
        Requests { relay, fixture, store, session }
    }

    /// Sends one of [`all_requests`].
    pub(crate) async fn ask(&self, name: &str) {
        let store = &self.store;
        let claim = Claim { token: self.session.clone(), now: NOW };
        let online = OnlineSince(UnixMs(0));
        let (asked, query) = name.split_once(", ").unwrap_or((name, ""));
        let done = match asked {
            "session" => store.sessions().prove(claim).await,
            "order page" => store.orders().page(claim, orders(query)).await.map(drop),
            "order detail" => store.orders().detail(claim, numbers(query)).await.map(drop),
            "order changes" => {
                let (query, totals) = changes(query);
                store.orders().changes(claim, query, totals).await.map(drop)
            }
            "device page" => {
                store.reports().device_page(claim, online, devices(query)).await.map(drop)
            }
            "devices of a group" => {
                let visit = |(): &mut (), _: Device<'_>| Ok(());
                store.reports().each_device(claim, &all(), &first_part(), visit).await
            }
            "online devices" => {
                let after = if query == "a later part" { "d1" } else { "" };
                let part = DevicePart { after: after.to_owned(), ..first_part() };
                store.reports().online_devices(claim, all(), part, online).await.map(drop)
            }
            "summary" => store.reports().summary(claim, online, report(query)).await.map(drop),
            "sales trend" => store.reports().sales_trend(claim, report(query)).await.map(drop),
            "sales by device" => {
                store.reports().sales_by_device(claim, report(query)).await.map(drop)
            }
            "best sellers" => {
                store.reports().best_sellers(claim, report(query), 10).await.map(drop)
            }
            "device profile" => {
                let (query, part) = (report(query), first_part());
                store.reports().device_profile(claim, query, part, online).await.map(drop)
            }
            "device aisles" => {
                store.reports().device_aisles(claim, report(query), first_part()).await.map(drop)
            }
            _ => panic!("no request {name}"),
        };
        done.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    }
}

fn all() -> DashboardQuery {
    DashboardQuery { group: None, devices: Vec::new(), start: UnixMs(0), end: UnixMs(2_000_000) }
}

/// Returns a query of reports.
fn report(query: &str) -> DashboardQuery {
    const MONTH: UnixMs = UnixMs(31 * 86_400_000);
    const YEARS: UnixMs = UnixMs(10 * 365 * 86_400_000);
    let devices = || vec![DeviceCode::parse("d1"), DeviceCode::parse("d2")];
    match query {
        "of all days" => all(),
        "of some devices" => DashboardQuery { devices: devices(), ..all() },
        "of cut days" => DashboardQuery { start: UnixMs(5), end: UnixMs(30), ..all() },
        "of another group" => DashboardQuery { group: Some(GroupId::parse("b")), ..all() },
        "of a month" => DashboardQuery { end: MONTH, ..all() },
        "of years" => DashboardQuery { end: YEARS, ..all() },
        "of some devices in years" => DashboardQuery { devices: devices(), end: YEARS, ..all() },
        _ => panic!("no query of reports: {query}"),
    }
}

fn orders(query: &str) -> OrderQuery {
    let (device, page) = (DeviceCode::parse("d1").ok(), PageRequest::new(2, 10).unwrap());
    let plain = OrderQuery { device, history: History::Left, span: None, page };
    let span = |start| Some(Span { start: UnixMs(start), end: UnixMs(1_000) });
    match query {
        "" => plain,
        "with history" => OrderQuery { history: History::Included, ..plain },
        "in a span" => OrderQuery { span: span(0), ..plain },
        "in a long span" => OrderQuery { span: span(-10 * 86_400_000), ..plain },
        _ => panic!("no query of orders: {query}"),
    }
}

fn changes(query: &str) -> (ChangeQuery, GroupTotals) {
    let first = ChangeQuery { after: None, size: 10 };
    match query {
        "" => (first, GroupTotals::Left),
        "with totals" => (first, GroupTotals::Included),
        "after a cursor" => {
            // As if it came from before the first change.
            let (group, history) = (GroupNo(1), HistoryId(0));
            let after = ChangeCursor { group, change_no: 20, last_change_no: 0, history };
            (ChangeQuery { after: Some(after), ..first }, GroupTotals::Left)
        }
        _ => panic!("no query of changes: {query}"),
    }
}

fn numbers(query: &str) -> TradeNumbers {
    let number = |text: &str| Some(text.to_owned());
    match query {
        "" => TradeNumbers { out: None, inner: number("oid:o3") },
        "by the outer number" => TradeNumbers { out: number("t1"), inner: None },
        "by both numbers" => TradeNumbers { out: number("t1"), inner: number("i1") },
        _ => panic!("no query of an order: {query}"),
    }
}

fn devices(query: &str) -> DeviceQuery {
    let plain = first_devices(10);
    match query {
        "" => plain,
        "of another group" => DeviceQuery { group: Some(GroupId::parse("b")), ..plain },
        "of a code" => DeviceQuery { code: Some(DeviceCode::parse("d1")), ..plain },
        "of a name" => DeviceQuery { name_part: Some("d".to_owned()), ..plain },
        _ => panic!("no query of devices: {query}"),
    }
}

fn first_part() -> DevicePart {
    DevicePart { after: String::new(), size: 10, most_bytes: 1_000 }
}
