//! Opens the data for a command.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use kiosque_clock::Clock;
use kiosque_model::Zone;
use kiosque_server::ingest::record::Records;
use kiosque_store::{Error, OpenOptions, Store, StoreLocation, WhenAbsent};

use crate::settings::Settings;

/// How long a command waits for its turn; longer than a request does, for nobody is kept waiting.
const COMMAND_WAIT: Duration = Duration::from_secs(30);

/// How long a command waits for a database that does not answer: one that fails over is back by
/// then.
const COMMAND_PATIENCE: Duration = Duration::from_secs(3);
/// How often a database that does not answer is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// The folder that `--data` names.
pub(crate) fn folder(settings: &Settings) -> anyhow::Result<PathBuf> {
    settings
        .common
        .data
        .clone()
        .context("--data DIR is needed: the folder that holds the data (or KIOSQUE_DATA)")
}

/// Opens the data for a command that is no server.
pub(crate) async fn store(settings: &Settings, when_absent: WhenAbsent) -> anyhow::Result<Store> {
    if settings.common.store.is_some() {
        let patience = Patience::Until(Instant::now() + COMMAND_PATIENCE);
        return database(settings, when_absent, COMMAND_WAIT, patience).await;
    }
    store_in(&folder(settings)?, settings, when_absent, COMMAND_WAIT).await
}

/// Opens the data for a server, waiting for a database that does not answer yet.
pub(crate) async fn store_to_serve(
    folder: &Path,
    settings: &Settings,
    wait: Duration,
) -> anyhow::Result<Store> {
    match settings.common.store {
        Some(_) => database(settings, WhenAbsent::Create, wait, Patience::Endless).await,
        None => store_in(folder, settings, WhenAbsent::Create, wait).await,
    }
}

/// Opens one end of a move: of its zone, or the recorded one.
pub(crate) async fn end_of_move(
    place: StoreLocation<'_>,
    settings: &Settings,
    zone: Option<Zone>,
    when_absent: WhenAbsent,
) -> anyhow::Result<Store> {
    let (now, lease) = (Clock::System.now(), settings.lease());
    let (shape, wait) = (Arc::new(Records), COMMAND_WAIT);
    let opening = OpenOptions { place, when_absent, zone: zone.as_ref(), shape, wait, lease, now };
    Ok(Store::open_unsettled(&opening).await?)
}

/// Opens the data of a folder.
pub(crate) async fn store_in(
    folder: &Path,
    settings: &Settings,
    when_absent: WhenAbsent,
    wait: Duration,
) -> anyhow::Result<Store> {
    if when_absent == WhenAbsent::Create {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let opened = open(StoreLocation::Folder(folder), settings, when_absent, wait).await?;
    opened.with_context(|| folder.display().to_string())
}

/// How long to wait for a database that does not answer.
enum Patience {
    Until(Instant),
    Endless,
}

async fn database(
    settings: &Settings,
    when_absent: WhenAbsent,
    wait: Duration,
    patience: Patience,
) -> anyhow::Result<Store> {
    let address = settings.common.store.as_ref().context("--store URL is needed")?;
    let place = address.location();
    let mut told = None;
    loop {
        let error = match open(place, settings, when_absent, wait).await? {
            Ok(store) => return Ok(store),
            Err(error @ (Error::Unreachable(_) | Error::Busy(_))) => error,
            Err(error) => return Err(error).context("--store"),
        };
        if matches!(patience, Patience::Until(ends) if Instant::now() >= ends) {
            return Err(error).context("--store");
        }
        let why = match error {
            Error::Unreachable(why) => why,
            error => error.to_string(),
        };
        if told.as_ref() != Some(&why) {
            eprintln!("waiting for the database: {why}");
            told = Some(why);
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

async fn open(
    place: StoreLocation<'_>,
    settings: &Settings,
    when_absent: WhenAbsent,
    wait: Duration,
) -> anyhow::Result<Result<Store, Error>> {
    let zone = settings.common.timezone.as_deref().map(Zone::named).transpose();
    let zone = zone.map_err(|error| anyhow::anyhow!("timezone: {error}"))?;
    let (now, lease) = (Clock::System.now(), settings.lease());
    let shape = Arc::new(Records);
    let opening = OpenOptions { place, when_absent, zone: zone.as_ref(), shape, wait, lease, now };
    Ok(Store::open(&opening).await)
}
