//! Every business request takes exactly one round trip, counted on the wire: a relay between the
//! store and its PostgreSQL counts how often a request follows an answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_model::order::ShipmentStatus;
use kiosque_model::sales::{Sale, Sold};
use kiosque_model::{
    ActedBy, Claim, Currency, DeviceCode, GroupId, Minor, PageRequest, PresentedToken, UnixMs,
};
use kiosque_store::{
    DashboardQuery, Device, DeviceLine, DevicePart, DeviceQuery, Error, History, NewHashes,
    OnlineSince, OpenOptions, OrderOutcome, OrderQuery, ReceiveOptions, SessionLease, Span, Store,
    StoreLocation, TradeNumbers,
};
use kiosque_testkit::entries::{aisle, bare_device, device, first_devices, order, sold};
use kiosque_testkit::{NOW, TestData, TestStore, no_owners, open_options};

/// Counts the round trips of all its connections.
struct Relay {
    address: SocketAddr,
    turns: Arc<AtomicUsize>,
}

impl Relay {
    fn to(server: SocketAddr) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let turns = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&turns);
        thread::spawn(move || {
            for client in listener.incoming() {
                relay(client.unwrap(), TcpStream::connect(server).unwrap(), &counted);
            }
        });
        Relay { address, turns }
    }

    fn turns(&self) -> usize {
        self.turns.load(Ordering::SeqCst)
    }
}

/// Forwards both directions. A round trip begins with the first bytes of a request after an answer.
fn relay(client: TcpStream, server: TcpStream, turns: &Arc<AtomicUsize>) {
    let answered = Arc::new(AtomicBool::new(true));
    let (asks, answers) = (Arc::clone(&answered), answered);
    let (turns, to_server) = (Arc::clone(turns), server.try_clone().unwrap());
    let to_client = client.try_clone().unwrap();
    thread::spawn(move || {
        pass(client, to_server, || {
            if asks.swap(false, Ordering::SeqCst) {
                turns.fetch_add(1, Ordering::SeqCst);
            }
        });
    });
    thread::spawn(move || pass(server, to_client, || answers.store(true, Ordering::SeqCst)));
}

fn pass(mut from: TcpStream, mut to: TcpStream, seen: impl Fn()) {
    let mut chunk = [0; 65_536];
    while let Ok(size @ 1..) = from.read(&mut chunk) {
        seen();
        if to.write_all(&chunk[..size]).is_err() {
            return;
        }
    }
}

/// A store behind a relay, with a session, and another store that writes its data.
struct Counted {
    relay: Relay,
    store: Store,
    session: PresentedToken,
}

/// The address with another port.
fn through(url: &str, relay: &Relay) -> String {
    let (before, rest) = url.split_once("@127.0.0.1:").unwrap();
    let (_, behind) = rest.split_once('/').unwrap();
    format!("{before}@127.0.0.1:{}/{behind}", relay.address.port())
}

fn server_of(url: &str) -> SocketAddr {
    let (_, rest) = url.split_once('@').unwrap();
    rest.split_once('/').unwrap().0.parse().unwrap()
}

