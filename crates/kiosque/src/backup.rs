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
use crate::{Done, open};

pub(crate) async fn run(settings: &Settings, file: PathBuf) -> anyhow::Result<Done> {
    if settings.common.store.is_some() {
        bail!(
            "a PostgreSQL is backed up by its own tools: pg_basebackup with archived WAL for a \
             point in time, or pg_dump (docs/scale-out.md)"
        );
    }
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    let stopped = stopped()?;
    let bar = CopyBar::new();
    let told = move |copied: Copied| {
        bar.show(copied);
        match stopped.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let made = store.backup(file.clone(), told).await?;
    println!("backed up {} orders in {} bytes to {}", made.orders, made.bytes, file.display());
    Ok(Done::All)
}

/// Becomes true when somebody wants it to end: what is half written is removed first.
fn stopped() -> anyhow::Result<Arc<AtomicBool>> {
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
