//! `kiosque serve`

mod maintenance;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use kiosque_clock::{Clock, Entropy};
use kiosque_contract::inventory::Status;
use kiosque_listener::tls::{Certificate, Identity};
use kiosque_listener::{Listener, Stop};
use kiosque_server::{App, Audience, self_signed, self_signed_identity};
use kiosque_store::{Error as StoreError, Store, WhenAbsent, data_files, mode_for_others};
use tokio::runtime::{self, Handle, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::interrupt::EndingSignals;
use crate::settings::{ServeSettings, Settings};
use crate::{open, service_manager};

/// Interval at which the certificate's files are checked for changes.
const CERTIFICATE_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which readiness is checked, and whether the data's files are in their place.
const READINESS_INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which the clock is compared with the database's.
const CLOCK_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which refused logins and refused requests are written, each in one transaction, and
/// overload is logged.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) async fn run(settings: Settings) -> anyhow::Result<()> {
    // SIGHUP does not end a server that waits for its database: the handler stays installed.
    drop(signal(SignalKind::hangup())?);
    let directory = open::directory(&settings)?;
    let server = settings.server()?;
    let _lock = open::lock_to_serve(&directory, &settings)?;
    let store = open::store_to_serve(&directory, &settings, WhenAbsent::Refuse).await?;
    let listeners = listen(&directory, &settings, PortInUse::Fails).await?;
    log_summary(&settings, &store, &listeners.certificate).await?;
    warn_of_access(&directory);
    warn_of_undistributed_tables(&store).await?;
    let Listeners { gateway, operator, .. } = listeners;
    tracing::info!("kiosque serves https://{}/v8", gateway.address()?);
    tracing::info!("kiosque's operator calls are at https://{}/operator/v1", operator.address()?);
    service_manager::report_ready();
    let end = end(EndingSignals::receive()?);
    let app = App::new(store, server, Clock::System, Entropy::system())?;
    serve(Arc::new(app), [(Audience::Gateway, gateway), (Audience::Operator, operator)], end).await
}

/// Logs the version, the place and size of the data, and the end of the certificate.
async fn log_summary(
    settings: &Settings,
    store: &Store,
    certificate: &Certificate,
) -> anyhow::Result<()> {
    let place = open::place(settings)?;
    let zone = store.zone();
    let Status { group_count: groups, device_count: devices, order_count: orders, .. } =
        store.inventory().status(Clock::System.now()).await?;
    let end = certificate.not_after().map(|end| format!("{} {zone}", zone.text(end)));
    let end = end.as_deref().unwrap_or("an unknown time");
    tracing::info!(
        "kiosque {}: data in {place}, time zone {zone}; groups: {groups}, devices: {devices}, \
         orders: {orders}; certificate valid until {end}",
        env!("CARGO_PKG_VERSION")
    );
    Ok(())
}

/// Warns if other users of the machine can read the data.
pub(crate) fn warn_of_access(directory: &Path) {
    let key = self_signed_identity(directory).key;
    let paths = [directory.to_owned()].into_iter().chain(data_files(directory)).chain([key]);
    let open = paths.filter_map(|path| Some((mode_for_others(&path)?, path)));
    let open: Vec<String> =
        open.map(|(mode, path)| format!("{} (mode {mode:o})", path.display())).collect();
    if !open.is_empty() {
        tracing::warn!(
            paths = open.join(", "),
            "other users of this machine have access to the data; run chmod -R go= {}",
            directory.display()
        );
    }
}

/// Warns if an upgrade has created tables in a Citus cluster that are not distributed.
async fn warn_of_undistributed_tables(store: &Store) -> anyhow::Result<()> {
    let tables = store.upkeep().undistributed_tables().await?;
    if !tables.is_empty() {
        tracing::warn!(
            tables = tables.join(", "),
            "not all tables are distributed; run the script of `kiosque schema --citus` again"
        );
    }
    Ok(())
}

/// The listeners of a server and their certificate.
pub(crate) struct Listeners {
    /// The integrators' listener.
    pub(crate) gateway: Listener,
    pub(crate) operator: Listener,
    pub(crate) identity: Identity,
    certificate: Arc<Certificate>,
}

/// What happens when the port of a default address is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortInUse {
    /// The server does not start, as with an address that is given.
    Fails,
    /// The server listens on a free port of the same interface.
    TakesFreePort,
}

