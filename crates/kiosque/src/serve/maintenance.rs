//! The regular work of a server on its data: heartbeats, archiving and purging. A failure is
//! logged, and the work is retried at the next interval.

use std::time::Duration;

use kiosque_clock::{Clock, millis};
use kiosque_model::{ActedBy, UnixMs};
use kiosque_store::{Act, Archived, Error, Store};

/// Interval at which old orders are archived, if that is enabled, and the audit trail is purged.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(3_600);

pub(super) async fn write_activity_regularly(store: Store, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        write_activity(&store).await;
    }
}

pub(super) async fn write_activity(store: &Store) {
    if let Err(error) = store.intake().write_activity().await {
        tracing::error!(cause = %error, "heartbeats could not be written");
    }
}

/// Writes refused requests, so that they can be looked up, and the last uses of sessions.
pub(super) async fn write_refused(store: &Store, now: UnixMs) {
    if let Err(error) = store.trail().write_refused().await {
        tracing::warn!(cause = %error, "refused requests could not be written; trying again");
    }
    if let Err(error) = store.trail().write_uses(now).await {
        tracing::warn!(cause = %error, "the last uses of sessions could not be written");
    }
}

pub(super) async fn archive_regularly(store: Store, age: Duration, clock: Clock) {
    loop {
        match archive(&store, age, clock.now()).await {
            Ok(archived) if archived.orders > 0 => {
                tracing::info!(orders = archived.orders, devices = archived.devices, "archived");
            }
            Ok(_) => {}
            Err(error) => tracing::error!(cause = %error, "archiving failed"),
        }
        tokio::time::sleep(MAINTENANCE_INTERVAL).await;
    }
}

async fn archive(store: &Store, age: Duration, now: UnixMs) -> Result<Archived, Error> {
    let archived = store.upkeep().archive(before(now, age), now).await?;
    if archived.orders > 0 {
        let by = ActedBy::server(now);
        store.trail().record_act(Act::from(archived), by).await?;
    }
    Ok(archived)
}

pub(super) async fn purge_regularly(store: Store, retention: Duration, clock: Clock) {
    loop {
        match store.trail().purge(before(clock.now(), retention)).await {
            Ok(0) => {}
            Ok(entries) => tracing::info!(entries, "purged old entries of the audit trail"),
            Err(error) => tracing::error!(cause = %error, "purging the audit trail failed"),
        }
        // They show who sent an order, as entries of the trail do.
        match store.intake().purge_arrivals(before(clock.now(), retention)).await {
            Ok(0) => {}
            Ok(sources) => tracing::info!(sources, "purged old sources of orders"),
            Err(error) => tracing::error!(cause = %error, "purging sources of orders failed"),
        }
        if let Err(error) = store.trail().purge_refused(clock.now()).await {
            tracing::error!(cause = %error, "deleting old refused requests failed");
        }
        match store.intake().end_lost_imports(ActedBy::server(clock.now())).await {
            Ok(0) => {}
            Ok(imports) => tracing::info!(imports, "ended imports whose processes were lost"),
            Err(error) => tracing::error!(cause = %error, "ending lost imports failed"),
        }
        tokio::time::sleep(MAINTENANCE_INTERVAL).await;
    }
}

fn before(now: UnixMs, age: Duration) -> UnixMs {
    now.plus_ms(-millis(age))
}
