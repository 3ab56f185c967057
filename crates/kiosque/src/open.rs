//! Opens the data for a command.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use kiosque_clock::{Clock, Entropy};
use kiosque_model::Zone;
use kiosque_store::{
    Changes, Error, OpenOptions, ServerLock, ServerProcess, Store, StoreLocation, WhenAbsent,
    create_directory, has_data, server_process,
};

use crate::output::eprint_line;
use crate::settings::Settings;

/// How long a command waits for the store: longer than a request, which has a client waiting.
const COMMAND_WAIT: Duration = Duration::from_secs(30);

/// How long a command retries a database that cannot be reached: long enough for a failover.
const COMMAND_RETRIES_FOR: Duration = Duration::from_secs(3);
/// Interval between attempts to reach a database.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Returns the directory of `--data`.
pub(crate) fn directory(settings: &Settings) -> anyhow::Result<PathBuf> {
    settings
        .common
        .data
        .clone()
        .context("--data DIR is required: the directory of the data (or KIOSQUE_DATA)")
}

/// Opens existing data for a command without a dry run, other than a server.
pub(crate) async fn store(settings: &Settings) -> anyhow::Result<Store> {
    store_for(settings, WhenAbsent::Refuse, Changes::Stored).await
}

/// Opens the data for a command, which may have a dry run.
pub(crate) async fn store_for(
    settings: &Settings,
    when_absent: WhenAbsent,
    changes: Changes,
) -> anyhow::Result<Store> {
    let access = Access { when_absent, changes };
    if settings.common.store.is_some() {
        let retries_end = Instant::now() + COMMAND_RETRIES_FOR;
        return database(settings, access, COMMAND_WAIT, Some(retries_end)).await;
    }
    directory_for(&directory(settings)?, settings, access, COMMAND_WAIT).await
}

/// Opens the data for a command other than a server; `None` if there is none.
pub(crate) async fn existing(
    settings: &Settings,
    changes: Changes,
) -> anyhow::Result<Option<Store>> {
    match store_for(settings, WhenAbsent::Refuse, changes).await {
        Ok(store) => Ok(Some(store)),
        Err(error) if matches!(error.downcast_ref(), Some(Error::NoData)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the directory or the database, for messages.
pub(crate) fn place(settings: &Settings) -> anyhow::Result<String> {
    match &settings.common.store {
        Some(address) => Ok(address.shown()),
        None => Ok(directory(settings)?.display().to_string()),
    }
}

/// Takes the lock of a directory with data for `serve`. With `--store` any number of servers may
/// run, and the directory only contains a certificate.
pub(crate) fn lock_to_serve(
    directory: &Path,
    settings: &Settings,
) -> anyhow::Result<Option<ServerLock>> {
    if settings.common.store.is_some() {
        return Ok(None);
    }
    // The lock would also be created in a wrong directory.
    if !has_data(directory)? {
        return Err(Error::NoData).with_context(|| directory.display().to_string());
    }
    Ok(Some(ServerLock::take(directory, "serve")?))
}

/// Opens the data for a server, and waits for a database that cannot be reached yet. A database
/// that refuses the role, or is not there, does not change by waiting: the server does not start.
pub(crate) async fn store_to_serve(
    directory: &Path,
    settings: &Settings,
    when_absent: WhenAbsent,
) -> anyhow::Result<Store> {
    let access = Access { when_absent, changes: Changes::Stored };
    let wait = settings.limits()?.store_wait;
    match settings.common.store {
        Some(_) => database(settings, access, wait, None).await,
        None => directory_for(directory, settings, access, wait).await,
    }
}

/// Opens the source or the target of a move. `None` means the recorded time zone.
pub(crate) async fn end_of_move(
    place: StoreLocation<'_>,
    settings: &Settings,
    zone: Option<Zone>,
    when_absent: WhenAbsent,
    changes: Changes,
) -> anyhow::Result<Store> {
    let now = Clock::System.now();
    let lease = settings.lease();
    let wait = COMMAND_WAIT;
    let zone = zone.as_ref();
    let random = Entropy::system().bytes()?;
    let opening = OpenOptions { place, when_absent, changes, zone, wait, lease, now, random };
    Ok(Store::open_unsettled(&opening).await?)
}

/// How a command opens the data.
#[derive(Clone, Copy)]
struct Access {
    when_absent: WhenAbsent,
    changes: Changes,
}

async fn directory_for(
    directory: &Path,
    settings: &Settings,
    access: Access,
    wait: Duration,
) -> anyhow::Result<Store> {
    ensure_no_restore(directory)?;
    if (access.when_absent, access.changes) == (WhenAbsent::Create, Changes::Stored) {
        create_directory(directory)?;
    }
    match open(StoreLocation::Directory(directory), settings, access, wait).await? {
        // Its message begins with the path of the file.
        Err(error @ Error::File(_)) => Err(error.into()),
        opened => opened.with_context(|| directory.display().to_string()),
    }
}

/// Fails while a restore is about to replace the data: what a command changes would be moved aside.
fn ensure_no_restore(directory: &Path) -> anyhow::Result<()> {
    // A lock that cannot be read, or has no holder yet, is not the reason to refuse a command.
    if let Ok(Some(ServerProcess { pid, command })) = server_process(directory)
        && command == "restore"
    {
        let shown = directory.display();
        bail!(
            "{shown} is used by `kiosque restore`, process {pid}; wait until it has ended, and \
             repeat this command"
        );
    }
    Ok(())
}

/// Opens a database. While it cannot be reached, retries until `retries_end`; without one, as for a
/// server, forever.
async fn database(
    settings: &Settings,
    access: Access,
    wait: Duration,
    retries_end: Option<Instant>,
) -> anyhow::Result<Store> {
    let address = settings.common.store.as_ref().context("--store URL is required")?;
    let place = address.location();
    let source = settings.source("store").to_owned();
    let mut printed = None;
    loop {
        let error = match open(place, settings, access, wait).await? {
            Ok(store) => return Ok(store),
            Err(Error::NoData) => return Err(Error::NoData).context(address.shown()),
            Err(error @ (Error::Unreachable(_) | Error::Busy(_))) => error,
            Err(error) => return Err(error).context(source),
        };
        if retries_end.is_some_and(|end| Instant::now() >= end) {
            return Err(error).context(source);
        }
        let reason = match error {
            Error::Unreachable(reason) => reason,
            error => error.to_string(),
        };
        if printed.as_ref() != Some(&reason) {
            match retries_end {
                None => tracing::warn!("waiting for the database: {reason}"),
                Some(_) => eprint_line!("waiting for the database: {reason}"),
            }
            printed = Some(reason);
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

async fn open(
    place: StoreLocation<'_>,
    settings: &Settings,
    Access { when_absent, changes }: Access,
    wait: Duration,
) -> anyhow::Result<Result<Store, Error>> {
    let zone = wanted_zone(settings)?;
    let now = Clock::System.now();
    let lease = settings.lease();
    let zone = zone.as_ref();
    let random = Entropy::system().bytes()?;
    let opening = OpenOptions { place, when_absent, changes, zone, wait, lease, now, random };
    Ok(Store::open(&opening).await)
}

/// Returns the time zone of `--timezone`.
pub(crate) fn wanted_zone(settings: &Settings) -> anyhow::Result<Option<Zone>> {
    let zone = settings.common.timezone.as_deref().map(Zone::named).transpose();
    zone.map_err(|error| anyhow::anyhow!("{}: {error}", settings.source("timezone")))
}
