//! What makes a node's answers about sessions true on several nodes: a lease, kept alive by a write
//! that must reach the standby. Once a standby has been promoted, the old primary's writes reach
//! nobody, so that whoever still reads from it loses the lease; and whoever reads from the new one
//! waits that long before its first answer.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use super::address::Address;
use super::connection::{Connection, until};
use crate::Error;
use kiosque_locks::lock_ignoring_poison;

/// How often a lease is renewed while it lasts.
const BEATS_IN_A_LEASE: u32 = 5;
/// Nodes that have not been heard of for so long are forgotten.
const FORGOTTEN_AFTER: &str = "86400000";

/// How long a node may answer for sessions after the last write that reached the standby.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLease {
    /// The same on all nodes of a database.
    pub length: Duration,
    /// How far clocks may be apart, a node's and the database's.
    pub clock_skew: Duration,
}

impl Default for SessionLease {
    fn default() -> Self {
        SessionLease { length: Duration::from_secs(1), clock_skew: Duration::from_millis(500) }
    }
}

/// A node's clock, held against the database's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockCheck {
    /// By how much it is ahead.
    pub ahead_ms: i64,
    /// Whether that is more than the lease allows.
    pub is_off: bool,
}

#[derive(Debug)]
pub(crate) struct Lease {
    terms: SessionLease,
    address: Arc<Address>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The primary that was heard of last.
    timeline: String,
    /// Until when it stands.
    until: Option<Instant>,
    /// Since when an answer of another primary cannot be true any more.
    from: Option<Instant>,
    /// The database's clock, in Unix ms, and when it said so.
    clock: Option<(i64, Instant)>,
    clock_is_off_by_ms: Option<i64>,
    /// Why the last renewal failed, if it did.
    fault: Option<String>,
}

/// Tells a primary apart from those before it, and when it was first seen, by its own clock. The
/// first of all is not waited for: before it nobody answered.
const MEET: &str = "insert into primaries (timeline, seen_at_ms)
    select $1, case when exists (select 1 from primaries) then
        (extract(epoch from clock_timestamp()) * 1000)::bigint else 0 end
    on conflict (timeline) do nothing";
const MET: &str = "select seen_at_ms, (extract(epoch from clock_timestamp()) * 1000)::bigint
    from primaries where timeline = $1";
const JOIN: &str = "insert into nodes (node, beat_at_ms) values (gen_random_uuid()::text, 0)
    returning node";
const BEAT: &str = "update nodes
    set beat_at_ms = (extract(epoch from clock_timestamp()) * 1000)::bigint
    where node = $1 returning beat_at_ms";

impl Lease {
    pub(super) fn new(address: Arc<Address>, terms: SessionLease) -> Lease {
        Lease { terms, address, state: Mutex::default() }
    }

    /// Takes the lease and keeps it for as long as anyone holds it.
    pub(crate) async fn take(self: &Arc<Self>) -> Result<(), Error> {
        let mut beating = None;
        self.beat(&mut beating).await?;
        tokio::spawn(keep(Arc::downgrade(self), beating, self.terms.length / BEATS_IN_A_LEASE));
        Ok(())
    }

    /// Whether a session may be answered for.
    pub(crate) fn stands(&self) -> Result<(), Error> {
        self.state().stands(self.terms)
    }

    /// The same, by what was read over this connection.
    pub(super) fn stands_for(&self, connection: &Connection) -> Result<(), Error> {
        let state = self.state();
        if state.timeline != connection.timeline {
            return Err(Error::Unreachable("read from another primary than the last".to_owned()));
        }
        state.stands(self.terms)
    }

    /// Whether a connection leads to the primary that was heard of last.
    pub(super) fn is_of_today(&self, connection: &Connection) -> bool {
        let state = self.state();
        state.timeline.is_empty() || state.timeline == connection.timeline
    }

    /// Holds a clock against the database's.
    pub(crate) fn check_clock(&self, now_ms: i64) -> Option<ClockCheck> {
        let mut state = self.state();
        let (database_ms, at) = state.clock?;
        let passed = i64::try_from(at.elapsed().as_millis()).unwrap_or(i64::MAX);
        let ahead = now_ms.saturating_sub(database_ms.saturating_add(passed));
        let allowed = i64::try_from(self.terms.clock_skew.as_millis()).unwrap_or(i64::MAX);
        let is_off = ahead.abs() > allowed;
        state.clock_is_off_by_ms = is_off.then_some(ahead);
        Some(ClockCheck { ahead_ms: ahead, is_off })
    }

