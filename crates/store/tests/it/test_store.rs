//! A store for tests: names for fleets and orders, and access to the rows behind it.

mod test_data;
mod words;

use std::sync::Arc;
use std::time::Duration;

use kiosque_model::fleet::Fleet;
use kiosque_model::order::ShipmentStatus;
use kiosque_model::sales::{Sale, Sold};
use kiosque_model::{ActedBy, Currency, DeviceCode, GroupId, LoginName, Minor, Origin};
use kiosque_model::{PageRequest, PresentedToken, UnixMs, Zone};
use kiosque_store::{
    Applied, ApplyError, Error, History, Incoming, Kept, NewHashes, OpenOptions, OrderQuery,
    Outcome, Owners, Ready, Record, RecordShape, Refused, SessionLease, Store, WhenAbsent,
};

pub(crate) use test_data::TestData;
pub(crate) use words::*;

pub(crate) const NOW: UnixMs = UnixMs(1_000_000);
const LATE: UnixMs = UnixMs(i64::MAX / 2);

pub(crate) struct TestStore {
    pub(crate) data: TestData,
    pub(crate) store: Store,
}

impl TestStore {
    pub(crate) async fn new() -> TestStore {
        TestStore::on(TestData::new()).await
    }

    pub(crate) async fn on(data: TestData) -> TestStore {
        let store = open(&data, None).await.unwrap();
        TestStore { data, store }
    }

    pub(crate) async fn furnished() -> TestStore {
        TestStore::furnished_on(TestData::new()).await
    }

    /// With groups `a` and `b`, a product `p`, and an account `ops` of both groups.
    pub(crate) async fn furnished_on(data: TestData) -> TestStore {
        let fixture = TestStore::on(data).await;
        let fleet = Fleet {
            groups: vec![group("a"), group("b")],
            accounts: vec![account("ops", &["a", "b"])],
            products: vec![product("p")],
            devices: vec![device("d1", "a"), device("d2", "a"), device("e1", "b")],
        };
        fixture.apply(fleet).await.unwrap();
        fixture
    }

    pub(crate) async fn apply(&self, fleet: Fleet) -> Result<Applied, ApplyError> {
        self.apply_at(fleet, NOW).await
    }

    /// Every account that is not known yet has the hash `hash of NAME`.
    pub(crate) async fn apply_at(&self, fleet: Fleet, now: UnixMs) -> Result<Applied, ApplyError> {
        let new = fleet.accounts.iter().map(|account| &account.login_name);
        let mut hashes = NewHashes::new();
        for name in new {
            if self.store.credentials(name).await.unwrap().is_none() {
                hashes.insert(name.to_string(), format!("hash of {name}"));
            }
        }
        self.store.apply(fleet, hashes, ActedBy::command(now)).await
    }

    /// Applies an invalid fleet, and returns the faults; nothing may have changed.
    pub(crate) async fn faults(&self, fleet: Fleet) -> Vec<String> {
        let before = self.rows();
        let Err(ApplyError::Faults(faults)) = self.apply(fleet).await else {
            panic!("a fleet with a fault was applied")
        };
        assert_eq!(self.rows(), before);
        faults
    }

    pub(crate) async fn take(&self, batch: Vec<Incoming>) -> Vec<Outcome> {
        self.store.receive(Arc::new(batch), owners(), NOW).await.unwrap()
    }

    /// Stores orders that are all new.
    pub(crate) async fn sell(&self, batch: Vec<Incoming>) {
        for outcome in self.take(batch).await {
            assert_eq!(outcome, Outcome::Accepted);
        }
    }

    pub(crate) async fn log_in(&self, name: &str) -> Result<PresentedToken, Refused> {
        let name = LoginName::parse(name).unwrap();
        let credentials = self.store.credentials(&name).await.unwrap().unwrap();
        let opened =
            self.store.log_in(credentials, [7; 32], LATE, origin("127.0.0.1", NOW)).await?;
        Ok(PresentedToken::read(opened.token.reveal().as_bytes()).unwrap())
    }

    pub(crate) async fn switch(&self, presented: PresentedToken, group: &str) -> PresentedToken {
        let group = GroupId::parse(group).ok();
        let origin = origin("127.0.0.1", NOW);
        let switched = self.store.switch_group(presented, group, [8; 32], LATE, origin).await;
        let opened = switched.unwrap();
        PresentedToken::read(opened.token.reveal().as_bytes()).unwrap()
    }

