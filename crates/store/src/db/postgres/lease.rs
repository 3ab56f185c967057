//! The session lease, which keeps answers about sessions correct on several nodes. A node renews it
//! with a write that must reach the standby. After a promotion, writes to the old primary reach no
//! standby, so nodes that still read from it lose the lease; nodes that read from the new primary
//! wait for the length of a lease before they answer.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use super::address::Address;
use super::connection::{Connection, until};
use crate::Error;
use kiosque_locks::lock_ignoring_poison;

/// Renewals during the length of a lease.
const RENEWALS_PER_LEASE: u32 = 5;
/// Nodes that did not renew for this long are deleted, in ms.
const NODE_EXPIRY_MS: &str = "86400000";

/// The terms under which a node answers for sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLease {
    /// How long after the last write that reached the standby. The same on all nodes of a database.
    pub length: Duration,
    /// The largest difference between the clocks of a node and of the database.
    pub clock_skew: Duration,
}

impl Default for SessionLease {
    fn default() -> Self {
        SessionLease { length: Duration::from_secs(1), clock_skew: Duration::from_millis(500) }
    }
}

/// A comparison of a node's clock with the database's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockCheck {
    /// How far the node's clock is ahead.
    pub ahead_ms: i64,
    /// Whether the difference is larger than the lease allows.
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
    /// The timeline of the last known primary.
    timeline: String,
    /// The end of the lease.
    expires_at: Option<Instant>,
    /// The time from which no node can hold a lease on an earlier primary.
    starts_at: Option<Instant>,
    /// The database's clock in Unix ms, and the time at which it was requested.
    clock: Option<(i64, Instant)>,
    clock_is_off_by_ms: Option<i64>,
    /// The failure of the last renewal.
    fault: Option<String>,
}

/// Registers a primary with the time, by its own clock. The first one counts from 0, because no
/// node can hold an earlier lease.
const REGISTER_PRIMARY: &str = "insert into primaries (timeline, seen_at_ms)
    select $1, case when exists (select 1 from primaries) then
        (extract(epoch from clock_timestamp()) * 1000)::bigint else 0 end
    on conflict (timeline) do nothing";
const PRIMARY_AGE: &str =
    "select seen_at_ms, (extract(epoch from clock_timestamp()) * 1000)::bigint
    from primaries where timeline = $1";
const JOIN: &str = "insert into nodes (node, beat_at_ms) values (gen_random_uuid()::text, 0)
    returning node";
const RENEW: &str = "update nodes
    set beat_at_ms = (extract(epoch from clock_timestamp()) * 1000)::bigint
    where node = $1 returning beat_at_ms";

impl Lease {
    pub(super) fn new(address: Arc<Address>, terms: SessionLease) -> Lease {
        Lease { terms, address, state: Mutex::default() }
    }

    /// Takes the lease, and renews it until this value is dropped.
    pub(crate) async fn take(self: &Arc<Self>) -> Result<(), Error> {
        let mut node = None;
        self.try_renew(&mut node).await?;
        tokio::spawn(keep_renewing(
            Arc::downgrade(self),
            node,
            self.terms.length / RENEWALS_PER_LEASE,
        ));
        Ok(())
    }

