//! The dashboard cache is exact: every change shows in the next answer, whichever process made it.

use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_model::sales::Turnover;
use kiosque_model::{Claim, Day, PresentedToken, UnixMs};
use kiosque_store::{DashboardQuery, Incoming, OnlineSince, Store, Summary, WhenAbsent};
use kiosque_testkit::entries::{self, aisle, bare_device, beat, device, moved, order, rate, sold};
use kiosque_testkit::{NOW, TestData, TestStore, open, open_options, receive_at};

const DAY_MS: i64 = 86_400_000;
/// A device is online when it was active in the last 300 seconds.
const ONLINE_WINDOW_MS: i64 = 300_000;

fn sale(id: &str, code: &str, at: i64, currency: &str, amount: i64) -> Incoming {
    sold(order(id, code, at), entries::sale(at, currency, &[("p", 2, amount)]))
}

/// Returns the answers of both functions at a time, for a range.
async fn answers(
    store: &Store,
    session: &PresentedToken,
    now: UnixMs,
    (start, end): (i64, i64),
) -> (Summary, Vec<(Day, Turnover)>) {
    let ask =
        DashboardQuery { group: None, devices: Vec::new(), start: UnixMs(start), end: UnixMs(end) };
    let online = OnlineSince(now.plus_ms(-ONLINE_WINDOW_MS));
    let claim = Claim { token: session.clone(), now };
    let summary = store.reports().summary(claim.clone(), online, ask.clone()).await.unwrap();
    (summary, store.reports().sales_trend(claim, ask).await.unwrap())
}

/// A store with a cache, and its client.
struct Watched {
    fixture: TestStore,
    session: PresentedToken,
    /// Its last answers.
    before: (Summary, Vec<(Day, Turnover)>),
    now: UnixMs,
}

impl Watched {
    async fn new() -> Watched {
        let fixture = TestStore::with_fleet().await;
        let session = fixture.log_in("ops").await.unwrap();
        fixture
            .receive_new(vec![sale("o1", "d1", 10, "USD", 500), sale("o2", "d2", 20, "EUR", 700)])
            .await;
        let before = answers(&fixture.store, &session, NOW, (0, DAY_MS)).await;
        Watched { fixture, session, before, now: NOW }
    }

    /// Returns the store of another process, whose cache is empty.
    async fn other(&self) -> Store {
        open(&self.fixture.data, None).await.unwrap()
    }

    /// Checks that the answers equal the answers of a store without a cache, at the first request
    /// and at the next, and that they differ from the last ones.
    async fn sees(&mut self, what: &str) {
        // The number of devices online may be a second old.
        self.now = self.now.plus_ms(1_000);
        let range = (0, DAY_MS);
        let read = answers(&self.other().await, &self.session, self.now, range).await;
        for time in ["first", "second"] {
            let answer = answers(&self.fixture.store, &self.session, self.now, range).await;
            assert_eq!(answer, read, "{what}, asked the {time} time");
        }
        assert_ne!(read, self.before, "{what} changes no answer");
        self.before = read;
    }

    async fn takes(&mut self, what: &str, orders: Vec<Incoming>) {
        let store = self.other().await;
        receive_at(&store, orders, self.now).await;
        self.sees(what).await;
    }

    async fn applies(&mut self, what: &str, devices: Vec<DeviceEntry>) {
        let fleet = Fleet { devices, ..Fleet::default() };
        self.fixture.apply_at(fleet, self.now).await.unwrap();
        self.sees(what).await;
    }

    async fn beats(&mut self, store: &Store, at: i64) {
        let beat = beat("d1", UnixMs(at));
        assert_eq!(store.intake().record_heartbeats(vec![beat]).await.unwrap(), []);
    }
}

/// Cached days are not used after the data went back, when later changes have got the numbers of
/// those that were lost: the numbers belong to another history then.
#[tokio::test]
async fn days_of_a_history_that_was_lost_are_not_used() {
    let mut watched = Watched::new().await;
    watched.fixture.tamper("update sales_by_day set amount = amount + 100");
    watched.fixture.tamper("update group_changes set history = history + 1");
    watched.sees("another history").await;
}

