//! The session lease, which keeps answers about sessions correct on several nodes. A node renews it
//! with a write that must reach the standby. After a promotion, writes to the old primary do not
//! reach a standby, so nodes that still read from it lose the lease; nodes that read from the new
//! primary wait for the duration of a lease before they answer.

use std::cmp::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use super::address::Address;
use super::boot_time::BootTime;
use super::connection::{Connection, until};
use crate::error::{Error, Refused};
use crate::sql::Sql;
use kiosque_locks::lock_ignoring_poison;

/// Renewals per duration of a lease.
const RENEWALS_PER_LEASE: u32 = 5;
/// A precise reading of the database's clock is used for this many lease durations.
const READING_LEASES: u32 = 2;
/// Nodes without a renewal for this long are deleted, in ms.
const NODE_EXPIRY_MS: &str = "86400000";

/// How often a change that waits for the end of earlier leases checks whether they have ended.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
const NEW_PRIMARY: &str = "a new primary: waiting until leases on the old one have expired";
const REPLACED: &str = "the primary was replaced; repeat the request";

/// The conditions under which a node answers for sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLease {
    /// The duration after the last write that reached the standby; the same on all nodes of a
    /// database.
    pub length: Duration,
    /// The maximum difference between the clocks of a node and of the database.
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
    /// The minimum by which the node's clock is ahead: 0 if the clocks may be equal, since the time
    /// of the database's reading is only known to be between two times.
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
    expires_at: Option<BootTime>,
    /// The time from which no node can hold a lease on an earlier primary.
    starts_at: Option<BootTime>,
    clock: Option<ClockReading>,
    clock_is_off_by_ms: Option<i64>,
    /// The failure of the last renewal.
    failure: Option<String>,
}

/// A reading of the database's clock, which happened between two times.
#[derive(Clone, Copy, Debug)]
struct ClockReading {
    database_ms: i64,
    sent_at: BootTime,
    answered_at: BootTime,
}

impl ClockReading {
    /// Awaits a reading of the database's clock, and records the times right before and after.
    async fn around(read: impl Future<Output = Result<i64, Error>>) -> Result<ClockReading, Error> {
        let sent_at = BootTime::now();
        let database_ms = read.await?;
        Ok(ClockReading { database_ms, sent_at, answered_at: BootTime::now() })
    }

    /// Returns the minimum by which a clock that shows `now_ms` is ahead; 0 if the clocks may be
    /// equal.
    fn ahead_ms(self, now_ms: i64, now: BootTime) -> i64 {
        let ahead_if_read_at = |at: BootTime| {
            let passed = i64::try_from(now.since(at).as_millis()).unwrap_or(i64::MAX);
            now_ms.saturating_sub(self.database_ms.saturating_add(passed))
        };
        let (least, most) = (ahead_if_read_at(self.sent_at), ahead_if_read_at(self.answered_at));
        0.max(least).min(most)
    }

    fn width(self) -> Duration {
        self.answered_at.since(self.sent_at)
    }
}

/// Registers a primary with the time by its own clock. The first one gets 0, because no node can
/// hold an earlier lease.
const REGISTER_PRIMARY: &str = "insert into nodes (node, seen_at_ms)
    select $1, case when exists (select 1 from nodes where seen_at_ms is not null) then
        (extract(epoch from clock_timestamp()) * 1000)::bigint else 0 end
    on conflict (node) do nothing";
const PRIMARY_AGE: &str =
    "select seen_at_ms, (extract(epoch from clock_timestamp()) * 1000)::bigint
    from nodes where node = $1";
/// With the current time, so that no other node that joins deletes it as expired.
const JOIN: &str = "insert into nodes (node, beat_at_ms)
    values (gen_random_uuid()::text, (extract(epoch from clock_timestamp()) * 1000)::bigint)
    returning node";
/// Reads the clock; waits for no lock and no standby.
static CLOCK: Sql =
    Sql::new("CLOCK", "select (extract(epoch from clock_timestamp()) * 1000)::bigint");
