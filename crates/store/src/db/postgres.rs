//! PostgreSQL: shared connections, over which requests send their batches, and a pool of
//! connections that run one transaction at a time.
//!
//! Both are ours. A pool crate (deadpool, bb8) gives a connection to one caller at a time, so it
//! cannot share one by account, and what it would replace of the pool is `pooled` and `give_back`:
//! its manager would have to check the same lease, and each connection that is abandoned would have
//! to be taken out of it.

pub(super) mod address;
mod boot_time;
mod checked;
mod conflict;
mod connection;
mod dry_run;
pub(super) mod lease;
mod no_access;
mod params;
mod room;
mod shared;
mod temporary_tables;
pub(super) mod transaction;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kiosque_locks::lock_ignoring_poison;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::erased::{Ask, Change, Done, Failure, on_blocking_pool};
use super::faults::Faults;
use super::read_permits::ReadPermits;
use super::{Changes, Deadline, OpenOptions, Read, ReadOf, Write, permit};
use crate::error::Error;
use address::Address;
pub(crate) use connection::PLANNER;
use connection::{Connection, limits_of_read, until};
use lease::Lease;
use room::Room;
use shared::{SHARED_STATEMENT_MAX, Slot};
use temporary_tables::DryRun;
use transaction::{Access, Transaction};

/// Shared connections for short batches. A slow statement delays only those on its connection.
const SHARED_FOR_SHORT: usize = 4;
/// Shared connections for single statements, of the operator's calls and of logins.
const SHARED_FOR_SINGLE: usize = 2;
/// Connections in the pool for transactions.
const POOL_MAX: usize = 12;
/// The part of a read's time that remains for its answer.
const AFTER_STATEMENT_TIMEOUT: Duration = Duration::from_millis(100);
/// Begins a transaction that reads.
const SNAPSHOT: &str = "begin isolation level repeatable read read only";
/// Maximum attempts of a change that conflicts with other transactions.
const TRIES_MAX: u32 = 10;
/// The pause before the second attempt. Doubles with each attempt.
const BACKOFF_INITIAL: Duration = Duration::from_millis(2);

/// A database, and the connections to it.
#[derive(Debug)]
pub struct Postgres {
    address: Arc<Address>,
    /// The runtime that drives the connections.
    runtime: Handle,
    pub(super) wait: Duration,
    single: Vec<Slot>,
    short: Vec<Slot>,
    /// One slot for each permit for a long read.
    long: Vec<Slot>,
    pub(super) long_read_permits: ReadPermits,
    /// Permits to use a connection of the pool.
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
    /// Whether the latest connection is to Citus.
    is_sharded: AtomicBool,
    /// The transaction of a dry run, which occupies the only connection of the pool.
    pub(super) dry_run: Option<DryRun>,
    pub(super) lease: Arc<Lease>,
    room: Room,
    pub(super) faults: Faults,
}

