//! The change feed: how soon a waiting request is answered, and the cost of waiting and reading
//! requests for the stream of orders.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use kiosque_contract::endpoint::OrderChanges;
use kiosque_contract::{Endpoint, OrderChangesRequest};
use tokio::task::JoinSet;

use crate::calls::Sessions;
use crate::client::{Call, Client, Connection};
use crate::fleet::group_of;
use crate::ingest;
use crate::input::Input;
use crate::kiosque::Kiosque;
use crate::load::LoadResult;
use crate::measure;
use crate::options::{Effort, Size};
use crate::orders::order_of_now;
use crate::report::{Aim, Row};
use crate::run::Run;
use crate::spread::Spread;

/// Orders that are sent in a round, each to a group for which a request waits.
const CHANGES: usize = 200;
/// The same, for changes found by a look-up or made by a command.
const SLOW_CHANGES: usize = 10;
/// The time after which a sent request is waiting.
const WAITS_AFTER: Duration = Duration::from_millis(20);
/// The time after which an idle server only waits.
const SETTLED_AFTER: Duration = Duration::from_millis(500);
/// The maximum times until 99 of 100 waiting requests are answered, in ms: for a change on the same
/// node, and for any other.
const AIM: Aim = Aim::AtMost(50.0);
const SLOW_AIM: Aim = Aim::AtMost(1_000.0);
/// Orders per request, concurrent requests, and orders in a round of the stream.
const BATCHES: (usize, usize, usize) = (100, 8, 40_000);
/// The minimum part of the rate alone that remains while requests wait.
const RATE_AIM: Aim = Aim::AtLeast(0.95);
/// Waiting requests of each group.
const WAITING: usize = 10;
/// The maximum wait that a request may ask for, in seconds, and the records of an answer.
const WAIT_S: i64 = 60;
const RECORDS: i64 = 500;

/// A server with sessions of all groups, and its clients.
struct Bench<'a> {
    kiosque: &'a Kiosque,
    size: &'a Size,
    effort: &'a Effort,
    key: String,
    sessions: Sessions,
    integrators: Client,
    operator: Client,
    sent: usize,
}

/// A repeated request for the changes of a group.
struct Follower {
    connection: Connection,
    token: String,
    after: Option<String>,
}

impl Follower {
    async fn new(bench: &Bench<'_>, group: usize) -> anyhow::Result<Follower> {
        let connection = bench.integrators.connect().await?;
        let token = bench.sessions.token_of_group(group).to_owned();
        let mut follower = Follower { connection, token, after: None };
        follower.read_all().await?;
        Ok(follower)
    }

    /// Reads the next changes, after a wait if there is none. Returns their number and whether
    /// there are further ones.
    async fn next(&mut self, wait_s: i64) -> anyhow::Result<(usize, bool)> {
        let request = OrderChangesRequest {
            after: self.after.clone(),
            size: Some(RECORDS),
            wait_seconds: Some(wait_s),
            include_totals: None,
        };
        let call = Call::new(OrderChanges::PATH, Some(&self.token), &request)?;
        let answer: kiosque_contract::OrderChanges = self.connection.ask(&call).await?;
        self.after = Some(answer.next);
        Ok((answer.records.len(), answer.more))
    }

    async fn read_all(&mut self) -> anyhow::Result<()> {
        while self.next(0).await?.1 {}
        Ok(())
    }
}

