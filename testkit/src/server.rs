//! A server in the test's process: real ports and real data, with a clock that the test sets.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use argon2::{Algorithm, Argon2, Params, PasswordHasher, Version};
use bytes::Bytes;
use http_body_util::Full;
use kiosque_clock::{Clock, Entropy, millis};
use kiosque_ingest::fleet::{self, Format};
use kiosque_ingest::import::{
    ImportObserver, ImportRules, Imported, Progress, Strictness, import_ndjson,
};
use kiosque_ingest::rejected::Rejected;
use kiosque_listener::tls::Certificate;
use kiosque_listener::{Listener, Stop};
use kiosque_model::sales::Rate;
use kiosque_model::{ActedBy, Currency, Day, KeyName, Limits, OperatorKey, UnixMs, Zone, setting};
use kiosque_server::{App, Audience, Settings, self_signed};
use kiosque_store::{
    Applied, ApplyError, CreatedKey, DatedRate, KeyHolder, OpenOptions, SessionLease, Store,
};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::client::{Client, Http2Client, LoggedIn, connect_http2};
use crate::data::{TestData, open_options};
use crate::paths::{DEVICES_PATH, SWITCH_PATH, TOKEN_PATH};
use crate::reply::Reply;
use crate::wait::WAIT_MAX;

/// The initial time of a server's clock: 2026-03-02 10:00:00 UTC.
pub const START_MS: i64 = 1_772_445_600_000;

/// How a server is opened; by default with new data on the run's engine, in UTC, and without
/// deadlines that a busy machine can exceed.
pub struct ServerOptions {
    /// The location of the data.
    pub data: TestData,
    /// The time zone of new data.
    pub zone: Zone,
    /// The duration of the session lease, on PostgreSQL.
    pub session_lease: Duration,
    /// The settings.
    pub settings: Settings,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        let data = TestData::new();
        let mut settings = setting::defaults::<Settings>();
        settings.limits = Limits {
            store_wait: WAIT_MAX,
            tls_handshake_deadline: WAIT_MAX,
            first_byte_deadline: WAIT_MAX,
            header_deadline: WAIT_MAX,
            body_deadline: WAIT_MAX,
            idle_deadline: WAIT_MAX,
            hash_slots: 1,
            ingest_threads: 1,
            ..settings.limits
        };
        ServerOptions { data, zone: Zone::utc(), session_lease: WAIT_MAX, settings }
    }
}

/// A server, which stops when it is dropped.
pub struct TestServer {
    /// The directory of the certificate, and of the data if it is in files.
    pub directory: Arc<TempDir>,
    /// The location of the data.
    pub data: TestData,
    /// The store that the server uses.
    pub store: Store,
    /// The integrators' listener.
    pub address: SocketAddr,
    /// The operator's listener.
    pub operator: SocketAddr,
    /// The settings.
    pub settings: Settings,
    /// The certificate of both listeners.
    pub certificate: Arc<Certificate>,
    /// The application. Refused logins are written to the audit trail when a test calls
    /// [`TestServer::flush_refused_logins`].
    pub app: Arc<App>,
    zone: Zone,
    session_lease: Duration,
    /// The milliseconds since 1970 that the server's clock shows.
    now_ms: Arc<AtomicI64>,
    stop: Stop,
    serving: Option<JoinHandle<()>>,
}

impl TestServer {
    /// Starts a server with a fleet, in TOML.
    pub async fn start(fleet: impl AsRef<str>) -> TestServer {
        TestServer::start_with(fleet, |_| {}).await
    }

    /// Starts a server with a fleet and changed settings.
    pub async fn start_with(
        fleet: impl AsRef<str>,
        change: impl FnOnce(&mut Settings),
    ) -> TestServer {
        let mut options = ServerOptions::default();
        change(&mut options.settings);
        TestServer::start_on(fleet, options).await
    }

    /// Starts a server with a fleet. Returns it with the token of a session of `ops`.
    pub async fn start_for_ops(fleet: impl AsRef<str>) -> (TestServer, String) {
        TestServer::start_for_ops_with(fleet, |_| {}).await
    }

    /// Starts a server with a fleet and changed settings. Returns it with the token of a session of
    /// `ops`.
    pub async fn start_for_ops_with(
        fleet: impl AsRef<str>,
        change: impl FnOnce(&mut Settings),
    ) -> (TestServer, String) {
        let server = TestServer::start_with(fleet, change).await;
        let token = server.log_in("ops").await.token;
        (server, token)
    }

    /// Starts a server with a fleet, in a time zone.
    pub async fn start_in_zone(zone: &str, fleet: impl AsRef<str>) -> TestServer {
        let zone = Zone::named(zone).unwrap();
        TestServer::start_on(fleet, ServerOptions { zone, ..ServerOptions::default() }).await
    }

    /// Starts a server with these options, then applies a fleet.
    pub async fn start_on(fleet: impl AsRef<str>, options: ServerOptions) -> TestServer {
        let server = TestServer::open(options).await;
        server.apply(fleet).await.unwrap();
        server
    }