#[tokio::test]
async fn orders_of_another_process_are_seen() {
    let mut watched = Watched::new().await;
    watched.takes("a sale", vec![sale("o3", "d1", 30, "USD", 90)]).await;
    watched.takes("a correction", vec![sale("o3", "d1", 30, "USD", 91)]).await;
    watched.takes("a sale that is none any more", vec![order("o3", "d1", 30)]).await;
    watched.takes("a device that is active", vec![order("o4", "d1", NOW.0)]).await;
}

#[tokio::test]
async fn rates_are_seen() {
    let mut watched = Watched::new().await;
    for (what, text) in [("a rate", "1.1"), ("another rate of the day", "1.2")] {
        watched.other().await.fleet().set_rates(vec![rate("EUR", 0, text)]).await.unwrap();
        watched.sees(what).await;
    }
}

#[tokio::test]
async fn the_fleet_is_seen() {
    let mut watched = Watched::new().await;
    watched.applies("a new device", vec![device("d3", "a")]).await;
    let off = DeviceEntry { enabled: Some(false), ..bare_device("d3") };
    watched.applies("a device that is not enabled", vec![off]).await;
    let on = DeviceEntry { enabled: Some(true), ..bare_device("d3") };
    watched.applies("a device that is enabled again", vec![on]).await;
    watched.applies("a device that moves", vec![moved("d2", "b", None)]).await;
    // The answer changes by itself when the time has come.
    let moves = moved("d1", "b", Some(NOW.0 + 100_000));
    let fleet = Fleet { devices: vec![moves], ..Fleet::default() };
    watched.fixture.apply(fleet).await.unwrap();
    answers(&watched.fixture.store, &watched.session, NOW, (0, DAY_MS)).await;
    watched.now = NOW.plus_ms(100_000);
    watched.sees("a device that has moved meanwhile").await;
    watched.applies("another one", vec![device("d4", "a")]).await;
    watched.now = NOW;
    watched.sees("a clock that goes back").await;
    let moves = vec![moved("d1", "b", None)];
    watched.applies("a move that is replaced by an earlier one", moves).await;
}

/// DASH-28: the number of devices online may be a second old.
#[tokio::test]
async fn heartbeats_invalidate_the_cache() {
    let mut watched = Watched::new().await;
    let own = watched.fixture.store.clone();
    watched.beats(&own, NOW.0 - 5).await;
    let online = |answers: &(Summary, Vec<(Day, Turnover)>)| answers.0.online_devices;
    assert_eq!(online(&watched.before), 0);
    // Seen before it is written, too.
    for (age, count) in [(0, 0), (999, 0), (1_000, 1)] {
        let now = NOW.plus_ms(age);
        let answer = answers(&own, &watched.session, now, (0, DAY_MS)).await;
        assert_eq!(online(&answer), count, "a count that is {age} ms old");
    }
    own.intake().write_activity().await.unwrap();
    watched.sees("a heartbeat").await;
    watched.now = NOW.plus_ms(ONLINE_WINDOW_MS);
    watched.sees("a device that has gone").await;
    let other = watched.other().await;
    watched.beats(&other, watched.now.0).await;
    other.intake().write_activity().await.unwrap();
    watched.sees("a heartbeat that another process wrote").await;
}

/// DASH-28: a count is as old as it was for the request that used it, also if another request
/// replaces it meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_count_that_was_used_keeps_its_age() {
    let fixture = TestStore::with_fleet().await;
    let session = fixture.log_in("ops").await.unwrap();
    for round in 0..50 {
        let counted_at = NOW.plus_ms(round * 10_000);
        let gone_after = beat("d1", counted_at.plus_ms(-ONLINE_WINDOW_MS));
        fixture.store.intake().record_heartbeats(vec![gone_after]).await.unwrap();
        let online = |age| {
            let (store, session) = (fixture.store.clone(), session.clone());
            let now = counted_at.plus_ms(age);
            async move { answers(&store, &session, now, (0, 0)).await.0.online_devices }
        };
        assert_eq!(online(0).await, 1);
        let counted_again = tokio::spawn(online(1_000));
        while !counted_again.is_finished() {
            online(999).await;
        }
        assert_eq!(counted_again.await.unwrap(), 0);
        assert_eq!(online(1_500).await, 0, "round {round}");
    }
}