    /// The heads of a device's orders in a group, newest first; `None` out of scope.
    pub(crate) async fn list(
        &self,
        group: &str,
        device: &str,
        history: History,
        now: UnixMs,
    ) -> Option<Vec<String>> {
        let session = self.log_in("ops").await.unwrap();
        let session = self.switch(session, group).await;
        let page = PageRequest::new(1, 1_000).unwrap();
        let device = DeviceCode::parse(device).ok();
        let ask = OrderQuery { device, history, span: None, page };
        let heads = |heads: &mut Vec<String>, ready: Ready<'_>| {
            heads.push(String::from_utf8(ready.head.to_vec()).unwrap());
            Ok(())
        };
        let (total, mut heads) = self.store.order_page(&session, now, ask, heads).await.ok()?;
        // They are read oldest first.
        heads.reverse();
        assert_eq!(usize::try_from(total).unwrap(), heads.len());
        Some(heads)
    }

    /// Changes rows without the store.
    pub(crate) fn tamper(&self, sql: &str) {
        self.data.tamper(sql);
    }

    /// The rows of a statement, each as text.
    pub(crate) fn ask(&self, sql: &str) -> Vec<String> {
        self.data.ask(sql)
    }

    /// Every row of every table.
    pub(crate) fn rows(&self) -> Vec<String> {
        self.data.rows()
    }
}

/// Owners of which nothing is known yet.
pub(crate) fn owners() -> Arc<tokio::sync::Mutex<Owners>> {
    Arc::default()
}

/// A request from an address.
pub(crate) fn origin(source: &str, at: UnixMs) -> Origin {
    Origin { source: source.parse().unwrap(), request_id: format!("r-{}", at.0), at }
}

pub(crate) async fn open(data: &TestData, zone: Option<&Zone>) -> Result<Store, Error> {
    Store::open(&OpenOptions { zone, ..opening(data) }).await
}

/// Longer than a busy machine takes for anything.
const LONG: Duration = Duration::from_secs(30);

pub(crate) fn opening(data: &TestData) -> OpenOptions<'_> {
    OpenOptions {
        place: data.store_place(),
        when_absent: WhenAbsent::Create,
        zone: None,
        shape: Arc::new(TestShape::default()),
        wait: LONG,
        lease: SessionLease { length: LONG, clock_skew: LONG },
        now: NOW,
    }
}

/// The rendering of this store's test records: a sale is encoded in their lines, as [`sold`] writes
/// them.
#[derive(Debug)]
pub(crate) struct TestShape {
    /// Makes the record of an order that arrives again.
    pub(crate) settle: fn(&Incoming, &Kept) -> Result<Record, Error>,
}

impl Default for TestShape {
    fn default() -> Self {
        TestShape { settle: |order, _| Ok(order.record.clone()) }
    }
}

impl RecordShape for TestShape {
    fn settle(&self, incoming: &Incoming, kept: &Kept) -> Result<Record, Error> {
        (self.settle)(incoming, kept)
    }

    fn sale(&self, _: &[u8], lines: &[u8], at: UnixMs) -> Result<Sale, Error> {
        let text = std::str::from_utf8(lines).unwrap();
        let mut parts = text.split('|');
        let mut next = || parts.next().unwrap();
        next();
        let currency = Currency::parse(next()).unwrap();
        let mut number = || next().parse::<i64>().unwrap();
        let (amount, refund) = (Minor(number()), Minor(number()));
        let shipment = ShipmentStatus::of(number()).unwrap();
        let goods = parts.map(|line| {
            let mut parts = line.split(':');
            let goods_id = parts.next().unwrap().to_owned();
            let mut number = || parts.next().unwrap().parse::<i64>().unwrap();
            Sold { items: number(), amount: Minor(number()), goods_id, name: None }
        });
        Ok(Sale { at, currency, amount, refund, shipment, goods: goods.collect() })
    }

    fn renewed(&self, first_head: &[u8]) -> Result<(i64, String), Error> {
        Ok((1, String::from_utf8(first_head.to_vec()).unwrap()))
    }

    fn sale_time(&self, _: &[u8], lines: &[u8]) -> Result<Option<String>, Error> {
        let text = std::str::from_utf8(lines).unwrap();
        let paid = text.split('|').next().unwrap().parse().ok();
        Ok(paid.map(|ms| Zone::utc().text(UnixMs(ms))))
    }
}
