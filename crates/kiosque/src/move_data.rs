//! `kiosque move`

use anyhow::Context;
use kiosque_clock::Clock;
use kiosque_model::counted;
use kiosque_store::{Changes, MoveProgress, StoreLocation, WhenAbsent};

use crate::interrupt::Interrupt;
use crate::output::{eprint_line, print_line};
use crate::progress::Bar;
use crate::settings::Settings;
use crate::{dry_run, open};

pub(crate) async fn run(settings: &Settings, changes: Changes) -> anyhow::Result<()> {
    let address = settings.common.store.as_ref();
    let address = address.context("--store URL is required: the database to move to")?;
    let directory = open::directory(settings)?;
    let place = StoreLocation::Directory(&directory);
    let from = open::end_of_move(place, settings, None, WhenAbsent::Refuse, changes);
    let from = from.await.with_context(|| directory.display().to_string())?;
    let zone = Some(from.zone().clone());
    let to = open::end_of_move(address.location(), settings, zone, WhenAbsent::Create, changes);
    let to = to.await.with_context(|| settings.source("store").to_owned())?;
    let bar = Bar::new("moving");
    let (interrupted, place) = (bar.clone(), directory.clone());
    let _interrupt = Interrupt::receive(move || {
        interrupted.clear();
        eprint_line!(
            "interrupted: {} remains the data in use until the move is complete; repeat the \
             command to begin it again",
            place.display()
        );
    })?;
    let shown = bar.clone();
    let on_progress = move |moving: MoveProgress| shown.show_move(moving);
    let moved = from.upkeep().move_to(to.upkeep(), Clock::System.now(), on_progress).await;
    bar.clear();
    let moved = moved?;
    if changes == Changes::RolledBack {
        return dry_run::print_move(&moved);
    }
    print_line!(
        "moved {}: {} and {}, the same on both sides in each of {}",
        counted(moved.rows(), "row"),
        counted(moved.rows_of("orders"), "order"),
        counted(moved.rows_of("sessions"), "session"),
        counted(moved.groups, "group")
    )?;
    eprint_line!(
        "serve the data with --store from now on; {} is unchanged and will not be opened again",
        directory.display()
    );
    Ok(())
}
