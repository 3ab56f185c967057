//! `kiosque backup`

mod directory;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Context, bail};
use kiosque_clock::Clock;
use kiosque_contract::inventory::LastBackup;
use kiosque_model::counted;
use kiosque_store::{BackupError, Copied, Store};

use crate::interrupt::EndingSignals;
use crate::open;
use crate::output::{absolute, eprint_line, print_line};
use crate::progress::Bar;
use crate::settings::Settings;
use directory::BackupDirectory;

/// Writes a backup to `place`; with `keep`, to a new file in the directory `place`, in which only
/// this number of backups remains.
pub(crate) async fn run(
    settings: &Settings,
    place: PathBuf,
    keep: Option<NonZeroUsize>,
) -> anyhow::Result<()> {
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
        let store = open::store(settings).await?;
        return back_up(&store, place).await;
    };
    let directory = BackupDirectory::open(place)?;
    let store = open::store(settings).await?;
    // Before the copy, which may need their space.
    if let Err(error) = directory.remove_unfinished() {
        eprint_line!("warning: {error:#}");
    }
    let file = directory.file_at(Clock::System.now())?;
    back_up(&store, file.clone()).await?;
    let removed = directory.remove_old(&file, Clock::System.now(), keep);
    for old in removed.context("the backup is complete, but older ones could not be removed")? {
        print_line!("removed {}", old.display())?;
    }
    Ok(())
}

async fn back_up(store: &Store, file: PathBuf) -> anyhow::Result<()> {
    let mut signals = EndingSignals::receive()?;
    // Ends on SIGTERM and SIGINT: the incomplete file is removed before the program exits.
    let stopped = tokio::spawn(async move { signals.next().await });
    let bar = Bar::new("copying");
    let shown = bar.clone();
    let on_progress = move |copied: Copied| {
        shown.show("copying", copied.pages, copied.of);
        match stopped.is_finished() {
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
        file: absolute(&file),
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