    /// Starts a server on existing data.
    pub async fn open(options: ServerOptions) -> TestServer {
        TestServer::open_at(options, Arc::new(AtomicI64::new(START_MS))).await
    }

    /// Starts another node on the same data, with the same clock.
    pub async fn another_node(&self) -> TestServer {
        TestServer::open_at(self.options(), Arc::clone(&self.now_ms)).await
    }

    fn options(&self) -> ServerOptions {
        ServerOptions {
            data: self.data.clone(),
            zone: self.zone.clone(),
            session_lease: self.session_lease,
            settings: self.settings.clone(),
        }
    }

    async fn open_at(options: ServerOptions, now_ms: Arc<AtomicI64>) -> TestServer {
        let directory = match &options.data {
            TestData::Directory(directory) => Arc::clone(directory),
            TestData::Postgres(_) => Arc::new(TempDir::new().unwrap()),
        };
        TestServer::open_in(directory, options, now_ms).await
    }

    /// Starts a server whose certificate is in `directory`.
    async fn open_in(
        directory: Arc<TempDir>,
        options: ServerOptions,
        now_ms: Arc<AtomicI64>,
    ) -> TestServer {
        let ServerOptions { data, zone, session_lease, settings } = options;
        let clock = Clock::Manual(Arc::clone(&now_ms));
        let opening = OpenOptions {
            zone: Some(&zone),
            wait: settings.limits.store_wait,
            lease: SessionLease { length: session_lease, ..SessionLease::default() },
            now: clock.now(),
            ..open_options(&data)
        };
        let store = Store::open(&opening).await.unwrap();
        let identity = self_signed(directory.path(), UnixMs(START_MS)).unwrap();
        let certificate = Certificate::open(identity).unwrap();
        let bind = || Listener::bind("127.0.0.1:0", Arc::clone(&certificate));
        let (gateway, operators) = (bind().await.unwrap(), bind().await.unwrap());
        let (address, operator) = (gateway.address().unwrap(), operators.address().unwrap());
        let app = App::new(store.clone(), settings.clone(), clock, Entropy::system());
        let app = Arc::new(app.unwrap());
        let stop = Stop::default();
        let gateway = Arc::clone(&app).serve(Audience::Gateway, gateway, stop.clone());
        let operators = Arc::clone(&app).serve(Audience::Operator, operators, stop.clone());
        let serving = tokio::spawn(async move {
            tokio::join!(gateway, operators);
        });
        TestServer {
            directory,
            data,
            store,
            address,
            operator,
            settings,
            certificate,
            app,
            zone,
            session_lease,
            now_ms,
            stop,
            serving: Some(serving),
        }
    }

    /// Stops the server and starts another on the same data.
    pub async fn restart(&mut self) {
        self.stop().await;
        let directory = Arc::clone(&self.directory);
        *self = TestServer::open_in(directory, self.options(), Arc::clone(&self.now_ms)).await;
    }

    /// Stops the server, and returns when it has drained.
    pub async fn stop(&mut self) {
        self.stop.now();
        self.serving.take().unwrap().await.unwrap();
    }

    fn clock(&self) -> Clock {
        Clock::Manual(Arc::clone(&self.now_ms))
    }

    /// Returns the time that the server's clock shows.
    pub fn now(&self) -> UnixMs {
        self.clock().now()
    }

    /// Sets the clock to a time with an offset.
    pub fn set_clock(&self, time: &str) {
        self.now_ms.store(self.zone.parse(time).unwrap().0, Ordering::SeqCst);
    }

    /// Writes the refused logins that are due to the audit trail.
    pub async fn flush_refused_logins(&self) {
        self.app.refused_logins().flush(&self.store, self.now()).await;
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.now_ms.fetch_add(millis(by), Ordering::SeqCst);
    }

    /// Applies a fleet like `kiosque apply`.
    ///
    /// # Errors
    /// The fleet has errors, or the store failed.
    pub async fn apply(&self, fleet: impl AsRef<str>) -> Result<Applied, ApplyError> {
        let fleet = fleet::parse(fleet.as_ref(), Format::Toml, self.store.zone())
            .map_err(|errors| errors.of_file().into_iter().map(Into::into).collect())
            .map_err(ApplyError::Invalid)?;
        let by = ActedBy::command(self.now());
        fleet::apply(&self.store, fleet, &self.clock(), &Entropy::system(), by).await
    }

    /// Imports orders like `kiosque import orders`. Returns the counts and the rejected lines.
    pub async fn import(&self, ndjson: impl AsRef<[u8]>) -> (Imported, Vec<Rejected>) {
        let mut rejections = Rejections::default();
        let lead_max = self.settings.limits.order_lead_max;
        let rules = ImportRules { lead_max, strictness: Strictness::Lenient };
        let clock = self.clock();
        let lines = ndjson.as_ref();
        let run = Default::default();
        let imported = import_ndjson(&self.store, &clock, rules, lines, &run, &mut rejections);
        (imported.await.unwrap(), rejections.0)
    }