    /// Checks that this node may answer for sessions.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.state().check(self.terms)
    }

    /// The same, for rows that were read over this connection.
    pub(super) fn check_for(&self, connection: &Connection) -> Result<(), Error> {
        let state = self.state();
        if state.timeline != connection.timeline {
            return Err(Error::Unreachable("read from a primary that was replaced".to_owned()));
        }
        state.check(self.terms)
    }

    /// Returns whether a connection leads to the last known primary.
    pub(super) fn is_current(&self, connection: &Connection) -> bool {
        let state = self.state();
        state.timeline.is_empty() || state.timeline == connection.timeline
    }

    /// Compares a clock with the database's.
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

    async fn try_renew(&self, kept: &mut Option<Node>) -> Result<(), Error> {
        let started = Instant::now();
        let ends = started + self.terms.length;
        let mut node = match kept.take() {
            Some(node) if node.connection.is_open() => node,
            _ => Node::on(Connection::open(&self.address, self.terms.length).await?),
        };
        let database_ms = match until(ends, self.renew(&mut node)).await {
            Ok(database_ms) => database_ms,
            Err(error) => {
                node.connection.abandon();
                return Err(error);
            }
        };
        let mut state = self.state();
        state.expires_at = Some(started + self.terms.length);
        // The clock was read soon after the request; the answer may have waited for the standby.
        state.clock = Some((database_ms, started));
        state.fault = None;
        *kept = Some(node);
        Ok(())
    }

    /// Renews the lease, and registers the node before the first time. Returns the database's
    /// clock.
    async fn renew(&self, node: &mut Node) -> Result<i64, Error> {
        if node.name.is_none() {
            node.join().await?;
            let left = node.left_to_wait(self.terms).await?;
            let mut state = self.state();
            if state.timeline != node.connection.timeline {
                state.timeline.clone_from(&node.connection.timeline);
                state.starts_at = Some(Instant::now() + left);
                state.expires_at = None;
            }
        }
        node.renew().await
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock_ignoring_poison(&self.state)
    }
}

impl State {
    fn check(&self, terms: SessionLease) -> Result<(), Error> {
        let now = Instant::now();
        if let Some(off) = self.clock_is_off_by_ms {
            return Err(Error::Unreachable(format!(
                "this node's clock is {off} ms off the database's; {:?} are allowed",
                terms.clock_skew
            )));
        }
        if self.starts_at.is_some_and(|start| now < start) {
            let why = "a new primary: waiting until leases on the old one have expired";
            return Err(Error::Unreachable(why.to_owned()));
        }
        if self.expires_at.is_none_or(|end| end <= now) {
            let why = self.fault.as_deref().unwrap_or("it was not renewed in time");
            return Err(Error::Unreachable(format!("no lease for sessions: {why}")));
        }
        Ok(())
    }
}

/// A node, and the connection that renews its lease.
struct Node {
    connection: Connection,
    /// Its name in the database, once it is registered.
    name: Option<String>,
}

impl Node {
    fn on(connection: Connection) -> Node {
        Node { connection, name: None }
    }

    async fn join(&mut self) -> Result<(), Error> {
        let delete_expired = format!(
            "delete from nodes where beat_at_ms < \
             (extract(epoch from clock_timestamp()) * 1000)::bigint - {NODE_EXPIRY_MS}"
        );
        self.connection.simple(&delete_expired).await?;
        self.name = Some(self.connection.first(JOIN, &[]).await?.try_get(0)?);
        Ok(())
    }

    /// Returns how long nodes with a lease on an earlier primary may still answer.
    async fn left_to_wait(&self, terms: SessionLease) -> Result<Duration, Error> {
        let timeline = &self.connection.timeline;
        self.connection.run(REGISTER_PRIMARY, &[timeline]).await?;
        let row = self.connection.first(PRIMARY_AGE, &[timeline]).await?;
        let (seen_at_ms, now_ms): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let passed = u64::try_from(now_ms.saturating_sub(seen_at_ms)).unwrap_or(0);
        Ok((terms.length + terms.clock_skew).saturating_sub(Duration::from_millis(passed)))
    }

    /// Writes the renewal, which must reach the standby. Returns the database's clock.
    async fn renew(&mut self) -> Result<i64, Error> {
        let warnings = self.connection.warnings();
        let renewed_at_ms = self.connection.first(RENEW, &[&self.name]).await?.try_get(0)?;
        if self.connection.warnings() != warnings {
            return Err(Error::Unknown("the renewal came with a warning".to_owned()));
        }
        Ok(renewed_at_ms)
    }
}

/// Renews a lease until it is dropped.
async fn keep_renewing(lease: Weak<Lease>, mut node: Option<Node>, pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        let Some(lease) = lease.upgrade() else { return };
        if let Err(error) = lease.try_renew(&mut node).await {
            lease.state().fault = Some(error.to_string());
        }
    }
}
