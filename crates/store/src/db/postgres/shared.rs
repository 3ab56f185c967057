//! Shared connections, over which requests send their batches.

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use kiosque_locks::{read_ignoring_poison, write_ignoring_poison};
use kiosque_model::AccountNo;
use tokio::runtime::Handle;

use super::Postgres;
use super::checked;
use super::connection::{Connection, limits_of_read, until};
use super::params::all_params;
use super::transaction::{Access, Transaction};
use crate::db::read_permits::ReadPermit;
use crate::db::{Bound, VisitChecked};
use crate::error::{Error, Refused};
use crate::sql::{Row, Sql, Value};

/// Batches in flight on one connection before the next one is used. Batches that share packets cost
/// both ends half as much.
const TOGETHER: usize = 32;
/// A connection on which nothing has ended for this long runs a slow statement: new batches avoid
/// it.
const SLOW: Duration = Duration::from_millis(3);
/// The account of a connection that no account has used.
const NO_ACCOUNT: i64 = i64::MIN;
/// The maximum number of rows of a read on a shared connection.
const SHARED_ROWS_MAX: usize = 500;
/// The time limit of the statement of a read on a shared connection, since the server's work cannot
/// be counted. Reads expected there take a fraction of a millisecond.
pub(super) const SHARED_STATEMENT_MAX: Duration = Duration::from_millis(100);

/// A shared connection, opened when needed and reopened after it broke.
#[derive(Debug)]
pub(super) struct Slot {
    statement_max: Option<Duration>,
    in_flight: AtomicUsize,
    made_at: Instant,
    /// When its first batch began or the last one ended, in microseconds since it was created.
    progressed_at_us: AtomicU64,
    /// The account of the latest batch.
    account: AtomicI64,
    connection: RwLock<Option<Arc<Connection>>>,
    connecting: tokio::sync::Mutex<()>,
}

impl Postgres {
    /// Reads on a shared connection, within the budget for it.
    pub(in crate::db) async fn read_short(
        &self,
        statements: &[Bound],
        visit: &mut VisitChecked<'_>,
        account: AccountNo,
        now: Instant,
    ) -> Result<(), Refused> {
        let in_flight = Slot::take_for(account, &self.short, now)?;
        let slot = in_flight.0;
        let work = async {
            let connection = slot.connection(self).await?;
            let ran = checked::run(&connection, statements, visit, SHARED_ROWS_MAX).await;
            self.lease.confirm(&connection, ran)
        };
        match tokio::time::timeout_at((now + self.wait).into(), work).await {
            Ok(ran) => ran,
            Err(_) => {
                // The server may hang, so the next read gets another connection.
                slot.forget();
                Err(Error::Unreachable(format!("no answer within {:?}", self.wait)).into())
            }
        }
    }

    /// Reads alone on a connection. At its deadline, or when its caller is gone, its statement is
    /// cancelled and the connection closed.
    pub(in crate::db) async fn read_long(
        &self,
        permit: ReadPermit,
        ends: Instant,
        statements: &[Bound],
        visit: &mut VisitChecked<'_>,
    ) -> Result<(), Refused> {
        let in_flight = Slot::take(&self.long, 1, Instant::now())?;
        let slot = in_flight.0;
        let connection = until(ends, slot.connection(self)).await.inspect_err(|_| slot.forget())?;
        let held = Some((Arc::clone(&connection), permit));
        let mut running = RunningRead { slot, runtime: &self.runtime, held };
        let ran = {
            let work = checked::run(&connection, statements, visit, usize::MAX);
            let mut work = std::pin::pin!(work);
            match tokio::time::timeout_at(ends.into(), &mut work).await {
                Ok(ran) => ran,
                Err(_) => Err(connection.ended_at_deadline(work).await),
            }
        };
        // After a refusal, statements that were already sent may still run.
        if ran.is_ok() {
            running.held = None;
        }
        self.lease.confirm(&connection, ran)
    }

    /// Visits the rows of one statement.
    pub(in crate::db) async fn each(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
        mut visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let now = Instant::now();
        let in_flight = Slot::take(&self.single, TOGETHER, now)?;
        let ends = now + self.wait;
        let slot = in_flight.0;
        let work = async {
            let connection = slot.connection(self).await?;
            let access = Access::ReadOnly;
            let single = Transaction { connection: &connection, ends: None, access };
            let visit = &mut |row| visit(&Row::Postgres(&row, None));
            single.run(sql.for_postgres()?, &all_params(&[], params), visit).await.map(drop)
        };
        let done = until(ends, work).await;
        if done.is_err() {
            slot.forget();
        }
        done
    }
}

impl Slot {
    /// Returns a slot for a connection whose statements have this time limit, if any.
    pub(super) fn new(statement_max: Option<Duration>) -> Slot {
        Slot {
            statement_max,
            in_flight: AtomicUsize::new(0),
            made_at: Instant::now(),
            progressed_at_us: AtomicU64::new(0),
            account: AtomicI64::new(NO_ACCOUNT),
            connection: RwLock::default(),
            connecting: tokio::sync::Mutex::default(),
        }
    }

