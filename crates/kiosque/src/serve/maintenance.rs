//! The regular work of a server on its data: heartbeats, archiving and purging. A failure is
//! logged, and the work is retried at the next interval.

use std::time::Duration;

use kiosque_clock::{Clock, millis};
use kiosque_model::{ActedBy, UnixMs};
use kiosque_store::{Act, Archived, Error, Store};

/// Interval at which old orders are archived, if that is enabled, and the audit trail is purged.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(3_600);
const DAY_MS: i64 = 86_400_000;

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
        if let Err(error) = purge(&store, retention, clock.now()).await {
            tracing::error!(cause = %error, "purging the audit trail failed");
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

/// Deletes the entries of the audit trail that are older than `retention`, and the sources of
/// orders, which show who sent an order, as those do. A call deletes a day of them at most: a clock
/// that is ahead for some time must not delete the trail.
async fn purge(store: &Store, retention: Duration, now: UnixMs) -> Result<(), Error> {
    let Some(oldest) = store.trail().oldest_entry().await? else { return Ok(()) };
    let before = before(now, retention).min(oldest.plus_ms(DAY_MS));
    let entries = store.trail().purge(before).await?;
    let sources = store.intake().purge_arrivals(before).await?;
    if entries > 0 || sources > 0 {
        tracing::info!(entries, sources, "purged old entries of the audit trail");
    }
    Ok(())
}

fn before(now: UnixMs, age: Duration) -> UnixMs {
    now.plus_ms(-millis(age))
}

#[cfg(test)]
mod tests {
    use kiosque_contract::AuditDetails;
    use kiosque_model::audit::AuditEvent;
    use kiosque_testkit::TestStore;

    use super::*;

    /// The first pass of a server with a clock two years ahead deletes one day of the trail.
    #[tokio::test]
    async fn a_clock_that_is_ahead_deletes_a_day_of_the_trail() {
        let (fixture, retention) = (TestStore::new().await, Duration::from_secs(365 * 86_400));
        let at = |day: i64| UnixMs(day * DAY_MS);
        for day in 0..5 {
            let act = Act::new(AuditEvent::Archived, AuditDetails::default());
            fixture.store.trail().record_act(act, ActedBy::server(at(day))).await.unwrap();
        }
        for (now, oldest) in [(365, 0), (2 * 365, 1), (367, 2), (367, 2)] {
            purge(&fixture.store, retention, at(now)).await.unwrap();
            let left = fixture.store.trail().oldest_entry().await.unwrap();
            assert_eq!(left, Some(at(oldest)), "{now}");
        }
    }
}
