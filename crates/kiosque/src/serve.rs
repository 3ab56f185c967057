//! `kiosque serve`

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use kiosque_server::clock::{Clock, Entropy};
use kiosque_server::tls::{self, Certificate, Identity};
use kiosque_server::{App, Door, Listener, Stop};
use kiosque_store::{Store, WhenAbsent};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::settings::{ServeSettings, Settings};
use crate::{Done, open};

/// Where a server listens unless told otherwise.
const LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8443);
/// How often what has become old is archived, when it is at all.
const ARCHIVE_EVERY: Duration = Duration::from_secs(3_600);
/// How often the certificate's files are looked at.
const CERTIFICATE_EVERY: Duration = Duration::from_secs(1);

pub(crate) async fn run(settings: Settings) -> anyhow::Result<Done> {
    let folder = open::folder(&settings)?;
    let server = settings.serve.to_server()?;
    let store = open::store_in(&folder, &settings, WhenAbsent::Create, server.limits.store_wait)?;
    let (listener, _) = listen(&folder, &settings.serve).await?;
    eprintln!("kiosque serves https://{}/v8", listener.address()?);
    serve(listener, store, server).await?;
    Ok(Done::All)
}

/// Binds the address, and says which certificate is shown there.
pub(crate) async fn listen(
    folder: &Path,
    settings: &ServeSettings,
) -> anyhow::Result<(Listener, Identity)> {
    let identity = match (&settings.tls_cert, &settings.tls_key) {
        (Some(cert), Some(key)) => Identity { cert: cert.clone(), key: key.clone() },
        (None, None) => tls::self_signed(folder, Clock::System.now())?,
        _ => bail!("--tls-cert and --tls-key go together"),
    };
    let certificate = Certificate::open(identity.clone())?;
    follow(Arc::clone(&certificate))?;
    let address = settings.listen.unwrap_or(LISTEN);
    let listener = Listener::bind(Door::Gateway, address, certificate).await;
    Ok((listener.with_context(|| format!("cannot listen on {address}"))?, identity))
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
    listener: Listener,
    store: Store,
    settings: kiosque_server::Settings,
) -> anyhow::Result<()> {
    // Each connection is a file; the usual soft limit is far below what is served here.
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(cause = %error, "the limit of open files stays as it is");
    }
    let (archive_after, activity_flush) = (settings.archive_after, settings.activity_flush);
    let app = App::new(store.clone(), settings, Clock::System, Entropy::system())?;
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
    let writing = tokio::spawn(write_activity_regularly(store.clone(), activity_flush));
    listener.serve(Arc::new(app), stop).await;
    writing.abort();
    write_activity(&store).await;
    Ok(())
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
    let age_ms = i64::try_from(age.as_millis()).unwrap_or(i64::MAX / 4);
    loop {
        match store.archive(Clock::System.now().plus_ms(-age_ms)).await {
            Ok(archived) if archived.orders > 0 => {
                tracing::info!(orders = archived.orders, devices = archived.devices, "archived");
            }
            Ok(_) => {}
            Err(error) => tracing::error!(cause = %error, "archiving failed"),
        }
        tokio::time::sleep(ARCHIVE_EVERY).await;
    }
}
