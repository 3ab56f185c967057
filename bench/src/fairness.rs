//! What one tenant's load costs another: order pages of tenant B alone and during each load of
//! tenant A, and B's dashboards and the operator's calls during the same loads.

mod data;
mod neighbor;
mod probe;

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use tokio::runtime::Runtime;

use crate::client::{Client, Connection};
use crate::engine::Engine;
use crate::kiosque::{Kiosque, Server};
use crate::load::{self, LoadResult, Pace, Workload};
use crate::logins::talked;
use crate::measure;
use crate::options::{Effort, FairnessSize};
use crate::report::{Aim, Figure, Row};
use crate::spread::Spread;
use data::Files;
use neighbor::{Load, Neighbor};
use probe::{Probed, Probes};

/// Connections over which tenant B asks for order pages.
const READERS: usize = 4;
/// How long a load runs before anything is measured during it.
const SETTLE: Duration = Duration::from_millis(500);
/// Answers during a load may take this many times as long as alone, or this much longer.
const P50_AIM: (f64, f64) = (2.0, 1_000.0);
const P99_AIM: (f64, f64) = (4.0, 10_000.0);
/// The longest time for an answer to tenant B or to the operator, in ms.
const ANSWER_AIM: f64 = 1_000.0;
/// Memory above idle while answers wait for their readers, in MiB.
const MEMORY_AIM: f64 = 150.0;

/// One load of tenant A in one round.
struct During {
    alone: LoadResult,
    pages: LoadResult,
    dashboards: Probed,
    operator: Probed,
    /// Answers to tenant A, good ones and others.
    answered: (usize, usize),
    /// Memory of the server above idle, in MiB.
    memory: f64,
}

/// Measures each load on data of its own.
///
/// # Errors
/// When something cannot be run, or an order page is answered wrongly.
pub(crate) fn run(
    runtime: &Runtime,
    (program, engine): (&Path, &Engine),
    dir: &Path,
    (size, effort): (&FairnessSize, &Effort),
) -> anyhow::Result<Vec<Row>> {
    let files = Files::prepare(dir, size)?;
    let kiosque = Kiosque::new(program, dir.join("data-fairness"), engine);
    kiosque.clear()?;
    eprintln!("applying {} devices, importing {} orders", size.devices(), size.orders());
    kiosque.apply(&files.fleet)?;
    kiosque.finish(kiosque.start_import(&files.orders)?, "import")?;
    engine.settle()?;
    let key = kiosque.operator_key("orders,activity")?;
    let mut server = kiosque.serve()?;
    runtime.block_on(server.first_answer(&data::log_in_b()?))?;
    let client = runtime.block_on(server.client())?;
    let tokens = runtime.block_on(data::log_in(&client))?;
    let mut subject =
        Subject { kiosque: &kiosque, server: &server, client, key, tokens, size, measured: 0 };
    let mut rows = Vec::new();
    for load in Load::ALL {
        let mut rounds = Vec::new();
        for round in 1..=effort.rounds {
            let during = subject.during(runtime, load, effort)?;
            eprintln!("round {round}: {}: {}", load.name(), during.summary());
            rounds.push(during);
        }
        rows.extend(load_rows(load, &rounds));
    }
    server.process.stop()?;
    kiosque.clear()?;
    Ok(rows)
}

/// A server with both tenants.
struct Subject<'a> {
    kiosque: &'a Kiosque,
    server: &'a Server,
    client: Client,
    key: String,
    tokens: data::Tokens,
    size: &'a FairnessSize,
    /// How many rounds of a load were measured.
    measured: usize,
}

impl Subject<'_> {
    fn during(&mut self, runtime: &Runtime, load: Load, effort: &Effort) -> anyhow::Result<During> {
        let pages = data::order_pages_b(&self.tokens, READERS)?;
        let (readers, alone) = runtime.block_on(async {
            let readers = talked(&self.client, &pages).await?;
            measured_pages(readers, &pages, effort).await
        })?;
        let idle = measure::memory(self.server.process.pid())?.current;
        let neighbor =
            Neighbor::start(load, (self.kiosque, &self.client), (&self.tokens, self.size))?;
        std::thread::sleep(SETTLE);
        let (_, during) = runtime.block_on(measured_pages(readers, &pages, effort))?;
        let operator = self.server.operator()?;
        let mut probes = Probes::new(&self.tokens, &self.key, self.measured)?;
        self.measured += 1;
        let span = effort.span();
        let (dashboards, operator) = runtime.block_on(async {
            tokio::try_join!(
                probe::ask(&self.client, &mut probes.dashboards, span),
                probe::ask(&operator, &mut probes.operator, span)
            )
        })?;
        let memory = measure::memory(self.server.process.pid())?.current - idle;
        let answered = neighbor.stop()?;
        Ok(During { alone, pages: during, dashboards, operator, answered, memory })
    }
}