/// Opens or creates the certificate, and binds the addresses.
pub(crate) async fn listen(
    directory: &Path,
    settings: &Settings,
    port_in_use: PortInUse,
) -> anyhow::Result<Listeners> {
    let ServeSettings { listen, operator_listen, tls_cert, tls_key, .. } = &settings.serve;
    let identity = match (tls_cert, tls_key) {
        (Some(cert), Some(key)) => Identity { cert: cert.clone(), key: key.clone() },
        (None, None) => self_signed(directory, Clock::System.now())?,
        _ => bail!("--tls-cert and --tls-key must be given together"),
    };
    let certificate = Certificate::open(identity.clone())?;
    reload_on_change(Arc::clone(&certificate))?;
    let bind = async |address: SocketAddr, name| {
        let bind = |address| Listener::bind(address, Arc::clone(&certificate));
        match bind(address).await {
            Err(error)
                if error.kind() == io::ErrorKind::AddrInUse
                    && port_in_use == PortInUse::TakesFreePort
                    && !settings.gives(name) =>
            {
                bind(SocketAddr::new(address.ip(), 0)).await
            }
            bound => bound,
        }
    };
    let gateway = bind(*listen, "listen").await;
    let gateway = gateway.with_context(|| cannot_listen(*listen, "--listen"))?;
    let operator = bind(*operator_listen, "operator_listen").await.with_context(|| {
        format!("cannot listen on {operator_listen} for the operator (see --operator-listen)")
    })?;
    Ok(Listeners { gateway, operator, identity, certificate })
}

/// Returns the context of a failure to bind the address of a flag.
pub(crate) fn cannot_listen(address: SocketAddr, flag: &str) -> String {
    format!("cannot listen on {address} (see {flag})")
}

/// Reloads the certificate when its files change, and on SIGHUP.
pub(crate) fn reload_on_change(certificate: Arc<Certificate>) -> anyhow::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        let reload = Notify::new();
        let on_hangup = async {
            while hangup.recv().await.is_some() {
                reload.notify_one();
            }
        };
        let follow = certificate.follow(CERTIFICATE_CHECK_INTERVAL, &reload, &Clock::System);
        tokio::join!(follow, on_hangup)
    });
    Ok(())
}

/// Waits for SIGTERM or SIGINT.
pub(crate) async fn end(mut signals: EndingSignals) {
    signals.next().await;
    tracing::info!("stopping: finishing open requests");
}

/// Raises the limit of open files. Each connection takes a file descriptor; the usual soft limit is
/// far below the maximum connections of a listener.
pub(crate) fn raise_open_files() {
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(cause = %error, "the limit of open files cannot be raised");
    }
}

/// Serves until `end`, and then until open requests are finished.
pub(crate) async fn serve(
    app: Arc<App>,
    listeners: [(Audience, Listener); 2],
    end: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    raise_open_files();
    let App { store, settings, clock, .. } = &*app;
    observe_time(&app).await.unwrap_or_else(|error| not_stored(&error));
    let stop = Stop::default();
    let stopper = stop.clone();
    tokio::spawn(async move {
        end.await;
        stopper.now();
    });
    let mut background = JoinSet::new();
    if let Some(age) = settings.archive_after {
        background.spawn(maintenance::archive_regularly(store.clone(), age, clock.clone()));
    }
    let retention = settings.audit_retention;
    background.spawn(maintenance::purge_regularly(store.clone(), retention, clock.clone()));
    background.spawn(watch_clock(store.clone(), clock.clone()));
    background.spawn(watch_readiness(Arc::clone(&app)));
    background.spawn(watch_damage(store.clone()));
    let flush = settings.activity_flush;
    background.spawn(maintenance::write_activity_regularly(store.clone(), flush));
    let operator_runtime = operator_runtime()?;
    let mut serving = JoinSet::new();
    for (audience, listener) in listeners {
        let threads = match audience {
            Audience::Gateway => Handle::current(),
            Audience::Operator => operator_runtime.handle().clone(),
        };
        serving.spawn_on(Arc::clone(&app).serve(audience, listener, stop.clone()), &threads);
    }
    report_regularly(&app, serving.join_all()).await;
    // These tasks would report the end of the runtime as a failure of the store.
    background.shutdown().await;
    maintenance::write_activity(store).await;
    store.sessions().store_time().await.unwrap_or_else(|error| not_stored(&error));
    // Waits for orders that are still being stored. Work that takes longer is rolled back; its
    // caller received no answer.
    let deadline = settings.limits.shutdown_deadline;
    let stopping = move || operator_runtime.shutdown_timeout(deadline);
    Ok(tokio::task::spawn_blocking(stopping).await?)
}

