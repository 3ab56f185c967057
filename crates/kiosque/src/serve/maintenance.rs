//! The regular work of a server on its data: heartbeats, archiving and purging. A failure is
//! logged, and the work is retried at the next interval.

use std::time::Duration;

use kiosque_clock::{Clock, millis};
use kiosque_model::{ActedBy, DAY_MS, UnixMs};
use kiosque_store::{ArchiveError, Archived, Error, Store};

use super::CLOCK_CHECK_INTERVAL;

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

/// Returns the time once the clock does not differ too much from the database's: by a clock that is
/// ahead, orders and entries of all nodes would be old too early.
async fn right_time(store: &Store, clock: &Clock) -> UnixMs {
    loop {
        let now = clock.now();
        if store.engine().check_clock(now).is_none_or(|clock| !clock.is_off) {
            return now;
        }
        tokio::time::sleep(CLOCK_CHECK_INTERVAL).await;
    }
}

pub(super) async fn archive_regularly(store: Store, age: Duration, clock: Clock) {
    loop {
        match archive(&store, age, right_time(&store, &clock).await).await {
            Ok(archived) if archived.orders > 0 => {
                tracing::info!(orders = archived.orders, devices = archived.devices, "archived");
            }
            Ok(_) => {}
            Err(error) => tracing::error!(cause = %error, "archiving failed"),
        }
        tokio::time::sleep(MAINTENANCE_INTERVAL).await;
    }
}

async fn archive(store: &Store, age: Duration, now: UnixMs) -> Result<Archived, ArchiveError> {
    let result = store.upkeep().archive(before(now, age), now).await;
    if let Ok(archived) | Err(ArchiveError::Interrupted { archived, .. }) = result
        && archived.orders > 0
    {
        store.trail().record_act(archived.into(), ActedBy::server(now)).await?;
    }
    result
}

pub(super) async fn purge_regularly(store: Store, retention: Duration, clock: Clock) {
    loop {
        let now = right_time(&store, &clock).await;
        if let Err(error) = purge(&store, retention, now).await {
            tracing::error!(cause = %error, "purging the audit trail failed");
        }
        if let Err(error) = store.trail().purge_refused(now).await {
            tracing::error!(cause = %error, "deleting old refused requests failed");
        }
        match store.intake().end_lost_imports(ActedBy::server(now)).await {
            Ok(0) => {}
            Ok(imports) => tracing::info!(imports, "ended imports whose processes were lost"),
            Err(error) => tracing::error!(cause = %error, "ending lost imports failed"),
        }
        tokio::time::sleep(MAINTENANCE_INTERVAL).await;
    }
}

/// Deletes the entries of the audit trail that are older than `retention`, and the sources of
/// orders, which show who sent an order, as those do. A call deletes a day of each at most: a clock
/// that is ahead for some time must not delete them all.
async fn purge(store: &Store, retention: Duration, now: UnixMs) -> Result<(), Error> {
    let trail = store.trail();
    let intake = store.intake();
    let old = before(now, retention);
    let day_from = |oldest: UnixMs| old.min(oldest.plus_ms(DAY_MS));
    let entries = match trail.oldest_entry().await? {
        Some(oldest) => trail.purge(day_from(oldest)).await?,
        None => 0,
    };
    let sources = match intake.oldest_arrival().await? {
        Some(oldest) => intake.purge_arrivals(day_from(oldest)).await?,
        None => 0,
    };
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
    use std::sync::Arc;

    use kiosque_contract::AuditDetails;
    use kiosque_model::KeyName;
    use kiosque_model::audit::AuditEvent;
    use kiosque_store::{Act, AuditQuery};
    use kiosque_testkit::entries::{device, order};
    use kiosque_testkit::{TestData, TestStore};

    use super::*;

    /// Orders that are archived too early are missing from the lists of all nodes.
    #[tokio::test]
    async fn nothing_is_old_by_a_clock_that_differs_from_the_databases() {
        let store = TestStore::on(TestData::postgres()).await.store;
        let right = Clock::System.now();
        for off_ms in [-DAY_MS, DAY_MS] {
            let clock = Clock::Manual(Arc::new((right.0 + off_ms).into()));
            let waits = tokio::time::timeout(Duration::ZERO, right_time(&store, &clock));
            assert!(waits.await.is_err(), "{off_ms}");
        }
        assert!(right_time(&store, &Clock::System).await >= right);
    }

    /// Boundaries are moved in several transactions: the orders of those before one that fails are
    /// in the trail.
    #[tokio::test]
    async fn what_was_archived_before_a_failure_is_in_the_trail() {
        let fixture = TestStore::with_fleet().await;
        let names = (0..250).map(|at| format!("m{at}"));
        fixture.apply_devices(names.clone().map(|name| device(&name, "a")).collect()).await;
        fixture.receive_new(names.map(|name| order(&name, &name, 1)).collect()).await;
        for statements in (0..).step_by(20) {
            fixture.store.engine().faults().arm(Some((statements, || Error::Gone)));
            let result = archive(&fixture.store, Duration::ZERO, UnixMs(2)).await;
            fixture.store.engine().faults().arm(None);
            let Err(error) = result else { break };
            let ArchiveError::Interrupted { archived, .. } = error else { continue };
            assert_eq!(archived.orders, 200);
            let archived =
                AuditQuery { event: Some(AuditEvent::Archived), ..AuditQuery::latest(9) };
            let mut trail = fixture.store.trail().entries(archived).await.unwrap().entries;
            let details = trail.pop().and_then(|entry| entry.details).unwrap();
            assert_eq!((details.orders, trail.len()), (Some(200), 0));
            return;
        }
        panic!("no failure was after the first transaction");
    }

    /// The first pass of a server with a clock two years ahead deletes one day of the trail, and
    /// one day of the sources of orders, which may be other days.
    #[tokio::test]
    async fn a_clock_that_is_ahead_deletes_a_day_of_the_trail_and_of_the_sources() {
        let fixture = TestStore::new().await;
        let retention = Duration::from_secs(365 * 86_400);
        let at = |day: i64| UnixMs(day * DAY_MS);
        for day in 0..5 {
            let key = KeyName::parse("tills").unwrap();
            fixture.store.intake().begin_arrival(key, None, at(day)).await.unwrap();
        }
        purge(&fixture.store, retention, at(366)).await.unwrap();
        let oldest = fixture.store.intake().oldest_arrival().await.unwrap();
        assert_eq!(oldest, Some(at(1)), "with an empty trail");
        for day in 2..5 {
            let act = Act::new(AuditEvent::Archived, AuditDetails::default());
            fixture.store.trail().record_act(act, ActedBy::server(at(day))).await.unwrap();
        }
        for (now, oldest) in [(365, [2, 1]), (2 * 365, [3, 2]), (368, [3, 3]), (368, [3, 3])] {
            purge(&fixture.store, retention, at(now)).await.unwrap();
            let entry = fixture.store.trail().oldest_entry().await.unwrap();
            let arrival = fixture.store.intake().oldest_arrival().await.unwrap();
            assert_eq!([entry, arrival], oldest.map(|day| Some(at(day))), "{now}");
        }
    }
}
