//! `kiosque move`

use anyhow::Context;
use kiosque_clock::Clock;
use kiosque_store::{MoveProgress, StoreLocation, WhenAbsent};

use crate::progress::MoveBar;
use crate::settings::Settings;
use crate::{CommandOutcome, open};

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<CommandOutcome> {
    let address = settings.common.store.as_ref();
    let address = address.context("--store URL is required: the database to move to")?;
    let directory = open::directory(settings)?;
    let from =
        open::end_of_move(StoreLocation::Directory(&directory), settings, None, WhenAbsent::Refuse);
    let from = from.await.with_context(|| directory.display().to_string())?;
    let zone = Some(from.zone().clone());
    let to = open::end_of_move(address.location(), settings, zone, WhenAbsent::Create).await;
    let to = to.context("--store")?;
    let bar = MoveBar::new();
    let on_progress = move |moving: MoveProgress| bar.show(moving);
    let moved = from.move_to(&to, Clock::System.now(), on_progress).await?;
    println!(
        "moved {} rows, of which an earlier run had copied {}: {} orders and {} sessions, \
         the same on both sides in each of {} groups",
        moved.rows, moved.already, moved.orders, moved.sessions, moved.groups
    );
    eprintln!(
        "serve the data with --store from now on; {} is unchanged and will not be opened again",
        directory.display()
    );
    Ok(CommandOutcome::Complete)
}
