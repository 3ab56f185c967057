//! Logins: their rate as a share of the hash slots' capacity, and the latency of order pages
//! meanwhile.

use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};
use argon2::{Algorithm, Argon2, Params, Version};

use crate::calls::{Sessions, login};
use crate::client::{Client, Connection};
use crate::fleet;
use crate::load::{self, LoadResult, Pace, Workload};
use crate::measure;
use crate::options::{Effort, Options};
use crate::report::{Aim, Figure, Row};
use crate::spread::Spread;
use crate::subject::Subject;

/// Workers in addition to the hash slots, so that no slot waits for the next login to arrive.
const SPARE_WORKERS: usize = 2;
/// Number of hashes whose median is used.
const HASHES: usize = 15;

/// Concurrent password hashes of the server.
pub(crate) fn hash_slots(cores: usize) -> usize {
    cores.saturating_sub(1).max(1)
}

/// Returns a workload that keeps every hash slot busy: each worker logs in with another of the
/// accounts that do nothing else.
///
/// # Errors
/// There are more slots than accounts.
pub(crate) fn workload(cores: usize) -> anyhow::Result<Workload> {
    let workers = hash_slots(cores) + SPARE_WORKERS;
    ensure!(workers <= fleet::LOGIN_ACCOUNTS, "{workers} workers, but fewer accounts");
    let calls = (0..workers).map(|index| login(&fleet::caller(index)));
    Ok(Workload::one_each(calls.collect::<Result<_, _>>()?))
}

/// Measures how long one password hash takes on this machine: argon2id, m=19456, t=2, p=1.
///
/// # Errors
/// When it cannot be computed.
fn hash_time() -> anyhow::Result<Duration> {
    let params = Params::new(19_456, 2, 1, None).map_err(|error| anyhow!("{error}"))?;
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let mut taken = Vec::with_capacity(HASHES);
    for _ in 0..HASHES {
        let (started, mut hash) = (Instant::now(), [0; 32]);
        argon
            .hash_password_into(b"open sesame", b"sixteen bytes ..", &mut hash)
            .map_err(|error| anyhow!("{error}"))?;
        taken.push(started.elapsed().as_secs_f64());
    }
    Ok(Duration::from_secs_f64(Spread::of(taken).median))
}

/// One round.
struct Round {
    hash: Duration,
    alone: LoadResult,
    /// CPU microseconds of each login.
    login_cpu: f64,
    pages_idle: LoadResult,
    pages_during_logins: LoadResult,
    logins_during_pages: LoadResult,
}

/// Measures logins alone, order pages with silent callers connected, and both together.
///
/// # Errors
/// When an answer is wrong.
pub(crate) async fn run(
    subject: &Subject<'_>,
    sessions: &Sessions,
    options: &Options,
    cores: usize,
) -> anyhow::Result<Vec<Row>> {
    let effort = &options.effort;
    let logins = workload(cores)?;
    let pages = sessions.order_pages(false)?;
    let measure = async || one_round(subject, &logins, &pages, effort).await;
    let rounds = effort.each_round("logins", measure).await?;
    Ok(rows(&rounds, hash_slots(cores)))
}

async fn one_round(
    subject: &Subject<'_>,
    logins: &Workload,
    pages: &Workload,
    effort: &Effort,
) -> anyhow::Result<Round> {
    let hash = hash_time()?;
    let (span, pace) = (effort.span(), Pace::Steady(effort.page_rate));
    let callers = talked(subject.client, logins).await?;
    let readers = talked(subject.client, pages).await?;
    // The clients are connected and silent.
    let (readers, pages_idle) = load::run(readers, pages, span, pace).await?;
    let before = subject.cpu_time()?;
    let (callers, alone) = load::run(callers, logins, span, Pace::Closed).await?;
    let used = subject.cpu_time()?.saturating_sub(before);
    let (during, with) = tokio::join!(
        load::run(callers, logins, span, Pace::Closed),
        load::run(readers, pages, span, pace)
    );
    let alone = alone.all_good().context("logins")?;
    Ok(Round {
        hash,
        login_cpu: measure::micros_each(used, alone.latencies.len())?,
        alone,
        pages_idle: pages_idle.all_good().context("order pages")?,
        pages_during_logins: with?.1.all_good().context("order pages during logins")?,
        logins_during_pages: during?.1.all_good().context("logins during order pages")?,
    })
}

/// Connections on which each worker has been answered once, so that no deadline of the first byte
/// ends them while they are silent.
pub(crate) async fn talked(
    client: &Client,
    workload: &Workload,
) -> anyhow::Result<Vec<Connection>> {
    let connections = client.connect_all(workload.workers()).await?;
    let once = Duration::from_millis(100);
    let (connections, outcome) = load::run(connections, workload, once, Pace::Closed).await?;
    outcome.all_good()?;
    Ok(connections)
}

fn rows(rounds: &[Round], slots: usize) -> Vec<Row> {
    let share = |pick: fn(&Round) -> &LoadResult| {
        let percent = rounds.iter().map(|round| {
            100.0 * pick(round).rate() * round.hash.as_secs_f64() / measure::count(slots)
        });
        let unit = "% of the slots";
        Some(Figure::new(Spread::of(percent), unit, Some(Aim::AtLeast(90.0))))
    };
    let hash = Spread::of(rounds.iter().map(|round| round.hash.as_secs_f64() * 1e3));

    let mut alone = Row::new("logins").answers(rounds.iter().map(|round| &round.alone));
    alone.cpu_micros = Some(Spread::of(rounds.iter().map(|round| round.login_cpu)));
    alone.figure = share(|round| &round.alone);
    alone.note = format!(
        "{slots} hash slot(s); one hash in this process takes {}, so the slots allow {:.1} a \
         second; {} workers, each with an account of its own",
        hash.shown(1, " ms"),
        measure::count(slots) * 1e3 / hash.median,
        slots + SPARE_WORKERS
    );
    let during = Row::new("logins during order pages");
    let mut during = during.answers(rounds.iter().map(|round| &round.logins_during_pages));
    during.figure = share(|round| &round.logins_during_pages);

    let names = ["order pages with idle callers", "order pages during logins"];
    let pages = rounds.iter().map(|round| (&round.pages_idle, &round.pages_during_logins));
    let [idle, busy] = pages_rows(names, pages);
    let note = "at a steady rate, with as many silent connections open as log in otherwise";
    vec![alone, during, idle.noted(note), busy]
}

/// Returns rows of order pages while nothing else happens, and during a load.
pub(crate) fn pages_rows<'a>(
    [idle, during]: [&str; 2],
    rounds: impl Iterator<Item = (&'a LoadResult, &'a LoadResult)> + Clone,
) -> [Row; 2] {
    let p99 = |result: &LoadResult| result.latencies.percentile(99).max(1.0);
    let times = Spread::of(rounds.clone().map(|(idle, during)| p99(during) / p99(idle)));
    let during = Row::about(during, times, " × idle p99", Some(Aim::AtMost(2.0)));
    let idle = Row::new(idle).answers(rounds.clone().map(|(idle, _)| idle));
    [idle, during.answers(rounds.map(|(_, during)| during))]
}