#[tokio::test]
async fn other_ranges_are_not_answered_from_this_cache_entry() {
    let watched = Watched::new().await;
    let days = [3 * DAY_MS + 5_000, 2 * DAY_MS + 5_000, 2 * DAY_MS + 9_000, 9 * DAY_MS + 5_000];
    let orders = days.iter().zip(["USD", "EUR", "USD", "USD"]).enumerate();
    let orders = orders
        .map(|(number, (at, currency))| sale(&format!("x{number}"), "d1", *at, currency, 1_000));
    watched.fixture.receive_new(orders.collect()).await;
    // The number of devices online may be a second old.
    let now = NOW.plus_ms(1_000);
    let mut counts = Vec::new();
    for range in [
        (0, 10 * DAY_MS),
        (2 * DAY_MS, 4 * DAY_MS),
        (2 * DAY_MS + 5_000, 4 * DAY_MS),
        (2 * DAY_MS + 5_001, 4 * DAY_MS),
        (2 * DAY_MS, 3 * DAY_MS + 5_000),
        (2 * DAY_MS, 3 * DAY_MS + 5_001),
        (0, 2 * DAY_MS),
        (2 * DAY_MS, 9 * DAY_MS + 6_000),
        (9 * DAY_MS, 200 * DAY_MS),
        (5, 5),
    ] {
        let read = answers(&watched.other().await, &watched.session, now, range).await;
        for _ in 0..2 {
            assert_eq!(answers(&watched.fixture.store, &watched.session, now, range).await, read);
        }
        counts.push(read.0.turnover.orders);
    }
    assert_eq!(counts, [6, 3, 3, 2, 2, 3, 2, 4, 1, 0]);
}

/// Cached days are not read from the file again, whichever range was read last; the test observes
/// that.
#[tokio::test]
async fn what_nothing_has_moved_is_not_read_again() {
    let fixture = TestStore::with_fleet_on(TestData::sqlite()).await;
    let session = fixture.log_in("ops").await.unwrap();
    fixture.receive_new(vec![sale("o1", "d1", 10, "USD", 500)]).await;
    let before = answers(&fixture.store, &session, NOW, (0, DAY_MS)).await;
    let next_day = answers(&fixture.store, &session, NOW, (DAY_MS, 2 * DAY_MS)).await;
    fixture.tamper("update sales_by_day set orders = 77");
    for _ in 0..2 {
        assert_eq!(answers(&fixture.store, &session, NOW, (0, DAY_MS)).await, before);
        assert_eq!(answers(&fixture.store, &session, NOW, (DAY_MS, 2 * DAY_MS)).await, next_day);
    }
    // A change of devices is none of the sums.
    let stock = DeviceEntry { aisles: Some(vec![aisle("1", "p", 3)]), ..bare_device("d1") };
    let devices = vec![stock, device("e2", "b"), device("d2", "a")];
    fixture.apply_devices(devices).await;
    assert_eq!(answers(&fixture.store, &session, NOW, (0, DAY_MS)).await, before);
    fixture.tamper("update group_changes set last_change_no = last_change_no + 1");
    let read = answers(&fixture.store, &session, NOW, (0, DAY_MS)).await;
    assert_eq!(read.0.turnover.orders, 77);
    let opening = kiosque_store::OpenOptions {
        when_absent: WhenAbsent::Refuse,
        ..open_options(&fixture.data)
    };
    let fresh = Store::open(&opening).await.unwrap();
    assert_eq!(answers(&fresh, &session, NOW, (0, DAY_MS)).await, read);
}
