//! A house to test in: a real server on real ports over real data, with a clock that stands until a
//! test moves it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use argon2::{Algorithm, Argon2, Params, PasswordHasher, Version};
use bytes::Bytes;
use http_body_util::Full;
use kiosque_clock::{Clock, Entropy};
use kiosque_model::sales::Rate;
use kiosque_model::{ActedBy, Currency, Day, KeyName, OperatorKey, UnixMs, Zone};
use kiosque_server::ingest::fleet::{self, Format};
use kiosque_server::ingest::import::{Imported, Progress, Watch, import_ndjson};
use kiosque_server::ingest::record::Records;
use kiosque_server::ingest::rejected::Rejected;
use kiosque_server::tls::{self, Certificate};
use kiosque_server::{App, Audience, Listener, Settings, Stop};
use kiosque_store::{
    Applied, ApplyError, CreatedKey, DatedRate, KeyHolder, OpenOptions, RecordShape, SessionLease,
    Store, WhenAbsent,
};
use tempfile::TempDir;

pub(crate) use crate::caller::{Caller, LoggedIn, Reply, http2, post};
use crate::test_data::{Held, TestData};

pub(crate) const TOKEN_PATH: &str = "platform-auth/auth/third-api/token";
pub(crate) const SWITCH_PATH: &str = "platform-auth/auth/third-api/switchGroup";
pub(crate) const LOGOUT_PATH: &str = "platform-auth/auth/third-api/logout";
pub(crate) const DEVICES_PATH: &str = "third-center-web/openapi/v1/kioskDevice/devicePage";
pub(crate) const ORDERS_PATH: &str = "third-center-web/openapi/v1/kioskOrder/queryOrderList";
pub(crate) const DETAIL_PATH: &str = "third-center-web/openapi/v1/kioskOrder/orderDetail";
pub(crate) const SUMMARY_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/summary";
pub(crate) const TREND_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/salesTrend";
pub(crate) const BEST_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/bestSellingProduct";
pub(crate) const BY_DEVICE_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/salesByDevice";
pub(crate) const AISLE_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/deviceAisle";
pub(crate) const PROFILE_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/deviceProfile";
pub(crate) const ONLINE_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/onlineDevices";
/// The dashboard functions that take filters.
pub(crate) const DASHBOARD_PATHS: [&str; 6] =
    [SUMMARY_PATH, BEST_PATH, BY_DEVICE_PATH, TREND_PATH, AISLE_PATH, PROFILE_PATH];

/// When the house's clock stands at first: 2026-03-02 10:00:00 UTC.
pub(crate) const START_MS: i64 = 1_772_445_600_000;

pub(crate) struct TestServer {
    /// Its certificate, and its data if they are in files.
    pub(crate) folder: TempDir,
    pub(crate) data: TestData,
    pub(crate) store: Store,
    pub(crate) address: SocketAddr,
    /// Where the operator's calls are.
    pub(crate) operator: SocketAddr,
    pub(crate) settings: Settings,
    pub(crate) certificate: Arc<Certificate>,
    /// Refused logins reach the trail when a test says so: see [`App::tell_refusals`].
    pub(crate) app: Arc<App>,
    shape: Arc<dyn RecordShape>,
    zone: Zone,
    clock_ms: Arc<AtomicI64>,
    stop: Stop,
    serving: Option<tokio::task::JoinHandle<()>>,
}

impl TestServer {
    /// A house with a fleet (TOML), in UTC.
    pub(crate) async fn with(fleet: &str) -> TestServer {
        TestServer::set(fleet, |_| {}).await
    }

    /// A house with settings of its own.
    pub(crate) async fn set(fleet: &str, change: impl FnOnce(&mut Settings)) -> TestServer {
        TestServer::shaped(fleet, change, Arc::new(Records)).await
    }

    /// A house that knows something else of its records.
    pub(crate) async fn shaped(
        fleet: &str,
        change: impl FnOnce(&mut Settings),
        shape: Arc<dyn RecordShape>,
    ) -> TestServer {
        let mut settings = Settings::for_cores(2);
        change(&mut settings);
        let server = TestServer::over(TestData::of_this_run(), Zone::utc(), settings, shape).await;
        server.apply(fleet).await.unwrap();
        server
    }

    /// A house with a time zone of its own.
    pub(crate) async fn in_zone(zone: &str, fleet: &str) -> TestServer {
        let (zone, settings) = (Zone::named(zone).unwrap(), Settings::for_cores(2));
        let server =
            TestServer::over(TestData::of_this_run(), zone, settings, Arc::new(Records)).await;
        server.apply(fleet).await.unwrap();
        server
    }

    /// A house for a test that is about files alone: data of an earlier layout is in files, and in
    /// no PostgreSQL. Its data is in its folder, whichever engine this run is about.
    pub(crate) async fn of_files(folder: TempDir, zone: Zone, settings: Settings) -> TestServer {
        let clock_ms = Arc::new(AtomicI64::new(START_MS));
        TestServer::build(folder, TestData::Files, zone, settings, Arc::new(Records), clock_ms)
            .await
    }

