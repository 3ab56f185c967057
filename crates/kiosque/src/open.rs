//! Opens the data for a command.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use kiosque_model::Zone;
use kiosque_server::clock::Clock;
use kiosque_server::ingest::record::Records;
use kiosque_store::{Opening, Store, WhenAbsent};

use crate::settings::Settings;

/// How long a command waits for its turn; longer than a request does, for nobody is kept waiting.
const COMMAND_WAIT: Duration = Duration::from_secs(30);

/// The folder that `--data` names.
pub(crate) fn folder(settings: &Settings) -> anyhow::Result<PathBuf> {
    settings
        .data
        .clone()
        .context("--data DIR is needed: the folder that holds the data (or KIOSQUE_DATA)")
}

/// Opens the data for a command that is no server.
pub(crate) fn store(settings: &Settings, when_absent: WhenAbsent) -> anyhow::Result<Store> {
    store_in(&folder(settings)?, settings, when_absent, COMMAND_WAIT)
}

/// Opens the data of a folder.
pub(crate) fn store_in(
    folder: &Path,
    settings: &Settings,
    when_absent: WhenAbsent,
    wait: Duration,
) -> anyhow::Result<Store> {
    let zone = settings.timezone.as_deref().map(Zone::named).transpose();
    let zone = zone.map_err(|error| anyhow::anyhow!("timezone: {error}"))?;
    if when_absent == WhenAbsent::Create {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let now = Clock::System.now();
    let shape = Arc::new(Records);
    let opening = Opening { folder, when_absent, zone: zone.as_ref(), shape, wait, now };
    Store::open(&opening).with_context(|| folder.display().to_string())
}
