//! CPU cost of each read: scenario after scenario, each next to the limit, in rounds.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use crate::calls::Sessions;
use crate::engine::Store;
use crate::limit::Limit;
use crate::load::{self, LoadResult, Pace, Workload};
use crate::measure;
use crate::options::{Effort, Size};
use crate::report::{Aim, Figure, Row};
use crate::spread::Spread;
use crate::subject::Subject;

/// How long connections are used before measurements begin.
const WARM_UP: Duration = Duration::from_millis(300);

/// One scenario of one round.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// CPU microseconds of the server for each request.
    pub(crate) cpu_micros: f64,
    /// The answers, all of them good.
    pub(crate) answered: LoadResult,
}

/// Loads a server in a closed loop and measures its CPU time.
///
/// # Errors
/// A call fails: figures of wrong answers are worthless.
pub(crate) async fn sample(
    subject: &Subject<'_>,
    workload: &Workload,
    span: Duration,
) -> anyhow::Result<Sample> {
    let connections = subject.client.connect_all(workload.workers()).await?;
    let (connections, warm) = load::run(connections, workload, WARM_UP, Pace::Closed).await?;
    warm.all_good()?;
    let before = subject.cpu_time()?;
    let (_connections, outcome) = load::run(connections, workload, span, Pace::Closed).await?;
    let used = subject.cpu_time()?.saturating_sub(before);
    let answered = outcome.all_good()?;
    let cpu_micros = measure::micros_each(used, answered.latencies.len())?;
    Ok(Sample { cpu_micros, answered })
}

/// The reference with which a scenario's CPU time is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Against {
    /// The limit, at most this many times.
    Limit(f64),
    /// The previous scenario, at most this many times.
    Before(f64),
    /// At most this many milliseconds.
    Millis(f64),
    /// A limit whose answer has the same length, at most this many times.
    Sending(f64),
    /// Nothing.
    Nothing,
}

/// A read to be measured.
pub(crate) struct Scenario {
    name: String,
    workload: Workload,
    against: Against,
}

impl Scenario {
    pub(crate) fn new(name: impl Into<String>, workload: Workload, against: Against) -> Scenario {
        Scenario { name: name.into(), workload, against }
    }

    /// Its calls.
    pub(crate) fn workload(&self) -> &Workload {
        &self.workload
    }
}

/// Costs of the lists and details.
///
/// # Errors
/// When a call cannot travel.
pub(crate) fn lists(
    sessions: &Sessions,
    size: &Size,
    store: Store,
) -> anyhow::Result<Vec<Scenario>> {
    let deep = size.deep_page();
    // Each engine's own aim; only order pages have one on PostgreSQL.
    let (most, none) = (Against::Limit, Against::Nothing);
    let (page, unread, deeper, detail, devices) = match store {
        Store::Sqlite => (most(1.5), most(2.2), most(2.2), most(1.9), most(2.0)),
        Store::Postgres => (most(8.0), none, Against::Before(1.2), none, none),
    };
    Ok(vec![
        Scenario::new("order page", sessions.order_pages(false)?, page),
        Scenario::new("order page that was not read", sessions.unread_pages()?, unread),
        Scenario::new("big device, page 1", sessions.big_device_page(1)?, none),
        Scenario::new(format!("big device, page {deep}"), sessions.big_device_page(deep)?, deeper),
        Scenario::new("order detail", sessions.details()?, detail),
        Scenario::new("device page", sessions.device_pages()?, devices),
        Scenario::new("order page, includeHistory", sessions.order_pages(true)?, none),
    ])
}

/// One scenario of one round, with the limit measured right before it, also with an answer of the
/// scenario's size.
struct Compared {
    limit: Sample,
    sending: Sample,
    ours: Sample,
}

/// The rounds of one scenario, and the bytes of its answer.
pub(crate) struct Measured {
    bytes: usize,
    rounds: Vec<Compared>,
}

impl Measured {
    /// CPU microseconds of each request, round by round.
    pub(crate) fn cpu_micros(&self) -> impl Iterator<Item = f64> {
        self.rounds.iter().map(|round| round.ours.cpu_micros)
    }
}