impl Bench<'_> {
    /// Returns this number of new orders of the devices of some groups, with the group of the last
    /// one.
    fn lines(&mut self, orders: usize, groups: usize) -> anyhow::Result<(Vec<u8>, usize)> {
        let (mut lines, mut last) = (Vec::new(), 0);
        for _ in 0..orders {
            self.sent += 1;
            let mut devices = (self.sent..).map(|device| device % self.size.devices);
            let device = devices.find(|device| group_of(*device, self.size) < groups);
            let device = device.context("no device")?;
            last = group_of(device, self.size);
            lines.extend(order_of_now(&format!("changes-{}", self.sent), device, self.size));
        }
        Ok((lines, last))
    }

    /// Measures the time from an order sent by `send` until a request that waits for a change of
    /// its group is answered.
    async fn answers(
        &mut self,
        changes: usize,
        mut send: impl AsyncFnMut(Vec<u8>) -> anyhow::Result<Instant>,
    ) -> anyhow::Result<LoadResult> {
        let begun = Instant::now();
        let mut result = LoadResult::default();
        for _ in 0..changes {
            let (line, group) = self.lines(1, self.size.groups)?;
            let mut follower = Follower::new(self, group).await?;
            let answering = tokio::spawn(async move {
                let answer = follower.next(WAIT_S).await;
                answer.map(|(records, _)| (records, Instant::now()))
            });
            tokio::time::sleep(WAITS_AFTER).await;
            let sent = send(line).await?;
            let (records, answered) = answering.await??;
            ensure!(records == 1, "{records} changes in place of one");
            result.latencies.note(answered.saturating_duration_since(sent));
        }
        result.took = begun.elapsed();
        Ok(result)
    }

    /// Streams orders to the first half of the groups. Returns orders per second.
    async fn stream(&mut self) -> anyhow::Result<f64> {
        let (batch, at_a_time, orders) = BATCHES;
        let half = self.size.groups.div_ceil(2);
        let mut calls = Vec::new();
        for _ in 0..orders / batch {
            let lines = self.lines(batch, half)?.0;
            calls.push(Call::orders(&self.key, lines)?);
        }
        // Requests that were just sent are waiting by then, and connections of the previous round
        // are closed.
        tokio::time::sleep(SETTLED_AFTER).await;
        let outcome = ingest::send(&self.operator, calls, at_a_time).await?;
        Ok(outcome.rate() * measure::count(batch))
    }

    /// Streams orders while requests of some groups follow the changes.
    async fn stream_during(
        &mut self,
        groups: impl Iterator<Item = usize>,
        each: usize,
    ) -> anyhow::Result<f64> {
        let mut followers = JoinSet::new();
        for group in groups {
            for _ in 0..each {
                let mut follower = Follower::new(self, group).await?;
                followers.spawn(async move { while follower.next(WAIT_S).await.is_ok() {} });
            }
        }
        let rate = self.stream().await?;
        ensure!(followers.try_join_next().is_none(), "a request for changes failed");
        Ok(rate)
    }

    /// Orders that the same node takes.
    async fn of_stream(&mut self) -> anyhow::Result<Row> {
        let rounds = self.stream_to(CHANGES).await?;
        let row = Row::new("change that the node takes").p99_of(&rounds, Some(AIM));
        Ok(row.noted("from the request with the order to the end of the answer that waited"))
    }

    /// Measures the answers to this number of streamed orders, in each round.
    async fn stream_to(&mut self, changes: usize) -> anyhow::Result<Vec<LoadResult>> {
        let key = self.key.clone();
        let effort = self.effort;
        let measure = async || {
            let mut operator = self.operator.connect().await?;
            let send = async |line| {
                let call = Call::orders(&key, line)?;
                let sent = Instant::now();
                operator.post(&call).await?;
                Ok(sent)
            };
            self.answers(changes, send).await
        };
        effort.each_round("changes of a stream", measure).await
    }

    /// Orders imported by a command; the time begins when the command has ended.
    async fn of_command(&mut self) -> anyhow::Result<Row> {
        let kiosque = self.kiosque;
        let file = kiosque.file_next_to("changes.ndjson");
        let send = async |line: Vec<u8>| {
            std::fs::write(&file, line)?;
            let (kiosque, file) = (kiosque.clone(), file.clone());
            let import = move || kiosque.run(&["import", "orders"], &file);
            tokio::task::spawn_blocking(import).await?;
            Ok(Instant::now())
        };
        let effort = self.effort;
        let measure = async || self.answers(SLOW_CHANGES, send).await;
        let rounds = effort.each_round("changes by a command", measure).await?;
        let row = Row::new("change by a command").p99_of(&rounds, Some(SLOW_AIM));
        Ok(row.noted("from the end of the command; 0 if the answer was earlier"))
    }

    /// Orders accepted by another node of the same database.
    async fn of_another_node(&mut self) -> anyhow::Result<Row> {
        let node = self.kiosque.another_node()?;
        let mut server = node.serve_ready()?;
        let own = std::mem::replace(&mut self.operator, server.operator()?);
        let rounds = self.stream_to(SLOW_CHANGES).await?;
        self.operator = own;
        server.process.stop();
        Ok(Row::new("change that another node takes").p99_of(&rounds, Some(SLOW_AIM)))
    }

    /// The stream of orders, each time paired with the stream alone.
    async fn during_followers(&mut self) -> anyhow::Result<Vec<Row>> {
        let (half, groups) = (self.size.groups.div_ceil(2), self.size.groups);
        let mut ratios = [const { Vec::new() }; 3];
        for round in 1..=self.effort.rounds {
            // Rates fall as the data grows: the stream alone is measured before and after.
            let before = self.stream().await?;
            let waiting = self.stream_during(half..groups, WAITING).await?;
            let after = self.stream().await?;
            let reading = self.stream_during(0..half, 1).await?;
            let alone = f64::midpoint(before, after);
            eprintln!("round {round}: {alone:.0} orders/s; followers: {waiting:.0}, {reading:.0}");
            let [noise, while_waiting, while_reading] = &mut ratios;
            noise.push(after / before);
            while_waiting.push(waiting / alone);
            while_reading.push(reading / after);
        }
        let names = [
            ("orders streamed, paired with the same once more", None),
            ("orders streamed while requests wait in other groups", Some(RATE_AIM)),
            ("orders streamed while each group has a reader of its changes", None),
        ];
        let rows = names
            .into_iter()
            .zip(ratios)
            .map(|((name, aim), ratios)| Row::about(name, Spread::of(ratios), " × alone", aim));
        Ok(rows.collect())
    }
}

/// Measures the feed on separate data.
///
/// # Errors
/// Something cannot be run, or is answered wrongly.
pub(crate) async fn run(run: &Run<'_>, input: &Input) -> anyhow::Result<Vec<Row>> {
    let size = &input.size;
    ensure!(size.groups >= 2, "--groups: at least 2");
    let kiosque = run.kiosque(input.dir.join("data-changes"));
    kiosque.begin_with(&input.fleet)?;
    let server = kiosque.serve_ready()?;
    let integrators = server.client()?;
    let mut bench = Bench {
        kiosque: &kiosque,
        size,
        effort: &run.options.effort,
        key: kiosque.operator_key("orders"),
        sessions: Sessions::open(&integrators, size, 1).await?,
        integrators,
        operator: server.operator()?,
        sent: 0,
    };
    let mut rows = vec![bench.of_stream().await?, bench.of_command().await?];
    if !run.engine.has_files() {
        rows.push(bench.of_another_node().await?);
    }
    rows.extend(bench.during_followers().await?);
    kiosque.discard(server)?;
    Ok(rows)
}
