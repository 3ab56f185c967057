//! PostgreSQL: connections that many requests share, each sending what it asks in one go, and a few
//! of which each transaction has one alone.

mod address;
mod batch;
mod connection;
pub(super) mod lease;
mod params;
pub(super) mod transaction;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use kiosque_locks::{lock_ignoring_poison, read_ignoring_poison, write_ignoring_poison};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::{Batch, Length, Read, Write};
use crate::sql::{Row, Sql, Value};
use crate::{Error, OpenOptions, Refused};
use address::Address;
use connection::{Connection, until};
use lease::Lease;
use transaction::Transaction;

/// Connections that requests share: a slow one keeps only its neighbours waiting.
const SHARED_FOR_SHORT: usize = 4;
/// The same for what may take long.
const SHARED_FOR_LONG: usize = 4;
/// Requests that go over one connection before the next is used: what travels together costs both
/// ends half of what it costs alone.
const TOGETHER: usize = 32;
/// Connections that transactions have alone.
const ALONE_MAX: usize = 12;
/// A transaction that reads.
const SNAPSHOT: &str = "begin isolation level repeatable read read only";
/// How often a change is done again that others were in the way of.
const TRIES_MAX: u32 = 10;
/// How long the first of them waits before it tries again; each waits twice as long as the one
/// before it.
const FIRST_PAUSE: Duration = Duration::from_millis(2);

#[derive(Debug)]
pub(crate) struct Postgres {
    address: Arc<Address>,
    /// The threads that connections work on.
    home: Handle,
    wait: Duration,
    short: Vec<Slot>,
    long: Vec<Slot>,
    /// Whose turn it is to have a connection alone.
    turns: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
    pub(super) lease: Arc<Lease>,
}

/// A place for a shared connection, made when it is needed and made anew when it broke.
#[derive(Debug, Default)]
struct Slot {
    in_flight: AtomicUsize,
    connection: RwLock<Option<Arc<Connection>>>,
    connecting: tokio::sync::Mutex<()>,
}

impl Postgres {
    pub(super) fn open(address: &str, opening: &OpenOptions<'_>) -> Result<Postgres, Error> {
        let address = Arc::new(Address::parse(address)?);
        let slots = |count| std::iter::repeat_with(Slot::default).take(count).collect();
        Ok(Postgres {
            lease: Arc::new(Lease::new(Arc::clone(&address), opening.lease)),
            address,
            home: Handle::current(),
            wait: opening.wait,
            short: slots(SHARED_FOR_SHORT),
            long: slots(SHARED_FOR_LONG),
            turns: Arc::new(Semaphore::new(ALONE_MAX)),
            idle: Mutex::default(),
        })
    }

    /// Asks a batch in one round trip.
    pub(super) async fn batch<B: Batch>(
        &self,
        batch: B,
        length: Length,
    ) -> Result<(B, B::Found), Refused> {
        let place = self.place(length)?;
        let slot = place.0;
        let asked = async {
            let connection = slot.connection(self).await?;
            let found = batch::ask(&connection, &batch).await?;
            self.lease.stands_for(&connection)?;
            Ok::<_, Refused>(found)
        };
        let found = match tokio::time::timeout(self.wait, asked).await {
            Ok(found) => found?,
            Err(_) => {
                // What did not answer in time is not asked again: a server that hangs says nothing.
                slot.forget();
                let late = format!("no answer within {:?}", self.wait);
                return Err(Error::Unreachable(late).into());
            }
        };
        Ok((batch, found))
    }

