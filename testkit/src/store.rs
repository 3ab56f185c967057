//! A store without a server.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use kiosque_clock::Clock;
use kiosque_contract::OrderRecord;
use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_model::{
    ActedBy, Claim, DeviceCode, GroupId, LoginName, Origin, PageRequest, PresentedToken, UnixMs,
    Zone,
};
use kiosque_store::{
    Applied, ApplyError, Error, History, Incoming, NewHash, NewHashes, OpenOptions, OrderOutcome,
    OrderQuery, Owners, ReceiveOptions, Refused, Store,
};
use tokio::sync::Mutex;

use crate::data::{NOW, TestData, open_options};
use crate::entries::{account, device, group, product, title};

const LATE: UnixMs = UnixMs(i64::MAX / 2);

/// An open store and its data.
pub struct TestStore {
    /// The location of the data.
    pub data: TestData,
    /// The store.
    pub store: Store,
}

impl TestStore {
    /// Opens new data on the run's engine, in UTC.
    pub async fn new() -> TestStore {
        TestStore::on(TestData::new()).await
    }

    /// Opens existing data.
    pub async fn on(data: TestData) -> TestStore {
        let store = open(&data, None).await.unwrap();
        TestStore { data, store }
    }

    /// Opens new data on the run's engine with the fleet of [`TestStore::with_fleet_on`].
    pub async fn with_fleet() -> TestStore {
        TestStore::with_fleet_on(TestData::new()).await
    }