    /// Takes a place on a shared connection: the first one with fewer than `together` batches,
    /// otherwise the least used.
    fn take(slots: &[Slot], together: usize, now: Instant) -> Result<InFlight<'_>, Error> {
        let free = slots.iter().find(|slot| slot.has_place(together, now));
        let slot = free.or_else(|| Slot::least_used(slots, now)).ok_or(Error::Gone)?;
        Ok(slot.enter(now))
    }

    /// Takes a place on a shared connection for an account: the one that the account used last,
    /// otherwise the one with the fewest batches in flight. The server runs the batches of a
    /// connection one after another, so the batches of an account with many requests would delay
    /// the batches of others.
    fn take_for(account: AccountNo, slots: &[Slot], now: Instant) -> Result<InFlight<'_>, Error> {
        let own = slots.iter().find(|slot| slot.account.load(Ordering::Relaxed) == account.0);
        let own = own.filter(|slot| slot.has_place(TOGETHER, now));
        let slot = own.or_else(|| Slot::least_used(slots, now)).ok_or(Error::Gone)?;
        slot.account.store(account.0, Ordering::Relaxed);
        Ok(slot.enter(now))
    }

    /// Returns whether the connection has fewer batches in flight than `together` and is not slow.
    fn has_place(&self, together: usize, now: Instant) -> bool {
        match self.in_flight.load(Ordering::Relaxed) {
            0 => true,
            count => count < together && !self.is_slow(now),
        }
    }

    /// Returns the connection with the fewest batches in flight; a slow one only if all are slow.
    fn least_used(slots: &[Slot], now: Instant) -> Option<&Slot> {
        slots.iter().min_by_key(|slot| {
            let in_flight = slot.in_flight.load(Ordering::Relaxed);
            (in_flight > 0 && slot.is_slow(now), in_flight)
        })
    }

    fn enter(&self, now: Instant) -> InFlight<'_> {
        if self.in_flight.fetch_add(1, Ordering::Relaxed) == 0 {
            self.note_progress(now);
        }
        InFlight(self)
    }

    fn note_progress(&self, now: Instant) {
        let at = now.saturating_duration_since(self.made_at).as_micros();
        self.progressed_at_us.store(u64::try_from(at).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn is_slow(&self, now: Instant) -> bool {
        let progressed = Duration::from_micros(self.progressed_at_us.load(Ordering::Relaxed));
        now.saturating_duration_since(self.made_at).saturating_sub(progressed) > SLOW
    }

    async fn connection(&self, postgres: &Postgres) -> Result<Arc<Connection>, Error> {
        if let Some(open) = self.open_one(postgres) {
            open.replan_if_old().await?;
            return Ok(open);
        }
        let _connecting = self.connecting.lock().await;
        if let Some(open) = self.open_one(postgres) {
            return Ok(open);
        }
        let new = Arc::new(postgres.connect().await?);
        if let Some(most) = self.statement_max {
            new.simple(&limits_of_read("set", most)).await?;
        }
        *write_ignoring_poison(&self.connection) = Some(Arc::clone(&new));
        Ok(new)
    }

    fn open_one(&self, postgres: &Postgres) -> Option<Arc<Connection>> {
        let current = read_ignoring_poison(&self.connection);
        let open = current.as_ref().filter(|current| current.is_open());
        open.filter(|open| postgres.lease.is_current(open)).cloned()
    }

    fn forget(&self) {
        *write_ignoring_poison(&self.connection) = None;
    }
}

/// A batch alone on a connection. If it is dropped before the batch has ended, the statement is
/// cancelled, and then the permit is returned.
struct RunningRead<'a> {
    slot: &'a Slot,
    runtime: &'a Handle,
    /// `None` once the batch has ended.
    held: Option<(Arc<Connection>, ReadPermit)>,
}

impl Drop for RunningRead<'_> {
    fn drop(&mut self) {
        let Some((connection, permit)) = self.held.take() else { return };
        self.slot.forget();
        self.runtime.spawn(async move {
            let _permit = permit;
            connection.cancel().await;
        });
    }
}

/// A batch in flight on a shared connection.
struct InFlight<'a>(&'a Slot);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.0.note_progress(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn batches_of_one_account_leave_the_connections_of_others_free() {
        let slots: Vec<Slot> = std::iter::repeat_with(|| Slot::new(None)).take(3).collect();
        let now = slots.last().map_or_else(Instant::now, |slot| slot.made_at);
        let in_flight = || -> Vec<usize> {
            slots.iter().map(|slot| slot.in_flight.load(Ordering::Relaxed)).collect()
        };
        let take = |account| Slot::take_for(AccountNo(account), &slots, now).expect("a place");
        let busy: Vec<_> = (0..8).map(|_| take(1)).collect();
        assert_eq!(in_flight(), [8, 0, 0], "batches of one account share packets");
        let other = take(2);
        assert_eq!(in_flight(), [8, 1, 0]);
        drop(other);
        let others: Vec<_> = [take(1), take(2), take(3), take(3), take(2)].into();
        assert_eq!(in_flight(), [9, 2, 2], "each account returns to its connection");
        let more: Vec<_> = (0..TOGETHER).map(|_| take(1)).collect();
        assert!(in_flight().iter().all(|count| *count <= TOGETHER), "{:?}", in_flight());
        drop((busy, others, more));
        assert_eq!(in_flight(), [0, 0, 0]);
    }
}