const RENEW: &str = "update nodes
    set beat_at_ms = (extract(epoch from clock_timestamp()) * 1000)::bigint
    where node = $1";

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
        self.state().check(BootTime::now(), self.terms)
    }

    /// Returns an answer or a refusal that was read over this connection, if this node may send it.
    pub(super) fn confirm<T>(
        &self,
        connection: &Connection,
        answer: Result<T, Refused>,
    ) -> Result<T, Refused> {
        if matches!(answer, Err(Refused::Store(_))) {
            return answer;
        }
        self.check_on(connection)?;
        answer
    }

    /// Checks that this node may answer for sessions, and that this connection leads to the primary
    /// of its lease: a node that has not noticed the end of one primary may already be connected to
    /// the next.
    pub(super) fn check_on(&self, connection: &Connection) -> Result<(), Error> {
        let state = self.state();
        if state.timeline != connection.timeline {
            return Err(Error::Unreachable(REPLACED.to_owned()));
        }
        state.check(BootTime::now(), self.terms)
    }

    /// Waits until no node can hold a lease on a primary before this connection's: from then on,
    /// every node that answers sees what is committed over it.
    pub(super) async fn wait_for_earlier(
        &self,
        connection: &Connection,
        ends: Instant,
    ) -> Result<(), Error> {
        loop {
            let (order, has_begun) = {
                let state = self.state();
                let has_begun = state.starts_at.is_some_and(|start| start <= BootTime::now());
                (state.timeline.cmp(&connection.timeline), has_begun)
            };
            match order {
                Ordering::Equal if has_begun => return Ok(()),
                // This node does not know the new primary yet, or others may not.
                Ordering::Less | Ordering::Equal => {}
                Ordering::Greater => return Err(Error::Unreachable(REPLACED.to_owned())),
            }
            if !connection.is_open() || Instant::now() >= ends {
                return Err(Error::Unreachable(NEW_PRIMARY.to_owned()));
            }
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }

    /// Returns whether a connection leads to the last known primary.
    pub(super) fn is_current(&self, connection: &Connection) -> bool {
        let state = self.state();
        state.timeline.is_empty() || state.timeline == connection.timeline
    }

    /// Compares a clock with the database's.
    pub(crate) fn check_clock(&self, now_ms: i64) -> Option<ClockCheck> {
        let mut state = self.state();
        let ahead = state.clock?.ahead_ms(now_ms, BootTime::now());
        let allowed = i64::try_from(self.terms.clock_skew.as_millis()).unwrap_or(i64::MAX);
        let is_off = ahead.abs() > allowed;
        state.clock_is_off_by_ms = is_off.then_some(ahead);
        Some(ClockCheck { ahead_ms: ahead, is_off })
    }

    /// Returns how many milliseconds the clock was ahead at the last comparison, if that is too
    /// much.
    pub(crate) fn clock_off_ms(&self) -> Option<i64> {
        self.state().clock_is_off_by_ms
    }

    async fn try_renew(&self, kept: &mut Option<Node>) -> Result<(), Error> {
        let (started, ends) = (BootTime::now(), Instant::now() + self.terms.length);
        let mut node = match kept.take() {
            Some(node) if node.connection.is_open() => node,
            _ => Node::on(Connection::open(&self.address, self.terms.length).await?),
        };
        let reading = match until(ends, self.renew(&mut node)).await {
            Ok(reading) => reading,
            Err(error) => {
                node.connection.abandon();
                return Err(error);
            }
        };
        let mut state = self.state();
        state.expires_at = Some(started.plus(self.terms.length));
        state.note_clock(reading, self.terms.length * READING_LEASES);
        state.failure = None;
        *kept = Some(node);
        Ok(())
    }

    /// Renews the lease, after registering the node the first time. Returns a reading of the
    /// database's clock.
    async fn renew(&self, node: &mut Node) -> Result<ClockReading, Error> {
        if node.name.is_none() {
            node.join().await?;
            let left = node.left_to_wait(self.terms).await?;
            let mut state = self.state();
            if state.timeline != node.connection.timeline {
                state.timeline.clone_from(&node.connection.timeline);
                state.starts_at = Some(BootTime::now().plus(left));
                state.expires_at = None;
                state.clock = None;
            }
        }
        let reading = node.read_clock().await?;
        node.renew().await?;
        Ok(reading)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock_ignoring_poison(&self.state)
    }
}

impl State {
    /// Keeps a reading of the database's clock, unless a recent one is more precise.
    fn note_clock(&mut self, reading: ClockReading, recent: Duration) {
        let is_better = |known: &ClockReading| {
            known.width() < reading.width() && reading.answered_at.since(known.answered_at) < recent
        };
        self.clock = self.clock.filter(is_better).or(Some(reading));
    }

    fn check(&self, now: BootTime, terms: SessionLease) -> Result<(), Error> {
        if let Some(off) = self.clock_is_off_by_ms {
            return Err(Error::Unreachable(format!(
                "this node's clock differs from the database's by {off} ms; the maximum is {:?}",
                terms.clock_skew
            )));
        }
        if self.starts_at.is_some_and(|start| now < start) {
            return Err(Error::Unreachable(NEW_PRIMARY.to_owned()));
        }
        if self.expires_at.is_none_or(|end| end <= now) {
            let why = self.failure.as_deref().unwrap_or("it was not renewed in time");
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
        self.name = Some(self.connection.client.query_one(JOIN, &[]).await?.try_get(0)?);
        Ok(())
    }

    /// Returns for how long nodes with a lease on an earlier primary may still answer.
    async fn left_to_wait(&self, terms: SessionLease) -> Result<Duration, Error> {
        let Connection { client, primary, .. } = &self.connection;
        client.execute(REGISTER_PRIMARY, &[primary]).await?;
        let row = client.query_one(PRIMARY_AGE, &[primary]).await?;
        let (seen_at_ms, now_ms): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let passed = u64::try_from(now_ms.saturating_sub(seen_at_ms)).unwrap_or(0);
        Ok((terms.length + terms.clock_skew).saturating_sub(Duration::from_millis(passed)))
    }

    async fn read_clock(&self) -> Result<ClockReading, Error> {
        let clock = self.connection.statement(&CLOCK).await?;
        let read = async {
            let row = self.connection.client.query_one(&clock, &[]).await?;
            Ok::<i64, Error>(row.try_get(0)?)
        };
        ClockReading::around(read).await
    }

    /// Writes the renewal, which must reach the standby.
    async fn renew(&mut self) -> Result<(), Error> {
        let warnings = self.connection.warnings();
        if self.connection.client.execute(RENEW, &[&self.name]).await? != 1 {
            return Err(Error::Data("the row of this node is gone".to_owned()));
        }
        if self.connection.warnings() != warnings {
            return Err(Error::Unknown("the renewal came with a warning".to_owned()));
        }
        Ok(())
    }
}

/// Renews a lease until it is dropped.
async fn keep_renewing(lease: Weak<Lease>, mut node: Option<Node>, pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        let Some(lease) = lease.upgrade() else { return };
        if let Err(error) = lease.try_renew(&mut node).await {
            lease.state().failure = Some(error.to_string());
        }
    }
}

#[cfg(test)]
mod tests;
