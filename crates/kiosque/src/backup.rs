//! `kiosque backup`

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;
use kiosque_store::{Copied, WhenAbsent};
use tokio::signal::unix::{SignalKind, signal};

use crate::progress::CopyBar;
use crate::settings::Settings;
use crate::{CommandOutcome, open};

pub(crate) async fn run(settings: &Settings, file: PathBuf) -> anyhow::Result<CommandOutcome> {
    if settings.common.store.is_some() {
        bail!(
            "back up a PostgreSQL database with its own tools: pg_basebackup and archived WAL for \
             point-in-time recovery, or pg_dump (docs/scale-out.md)"
        );
    }
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    let stopped = stop_flag()?;
    let bar = CopyBar::new();
    let on_progress = move |copied: Copied| {
        bar.show(copied);
        match stopped.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let made = store.backup(file.clone(), on_progress).await?;
    println!("backed up {} orders in {} bytes to {}", made.orders, made.bytes, file.display());
    Ok(CommandOutcome::Complete)
}

/// Returns a flag that SIGTERM and SIGINT set, so that the incomplete file is removed before the
/// program exits.
fn stop_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let stopped = Arc::new(AtomicBool::new(false));
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stops = Arc::clone(&stopped);
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stops.store(true, Ordering::Relaxed);
    });
    Ok(stopped)
}