    /// The first row of one statement.
    pub(super) async fn one<T>(
        &self,
        sql: &'static Sql,
        params: &[Value<'_>],
        read: impl FnOnce(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let (place, ends) = (self.place(Length::Short)?, Instant::now() + self.wait);
        let slot = place.0;
        let asked = async {
            let connection = slot.connection(self).await?;
            Transaction { connection: &connection, ends: None }.one(sql, params, read).await
        };
        let found = until(ends, asked).await;
        if found.is_err() {
            slot.forget();
        }
        found
    }

    /// Reads from one snapshot.
    pub(super) async fn read<T, E>(
        self: &Arc<Self>,
        length: Length,
        ask: impl AsyncFnOnce(&Read<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let read = async move |postgres: &Arc<Postgres>, patience: Patience| {
            let connection = postgres.begin(SNAPSHOT, patience).await.map_err(E::from)?;
            let transaction = Transaction { connection: &connection, ends: patience.ends_work() };
            let answer = ask(&Read::Postgres(transaction)).await;
            postgres.roll_back(connection);
            answer
        };
        self.on_a_thread(length, read).await
    }

    /// Writes in one transaction.
    pub(super) async fn write<T, E>(
        self: &Arc<Self>,
        length: Length,
        change: impl AsyncFn(&Write<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let write = async move |postgres: &Arc<Postgres>, patience: Patience| {
            let mut pause = FIRST_PAUSE;
            for _ in 1..TRIES_MAX {
                match postgres.try_write(patience, &change).await {
                    Tried::Done(done) => return done,
                    Tried::InTheWay(error) if Instant::now() + pause >= patience.ends => {
                        return Err(error);
                    }
                    Tried::InTheWay(_) => tokio::time::sleep(pause).await,
                }
                pause *= 2;
            }
            match postgres.try_write(patience, &change).await {
                Tried::Done(done) => done,
                Tried::InTheWay(error) => Err(error),
            }
        };
        self.on_a_thread(length, write).await
    }

    /// Does what needs a connection alone, when its turn has come, on a thread of its own: a caller
    /// that hangs up cannot leave a transaction open.
    async fn on_a_thread<T, E>(
        self: &Arc<Self>,
        length: Length,
        work: impl AsyncFnOnce(&Arc<Postgres>, Patience) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        // Waiting for a turn and for a connection counts, too.
        let patience = Patience { ends: Instant::now() + self.wait, length };
        let turn = Arc::clone(&self.turns).acquire_owned();
        let turn = match tokio::time::timeout_at(patience.ends.into(), turn).await {
            Ok(turn) => turn.map_err(|_| E::from(Error::Gone))?,
            Err(_) => return Err(Error::Busy(self.wait).into()),
        };
        let (postgres, here) = (Arc::clone(self), Handle::current());
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            here.block_on(work(&postgres, patience))
        });
        done.await.unwrap_or_else(|_| Err(Error::Gone.into()))
    }

    async fn try_write<T, E: From<Error>>(
        self: &Arc<Self>,
        patience: Patience,
        change: &impl AsyncFn(&Write<'_>) -> Result<T, E>,
    ) -> Tried<T, E> {
        let connection = match self.begin("begin", patience).await {
            Ok(connection) => connection,
            Err(error) => return Tried::Done(Err(error.into())),
        };
        let transaction = Transaction { connection: &connection, ends: patience.ends_work() };
        let done = match change(&Write(Read::Postgres(transaction))).await {
            Ok(done) if !connection.has_failed() => done,
            Ok(_) => {
                self.roll_back(connection);
                let swallowed = Error::Data("a statement failed and was passed over".to_owned());
                return Tried::Done(Err(swallowed.into()));
            }
            Err(error) => {
                let again = connection.was_in_the_way();
                self.roll_back(connection);
                return if again { Tried::InTheWay(error) } else { Tried::Done(Err(error)) };
            }
        };
        let ends = patience.ends_work().unwrap_or_else(|| Instant::now() + self.wait);
        match commit(&connection, ends).await {
            Ok(()) => {
                self.keep(connection);
                Tried::Done(Ok(done))
            }
            Err(error) if connection::is_in_the_way(&error) => Tried::InTheWay(error.into()),
            Err(error) => {
                connection.abandon();
                Tried::Done(Err(error.into()))
            }
        }
    }

    /// Begins a transaction on a connection that nobody else has.
    async fn begin(&self, begin: &str, patience: Patience) -> Result<Connection, Error> {
        let connection = until(patience.ends, self.alone()).await?;
        let begin = match patience.length {
            Length::Short => begin.to_owned(),
            Length::Unsure | Length::Long => format!("{begin}; set local statement_timeout = 0"),
        };
        until(patience.ends, connection.begin(&begin)).await?;
        Ok(connection)
    }

    /// Takes back what a transaction did; nobody has to wait for that. A connection that does not
    /// answer is closed, which takes it back, too.
    fn roll_back(self: &Arc<Self>, connection: Connection) {
        let postgres = Arc::clone(self);
        tokio::spawn(async move {
            let ends = Instant::now() + postgres.wait;
            match until(ends, connection.simple("rollback")).await {
                Ok(()) => postgres.keep(connection),
                Err(_) => connection.abandon(),
            }
        });
    }

    /// A place on a shared connection: on the first that has one, else where the fewest are.
    fn place(&self, length: Length) -> Result<InFlight<'_>, Error> {
        let (slots, together) = match length {
            Length::Short => (&self.short, TOGETHER),
            Length::Unsure | Length::Long => (&self.long, 1),
        };
        let in_flight = |slot: &&Slot| slot.in_flight.load(Ordering::Relaxed);
        let free = slots.iter().find(|slot| in_flight(slot) < together);
        let slot = free.or_else(|| slots.iter().min_by_key(in_flight)).ok_or(Error::Gone)?;
        slot.in_flight.fetch_add(1, Ordering::Relaxed);
        Ok(InFlight(slot))
    }

    async fn alone(&self) -> Result<Connection, Error> {
        loop {
            let kept = lock_ignoring_poison(&self.idle).pop();
            match kept {
                Some(kept) if kept.is_open() && self.lease.is_of_today(&kept) => {
                    kept.plan_anew().await?;
                    return Ok(kept);
                }
                Some(_) => {}
                None => return self.connect().await,
            }
        }
    }

    /// Whoever needs a connection first, it works on the threads that opened the store: those that
    /// store orders would keep the answers to others waiting.
    async fn connect(&self) -> Result<Connection, Error> {
        let (address, wait) = (Arc::clone(&self.address), self.wait);
        let connecting = async move { Connection::open(&address, wait).await };
        self.home.spawn(connecting).await.unwrap_or(Err(Error::Gone))
    }

    fn keep(&self, connection: Connection) {
        let mut idle = lock_ignoring_poison(&self.idle);
        if idle.len() < ALONE_MAX {
            idle.push(connection);
        }
    }
}

/// Until when something may take.
#[derive(Clone, Copy)]
struct Patience {
    /// When whoever asked has waited for long enough.
    ends: Instant,
    length: Length,
}

impl Patience {
    /// Until when the work itself may take, once it has begun; `None`: as long as it takes.
    fn ends_work(self) -> Option<Instant> {
        (self.length == Length::Short).then_some(self.ends)
    }
}

/// What became of one try of a change.
enum Tried<T, E> {
    Done(Result<T, E>),
    /// Another did something of the kind at the same time.
    InTheWay(E),
}

/// A request that is on its way over a shared connection.
struct InFlight<'a>(&'a Slot);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Slot {
    async fn connection(&self, postgres: &Postgres) -> Result<Arc<Connection>, Error> {
        if let Some(open) = self.open_one(postgres) {
            open.plan_anew().await?;
            return Ok(open);
        }
        let _connecting = self.connecting.lock().await;
        if let Some(open) = self.open_one(postgres) {
            return Ok(open);
        }
        let new = Arc::new(postgres.connect().await?);
        let mut kept = write_ignoring_poison(&self.connection);
        *kept = Some(Arc::clone(&new));
        Ok(new)
    }

    fn open_one(&self, postgres: &Postgres) -> Option<Arc<Connection>> {
        let kept = read_ignoring_poison(&self.connection);
        let kept = kept.as_ref().filter(|kept| kept.is_open());
        kept.filter(|kept| postgres.lease.is_of_today(kept)).cloned()
    }

    fn forget(&self) {
        *write_ignoring_poison(&self.connection) = None;
    }
}

/// A commit that comes with a warning may not be where it should be, and one that was not answered
/// may have been done or not.
async fn commit(connection: &Connection, ends: Instant) -> Result<(), Error> {
    let warnings = connection.warnings();
    match until(ends, connection.simple("commit")).await {
        Ok(()) if connection.warnings() == warnings => Ok(()),
        Ok(()) => Err(Error::Unknown("the commit came with a warning".to_owned())),
        // It was refused: nothing was done.
        Err(Error::Postgres(error)) if error.code().is_some() => Err(error.into()),
        Err(error) => Err(Error::Unknown(format!("the commit was not answered: {error}"))),
    }
}
