//! The cost of one tenant's load for another: order pages of tenant B alone, while other processes
//! keep the cores busy, and during each load of tenant A; and B's dashboards and the operator's
//! calls during the same loads.

pub(crate) mod data;
mod neighbor;
mod probe;

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use kiosque_contract::Endpoint;
use kiosque_contract::endpoint::QueryOrderList;
use kiosque_testkit::Served;

use crate::client::{Client, Connection};
use crate::kiosque::{Kiosque, Server};
use crate::load::{self, LoadResult, Pace, Workload};
use crate::logins::talked;
use crate::measure;
use crate::options::{Effort, FairnessSize};
use crate::report::{Aim, Row};
use crate::run::Run;
use crate::server_times::{self, ServerTimes};
use crate::spread::Spread;
use neighbor::{Kind, Load, Neighbor};

/// Number of connections over which tenant B requests order pages.
const READERS: usize = 4;
/// How long a load runs before measurements begin.
const SETTLE: Duration = Duration::from_millis(500);
/// Answers during a load may take this many times as long as alone, or this much longer.
const P50_AIM: (f64, f64) = (2.0, 1_000.0);
const P99_AIM: (f64, f64) = (4.0, 10_000.0);
/// Answers during a load may take this many times as long as during busy processes.
const P50_CONTROL_AIM: Aim = Aim::AtMost(2.0);
const P99_CONTROL_AIM: Aim = Aim::AtMost(4.0);
/// The maximum time for an answer to tenant B or to the operator, in ms.
const ANSWER_AIM: Aim = Aim::AtMost(1_000.0);
/// Memory above idle while answers wait for their readers, in MiB.
const MEMORY_AIM: Aim = Aim::AtMost(150.0);

/// Order pages of tenant B, as timed by their client and by the server.
struct Pages {
    answered: LoadResult,
    inside: ServerTimes,
}

impl Pages {
    /// A time as seen by clients, in us.
    fn percentile(&self, percent: usize) -> f64 {
        self.answered.latencies.percentile(percent).max(1.0)
    }
}

/// One load of tenant A in one round.
struct During {
    alone: Pages,
    /// During a busy process for each core.
    control: Pages,
    pages: Pages,
    dashboards: LoadResult,
    operator: LoadResult,
    /// Answers to tenant A, successful ones and others.
    answered: (usize, usize),
    /// Memory of the server above idle, in MiB.
    memory: f64,
}

/// Measures each load on separate data.
///
/// # Errors
/// Something cannot be run, or an order page is answered wrongly.
pub(crate) async fn run(run: &Run<'_>) -> anyhow::Result<Vec<Row>> {
    let size = &run.options.fairness;
    let effort = &run.options.effort;
    eprintln!("applying {} devices, importing {} orders", size.devices(), size.orders());
    let fleet = data::fleet(size);
    let kiosque = run.filled("fairness", &fleet, |out| data::write_orders(size, out))?;
    let key = kiosque.operator_key("orders,activity,read");
    let server = kiosque.serve_ready()?;
    let client = server.client()?;
    let operator = server.operator()?;
    let cookie = operator.sign_in(&key).await?;
    let tokens = data::Tokens::new(&client, cookie).await?;
    let loads = neighbor::loads(&client, &operator, &tokens, size)?;
    let mut subject = Subject {
        kiosque: &kiosque,
        server: &server,
        client,
        operator,
        key,
        tokens,
        size,
        measured: 0,
    };
    let mut rows = Vec::new();
    for load in &loads {
        let measure = async || subject.during(load, effort).await;
        rows.extend(load_rows(load, &effort.each_round(load.name, measure).await?));
    }
    kiosque.discard(server)?;
    Ok(rows)
}

/// A server with both tenants.
struct Subject<'a> {
    kiosque: &'a Kiosque,
    server: &'a Server,
    client: Client,
    operator: Client,
    key: String,
    tokens: data::Tokens,
    size: &'a FairnessSize,
    /// How many rounds of a load were measured.
    measured: usize,
}

impl Subject<'_> {
    async fn during(&mut self, load: &Load, effort: &Effort) -> anyhow::Result<During> {
        let pages = data::order_pages_b(&self.tokens, READERS)?;
        let operator = &self.operator;
        let measured = async |readers| measured_pages(operator, readers, &pages, effort).await;
        let (readers, alone) = measured(talked(&self.client, &pages).await?).await?;
        let busy = busy_processes()?;
        let (readers, control) = measured(readers).await?;
        drop(busy);
        let memory = || measure::memory(self.server.process.process(), measure::RESIDENT);
        let idle = memory()?;
        let neighbor = Neighbor::start(load, self.kiosque, &self.client, self.size).await?;
        tokio::time::sleep(SETTLE).await;
        let (_, during) = measured(readers).await?;
        let dashboards = probe::dashboards(&self.tokens)?;
        let of_operator = probe::operator(&self.key, self.measured)?;
        self.measured += 1;
        let span = effort.span();
        let (dashboards, operator) = tokio::try_join!(
            probe::ask(&self.client, dashboards, span),
            probe::ask(operator, of_operator, span)
        )?;
        let memory = memory()? - idle;
        let answered = neighbor.stop()?;
        Ok(During { alone, control, pages: during, dashboards, operator, answered, memory })
    }
}