/// Returns a runtime for the operator's calls. Streams of orders keep its threads busy, and
/// integrators' requests do not wait behind them.
fn operator_runtime() -> io::Result<Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut threads = runtime::Builder::new_multi_thread();
    threads.worker_threads((cores / 2).max(1)).thread_name("operator").enable_all().build()
}

/// Logs when the clock differs too much from the database's. Such a node would accept expired
/// sessions or end valid ones, so it answers no request that needs a session.
async fn watch_clock(store: Store, own: Clock) {
    let mut was_off = false;
    loop {
        // After a failover there is none until the lease is renewed.
        if let Some(clock) = store.engine().check_clock(own.now()) {
            if clock.is_off && !was_off {
                let ahead_ms = clock.ahead_ms;
                tracing::error!(
                    ahead_ms,
                    "the clock differs too much from the database's; requests with a session fail"
                );
            }
            was_off = clock.is_off;
        }
        tokio::time::sleep(CLOCK_CHECK_INTERVAL).await;
    }
}

/// Ends sessions that had expired before the clock was set back, or were opened while it was ahead.
async fn observe_time(app: &App) -> Result<(), StoreError> {
    let now = app.clock.now();
    let token_validity = app.settings.token_validity;
    let sessions = app.store.sessions().observe_time(now, token_validity).await?;
    if sessions > 0 {
        let message = "the clock was set back; sessions that had expired, or were opened while it \
                       was ahead, are ended";
        tracing::warn!(sessions, "{message}");
    }
    Ok(())
}

/// Logs that the time of the clock could not be stored.
fn not_stored(error: &StoreError) {
    tracing::error!(cause = %error, "the time of the clock could not be stored");
}

/// Checks at intervals whether the data is in its place and requests can be answered.
async fn watch_readiness(app: Arc<App>) {
    loop {
        app.check_readiness().await;
        tokio::time::sleep(READINESS_INTERVAL).await;
    }
}

/// Checks damage found by reads, separately from the readiness, which does not wait for it. A check
/// of a large file takes long, and is repeated less often.
async fn watch_damage(store: Store) {
    loop {
        let begun = Instant::now();
        store.engine().check_damage().await;
        tokio::time::sleep(READINESS_INTERVAL.max(begun.elapsed() * 10)).await;
    }
}

/// Writes refused logins to the audit trail and refused requests for their look-up, and logs
/// repeated failures, at intervals until `done`, and then everything that remains.
async fn report_regularly(app: &App, done: impl Future) {
    let App { store, clock, .. } = app;
    let refused_logins = app.refused_logins();
    let mut done = pin!(done);
    let mut observed = Ok(());
    loop {
        tokio::select! {
            _ = &mut done => break,
            () = tokio::time::sleep(REPORT_INTERVAL) => {
                app.log_failures();
                let before = observed;
                observed = observe_time(app).await;
                // Of failures in a row, the first is logged.
                if let (Ok(()), Err(error)) = (&before, &observed) {
                    not_stored(error);
                }
                refused_logins.flush(store, clock.now()).await;
                maintenance::write_refused(store, clock.now()).await;
            }
        }
    }
    app.log_failures();
    refused_logins.flush_all(store).await;
    maintenance::write_refused(store, clock.now()).await;
}

#[cfg(test)]
mod tests {
    use kiosque_testkit::{TestData, TestStore};

    use super::*;

    /// A file never has a clock, and a database has none after a failover until the lease is
    /// renewed.
    #[tokio::test]
    async fn the_clock_is_watched_while_there_is_none_to_compare_it_with() {
        let store = TestStore::on(TestData::sqlite()).await.store;
        let watching = watch_clock(store, Clock::System);
        assert!(tokio::time::timeout(Duration::ZERO, watching).await.is_err());
    }
}
