//! Calls that must each be answered soon, during any load: tenant B's dashboards, and the
//! operator's heartbeats and orders.

use std::fmt;
use std::time::{Duration, Instant};

use kiosque_contract::endpoint::DevicePage;
use kiosque_contract::{ENDPOINTS, Endpoint, EndpointInfo};
use serde_json::json;

use super::data::{self, Tokens};
use crate::client::{Call, Client};

/// The pause between two calls.
const PAUSE: Duration = Duration::from_millis(20);
/// Calls of the operator that are prepared; more are not sent.
const OPERATOR_CALLS: usize = 4_000;

/// Returns the dashboards of tenant B, again and again.
///
/// # Errors
/// When a call cannot travel.
pub(super) fn dashboards(tokens: &Tokens) -> anyhow::Result<impl Iterator<Item = Call>> {
    let month = data::last_days(31);
    let functions = ENDPOINTS.iter().filter(|one| one.tag == "Dashboard");
    let call = |one: &EndpointInfo| Call::new(one.path, Some(&tokens.b), &month);
    let mut calls = functions.map(call).collect::<anyhow::Result<Vec<_>>>()?;
    let named = json!({ "deviceName": "Kiosk 4" });
    calls.push(Call::new(DevicePage::PATH, Some(&tokens.b), &named)?);
    Ok(calls.into_iter().cycle())
}

/// Returns orders and heartbeats of tenant B; `round` increases, so that all orders are new.
///
/// # Errors
/// When a call cannot travel.
pub(super) fn operator(key: &str, round: usize) -> anyhow::Result<impl Iterator<Item = Call>> {
    let mut calls = Vec::new();
    for number in (0..OPERATOR_CALLS / 2).map(|at| round * OPERATOR_CALLS + at) {
        calls.push(Call::orders(key, data::new_order(number)?)?);
        calls.push(Call::heartbeats(key, data::heartbeat(number))?);
    }
    Ok(calls.into_iter())
}

/// The answers to probes.
#[derive(Debug, Default)]
pub(super) struct Probed {
    answered: usize,
    slowest: Duration,
    failures: Vec<String>,
}

impl Probed {
    /// The maximum time of an answer in ms; a failure counts as an hour.
    pub(super) fn slowest_ms(&self) -> f64 {
        if self.failures.is_empty() { self.slowest.as_secs_f64() * 1e3 } else { 3_600_000.0 }
    }

    /// A remark on several rounds.
    pub(super) fn note<'a>(rounds: impl Iterator<Item = &'a Probed>) -> String {
        let mut answered = 0;
        let mut failed = 0;
        let mut first = None;
        for round in rounds {
            answered += round.answered;
            failed += round.failures.len();
            first = first.or(round.failures.first());
        }
        match first {
            None => format!("{answered} answers, no failure"),
            Some(first) => format!("{answered} answers, {failed} failures; the first: {first}"),
        }
    }
}

impl fmt::Display for Probed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slowest = self.slowest.as_secs_f64() * 1e3;
        write!(f, "{slowest:.0} ms at most, {} failures", self.failures.len())
    }
}

/// Makes one call after another for `span`, on one connection.
///
/// # Errors
/// When there is no connection.
pub(super) async fn ask(
    client: &Client,
    mut calls: impl Iterator<Item = Call>,
    span: Duration,
) -> anyhow::Result<Probed> {
    let mut connection = client.connect().await?;
    let started = Instant::now();
    let mut probed = Probed::default();
    while started.elapsed() < span {
        let Some(call) = calls.next() else { break };
        let asked = Instant::now();
        match connection.post(&call).await {
            Ok(_) => probed.answered += 1,
            Err(error) => probed.failures.push(format!("{error:#}")),
        }
        probed.slowest = probed.slowest.max(asked.elapsed());
        if connection.is_closed() {
            connection = client.connect().await?;
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(probed)
}