    /// A house on a PostgreSQL, whichever engine this run is about.
    pub(crate) async fn of_postgres(fleet: &str) -> TestServer {
        let settings = Settings::for_cores(2);
        let server =
            TestServer::over(TestData::postgres(), Zone::utc(), settings, Arc::new(Records)).await;
        server.apply(fleet).await.unwrap();
        server
    }

    /// Another node on the same data, with the same clock.
    pub(crate) async fn another_node(&self) -> TestServer {
        let (folder, data) = (TempDir::new().unwrap(), self.data.clone());
        let (zone, settings, shape) = (self.zone.clone(), self.settings.clone(), &self.shape);
        let (shape, clock_ms) = (Arc::clone(shape), Arc::clone(&self.clock_ms));
        TestServer::build(folder, data, zone, settings, shape, clock_ms).await
    }

    async fn over(
        data: TestData,
        zone: Zone,
        settings: Settings,
        shape: Arc<dyn RecordShape>,
    ) -> TestServer {
        let clock_ms = Arc::new(AtomicI64::new(START_MS));
        TestServer::build(TempDir::new().unwrap(), data, zone, settings, shape, clock_ms).await
    }

    async fn build(
        folder: TempDir,
        data: TestData,
        zone: Zone,
        settings: Settings,
        shape: Arc<dyn RecordShape>,
        clock_ms: Arc<AtomicI64>,
    ) -> TestServer {
        let Serving { app, store, address, operator, certificate, stop, task } =
            serve((folder.path(), &data), &settings, &zone, &clock_ms, &shape).await;
        TestServer {
            folder,
            data,
            store,
            address,
            operator,
            settings,
            certificate,
            app,
            zone,
            shape,
            clock_ms,
            stop,
            serving: Some(task),
        }
    }

    /// Stops the server and starts another on the same data.
    pub(crate) async fn restart(&mut self) {
        self.stop.now();
        self.serving.take().unwrap().await.unwrap();
        let place = (self.folder.path(), &self.data);
        let again = serve(place, &self.settings, &self.zone, &self.clock_ms, &self.shape).await;
        self.store = again.store;
        self.app = again.app;
        self.address = again.address;
        self.operator = again.operator;
        self.certificate = again.certificate;
        self.stop = again.stop;
        self.serving = Some(again.task);
    }

    /// Tells the server to stop, and waits until it has.
    pub(crate) async fn stop(&mut self) {
        self.stop.now();
        self.serving.take().unwrap().await.unwrap();
    }

    pub(crate) fn now(&self) -> UnixMs {
        UnixMs(self.clock_ms.load(Ordering::SeqCst))
    }

    /// Sets the clock, with an offset.
    pub(crate) fn set_clock(&self, time: &str) {
        self.clock_ms.store(self.zone.parse(time).unwrap().0, Ordering::SeqCst);
    }

    pub(crate) fn pass(&self, time: Duration) {
        let ms = i64::try_from(time.as_millis()).unwrap();
        self.clock_ms.fetch_add(ms, Ordering::SeqCst);
    }

    /// What `kiosque apply` does.
    pub(crate) async fn apply(&self, fleet: &str) -> Result<Applied, ApplyError> {
        let fleet =
            fleet::parse(fleet, Format::Toml, self.store.zone()).map_err(ApplyError::Faults)?;
        let by = ActedBy::command(self.now());
        fleet::apply(&self.store, fleet, &Entropy::system(), by).await
    }

    /// What `kiosque import orders` does; also returns what was rejected.
    pub(crate) async fn import(&self, ndjson: impl AsRef<[u8]>) -> (Imported, Vec<Rejected>) {
        let mut rejections = Rejections::default();
        let clock = Clock::Manual(Arc::clone(&self.clock_ms));
        let imported =
            import_ndjson(&self.store, &clock, ndjson.as_ref(), &mut rejections).await.unwrap();
        (imported, rejections.0)
    }

    /// The lines of a look at the data, one of `crates/store/tests/sql`.
    pub(crate) fn look(&self, sql: &str) -> Vec<String> {
        self.data.look(self.folder.path(), sql)
    }

    /// Keeps everybody from writing, until dropped.
    pub(crate) async fn hold_writes(&self) -> Held {
        self.data.hold_writes(self.folder.path()).await
    }

    /// The transactions that wrote orders.
    pub(crate) async fn commits(&self) -> BTreeSet<String> {
        self.data.commits(self.folder.path()).await
    }

    /// What `kiosque import rates` keeps: currencies, the days from which rates hold, and rates.
    pub(crate) async fn rates(&self, rates: &[(&str, &str, &str)]) {
        let rates = rates.iter().map(|(currency, day, rate)| DatedRate {
            currency: Currency::parse(currency).unwrap(),
            day: Day::of(day.parse().unwrap()),
            rate: Rate::parse(rate).unwrap(),
        });
        self.store.set_rates(rates.collect()).await.unwrap();
    }