/// Measures every read; a row for the limit, and one for each.
///
/// # Errors
/// When an answer is wrong.
pub(crate) async fn run(
    subject: &Subject<'_>,
    limit: &Limit,
    dir: &Path,
    scenarios: &[Scenario],
    effort: &Effort,
) -> anyhow::Result<Vec<Row>> {
    Ok(rows(scenarios, &measure(subject, limit, dir, scenarios, effort).await?))
}

/// Measures every read in each round.
///
/// # Errors
/// When an answer is wrong.
pub(crate) async fn measure(
    subject: &Subject<'_>,
    limit: &Limit,
    dir: &Path,
    scenarios: &[Scenario],
    effort: &Effort,
) -> anyhow::Result<Vec<Measured>> {
    let same_size = &scenarios.first().context("no scenario")?.workload;
    let span = effort.span();
    let bare = async |limit: &Limit| {
        sample(&limit.subject(), same_size, span).await.context("limit server")
    };
    let (mut sendings, mut measured) = (Vec::new(), Vec::new());
    for Scenario { name, workload, .. } in scenarios {
        let limit = Limit::like(subject.client, workload, dir).await;
        let limit = limit.with_context(|| name.clone())?;
        measured.push(Measured { bytes: limit.bytes, rounds: Vec::new() });
        sendings.push(limit);
    }
    for round in 1..=effort.rounds {
        for ((scenario, sending), measured) in scenarios.iter().zip(&sendings).zip(&mut measured) {
            let (limit, sending) = (bare(limit).await?, bare(sending).await?);
            let ours = sample(subject, &scenario.workload, span).await;
            let ours = ours.with_context(|| scenario.name.clone())?;
            eprintln!(
                "round {round}: limit {:.1} us, {} {:.1} us",
                limit.cpu_micros, scenario.name, ours.cpu_micros
            );
            measured.rounds.push(Compared { limit, sending, ours });
        }
    }
    Ok(measured)
}

/// Returns a row for the limit, and one for each scenario.
pub(crate) fn rows(scenarios: &[Scenario], measured: &[Measured]) -> Vec<Row> {
    let limits = measured.iter().flat_map(|one| &one.rounds).map(|round| &round.limit);
    let mut rows = vec![limit_row(limits)];
    for (index, (scenario, one)) in scenarios.iter().zip(measured).enumerate() {
        rows.push(row(scenario, one, index.checked_sub(1).map(|index| &measured[index])));
    }
    rows
}

/// The limit server's own row.
pub(crate) fn limit_row<'a>(samples: impl Iterator<Item = &'a Sample> + Clone) -> Row {
    sampled("limit: a page kept ready", samples)
}

/// Returns a row with the rates, latencies and CPU times of some rounds.
fn sampled<'a>(name: impl Into<String>, samples: impl Iterator<Item = &'a Sample> + Clone) -> Row {
    let mut row = Row::new(name).answers(samples.clone().map(|sample| &sample.answered));
    row.cpu_micros = Some(Spread::of(samples.map(|sample| sample.cpu_micros)));
    row
}

fn row(scenario: &Scenario, measured: &Measured, before: Option<&Measured>) -> Row {
    let rounds = &measured.rounds;
    let mut row = sampled(&scenario.name, rounds.iter().map(|round| &round.ours));
    let against = |bare: fn(&Compared) -> &Sample| {
        Spread::of(rounds.iter().map(|round| round.ours.cpu_micros / bare(round).cpu_micros))
    };
    let (limit, sending) = (against(|round| &round.limit), against(|round| &round.sending));
    row.times_limit = Some(limit);
    row.times_sending = Some(sending);
    row.bytes = Some(measured.bytes);
    let at_most = |times, unit, bound| Some(Figure::new(times, unit, Some(Aim::AtMost(bound))));
    row.figure = match scenario.against {
        Against::Limit(bound) => at_most(limit, " × limit", bound),
        Against::Sending(bound) => at_most(sending, " × sending", bound),
        Against::Before(bound) => {
            let before = before.into_iter().flat_map(Measured::cpu_micros);
            let times = measured.cpu_micros().zip(before).map(|(ours, before)| ours / before);
            at_most(Spread::of(times), " × page 1", bound)
        }
        Against::Millis(bound) => {
            at_most(Spread::of(measured.cpu_micros().map(|us| us / 1e3)), " ms", bound)
        }
        Against::Nothing => None,
    };
    row
}
