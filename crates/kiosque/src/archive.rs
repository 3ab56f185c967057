//! `kiosque archive`

use anyhow::{anyhow, bail};
use kiosque_clock::Clock;
use kiosque_model::{UnixMs, Zone, orders_of_devices};
use kiosque_store::{ArchiveError, Archived, Changes, Returning, Store, WhenAbsent};

use crate::args::ArchiveArgs;
use crate::interrupt::Interrupt;
use crate::output::{eprint_line, print_line};
use crate::settings::Settings;
use crate::{acting, open};

pub(crate) async fn run(settings: &Settings, args: ArchiveArgs) -> anyhow::Result<()> {
    let changes = args.dry_run.changes();
    let _interrupt = Interrupt::receive(move || match changes {
        Changes::RolledBack => eprint_line!("interrupted: nothing was changed"),
        Changes::Stored => eprint_line!(
            "interrupted: the changes made so far are kept; repeat the command to make the others"
        ),
    })?;
    let store = open::store_for(settings, WhenAbsent::Refuse, changes).await?;
    let returning = match (changes, args.yes) {
        (Changes::Stored, false) => Returning::Refused,
        _ => Returning::Allowed,
    };
    archive(&store, &args.before, returning).await?;
    if changes == Changes::RolledBack {
        eprint_line!("dry run: nothing was changed");
    }
    Ok(())
}

async fn archive(store: &Store, before: &str, returning: Returning) -> anyhow::Result<()> {
    let now = Clock::System.now();
    let before = time_before(before, store.zone(), now)?;
    // The entry is written before the lines, whose reader may have ended.
    let result = store.upkeep().archive_exactly(before, now, returning).await;
    if let Ok(archived) | Err(ArchiveError::Interrupted { archived, .. }) = result
        && !store.engine().is_dry_run()
    {
        store.trail().record_act(archived.into(), acting::by_at("archive", now)).await?;
    }
    let counts = result.map_err(|error| refusal(error, before, store.zone()))?;
    let Archived { orders, devices, returned_orders, returned_devices, .. } = counts;
    let archived = orders_of_devices(orders, devices);
    let returned = orders_of_devices(returned_orders, returned_devices);
    if store.engine().is_dry_run() {
        print_line!("would archive {archived}")?;
        if returned_orders > 0 {
            print_line!("would make {returned} current again, which needs --yes")?;
        }
        return Ok(());
    }
    print_line!("archived {archived}")?;
    if returned_orders > 0 {
        print_line!("{returned} are current again")?;
    }
    Ok(())
}

/// Returns the message for a refused or failed archiving.
fn refusal(error: ArchiveError, before: UnixMs, zone: &Zone) -> anyhow::Error {
    match error {
        ArchiveError::WouldReturn { orders, devices, archived_before } => anyhow!(
            "--before: orders before {} are archived; {} is earlier, so that {} would become \
             current again; repeat the command with --yes to make them current; nothing was \
             changed",
            zone.text(archived_before),
            zone.text(before),
            orders_of_devices(orders, devices),
        ),
        ArchiveError::Store(error) | ArchiveError::Interrupted { error, .. } => error.into(),
    }
}

/// Parses the time before which orders are archived. A time in the future is a mistake: it would
/// archive every order.
fn time_before(text: &str, zone: &Zone, now: UnixMs) -> anyhow::Result<UnixMs> {
    let before = zone.parse_time_or_date(text);
    let before = before.map_err(|error| anyhow::anyhow!("--before: {error}"))?;
    if before > now {
        bail!(
            "--before: {} is in the future; now it is {} {}; nothing was archived",
            zone.text(before),
            zone.text(now),
            zone.name()
        );
    }
    Ok(before)
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
            assert!(
                refused.contains("is in the future; now it is 2026-05-28 20:26:40 UTC"),
                "{refused}"
            );
        }
    }
}