    /// Opens data and adds groups `a` and `b`, devices `d1` and `d2` of `a` and `e1` of `b`, a
    /// product `p`, and an account `ops` of both groups.
    pub async fn with_fleet_on(data: TestData) -> TestStore {
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

    /// Applies a fleet at [`NOW`].
    ///
    /// # Errors
    /// The fleet has errors, or the store failed.
    pub async fn apply(&self, fleet: Fleet) -> Result<Applied, ApplyError> {
        self.apply_at(fleet, NOW).await
    }

    /// Applies a fleet. Each new account gets the hash `hash of NAME`.
    ///
    /// # Errors
    /// The fleet has errors, or the store failed.
    pub async fn apply_at(&self, fleet: Fleet, now: UnixMs) -> Result<Applied, ApplyError> {
        let names = fleet.accounts.iter().map(|account| &account.login_name);
        let mut hashes = NewHashes::new();
        for name in names {
            if self.store.sessions().credentials(name).await.unwrap().is_none() {
                let new = Some(format!("hash of {name}"));
                hashes.insert(name.to_string(), NewHash { compared_with: None, new });
            }
        }
        self.store.fleet().apply(fleet, hashes, ActedBy::command(now), &clock_at(now)).await
    }

    /// Applies devices at [`NOW`], with success.
    pub async fn apply_devices(&self, devices: Vec<DeviceEntry>) -> Applied {
        self.apply(Fleet { devices, ..Fleet::default() }).await.unwrap()
    }

    /// Applies a fleet that must be refused, and returns its errors. Nothing may have changed.
    pub async fn errors(&self, fleet: Fleet) -> Vec<String> {
        let before = self.rows();
        let Err(ApplyError::Invalid(errors)) = self.apply(fleet).await else {
            panic!("a fleet with an error was applied")
        };
        assert_eq!(self.rows(), before);
        errors.iter().map(ToString::to_string).collect()
    }

    /// Receives orders at [`NOW`].
    pub async fn receive(&self, orders: Vec<Incoming>) -> Vec<OrderOutcome> {
        receive_at(&self.store, orders, NOW).await
    }

    /// Receives orders that must all be new.
    pub async fn receive_new(&self, orders: Vec<Incoming>) {
        for outcome in self.receive(orders).await {
            assert_eq!(outcome, OrderOutcome::Accepted);
        }
    }

    /// Logs an account in, for a session that does not expire.
    ///
    /// # Errors
    /// The account may not log in.
    pub async fn log_in(&self, name: &str) -> Result<PresentedToken, Refused> {
        self.log_in_until(name, 7, LATE, origin("127.0.0.1", NOW)).await
    }

    /// Logs an account in, for a session that ends at a time. Each `random` gives another token.
    ///
    /// # Errors
    /// The account may not log in.
    pub async fn log_in_until(
        &self,
        name: &str,
        random: u8,
        end: UnixMs,
        origin: Origin,
    ) -> Result<PresentedToken, Refused> {
        let name = LoginName::parse(name).unwrap();
        let credentials = self.store.sessions().credentials(&name).await.unwrap().unwrap();
        let opened = self.store.sessions().log_in(credentials, [random; 32], end, origin).await?;
        Ok(PresentedToken::read(opened.token.reveal().as_bytes()).unwrap())
    }

    /// The claim of a request at [`NOW`].
    pub fn claim(&self, token: &PresentedToken) -> Claim {
        Claim { token: token.clone(), now: NOW }
    }

    /// Changes the session's group, with success.
    pub async fn switch(&self, token: PresentedToken, group: &str) -> PresentedToken {
        let group = GroupId::parse(group).ok();
        let origin = origin("127.0.0.1", NOW);
        let switched = self
            .store
            .sessions()
            .switch_group(self.claim(&token), group, [8; 32], LATE, origin)
            .await;
        let opened = switched.unwrap();
        PresentedToken::read(opened.token.reveal().as_bytes()).unwrap()
    }

    /// Returns the titles of a device's orders in a group, newest first; `None` if the device is
    /// not in the group's scope.
    pub async fn list(
        &self,
        group: &str,
        device: &str,
        history: History,
        now: UnixMs,
    ) -> Option<Vec<String>> {
        let records = self.records(group, device, history, now).await?;
        Some(records.iter().map(title).collect())
    }

    /// Returns a device's orders in a group, newest first; `None` if the device is not in the
    /// group's scope.
    pub async fn records(
        &self,
        group: &str,
        device: &str,
        history: History,
        now: UnixMs,
    ) -> Option<Vec<OrderRecord>> {
        let session = self.log_in("ops").await.unwrap();
        let session = self.switch(session, group).await;
        let page = PageRequest::new(1, 1_000).unwrap();
        let device = DeviceCode::parse(device).ok();
        let query = OrderQuery { device, history, span: None, page };
        let page = self.store.orders().page(Claim { token: session, now }, query).await.ok()?;
        let records = page.newest_first().map(|json| serde_json::from_slice(json).unwrap());
        let records: Vec<OrderRecord> = records.collect();
        assert_eq!(usize::try_from(page.total).unwrap(), records.len());
        Some(records)
    }

    /// Returns the same data in another process.
    pub async fn again(&self) -> TestStore {
        TestStore::on(self.data.clone()).await
    }

    /// Returns the differences that `verify` finds.
    pub async fn differences(&self) -> Vec<String> {
        self.store.upkeep().verify().await.unwrap().differences
    }

    /// Asserts that `verify` finds no difference.
    pub async fn check(&self) {
        assert_eq!(self.differences().await, [""; 0]);
    }

    /// Changes rows; see [`TestData::tamper`].
    pub fn tamper(&self, sql: &str) {
        self.data.tamper(sql);
    }

    /// Returns bytes as an SQL literal of the engine.
    pub fn bytes_literal(&self, bytes: &[u8]) -> String {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        match self.data {
            TestData::Directory(_) => format!("x'{digits}'"),
            TestData::Postgres(_) => format!("cast('\\x{digits}' as bytea)"),
        }
    }

    /// Returns the rows of a statement; see [`TestData::query`].
    pub fn query(&self, sql: &str) -> Vec<String> {
        self.data.query(sql)
    }

    /// Returns every row; see [`TestData::rows`].
    pub fn rows(&self) -> Vec<String> {
        self.data.rows()
    }
}

/// Receives orders in a store, without a cache of owners.
pub async fn receive_at(store: &Store, orders: Vec<Incoming>, now: UnixMs) -> Vec<OrderOutcome> {
    let options = ReceiveOptions::at(now);
    store.intake().receive(Arc::new(orders), no_owners(), options).await.unwrap().outcomes
}

/// Returns an empty cache of owners.
pub fn no_owners() -> Arc<Mutex<Owners>> {
    Arc::default()
}

/// Returns a clock that always shows `now`.
pub fn clock_at(now: UnixMs) -> Clock {
    Clock::Manual(Arc::new(AtomicI64::new(now.0)))
}

/// Returns the origin of a request from an address.
pub fn origin(source: &str, at: UnixMs) -> Origin {
    Origin { source: source.parse().unwrap(), request_id: format!("r-{}", at.0), at }
}

/// Opens a store.
///
/// # Errors
/// See [`Store::open`].
pub async fn open(data: &TestData, zone: Option<&Zone>) -> Result<Store, Error> {
    Store::open(&OpenOptions { zone, ..open_options(data) }).await
}