    async fn beat(&self, beating: &mut Option<Beating>) -> Result<(), Error> {
        let started = Instant::now();
        let ends = started + self.terms.length;
        let mut node = match beating.take() {
            Some(node) if node.connection.is_open() => node,
            _ => Beating::on(Connection::open(&self.address, self.terms.length).await?),
        };
        let database_ms = match until(ends, self.renew(&mut node)).await {
            Ok(database_ms) => database_ms,
            Err(error) => {
                node.connection.abandon();
                return Err(error);
            }
        };
        let mut state = self.state();
        state.until = Some(started + self.terms.length);
        // It was told soon after it was asked for; the answer may have waited for the standby.
        state.clock = Some((database_ms, started));
        state.fault = None;
        *beating = Some(node);
        Ok(())
    }

    /// Joins, if that is still to be done, and writes; returns the database's clock.
    async fn renew(&self, node: &mut Beating) -> Result<i64, Error> {
        if node.name.is_none() {
            node.join().await?;
            let left = node.left_to_wait(self.terms).await?;
            let mut state = self.state();
            if state.timeline != node.connection.timeline {
                state.timeline.clone_from(&node.connection.timeline);
                state.from = Some(Instant::now() + left);
                state.until = None;
            }
        }
        node.beat().await
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock_ignoring_poison(&self.state)
    }
}

impl State {
    fn stands(&self, terms: SessionLease) -> Result<(), Error> {
        let now = Instant::now();
        if let Some(off) = self.clock_is_off_by_ms {
            return Err(Error::Unreachable(format!(
                "this node's clock is {off} ms off the database's; {:?} are allowed",
                terms.clock_skew
            )));
        }
        if self.from.is_some_and(|from| now < from) {
            let what = "a new primary: sessions are answered for when those of the old have ended";
            return Err(Error::Unreachable(what.to_owned()));
        }
        if self.until.is_none_or(|until| until <= now) {
            let why = self.fault.as_deref().unwrap_or("it was not renewed in time");
            return Err(Error::Unreachable(format!("no lease for sessions: {why}")));
        }
        Ok(())
    }
}

/// The connection that renews the lease.
struct Beating {
    connection: Connection,
    /// What this node is called in the database, once it has joined.
    name: Option<String>,
}

impl Beating {
    fn on(connection: Connection) -> Beating {
        Beating { connection, name: None }
    }

    async fn join(&mut self) -> Result<(), Error> {
        let forget = format!(
            "delete from nodes where beat_at_ms < \
             (extract(epoch from clock_timestamp()) * 1000)::bigint - {FORGOTTEN_AFTER}"
        );
        self.connection.simple(&forget).await?;
        self.name = Some(self.connection.first(JOIN, &[]).await?.try_get(0)?);
        Ok(())
    }

    /// How long the nodes that hold a lease on an earlier primary may still answer.
    async fn left_to_wait(&self, terms: SessionLease) -> Result<Duration, Error> {
        let timeline = &self.connection.timeline;
        self.connection.run(MEET, &[timeline]).await?;
        let row = self.connection.first(MET, &[timeline]).await?;
        let (seen_at_ms, now_ms): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let passed = u64::try_from(now_ms.saturating_sub(seen_at_ms)).unwrap_or(0);
        Ok((terms.length + terms.clock_skew).saturating_sub(Duration::from_millis(passed)))
    }

    /// A write that counts only when it is where it must be; returns the database's clock.
    async fn beat(&mut self) -> Result<i64, Error> {
        let warnings = self.connection.warnings();
        let beat_at_ms = self.connection.first(BEAT, &[&self.name]).await?.try_get(0)?;
        if self.connection.warnings() != warnings {
            return Err(Error::Unknown("its renewal came with a warning".to_owned()));
        }
        Ok(beat_at_ms)
    }
}

/// Renews it until nobody holds it.
async fn keep(lease: Weak<Lease>, mut beating: Option<Beating>, pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        let Some(lease) = lease.upgrade() else { return };
        if let Err(error) = lease.beat(&mut beating).await {
            lease.state().fault = Some(error.to_string());
        }
    }
}