impl Postgres {
    pub(super) fn open(address: &str, options: &OpenOptions<'_>) -> Result<Postgres, Error> {
        let address = Arc::new(Address::parse(address)?);
        let slots = |count, statement_max: Option<Duration>| {
            std::iter::repeat_with(|| Slot::new(statement_max)).take(count).collect()
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let long_read_permits = ReadPermits::for_cores(cores);
        let dry_run = (options.changes == Changes::RolledBack).then(DryRun::default);
        let pool_max = if dry_run.is_some() { 1 } else { POOL_MAX };
        Ok(Postgres {
            lease: Arc::new(Lease::new(Arc::clone(&address), options.lease)),
            address,
            runtime: Handle::current(),
            wait: options.wait,
            single: slots(SHARED_FOR_SINGLE, None),
            short: slots(SHARED_FOR_SHORT, Some(SHARED_STATEMENT_MAX)),
            long: slots(long_read_permits.total(), Some(options.wait)),
            long_read_permits,
            permits: Arc::new(Semaphore::new(pool_max)),
            idle: Mutex::default(),
            room: Room::default(),
            faults: Faults::default(),
            is_sharded: AtomicBool::new(false),
            dry_run,
        })
    }

    /// Reads from one snapshot.
    pub(super) async fn read(self: &Arc<Self>, deadline: Deadline, ask: Ask) -> Done {
        let read = async move |postgres: &Arc<Postgres>, limits: TimeLimits| {
            let connection = postgres.begin(SNAPSHOT, limits).await?;
            let ends = limits.ends_work();
            let access = Access::ReadOnly;
            let transaction = Transaction { connection: &connection, ends, access };
            let of_engine = ReadOf::Postgres(transaction);
            let answer = ask(&Read { of_engine, faults: &postgres.faults }).await;
            postgres.roll_back(connection).await;
            answer
        };
        self.on_blocking_pool(deadline, read).await
    }

    /// Writes in one transaction.
    pub(super) async fn write(
        self: &Arc<Self>,
        deadline: Deadline,
        change: Box<dyn Change>,
    ) -> Done {
        let write = async move |postgres: &Arc<Postgres>, limits: TimeLimits| {
            let mut tries = 1;
            let mut pause = BACKOFF_INITIAL;
            loop {
                match postgres.try_write(limits.of_attempt(postgres.wait), &*change).await {
                    Tried::Done(done) => return done,
                    Tried::Conflict(error) => {
                        let is_late = |ends: Instant| Instant::now() + pause >= ends;
                        if tries == TRIES_MAX || limits.ends_work().is_some_and(is_late) {
                            return Err(error);
                        }
                    }
                }
                tokio::time::sleep(pause).await;
                (tries, pause) = (tries + 1, pause * 2);
            }
        };
        self.on_blocking_pool(deadline, write).await
    }

    /// Runs a transaction on the blocking pool when a connection is free. A cancelled caller cannot
    /// leave a transaction open.
    async fn on_blocking_pool<T: Send + 'static, E: From<Error> + Send + 'static>(
        self: &Arc<Self>,
        deadline: Deadline,
        work: impl AsyncFnOnce(&Arc<Postgres>, TimeLimits) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        // Includes the wait for a permit and for a connection.
        let limits = TimeLimits { ends: Instant::now() + self.wait, deadline };
        let permit = permit(&self.permits, self.wait).await?;
        let postgres = Arc::clone(self);
        on_blocking_pool(move || {
            let _permit = permit;
            // The caller's runtime may shut down before the work ends, and timers with it.
            postgres.runtime.block_on(work(&postgres, limits))
        })
        .await
    }

    async fn try_write(self: &Arc<Self>, limits: TimeLimits, change: &dyn Change) -> Tried {
        let connection = match self.begin("begin", limits).await {
            Ok(connection) => connection,
            Err(error) => return Tried::Done(Err(error.into())),
        };
        let access = self.dry_run.as_ref().map_or(Access::ReadWrite(&self.lease), Access::DryRun);
        let ends = limits.ends_work();
        let transaction = Transaction { connection: &connection, ends, access };
        let of_engine = ReadOf::Postgres(transaction);
        let done = change.run(&Write(Read { of_engine, faults: &self.faults })).await;
        let failures = connection.take_failures();
        let done = match done {
            Ok(done) if !failures.has_failed => done,
            Ok(_) => {
                self.roll_back(connection).await;
                let swallowed = Error::Data("a failed statement was ignored".to_owned());
                return Tried::Done(Err(swallowed.into()));
            }
            Err(error) => {
                let again = failures.had_conflict;
                if let Some(reason) = failures.no_room {
                    self.room.lacks(reason, Instant::now());
                }
                self.roll_back(connection).await;
                return if again { Tried::Conflict(error) } else { Tried::Done(Err(error)) };
            }
        };
        let ends = limits.ends_work().unwrap_or_else(|| Instant::now() + self.wait);
        let end = if self.dry_run.is_some() { dry_run::RELEASE } else { "commit" };
        match commit(&connection, end, ends).await {
            Ok(()) => {
                self.give_back(connection);
                Tried::Done(Ok(done))
            }
            Err(error) if conflict::is_conflict(&error) => Tried::Conflict(error.into()),
            Err(error) => {
                if let Error::File(reason) = &error {
                    self.room.lacks(reason.clone(), Instant::now());
                }
                connection.abandon();
                Tried::Done(Err(error.into()))
            }
        }
    }

    /// Begins a transaction on a connection of the pool.
    async fn begin(&self, begin: &str, limits: TimeLimits) -> Result<Connection, Error> {
        if let Some(dry_run) = &self.dry_run {
            return self.begin_in_dry_run(dry_run, limits.ends).await;
        }
        let connection = until(limits.ends, self.pooled()).await?;
        let begin = match limits.deadline {
            // The server cancels a long statement and reports it before the caller gives up.
            Deadline::OfRequest if begin == SNAPSHOT => {
                let left = limits.ends.saturating_duration_since(Instant::now());
                let left = left.saturating_sub(AFTER_STATEMENT_TIMEOUT);
                format!("{begin}; {}", limits_of_read("set local", left))
            }
            Deadline::OfRequest => begin.to_owned(),
            Deadline::None => format!("{begin}; set local statement_timeout = 0"),
        };
        until(limits.ends, connection.begin(&begin)).await?;
        Ok(connection)
    }

    /// Rolls a transaction back in the background. A connection that does not answer is closed,
    /// which also rolls back.
    async fn roll_back(self: &Arc<Self>, connection: Connection) {
        if let Some(dry_run) = &self.dry_run {
            return self.roll_back_in_dry_run(dry_run, connection).await;
        }
        // The server rolls back when the connection is closed.
        if !connection.is_reusable() {
            return;
        }
        let postgres = Arc::clone(self);
        tokio::spawn(async move {
            let ends = Instant::now() + postgres.wait;
            match until(ends, connection.simple("rollback")).await {
                Ok(()) => postgres.give_back(connection),
                Err(_) => connection.abandon(),
            }
        });
    }

    async fn pooled(&self) -> Result<Connection, Error> {
        loop {
            let idle = lock_ignoring_poison(&self.idle).pop();
            match idle {
                Some(idle) if idle.is_open() && self.lease.is_current(&idle) => {
                    idle.replan_if_old().await?;
                    return Ok(idle);
                }
                Some(_) => {}
                None => {
                    let lacks = |error: &Error| self.room.lacks(error.to_string(), Instant::now());
                    return self.connect().await.inspect_err(lacks);
                }
            }
        }
    }

    /// Opens a connection. It is driven by the runtime that opened the store, whichever thread
    /// needs it first: the runtimes that store orders would delay the answers to requests.
    async fn connect(&self) -> Result<Connection, Error> {
        let (address, wait) = (Arc::clone(&self.address), self.wait);
        let connecting = async move { Connection::open(&address, wait).await };
        let connection = self.runtime.spawn(connecting).await.unwrap_or(Err(Error::Gone))?;
        self.is_sharded.store(connection.is_sharded, Ordering::Relaxed);
        Ok(connection)
    }

    /// Returns a failure to open the data. If the role lacks a right or a schema, it names the role
    /// and the remedy.
    pub(super) fn explained(&self, error: Error) -> Error {
        no_access::of_opening(&self.address, error)
    }

    /// Returns the hosts and the name of the database, as in the address.
    pub(super) fn database(&self) -> String {
        let hosts: Vec<&str> = self.address.hosts.iter().map(|host| host.name.as_str()).collect();
        let name = self.address.hosts.first().map(|host| host.role_and_database().1);
        format!("{}/{}", hosts.join(","), name.unwrap_or_default())
    }

    /// Returns whether tables may be distributed. The store has connected before: it checks the
    /// layout when it is opened.
    pub(super) fn is_sharded(&self) -> bool {
        self.is_sharded.load(Ordering::Relaxed)
    }

    fn give_back(&self, connection: Connection) {
        let mut idle = lock_ignoring_poison(&self.idle);
        if idle.len() < POOL_MAX {
            idle.push(connection);
        }
    }
}

/// The deadlines of a transaction.
#[derive(Clone, Copy)]
struct TimeLimits {
    /// The instant at which the caller has waited as long as a request may.
    ends: Instant,
    deadline: Deadline,
}

impl TimeLimits {
    /// Returns the deadline of the work once it has begun; `None` for no deadline.
    fn ends_work(self) -> Option<Instant> {
        (self.deadline == Deadline::OfRequest).then_some(self.ends)
    }

