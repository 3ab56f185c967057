//! CPU cost of each read: scenario after scenario, each next to the limit, in rounds.

use std::time::Duration;

use anyhow::Context;
use tokio::runtime::Runtime;

use crate::calls::Sessions;
use crate::engine::Store;
use crate::latency::Latencies;
use crate::limit::Limit;
use crate::load::{self, Pace, Workload};
use crate::measure;
use crate::options::{Effort, Size};
use crate::report::{Aim, Figure, Row};
use crate::spread::Spread;
use crate::subject::Subject;

/// How long connections are used before anything is measured on them.
const WARM_UP: Duration = Duration::from_millis(300);

/// One scenario of one round.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// CPU microseconds of the server for each request.
    pub(crate) cpu_micros: f64,
    /// Good answers a second.
    pub(crate) rate: f64,
    /// How long they took.
    pub(crate) latencies: Latencies,
}

/// Loads a server in a closed loop and measures its CPU time.
///
/// # Errors
/// When a call fails: figures of wrong answers are worth nothing.
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
    let outcome = outcome.all_good()?;
    Ok(Sample {
        cpu_micros: measure::micros_each(used, outcome.latencies.len())?,
        rate: outcome.rate(),
        latencies: outcome.latencies,
    })
}

/// The reference that a scenario's CPU time is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Against {
    /// The limit, at most this many times.
    Limit(f64),
    /// The scenario before, at most this many times.
    Before(f64),
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
    // Each engine's own aim; only the order page has one on PostgreSQL.
    let (page, deeper, detail, devices) = match store {
        Store::Sqlite => (2.4, 1.1, Against::Limit(2.3), Against::Limit(2.8)),
        Store::Postgres => (8.0, 1.2, Against::Nothing, Against::Nothing),
    };
    Ok(vec![
        Scenario::new("order page", sessions.order_pages(false)?, Against::Limit(page)),
        Scenario::new("big device, page 1", sessions.big_device_page(1)?, Against::Nothing),
        Scenario::new(
            format!("big device, page {deep}"),
            sessions.big_device_page(deep)?,
            Against::Before(deeper),
        ),
        Scenario::new("order detail", sessions.details()?, detail),
        Scenario::new("device page", sessions.device_pages()?, devices),
        Scenario::new("order page, includeHistory", sessions.order_pages(true)?, Against::Nothing),
    ])
}

/// One scenario of one round, with the limit measured right before it.
struct Pair {
    limit: Sample,
    ours: Sample,
}

/// Measures every read; a row for the limit, and one for each.
///
/// # Errors
/// When an answer is wrong.
pub(crate) fn run(
    runtime: &Runtime,
    subject: &Subject<'_>,
    limit: &Limit,
    scenarios: &[Scenario],
    effort: &Effort,
) -> anyhow::Result<Vec<Row>> {
    let same_size = &scenarios.first().context("no scenario")?.workload;
    let mut pairs: Vec<Vec<Pair>> = scenarios.iter().map(|_| Vec::new()).collect();
    for round in 1..=effort.rounds {
        for (scenario, measured) in scenarios.iter().zip(&mut pairs) {
            let bare_subject = limit.subject();
            let bare = sample(&bare_subject, same_size, effort.span());
            let limit_sample = runtime.block_on(bare).context("limit server")?;
            let ours = sample(subject, &scenario.workload, effort.span());
            let ours = runtime.block_on(ours).with_context(|| scenario.name.clone())?;
            eprintln!(
                "round {round}: limit {:.1} us, {} {:.1} us",
                limit_sample.cpu_micros, scenario.name, ours.cpu_micros
            );
            measured.push(Pair { limit: limit_sample, ours });
        }
    }
    let mut rows = vec![limit_row(pairs.iter().flatten().map(|pair| &pair.limit))];
    for (index, scenario) in scenarios.iter().enumerate() {
        let before = index.checked_sub(1).map(|index| pairs[index].as_slice());
        rows.push(row(scenario, &pairs[index], before.unwrap_or_default()));
    }
    Ok(rows)
}

/// The limit server's own row.
pub(crate) fn limit_row<'a>(samples: impl Iterator<Item = &'a Sample>) -> Row {
    let samples: Vec<&Sample> = samples.collect();
    let mut answers: Vec<_> = samples.iter().map(|s| (s.rate, s.latencies.clone())).collect();
    let mut row = Row::new("limit: a page kept ready").answers(&mut answers);
    row.cpu_micros = Some(Spread::of(samples.iter().map(|sample| sample.cpu_micros)));
    row
}

fn row(scenario: &Scenario, pairs: &[Pair], before: &[Pair]) -> Row {
    let mut answers: Vec<_> =
        pairs.iter().map(|pair| (pair.ours.rate, pair.ours.latencies.clone())).collect();
    let mut row = Row::new(scenario.name.clone()).answers(&mut answers);
    row.cpu_micros = Some(Spread::of(pairs.iter().map(|pair| pair.ours.cpu_micros)));
    let times = Spread::of(pairs.iter().map(|p| p.ours.cpu_micros / p.limit.cpu_micros));
    row.times_limit = Some(times);
    row.figure = match scenario.against {
        Against::Limit(bound) => Some(Figure::new(times, " × limit", Some(Aim::AtMost(bound)))),
        Against::Before(bound) => {
            let both = pairs.iter().zip(before);
            let times = both.map(|(pair, before)| pair.ours.cpu_micros / before.ours.cpu_micros);
            Some(Figure::new(Spread::of(times), " × page 1", Some(Aim::AtMost(bound))))
        }
        Against::Nothing => None,
    };
    row
}
