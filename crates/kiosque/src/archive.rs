//! `kiosque archive`

use std::time::Duration;

use anyhow::bail;
use kiosque_clock::Clock;
use kiosque_contract::inventory::ArchiveRunItem;
use kiosque_model::{ActedBy, UnixMs, Zone};
use kiosque_store::{Changes, Store, Undone, WhenAbsent};

use crate::args::ArchiveArgs;
use crate::interrupt::Interrupt;
use crate::output::{self, print_line, time};
use crate::settings::Settings;
use crate::table::Table;
use crate::{CommandOutcome, acting, open};

pub(crate) async fn run(settings: &Settings, args: ArchiveArgs) -> anyhow::Result<CommandOutcome> {
    let changes = args.dry_run.changes();
    let _interrupt = Interrupt::receive(Duration::ZERO, move || match changes {
        Changes::RolledBack => eprintln!("interrupted: nothing was changed"),
        Changes::Stored => eprintln!(
            "interrupted: the changes made so far are kept; repeat the command to make the others"
        ),
    })?;
    let store = open::store_for(settings, WhenAbsent::Refuse, changes).await?;
    match (args.what.before, args.what.undo) {
        (Some(before), _) => archive(&store, &before).await?,
        (None, Some(run)) => undo(&store, run).await?,
        (None, None) => output::print(&runs(&store.archive_runs().await?, store.zone()))?,
    }
    if changes == Changes::RolledBack {
        eprintln!("dry run: nothing was changed");
    }
    Ok(CommandOutcome::Complete)
}

async fn archive(store: &Store, before: &str) -> anyhow::Result<()> {
    let now = Clock::System.now();
    let before = time_before(before, store.zone(), now)?;
    let archived = store.archive(before, now).await?;
    let counts = format!("{} orders of {} devices", archived.orders, archived.devices);
    if store.is_dry_run() {
        return print_line!("would archive {counts}");
    }
    print_line!("archived {counts}")?;
    if let Some(run) = archived.run {
        print_line!("archive run {run}; `kiosque archive --undo {run}` undoes it")?;
    }
    let by = ActedBy::run(acting::run_of("archive"), now);
    Ok(store.record_act(archived.into(), by).await?)
}

/// Reads the time before which orders are archived. One ahead of now is a slip: it would archive
/// every order.
fn time_before(text: &str, zone: &Zone, now: UnixMs) -> anyhow::Result<UnixMs> {
    let before = zone.parse_time_or_date(text);
    let before = before.map_err(|error| anyhow::anyhow!("--before: {error}"))?;
    if before > now {
        bail!(
            "--before: {} is ahead of now, {} {}; nothing was archived",
            zone.text(before),
            zone.text(now),
            zone.name()
        );
    }
    Ok(before)
}

async fn undo(store: &Store, run: Option<i64>) -> anyhow::Result<()> {
    let Undone { run, at, orders, devices, before_of_servers } =
        store.undo_archive(run, acting::by("archive")).await?;
    let zone = store.zone();
    if let Some(before) = before_of_servers {
        let (before, zone) = (zone.text(before), zone.name());
        eprintln!(
            "warning: a server with archive_after has archived orders before {before} {zone}, \
             and archives these again within an hour: set a longer archive_after, and restart \
             the server; if it has archived them again by then, undo that run as well"
        );
    }
    let at = zone.text(at);
    let orders = format!("{orders} orders of {devices} devices");
    match store.is_dry_run() {
        true => print_line!("undoing archive run {run} of {at} would make {orders} current"),
        false => print_line!("archive run {run} of {at} undone: {orders} are current"),
    }
}

fn runs(runs: &[ArchiveRunItem], zone: &Zone) -> Table<7> {
    let mut table = Table::new(["ID", "BEGUN", "BEFORE", "BY", "ORDERS", "DEVICES", "UNDONE"]);
    for run in runs {
        table.add([
            run.run_id.clone(),
            time(zone, Some(run.timestamp)),
            time(zone, Some(run.before_timestamp)),
            if run.by_server { "server" } else { "command" }.to_owned(),
            run.orders.to_string(),
            run.devices.to_string(),
            time(zone, run.undone_timestamp),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_ahead_of_now_is_refused() {
        let (zone, now) = (Zone::utc(), UnixMs(1_780_000_000_000));
        assert_eq!(time_before("2026-05-28 20:26:40", &zone, now).expect("now"), now);
        for ahead in ["2026-05-28 20:26:41", "2062-01-01"] {
            let refused = time_before(ahead, &zone, now).expect_err("ahead").to_string();
            assert!(refused.contains("is ahead of now, 2026-05-28 20:26:40 UTC"), "{refused}");
        }
    }
}