    /// Returns the deadlines of another attempt. Work without a deadline may wait for a connection
    /// as long as a request, each time.
    fn of_attempt(self, wait: Duration) -> TimeLimits {
        match self.deadline {
            Deadline::OfRequest => self,
            Deadline::None => TimeLimits { ends: Instant::now() + wait, ..self },
        }
    }
}

/// The result of one attempt of a change.
enum Tried {
    Done(Done),
    /// It conflicted with another transaction.
    Conflict(Failure),
}

/// Commits with the statement `end`. The outcome is unknown if the server warns, because the commit
/// may not have reached the standby, or if it does not answer.
async fn commit(connection: &Connection, end: &str, ends: Instant) -> Result<(), Error> {
    let warnings = connection.warnings();
    match until(ends, connection.simple(end)).await {
        Ok(()) if connection.warnings() == warnings => Ok(()),
        Ok(()) => Err(Error::Unknown("the commit came with a warning".to_owned())),
        // The server refused it, so nothing was committed.
        Err(Error::Postgres(error)) if error.code().is_some() => Err(error.into()),
        Err(error @ Error::File(_)) => Err(error),
        Err(error) => Err(Error::Unknown(format!("the commit was not answered: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_has_one_deadline_for_all_attempts() {
        let (wait, began) = (Duration::from_secs(5), Instant::now() - Duration::from_secs(60));
        let attempt = |deadline| TimeLimits { ends: began + wait, deadline }.of_attempt(wait);
        assert_eq!(attempt(Deadline::OfRequest).ends, began + wait);
        // It has run for a minute, and begins again.
        let again = attempt(Deadline::None);
        assert!(again.ends >= Instant::now() && again.ends_work().is_none());
    }
}
