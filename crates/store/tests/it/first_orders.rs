//! The first page of a device's orders is cached, and is read again after every change of it.

use kiosque_model::{Claim, DeviceCode, PageRequest, PresentedToken, Refusal, UnixMs};
use kiosque_store::{History, Incoming, OrderQuery, Refused, Returning, Store};
use kiosque_testkit::entries::{order, title, titled};
use kiosque_testkit::{NOW, TestStore, open, receive_at};

/// The total, and the titles of the orders; or the refusal.
type Page = Result<(i64, Vec<String>), Refusal>;

/// The stores of two processes.
struct Processes {
    fixture: TestStore,
    session: PresentedToken,
    /// The last answer.
    before: [Page; 2],
}

fn claim(session: &PresentedToken) -> Claim {
    Claim { token: session.clone(), now: NOW }
}

/// Returns the query for the first page of a device that has three orders.
fn query(history: History) -> OrderQuery {
    let (device, page) = (DeviceCode::parse("d1").ok(), PageRequest::new(1, 2).unwrap());
    OrderQuery { device, history, span: None, page }
}

async fn page(store: &Store, session: &PresentedToken, history: History) -> Page {
    match store.orders().page(claim(session), query(history)).await {
        Ok(page) => {
            let titles = page.newest_first();
            let titles = titles.map(|json| title(&serde_json::from_slice(json).unwrap()));
            Ok((page.total, titles.collect()))
        }
        Err(Refused::Refusal(refusal)) => Err(refusal),
        Err(Refused::Store(error)) => panic!("{error}"),
    }
}

async fn pages(store: &Store, session: &PresentedToken) -> [Page; 2] {
    [page(store, session, History::Left).await, page(store, session, History::Included).await]
}

impl Processes {
    async fn new() -> Processes {
        let fixture = TestStore::with_fleet().await;
        let session = fixture.log_in("ops").await.unwrap();
        fixture
            .receive_new(vec![order("o1", "d1", 10), order("o2", "d1", 20), order("o3", "d1", 30)])
            .await;
        let before = pages(&fixture.store, &session).await;
        Processes { fixture, session, before }
    }

    /// Returns the store of another process, whose cache is empty.
    async fn other(&self) -> Store {
        open(&self.fixture.data, None).await.unwrap()
    }

    /// Checks that the pages equal the pages of a store without a cache, at the first request and
    /// at the next, and that they differ from the last ones.
    async fn sees(&mut self, what: &str) {
        let read = pages(&self.other().await, &self.session).await;
        for time in ["first", "second"] {
            let answer = pages(&self.fixture.store, &self.session).await;
            assert_eq!(answer, read, "{what}, asked the {time} time");
        }
        assert_ne!(read, self.before, "{what} changes no page");
        self.before = read;
    }

    /// Checks that each request reads a record that is damaged.
    async fn cannot_be_read(&self) {
        for _ in 0..2 {
            let query = query(History::Left);
            let read = self.fixture.store.orders().page(claim(&self.session), query).await;
            assert!(matches!(read, Err(Refused::Store(_))), "{read:?}");
        }
    }

    async fn takes(&mut self, what: &str, order: Incoming) {
        let store = self.other().await;
        receive_at(&store, vec![order], NOW).await;
        self.sees(what).await;
    }
}

/// ORD-3, ORD-4, ORD-22: new orders, changed ones and boundaries of the archive, of another
/// process.
#[tokio::test]
async fn every_change_of_a_page_is_seen() {
    let mut both = Processes::new().await;
    assert_eq!(both.before[0], Ok((3, vec!["o3".to_owned(), "o2".to_owned()])));
    both.takes("a new order", order("o4", "d1", 40)).await;
    let changed = titled(order("o4", "d1", 40), "changed");
    both.takes("a changed order", changed).await;
    let changes = [
        ("a new order of this process", order("o5", "d1", 50)),
        ("a changed order of this process", titled(order("o5", "d1", 50), "changed")),
        ("a changed order before it", titled(order("o4", "d1", 40), "changed again")),
    ];
    for (what, change) in changes {
        receive_at(&both.fixture.store, vec![change], NOW).await;
        both.sees(what).await;
    }
    for (what, before) in [("archiving", 35), ("archiving less", 15)] {
        let archive = both.other().await;
        archive.upkeep().archive_exactly(UnixMs(before), NOW, Returning::Allowed).await.unwrap();
        both.sees(what).await;
    }
    both.fixture.store.upkeep().archive(UnixMs(1_000), NOW).await.unwrap();
    both.sees("archiving all").await;
}

/// The cached page is not read again while no order of its device has changed, and a record is not
/// unpacked again while its order has not.
#[tokio::test]
async fn what_nothing_has_changed_is_not_read_again() {
    let both = Processes::new().await;
    let record = both.fixture.bytes_literal(&[0]);
    both.fixture.tamper(&format!("update orders set record = {record} where order_id = 'o3'"));
    both.fixture.receive_new(vec![order("o4", "d2", 40)]).await;
    let store = &both.fixture.store;
    assert_eq!(page(store, &both.session, History::Left).await, both.before[0]);
    let change_device =
        "update ledger set last_change_no = last_change_no + 1 where device_code = 'd1'";
    both.fixture.tamper(change_device);
    assert_eq!(page(store, &both.session, History::Left).await, both.before[0]);
    both.fixture.tamper("update orders set change_no = 100 where order_id = 'o3'");
    both.fixture.tamper(change_device);
    both.cannot_be_read().await;
}

/// ORD-28: after data went back, an order may have the change number that a lost version had.
#[tokio::test]
async fn records_of_another_history_are_read_again() {
    let both = Processes::new().await;
    let record = both.fixture.bytes_literal(&[0]);
    both.fixture.tamper(&format!("update orders set record = {record} where order_id = 'o3'"));
    both.fixture.tamper("update ledger set history = history + 1 where device_code = 'd1'");
    both.cannot_be_read().await;
}