    /// Imports orders that are all good.
    pub(crate) async fn orders(&self, ndjson: impl AsRef<[u8]>) {
        let (_, rejected) = self.import(ndjson).await;
        assert_eq!(rejected, []);
    }

    /// A new connection, HTTP/1.1.
    pub(crate) async fn caller(&self) -> Caller {
        Caller::connect(self.address, self.folder.path()).await
    }

    /// One call on a connection of its own.
    pub(crate) async fn call(&self, path: &str, token: Option<&str>, body: &str) -> Reply {
        self.caller().await.call(path, token, body).await
    }

    /// A new key of an operator, called by its rights, with commas.
    pub(crate) async fn key(&self, may: &str) -> String {
        self.key_called(may, may).await
    }

    pub(crate) async fn key_called(&self, name: &str, may: &str) -> String {
        let key = OperatorKey::mint(Entropy::system().bytes().unwrap());
        let name = KeyName::parse(name).unwrap();
        let holder = KeyHolder { name, rights: may.parse().unwrap() };
        let created = self.store.create_key(holder, key.digest(), self.now()).await.unwrap();
        assert_eq!(created, CreatedKey::Created);
        key.reveal().to_owned()
    }

    /// A POST to the operator's listener, on a connection of its own.
    pub(crate) async fn operate(
        &self,
        path: &str,
        key: Option<&str>,
        body: impl Into<Bytes>,
    ) -> Reply {
        let mut request = http::Request::post(path).header("host", "localhost");
        if let Some(key) = key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let mut caller = Caller::connect(self.operator, self.folder.path()).await;
        caller.send(request.body(Full::from(body.into())).unwrap()).await
    }

    /// Logs in, with success.
    pub(crate) async fn log_in(&self, username: &str) -> LoggedIn {
        let body = format!(r#"{{"username":"{username}","password":"secret"}}"#);
        LoggedIn::of(&self.call(TOKEN_PATH, None, &body).await)
    }

    /// Switches the group, with success.
    pub(crate) async fn switch(&self, token: &str, group: &str) -> LoggedIn {
        let body = format!(r#"{{"groupId":"{group}"}}"#);
        LoggedIn::of(&self.call(SWITCH_PATH, Some(token), &body).await)
    }

    /// The body code of a business call with this token: 200 or -4, mostly.
    pub(crate) async fn code_of(&self, token: &str) -> i64 {
        self.call(DEVICES_PATH, Some(token), "{}").await.code()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop.now();
    }
}

/// A server that runs.
struct Serving {
    app: Arc<App>,
    store: Store,
    address: SocketAddr,
    operator: SocketAddr,
    certificate: Arc<Certificate>,
    stop: Stop,
    task: tokio::task::JoinHandle<()>,
}

async fn serve(
    (folder, data): (&Path, &TestData),
    settings: &Settings,
    zone: &Zone,
    clock_ms: &Arc<AtomicI64>,
    shape: &Arc<dyn RecordShape>,
) -> Serving {
    let clock = Clock::Manual(Arc::clone(clock_ms));
    let opening = OpenOptions {
        place: data.store_place(folder),
        when_absent: WhenAbsent::Create,
        zone: Some(zone),
        shape: Arc::clone(shape),
        wait: settings.limits.store_wait,
        lease: SessionLease::default(),
        now: clock.now(),
    };
    let store = Store::open(&opening).await.unwrap();
    let identity = tls::self_signed(folder, UnixMs(START_MS)).unwrap();
    let certificate = Certificate::open(identity).unwrap();
    let bind = |door| Listener::bind(door, "127.0.0.1:0", Arc::clone(&certificate));
    let gateway = bind(Audience::Gateway).await.unwrap();
    let operators = bind(Audience::Operator).await.unwrap();
    let (address, operator) = (gateway.address().unwrap(), operators.address().unwrap());
    let app = App::new(store.clone(), settings.clone(), clock, Entropy::system()).unwrap();
    let (app, stop) = (Arc::new(app), Stop::new());
    let gateway = gateway.serve(Arc::clone(&app), stop.clone());
    let operators = operators.serve(Arc::clone(&app), stop.clone());
    let task = tokio::spawn(async move {
        tokio::join!(gateway, operators);
    });
    Serving { app, store, address, operator, certificate, stop, task }
}

/// Collects what is rejected.
#[derive(Default)]
struct Rejections(Vec<Rejected>);

impl Watch for Rejections {
    fn rejected(&mut self, rejected: &Rejected) -> std::io::Result<()> {
        self.0.push(rejected.clone());
        Ok(())
    }

    fn progress(&mut self, _: Progress) {}
}

/// A hash of the least cost, for tests that log in often; the server takes any argon2id hash.
pub(crate) fn cheap_hash(password: &str) -> String {
    let params = Params::new(8, 1, 1, None).unwrap();
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon2.hash_password_with_salt(password.as_bytes(), b"salt-of-a-test").unwrap().to_string()
}

/// A number from the environment's soak switch: the full size there, a small one elsewhere.
pub(crate) fn size(small: usize, full: usize) -> usize {
    if std::env::var_os("KIOSQUE_SOAK").is_some() { full } else { small }
}
