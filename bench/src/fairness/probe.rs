//! Calls that must each be answered soon, during any load: tenant B's dashboards, and the
//! operator's heartbeats and orders.

use std::time::Duration;

use kiosque_contract::endpoint::DevicePage;
use kiosque_contract::{ENDPOINTS, Endpoint, EndpointInfo};
use serde_json::json;

use super::data::{self, Tokens};
use crate::client::{Call, Client};
use crate::load::{self, LoadResult, Pace, Workload};

/// The pause between two calls.
const PAUSE: Duration = Duration::from_millis(20);
/// Calls of the operator that are prepared; more are not sent.
const OPERATOR_CALLS: usize = 4_000;

/// Returns the dashboards of tenant B, again and again.
///
/// # Errors
/// When a call cannot travel.
pub(super) fn dashboards(tokens: &Tokens) -> anyhow::Result<impl Iterator<Item = Call> + use<>> {
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
pub(super) fn operator(
    key: &str,
    round: usize,
) -> anyhow::Result<impl Iterator<Item = Call> + use<>> {
    let mut calls = Vec::new();
    for number in (0..OPERATOR_CALLS / 2).map(|at| round * OPERATOR_CALLS + at) {
        calls.push(Call::orders(key, data::new_order(number)?)?);
        calls.push(Call::heartbeats(key, data::heartbeat(number))?);
    }
    Ok(calls.into_iter())
}

/// Makes one call after another for `span`, on one connection.
///
/// # Errors
/// When there is no connection.
pub(super) async fn ask(
    client: &Client,
    calls: impl Iterator<Item = Call> + Send + 'static,
    span: Duration,
) -> anyhow::Result<LoadResult> {
    let connections = client.connect_all(1).await?;
    let workload = Workload::in_turn(1, calls);
    Ok(load::run(connections, &workload, span, Pace::Pausing(PAUSE)).await?.1)
}

/// Returns the maximum time of an answer in ms; a failure counts as an hour.
pub(super) fn slowest_ms(probed: &LoadResult) -> f64 {
    if probed.failed > 0 { 3_600_000.0 } else { probed.latencies.percentile(100) / 1e3 }
}

/// Returns a remark on several rounds.
pub(super) fn note<'a>(rounds: impl Iterator<Item = &'a LoadResult>) -> String {
    let mut all = LoadResult::default();
    for round in rounds {
        all.merge(round.clone());
    }
    let answered = all.latencies.len();
    match all.first_failure {
        None => format!("{answered} answers, no failure"),
        Some(first) => format!("{answered} answers, {} failures; the first: {first}", all.failed),
    }
}