/// Order pages at a steady pace.
async fn measured_pages(
    readers: Vec<Connection>,
    pages: &Workload,
    effort: &Effort,
) -> anyhow::Result<(Vec<Connection>, LoadResult)> {
    let pace = Pace::Steady(effort.page_rate);
    let (readers, outcome) = load::run(readers, pages, effort.span(), pace).await?;
    Ok((readers, outcome.all_good().context("order pages of tenant B")?))
}

impl During {
    fn percentiles(&self, percent: usize) -> (f64, f64) {
        let at =
            |outcome: &LoadResult| f64::from(outcome.latencies.clone().percentile(percent).max(1));
        (at(&self.alone), at(&self.pages))
    }

    fn summary(&self) -> String {
        let ((p50_alone, p50), (p99_alone, p99)) = (self.percentiles(50), self.percentiles(99));
        format!(
            "p50 {p50_alone:.0} to {p50:.0} us, p99 {p99_alone:.0} to {p99:.0} us; dashboards {}; \
             operator {}; A: {} answers, {} failures; {:.0} MiB more",
            self.dashboards, self.operator, self.answered.0, self.answered.1, self.memory
        )
    }
}

fn load_rows(load: Load, rounds: &[During]) -> Vec<Row> {
    let name = load.name();
    let ratio = |percent: usize, aim: (f64, f64)| {
        let both: Vec<_> = rounds.iter().map(|round| round.percentiles(percent)).collect();
        let times = Spread::of(both.iter().map(|(alone, during)| during / alone));
        let alone = Spread::of(both.iter().map(|(alone, _)| *alone)).median.max(1.0);
        let most = aim.0.max((alone + aim.1) / alone);
        let mut row = Row::new(format!("p{percent} of order pages during {name}"));
        row.figure = Some(Figure::new(times, " × alone", Some(Aim::AtMost(most))));
        row
    };
    let mut p50 = ratio(50, P50_AIM);
    let at = |percent| Some(Spread::of(rounds.iter().map(|round| round.percentiles(percent).1)));
    (p50.p50_micros, p50.p99_micros) = (at(50), at(99));
    let alone =
        |percent| Spread::of(rounds.iter().map(|round| round.percentiles(percent).0)).median;
    let answers = Spread::of(rounds.iter().map(|round| measure::count(round.answered.0))).median;
    let failures: usize = rounds.iter().map(|round| round.answered.1).sum();
    p50.note = format!(
        "alone p50 {:.0} us, p99 {:.0} us; tenant A got {answers:.0} answers a round, and in all \
         rounds {failures} failures",
        alone(50),
        alone(99)
    );
    let slowest = |what: &str, pick: fn(&During) -> &Probed| {
        let mut row = Row::new(format!("{what} during {name}"));
        let slowest = Spread::of(rounds.iter().map(|round| pick(round).slowest_ms()));
        row.figure = Some(Figure::new(slowest, " ms slowest", Some(Aim::AtMost(ANSWER_AIM))));
        row.note = Probed::note(rounds.iter().map(pick));
        row
    };
    let mut rows = vec![
        p50,
        ratio(99, P99_AIM),
        slowest("dashboards of tenant B", |round| &round.dashboards),
        slowest("heartbeats and orders", |round| &round.operator),
    ];
    if load == Load::Unread {
        let mut row = Row::new(format!("memory with {name}"));
        let above = Spread::of(rounds.iter().map(|round| round.memory));
        row.figure = Some(Figure::new(above, " MiB above idle", Some(Aim::AtMost(MEMORY_AIM))));
        rows.push(row);
    }
    rows
}
