//! `kiosque backup`

mod directory;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use kiosque_clock::Clock;
use kiosque_contract::inventory::LastBackup;
use kiosque_model::counted;
use kiosque_store::{BackupError, Copied, Store, WhenAbsent};

use crate::interrupt::EndingSignals;
use crate::output::{eprint_line, print_line};
use crate::progress::Bar;
use crate::settings::Settings;
use crate::{CommandOutcome, open};
use directory::BackupDirectory;

/// Writes a backup to `place`; with `keep`, to a new file in the directory `place`, in which only
/// this number of backups remains.
pub(crate) async fn run(
    settings: &Settings,
    place: PathBuf,
    keep: Option<NonZeroUsize>,
) -> anyhow::Result<CommandOutcome> {
    if settings.common.store.is_some() {
        bail!(
            "back up a PostgreSQL database with its own tools: pg_basebackup and archived WAL for \
             point-in-time recovery, or pg_dump (docs/scale-out.md)"
        );
    }
    let Some(keep) = keep else {
        if place.is_dir() {
            bail!("{} is a directory; specify a file, or --keep N", place.display());
        }
        let store = open::store(settings, WhenAbsent::Refuse).await?;
        back_up(&store, place).await?;
        return Ok(CommandOutcome::Complete);
    };
    let directory = BackupDirectory::open(place)?;
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    // Before the copy, which may need their space.
    if let Err(error) = directory.remove_unfinished() {
        eprint_line!("warning: {error:#}");
    }
    let file = directory.file_at(Clock::System.now())?;
    back_up(&store, file.clone()).await?;
    let removed = directory.remove_old(&file, keep);
    for old in removed.context("the backup is complete, but older ones could not be removed")? {
        print_line!("removed {}", old.display())?;
    }
    Ok(CommandOutcome::Complete)
}

async fn back_up(store: &Store, file: PathBuf) -> anyhow::Result<()> {
    let stopped = stop_flag()?;
    let bar = Bar::new("copying");
    let shown = bar.clone();
    let on_progress = move |copied: Copied| {
        shown.show_copy(copied);
        match stopped.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let made = store.upkeep().backup(file.clone(), on_progress).await;
    bar.clear();
    if let Err(BackupError::Damaged(found)) = &made
        && let Err(error) = store.upkeep().record_damage(found.clone()).await
    {
        eprint_line!(
            "warning: the damage could not be recorded for a server on this data: {error}"
        );
    }
    let made = made?;
    let backup = LastBackup {
        timestamp: Clock::System.now().0,
        file: std::path::absolute(&file).unwrap_or_else(|_| file.clone()).display().to_string(),
        bytes: made.bytes,
        orders: made.orders,
    };
    if let Err(error) = store.upkeep().record_backup(&backup).await {
        eprint_line!(
            "warning: the backup is complete, but `kiosque status` will not show it: {error}"
        );
    }
    let orders = counted(made.orders, "order");
    print_line!("backed up {orders} in {} bytes to {}", made.bytes, file.display())
}

/// Returns a flag that is set on SIGTERM and SIGINT, so that the incomplete file is removed before
/// the program exits.
fn stop_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let stopped = Arc::new(AtomicBool::new(false));
    let mut signals = EndingSignals::receive()?;
    let stops = Arc::clone(&stopped);
    tokio::spawn(async move {
        signals.next().await;
        stops.store(true, Ordering::Relaxed);
    });
    Ok(stopped)
}