async fn counted() -> Counted {
    let data = TestData::postgres();
    let StoreLocation::Postgres(url) = data.location() else { panic!("PostgreSQL was asked for") };
    let relay = Relay::to(server_of(url));
    let url = through(url, &relay);
    let fixture = TestStore::with_fleet_on(data).await;
    let orders = (0..40).map(|at| {
        let goods = vec![Sold { goods_id: "p".to_owned(), items: 1, amount: Minor(7), name: None }];
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
    Counted { relay, store, session }
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

fn no_line(_: &mut Nothing, _: DeviceLine<'_>) -> Result<(), Error> {
    Ok(())
}

/// Every business request, by name.
async fn ask(counted: &Counted, name: &str) {
    let store = &counted.store;
    let claim = Claim { token: counted.session.clone(), now: NOW };
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
        "device profile" => {
            store.device_profile(claim, all(), DevicePart::first(10), no_device).await.map(|_| ())
        }
        "device aisles" => {
            store.device_aisles(claim, all(), DevicePart::first(10), no_line).await.map(|_| ())
        }
        name => panic!("no request {name}"),
    };
    done.unwrap_or_else(|error| panic!("{name}: {error:?}"));
}

const REQUESTS: [&str; 16] = [
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
    "device aisles",
];

/// Statements are compiled once a connection, and the pool has eight of them.
const WARM_UP: usize = 16;

#[tokio::test]
async fn every_business_request_is_one_round_trip() {
    let counted = counted().await;
    for name in REQUESTS {
        for _ in 0..WARM_UP {
            ask(&counted, name).await;
        }
        // Now and then a connection plans a statement again, which is a round trip of its own.
        let mut fewest = usize::MAX;
        for _ in 0..3 {
            let before = counted.relay.turns();
            for _ in 0..WARM_UP {
                ask(&counted, name).await;
            }
            fewest = fewest.min(counted.relay.turns() - before);
        }
        assert_eq!(fewest, WARM_UP, "{name}");
    }
}

/// Returns an apply of so many devices: new ones with aisles, the same with other aisles, the same
/// again, and the same in another group.
async fn applied(counted: &Counted, prefix: &str, count: usize) -> Vec<usize> {
    let fleet = |group: &str, stock: i64| {
        let devices = (0..count).map(|number| DeviceEntry {
            aisles: Some(vec![aisle("1", "p", stock), aisle("2", "p", 1)]),
            ..device(&format!("{prefix}{number}"), group)
        });
        Fleet { devices: devices.collect(), ..Fleet::default() }
    };
    let mut turns = Vec::new();
    for (number, fleet) in
        [fleet("a", 1), fleet("a", 2), fleet("a", 2), fleet("b", 2)].into_iter().enumerate()
    {
        let (before, now) = (counted.relay.turns(), NOW.plus_ms(i64::try_from(number).unwrap()));
        let by = ActedBy::command(now);
        counted.store.apply(fleet, NewHashes::new(), by).await.unwrap();
        turns.push(counted.relay.turns() - before);
    }
    turns
}

/// An apply costs as many round trips for hundreds of devices as for three.
#[tokio::test]
async fn an_apply_is_a_fixed_number_of_round_trips() {
    let counted = counted().await;
    // Prepares the statements.
    applied(&counted, "warm", 3).await;
    let few = applied(&counted, "few", 3).await;
    let many = applied(&counted, "many", 400).await;
    // Now and then a connection plans a statement again, which is a round trip of its own.
    let grows = |(many, few): (&usize, &usize)| *many > few + 3;
    assert!(!many.iter().zip(&few).any(grows), "{many:?} and {few:?} round trips");
    assert!(few.iter().all(|turns| *turns < 40), "{few:?}");
}

/// A batch of a device that moved takes about as many round trips as any other, however many orders
/// it has.
#[tokio::test]
async fn orders_of_a_moved_device_take_no_round_trip_each() {
    let counted = counted().await;
    let (group, since) = (GroupId::parse("b").ok(), Some(UnixMs(500)));
    let devices = vec![DeviceEntry { group, since, ..bare_device("d1") }];
    let fleet = Fleet { devices, ..Fleet::default() };
    counted.store.apply(fleet, NewHashes::new(), ActedBy::command(NOW)).await.unwrap();
    let owners = no_owners();
    let mut round = 0;
    let mut turns = async |device: &str, count: i64| {
        let mut fewest = usize::MAX;
        for _ in 0..4 {
            round += 1;
            let orders = (0..count).map(|at| order(&format!("{round}-{at}"), device, 600 + at));
            let before = counted.relay.turns();
            let (batch, owners) = (Arc::new(orders.collect::<Vec<_>>()), Arc::clone(&owners));
            let options = ReceiveOptions::at(NOW);
            let outcomes = counted.store.receive(batch, owners, options).await.unwrap();
            assert!(
                outcomes.iter().all(|outcome| *outcome == OrderOutcome::Accepted),
                "{outcomes:?}"
            );
            fewest = fewest.min(counted.relay.turns() - before);
        }
        fewest
    };
    let other = turns("d2", 200).await;
    let moved = turns("d1", 200).await;
    // One reads in which group the orders are stored. Statements that are sent together may be
    // answered in two parts.
    assert!(moved <= other + 3, "{moved} round trips, and {other} of another device");
}
