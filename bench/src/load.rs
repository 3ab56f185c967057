//! Load: workers that each hold a connection and send the next request as soon as they are
//! answered, after a pause, or at a steady pace.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kiosque_locks::lock_ignoring_poison;
use kiosque_testkit::Rng;
use tokio::task::JoinSet;

use crate::client::{Call, Connection};
use crate::latency::Latencies;

/// The calls of each worker, of which there is one for each connection.
#[derive(Clone)]
pub(crate) struct Workload(Vec<Calls>);

/// The calls of a worker.
#[derive(Clone)]
enum Calls {
    /// Drawn at random, again and again.
    Random(Arc<[Call]>),
    /// Made in this order, each once, by all workers together.
    InTurn(Arc<Mutex<dyn Iterator<Item = Call> + Send>>),
}

impl Calls {
    /// Returns the next call, if one is left.
    fn next(&self, rng: &mut Rng) -> Option<Cow<'_, Call>> {
        match self {
            Calls::Random(calls) => Some(Cow::Borrowed(&calls[rng.below(calls.len())])),
            Calls::InTurn(calls) => lock_ignoring_poison(calls).next().map(Cow::Owned),
        }
    }
}

impl Workload {
    /// Returns this many workers that all draw from the same calls, at least one.
    pub(crate) fn shared(workers: usize, calls: Vec<Call>) -> Workload {
        Workload(vec![Calls::Random(Arc::from(calls)); workers])
    }

    /// Returns this many workers that together make each call once, in this order.
    pub(crate) fn in_turn(
        workers: usize,
        calls: impl Iterator<Item = Call> + Send + 'static,
    ) -> Workload {
        Workload(vec![Calls::InTurn(Arc::new(Mutex::new(calls))); workers])
    }

    /// Returns a worker for each call, which it repeats.
    pub(crate) fn one_each(calls: Vec<Call>) -> Workload {
        Workload(calls.into_iter().map(|call| Calls::Random(Arc::from([call]))).collect())
    }

    /// How many connections it needs.
    pub(crate) fn workers(&self) -> usize {
        self.0.len()
    }

    /// Returns the first call of the first worker, to try.
    pub(crate) fn first(&self) -> Option<&Call> {
        match self.0.first()? {
            Calls::Random(calls) => calls.first(),
            Calls::InTurn(_) => None,
        }
    }
}

/// The pace of the workers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    /// Each as soon as it is answered.
    Closed,
    /// Each when this time has passed since it was answered.
    Pausing(Duration),
    /// This often per second in total. A late answer delays the next call, which is then timed from
    /// when it was due.
    Steady(f64),
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadResult {
    /// Of every good answer.
    pub(crate) latencies: Latencies,
    /// Calls without a good answer.
    pub(crate) failed: usize,
    /// The first failure.
    pub(crate) first_failure: Option<String>,
    /// From the first call to the last answer.
    pub(crate) took: Duration,
}

impl LoadResult {
    /// Good answers a second.
    pub(crate) fn rate(&self) -> f64 {
        crate::measure::count(self.latencies.len()) / self.took.as_secs_f64().max(1e-9)
    }

    /// Adds the result of a later run.
    pub(crate) fn merge(&mut self, other: LoadResult) {
        self.latencies.merge(other.latencies);
        self.failed += other.failed;
        self.first_failure = self.first_failure.take().or(other.first_failure);
        self.took += other.took;
    }

    /// Returns the outcome, unless a call failed.
    ///
    /// # Errors
    /// The error has the number of failures, and the first one.
    pub(crate) fn all_good(self) -> anyhow::Result<LoadResult> {
        match &self.first_failure {
            None => Ok(self),
            Some(first) => anyhow::bail!(
                "{} calls failed, {} succeeded; the first: {first}",
                self.failed,
                self.latencies.len()
            ),
        }
    }
}

/// Runs a workload for `span`; returns the connections for the next run.
///
/// # Errors
/// When a worker panics.
pub(crate) async fn run(
    connections: Vec<Connection>,
    workload: &Workload,
    span: Duration,
    pace: Pace,
) -> anyhow::Result<(Vec<Connection>, LoadResult)> {
    let started = Instant::now();
    let all = crate::measure::count(workload.workers());
    let period = match pace {
        Pace::Closed => Duration::ZERO,
        Pace::Pausing(pause) => pause,
        Pace::Steady(rate) => Duration::from_secs_f64(all / rate),
    };
    let mut workers = JoinSet::new();
    let paired = connections.into_iter().zip(&workload.0);
    for ((connection, calls), seed) in paired.zip(1_u32..) {
        let due = match pace {
            Pace::Steady(_) => started + period.mul_f64(f64::from(seed) / all),
            _ => started,
        };
        let rng = Rng::seeded(u64::from(seed));
        let worker = Worker { calls: calls.clone(), rng, pace, period, due };
        workers.spawn(worker.run(connection, started + span));
    }
    let mut open = Vec::new();
    let mut outcome = LoadResult::default();
    while let Some(ended) = workers.join_next().await {
        let (connection, part) = ended?;
        open.push(connection);
        outcome.merge(part);
    }
    outcome.took = started.elapsed();
    Ok((open, outcome))
}

struct Worker {
    calls: Calls,
    rng: Rng,
    pace: Pace,
    /// From one call to the next, or from an answer to the next call.
    period: Duration,
    /// The instant of the next call.
    due: Instant,
}

impl Worker {
    async fn run(mut self, mut connection: Connection, until: Instant) -> (Connection, LoadResult) {
        let mut outcome = LoadResult::default();
        while !connection.is_closed() && self.due < until {
            // A call that is late is timed from when it was due.
            let mut asked = self.due;
            if Instant::now() < asked {
                tokio::time::sleep_until(asked.into()).await;
                asked = Instant::now();
            }
            let Some(call) = self.calls.next(&mut self.rng) else { break };
            match connection.post(&call).await {
                Ok(_) => outcome.latencies.note(asked.elapsed()),
                Err(error) => {
                    outcome.failed += 1;
                    outcome.first_failure.get_or_insert_with(|| format!("{error:#}"));
                }
            }
            self.due = match self.pace {
                Pace::Steady(_) => self.due + self.period,
                _ => Instant::now() + self.period,
            };
        }
        if connection.is_closed() && outcome.first_failure.is_none() {
            outcome.failed += 1;
            outcome.first_failure = Some("the server closed the connection".to_owned());
        }
        (connection, outcome)
    }
}