    /// Imports orders; none may be rejected.
    pub async fn import_valid(&self, ndjson: impl AsRef<[u8]>) {
        let (_, rejected) = self.import(ndjson).await;
        assert_eq!(rejected, []);
    }

    /// Stores exchange rates: currency, first day, rate.
    pub async fn set_rates(&self, rates: &[(&str, &str, &str)]) {
        let rates = rates.iter().map(|(currency, day, rate)| DatedRate {
            currency: Currency::parse(currency).unwrap(),
            day: Day::of(day.parse().unwrap()),
            rate: Rate::parse(rate).unwrap(),
        });
        self.store.fleet().set_rates(rates.collect()).await.unwrap();
    }

    /// Returns the file of the server's self-signed certificate.
    pub fn certificate_file(&self) -> PathBuf {
        self.directory.path().join("tls/cert.pem")
    }

    /// Opens a connection of HTTP/1.1 to the integrators' listener.
    pub async fn connect(&self) -> Client {
        Client::connect(self.address, &self.certificate_file()).await
    }

    /// Opens a connection from a local address; see [`Client::connect_from`].
    pub async fn connect_from(&self, source: Ipv4Addr) -> Option<Client> {
        Client::connect_from(source, self.address, &self.certificate_file()).await
    }

    /// Opens a connection of HTTP/1.1 to the operator's listener.
    pub async fn connect_operator(&self) -> Client {
        Client::connect(self.operator, &self.certificate_file()).await
    }

    /// Opens a connection of HTTP/2 to the integrators' listener.
    pub async fn connect_http2(&self) -> Http2Client {
        connect_http2(self.address, &self.certificate_file()).await
    }

    /// Opens a connection of HTTP/2 to the operator's listener.
    pub async fn connect_operator_http2(&self) -> Http2Client {
        connect_http2(self.operator, &self.certificate_file()).await
    }

    /// Sends one call on a separate connection.
    pub async fn call(&self, path: &str, token: Option<&str>, body: &str) -> Reply {
        self.connect().await.call(path, token, body).await
    }

    /// Creates an operator's key with these rights, separated by commas, which also name it.
    pub async fn create_key(&self, rights: &str) -> String {
        self.create_key_named(rights, rights).await
    }

    /// Creates an operator's key with a name.
    pub async fn create_key_named(&self, name: &str, rights: &str) -> String {
        let key = OperatorKey::mint(Entropy::system().bytes().unwrap());
        let name = KeyName::parse(name).unwrap();
        let holder = KeyHolder { name, rights: rights.parse().unwrap() };
        let by = ActedBy::command(self.now());
        let created = self.store.operators().create_key(holder, key.digest(), by).await.unwrap();
        assert_eq!(created, CreatedKey::Created);
        key.reveal().to_owned()
    }

    /// Sends a POST to the operator's listener, on a separate connection.
    pub async fn call_operator(
        &self,
        path: &str,
        key: Option<&str>,
        body: impl Into<Bytes>,
    ) -> Reply {
        self.send_to_operator(http::Request::post(path), key, body.into()).await
    }

    /// Sends a GET to the operator's listener, on a separate connection.
    pub async fn get_operator(&self, path: &str, key: Option<&str>) -> Reply {
        self.send_to_operator(http::Request::get(path), key, Bytes::new()).await
    }

    async fn send_to_operator(
        &self,
        request: http::request::Builder,
        key: Option<&str>,
        body: Bytes,
    ) -> Reply {
        let mut request = request.header("host", "localhost");
        if let Some(key) = key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let mut client = self.connect_operator().await;
        client.send(request.body(Full::from(body)).unwrap()).await
    }

    /// Logs in with the password `secret`, with success.
    pub async fn log_in(&self, username: &str) -> LoggedIn {
        let body = format!(r#"{{"username":"{username}","password":"secret"}}"#);
        LoggedIn::of(&self.call(TOKEN_PATH, None, &body).await)
    }

    /// Changes the session's group, with success.
    pub async fn switch(&self, token: &str, group: &str) -> LoggedIn {
        let body = format!(r#"{{"groupId":"{group}"}}"#);
        LoggedIn::of(&self.call(SWITCH_PATH, Some(token), &body).await)
    }

    /// Returns the envelope's code of a call with this token: 200 or -4 in most tests.
    pub async fn code_of(&self, token: &str) -> i64 {
        self.call(DEVICES_PATH, Some(token), "{}").await.code()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop.now();
    }
}

/// Collects the rejected lines of an import.
#[derive(Default)]
struct Rejections(Vec<Rejected>);

impl ImportObserver for Rejections {
    fn rejected(&mut self, rejected: &Rejected) -> std::io::Result<()> {
        self.0.push(rejected.clone());
        Ok(())
    }

    fn progress(&mut self, _: Progress) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Continue(())
    }
}

/// Returns the cheapest argon2id hash of a password, for tests that log in often.
pub fn cheap_hash(password: &str) -> String {
    let params = Params::new(8, 1, 1, None).unwrap();
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon2.hash_password_with_salt(password.as_bytes(), b"salt-of-a-test").unwrap().to_string()
}