/// Starts a process for each core that only computes: a neighbor with an equal share of the
/// machine, but not of the server.
fn busy_processes() -> anyhow::Result<Vec<Served>> {
    let cores = thread::available_parallelism()?.get();
    let mut compute = Command::new("sh");
    compute.args(["-c", "while :; do :; done"]);
    let busy = || Served::spawn(&mut compute, Path::new(""));
    Ok(std::iter::repeat_with(busy).take(cores).collect())
}

/// Order pages at a steady pace.
async fn measured_pages(
    operator: &Client,
    readers: Vec<Connection>,
    pages: &Workload,
    effort: &Effort,
) -> anyhow::Result<(Vec<Connection>, Pages)> {
    let pace = Pace::Steady(effort.page_rate);
    let before = server_times::read(operator, QueryOrderList::ROUTE).await?;
    let (readers, outcome) = load::run(readers, pages, effort.span(), pace).await?;
    let after = server_times::read(operator, QueryOrderList::ROUTE).await?;
    let answered = outcome.all_good().context("order pages of tenant B")?;
    Ok((readers, Pages { answered, inside: after.since(&before) }))
}

impl During {
    /// Times alone and during the load, as seen by clients, in us.
    fn percentiles(&self, percent: usize) -> (f64, f64) {
        (self.alone.percentile(percent), self.pages.percentile(percent))
    }

    /// The time during the load as a multiple of the time during busy processes.
    fn against_control(&self, percent: usize) -> f64 {
        self.pages.percentile(percent) / self.control.percentile(percent)
    }

    /// The same inside the server, if it has the histogram.
    fn percentiles_inside(&self, percent: usize) -> Option<(f64, f64)> {
        Some((self.alone.inside.percentile(percent)?, self.pages.inside.percentile(percent)?))
    }
}

/// Returns the times during a load as multiples of those alone; `None` without times.
fn ratio_row(name: String, both: &[(f64, f64)], aim: (f64, f64)) -> Option<Row> {
    if both.is_empty() {
        return None;
    }
    let times = Spread::of(both.iter().map(|(alone, during)| during / alone));
    let alone = Spread::of(both.iter().map(|(alone, _)| *alone)).median.max(1.0);
    let during = Spread::of(both.iter().map(|(_, during)| *during));
    let most = aim.0.max((alone + aim.1) / alone);
    let row = Row::about(name, times, " × alone", Some(Aim::AtMost(most)));
    let during = during.shown(0, " us");
    Some(row.noted(format!(
        "alone {alone:.0} us, during {during}; ratios {:.2}–{:.2}",
        times.min, times.max
    )))
}

fn load_rows(load: &Load, rounds: &[During]) -> Vec<Row> {
    let name = load.name;
    let seen = |percent: usize, aim| {
        let both: Vec<_> = rounds.iter().map(|round| round.percentiles(percent)).collect();
        ratio_row(format!("p{percent} of order pages during {name}"), &both, aim)
    };
    let inside = |percent: usize, aim| {
        let both: Vec<_> =
            rounds.iter().filter_map(|round| round.percentiles_inside(percent)).collect();
        ratio_row(format!("p{percent} inside the server during {name}"), &both, aim)
    };
    let slowest = |what: &str, pick: fn(&During) -> &LoadResult| {
        let slowest = Spread::of(rounds.iter().map(|round| probe::slowest_ms(pick(round))));
        let name = format!("{what} during {name}");
        let row = Row::about(name, slowest, " ms slowest", Some(ANSWER_AIM));
        row.noted(probe::note(rounds.iter().map(pick)))
    };
    let control = |percent: usize, aim| {
        let times = Spread::of(rounds.iter().map(|round| round.against_control(percent)));
        let name = format!("p{percent} during {name}, and during a control");
        let row = Row::about(name, times, " × control", Some(aim));
        let note = format!("a busy process for each core; {:.2}–{:.2}", times.min, times.max);
        Some(row.noted(note))
    };
    let ratios = [
        seen(50, P50_AIM),
        inside(50, P50_AIM),
        seen(99, P99_AIM),
        inside(99, P99_AIM),
        control(50, P50_CONTROL_AIM),
        control(99, P99_CONTROL_AIM),
    ];
    let mut rows: Vec<Row> = ratios.into_iter().flatten().collect();
    let answers = Spread::of(rounds.iter().map(|round| measure::count(round.answered.0))).median;
    let failures: usize = rounds.iter().map(|round| round.answered.1).sum();
    if let Some(first) = rows.first_mut() {
        let at = |percent| Spread::of(rounds.iter().map(|round| round.percentiles(percent).1));
        (first.p50_micros, first.p99_micros) = (Some(at(50)), Some(at(99)));
        first.note += &format!(
            "; tenant A got {answers:.0} answers a round, and in all rounds {failures} failures"
        );
    }
    rows.push(slowest("dashboards of tenant B", |round| &round.dashboards));
    rows.push(slowest("heartbeats and orders", |round| &round.operator));
    if matches!(load.kind, Kind::Unread(_)) {
        let above = Spread::of(rounds.iter().map(|round| round.memory));
        let name = format!("memory with {name}");
        rows.push(Row::about(name, above, " MiB above idle", Some(MEMORY_AIM)));
    }
    rows
}
