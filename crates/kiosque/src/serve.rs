//! `kiosque serve`

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use kiosque_clock::{Clock, Entropy};
use kiosque_model::audit::Act;
use kiosque_model::{ActedBy, UnixMs};
use kiosque_server::tls::{self, Certificate, Identity};
use kiosque_server::{App, Audience, Listener, Stop};
use kiosque_store::{Archived, Error, Store};
use tokio::runtime::{self, Handle, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::settings::{ServeSettings, Settings};
use crate::{Done, open};

/// How often the certificate's files are looked at.
const CERTIFICATE_EVERY: Duration = Duration::from_secs(1);
/// How often what has become old is archived, when it is at all, and the audit trail purged.
const TIDY_EVERY: Duration = Duration::from_secs(3_600);
/// How often the clock is held against the database's.
const CLOCK_EVERY: Duration = Duration::from_secs(1);
/// How often refused logins are written to the audit trail, all in one transaction.
const TELL_EVERY: Duration = Duration::from_secs(1);

pub(crate) async fn run(settings: Settings) -> anyhow::Result<Done> {
    let folder = open::folder(&settings)?;
    let server = settings.server()?;
    let store = open::store_to_serve(&folder, &settings, server.limits.store_wait).await?;
    let entrance = listen(&folder, &settings.serve).await?;
    let operator = listen_to_operator(&entrance, &settings.serve).await?;
    eprintln!("kiosque serves https://{}/v8", entrance.listener.address()?);
    eprintln!("kiosque's operator calls are at https://{}/operator/v1", operator.address()?);
    serve(vec![entrance.listener, operator], store, server).await?;
    Ok(Done::All)
}

/// Where integrators come in, and what is shown there.
pub(crate) struct Entrance {
    pub(crate) listener: Listener,
    pub(crate) identity: Identity,
    certificate: Arc<Certificate>,
}

/// Binds the address, and says which certificate is shown there.
pub(crate) async fn listen(folder: &Path, settings: &ServeSettings) -> anyhow::Result<Entrance> {
    let identity = match (&settings.tls_cert, &settings.tls_key) {
        (Some(cert), Some(key)) => Identity { cert: cert.clone(), key: key.clone() },
        (None, None) => tls::self_signed(folder, Clock::System.now())?,
        _ => bail!("--tls-cert and --tls-key go together"),
    };
    let certificate = Certificate::open(identity.clone())?;
    follow(Arc::clone(&certificate))?;
    let address = settings.listen;
    let listener = Listener::bind(Audience::Gateway, address, Arc::clone(&certificate)).await;
    let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
    Ok(Entrance { listener, identity, certificate })
}

/// Binds the operator's address, with the certificate of the entrance.
async fn listen_to_operator(
    entrance: &Entrance,
    settings: &ServeSettings,
) -> anyhow::Result<Listener> {
    let address = settings.operator_listen;
    let listener =
        Listener::bind(Audience::Operator, address, Arc::clone(&entrance.certificate)).await;
    listener.with_context(|| {
        format!("cannot listen on {address} for the operator (see --operator-listen)")
    })
}

/// Reads the certificate again when its files change, and on SIGHUP.
fn follow(certificate: Arc<Certificate>) -> anyhow::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        let asked = Notify::new();
        let listening = async {
            while hangup.recv().await.is_some() {
                asked.notify_one();
            }
        };
        tokio::join!(certificate.follow(CERTIFICATE_EVERY, &asked), listening)
    });
    Ok(())
}

/// Serves until a signal says stop and what was under way has been answered.
pub(crate) async fn serve(
    listeners: Vec<Listener>,
    store: Store,
    settings: kiosque_server::Settings,
) -> anyhow::Result<()> {
    // Each connection is a file; the usual soft limit is far below what is served here.
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(cause = %error, "the limit of open files stays as it is");
    }
    let (archive_after, activity_flush) = (settings.archive_after, settings.activity_flush);
    let retention = settings.audit_retention;
    let app = Arc::new(App::new(store.clone(), settings, Clock::System, Entropy::system())?);
    let stop = Stop::new();
    let stopper = stop.clone();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: what is under way is answered first");
        stopper.now();
    });
    if let Some(age) = archive_after {
        tokio::spawn(archive_regularly(store.clone(), age));
    }
    tokio::spawn(purge_regularly(store.clone(), retention));
    tokio::spawn(watch_clock(store.clone()));
    let writing = tokio::spawn(write_activity_regularly(store.clone(), activity_flush));
    let for_operator = operators_threads()?;
    let mut serving = JoinSet::new();
    for listener in listeners {
        let threads = match listener.door() {
            Audience::Gateway => Handle::current(),
            Audience::Operator => for_operator.handle().clone(),
        };
        serving.spawn_on(listener.serve(Arc::clone(&app), stop.clone()), &threads);
    }
    app.keep_trail(TELL_EVERY, serving.join_all()).await;
    writing.abort();
    write_activity(&store).await;
    // Waits for what is still being stored.
    Ok(tokio::task::spawn_blocking(|| drop(for_operator)).await?)
}

/// Threads for the operator's calls alone: streams of orders keep theirs busy, and who asks for a
/// page does not wait behind them.
fn operators_threads() -> io::Result<Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut threads = runtime::Builder::new_multi_thread();
    threads.worker_threads((cores / 2).max(1)).thread_name("operator").enable_all().build()
}

/// A node whose clock is off would let sessions live on that have ended, or end those that stand.
async fn watch_clock(store: Store) {
    let mut was_off = false;
    while let Some(clock) = store.check_clock(Clock::System.now()) {
        if clock.is_off && !was_off {
            let ahead_ms = clock.ahead_ms;
            tracing::error!(
                ahead_ms,
                "the clock is off the database's: no session is answered for"
            );
        }
        was_off = clock.is_off;
        tokio::time::sleep(CLOCK_EVERY).await;
    }
}

async fn write_activity_regularly(store: Store, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        write_activity(&store).await;
    }
}

async fn write_activity(store: &Store) {
    if let Err(error) = store.write_activity().await {
        tracing::error!(cause = %error, "heartbeats could not be written");
    }
}

async fn archive_regularly(store: Store, age: Duration) {
    loop {
        match archive(&store, age).await {
            Ok(archived) if archived.orders > 0 => {
                tracing::info!(orders = archived.orders, devices = archived.devices, "archived");
            }
            Ok(_) => {}
            Err(error) => tracing::error!(cause = %error, "archiving failed"),
        }
        tokio::time::sleep(TIDY_EVERY).await;
    }
}

async fn archive(store: &Store, age: Duration) -> Result<Archived, Error> {
    let archived = store.archive(ago(age)).await?;
    if archived.orders > 0 {
        let by = ActedBy::server(Clock::System.now());
        store.record_act(Act::from(archived), by).await?;
    }
    Ok(archived)
}

async fn purge_regularly(store: Store, retention: Duration) {
    loop {
        match store.purge_audit(ago(retention)).await {
            Ok(0) => {}
            Ok(entries) => tracing::info!(entries, "the audit trail was purged of what is old"),
            Err(error) => tracing::error!(cause = %error, "purging the audit trail failed"),
        }
        tokio::time::sleep(TIDY_EVERY).await;
    }
}

fn ago(age: Duration) -> UnixMs {
    let age_ms = i64::try_from(age.as_millis()).unwrap_or(i64::MAX / 4);
    Clock::System.now().plus_ms(-age_ms)
}
