//! The state of the broker, for people and for programs.

use std::collections::BTreeMap;
use std::fmt;
use std::process;
use std::time::Duration;

use kiosque_client::session::Lane;
use kiosque_locks::lock_ignoring_poison;
use kiosque_model::{UnixMs, counted};
use prometheus::TextEncoder;
use serde::Serialize;

use crate::broker::Broker;

/// The interval at which replaced sessions are counted.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// The calls of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LaneStatus {
    /// Unanswered calls.
    calls: usize,
    /// Calls that wait until the group has the session.
    waiting: usize,
    /// How long the oldest waiting call has been waiting.
    oldest_ms: Option<u128>,
    /// The median time from an answer to the next call.
    think_time_us: Option<u128>,
}

/// The state of the broker.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Status {
    process: u32,
    server: String,
    username: String,
    group: Option<String>,
    expires_at: Option<String>,
    log_ins: u64,
    switches: u64,
    evictions: u64,
    last_eviction_at: Option<String>,
    upstream_median_us: Option<u128>,
    workers: BTreeMap<String, usize>,
    lanes: BTreeMap<String, LaneStatus>,
}

impl Broker {
    /// Returns the current state. Nothing is sent to the server.
    pub(crate) async fn status(&self) -> Status {
        let seen = self.upstream.seen();
        let lanes = self.lanes().await;
        Status {
            process: process::id(),
            server: self.server.clone(),
            username: self.username.clone(),
            group: seen.as_ref().map(|seen| seen.group.to_string()),
            expires_at: seen.map(|seen| seen.expires_at.rfc3339()),
            log_ins: self.metrics.log_ins.get(),
            switches: self.metrics.switches.get(),
            evictions: self.metrics.evictions.get(),
            last_eviction_at: lock_ignoring_poison(&self.metrics.last_eviction)
                .map(UnixMs::rfc3339),
            upstream_median_us: self.upstream.median().map(|median| median.as_micros()),
            workers: self.workers.counts(self.clock.now()),
            lanes,
        }
    }

    async fn lanes(&self) -> BTreeMap<String, LaneStatus> {
        let mut lanes: BTreeMap<String, LaneStatus> = BTreeMap::new();
        for (group, (calls, think_time)) in self.open_calls.by_group() {
            let lane = lanes.entry(group.to_string()).or_default();
            lane.calls = calls;
            lane.think_time_us = think_time.map(|time| time.as_micros());
        }
        // Without its task the session has no calls.
        for (lane, (waiting, since)) in self.session.waiting().await.unwrap_or_default() {
            let Lane::Group(group) = lane else { continue };
            let lane = lanes.entry(group.to_string()).or_default();
            lane.waiting = waiting;
            lane.oldest_ms = Some(since.elapsed().as_millis());
        }
        lanes
    }

    /// Returns the metrics in the text format of Prometheus.
    pub(crate) fn metrics_text(&self) -> String {
        let families = self.metrics.registry.gather();
        TextEncoder::new().encode_to_string(&families).unwrap_or_default()
    }

    /// Counts and logs replaced sessions, at intervals, until the session's task ends.
    pub(crate) async fn watch_evictions(&self) {
        while let Ok(counts) = self.session.counts().await {
            let new = counts.replaced.saturating_sub(self.metrics.evictions.get());
            if new > 0 {
                self.metrics.evictions.inc_by(new);
                *lock_ignoring_poison(&self.metrics.last_eviction) = Some(self.clock.now());
                let all = counts.replaced;
                tracing::warn!(
                    all,
                    "another user of the account has replaced the session; use a separate \
                     account for the broker"
                );
            }
            tokio::time::sleep(WATCH_INTERVAL).await;
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Status { process, server, username, log_ins, switches, evictions, .. } = self;
        writeln!(f, "broker       process {process}, {username} at {server}")?;
        match (&self.group, &self.expires_at) {
            (Some(group), Some(end)) => writeln!(f, "session      group {group}, until {end}")?,
            _ => writeln!(f, "session      none yet")?,
        }
        write!(f, "events       {log_ins} logins, {switches} switches, {evictions} evictions")?;
        match &self.last_eviction_at {
            Some(at) => writeln!(f, ", the last one at {at}")?,
            None => writeln!(f)?,
        }
        if let Some(median) = self.upstream_median_us {
            writeln!(f, "server       answers within {median} us (median)")?;
        }
        for (name, sessions) in &self.workers {
            writeln!(f, "workers      {name}: {}", counted(*sessions, "session"))?;
        }
        for (group, lane) in &self.lanes {
            let LaneStatus { calls, waiting, oldest_ms, think_time_us } = lane;
            write!(f, "lane         {group}: {calls} calls, {waiting} waiting")?;
            if let Some(oldest_ms) = oldest_ms {
                write!(f, ", the oldest for {oldest_ms} ms")?;
            }
            if let Some(think_time_us) = think_time_us {
                write!(f, ", think time {think_time_us} us (median)")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
