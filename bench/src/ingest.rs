//! Orders streamed to the operator's listener: durable orders per second, and the latency of order
//! pages meanwhile.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::background::Background;
use crate::calls::Sessions;
use crate::client::{Call, Client};
use crate::input::Input;
use crate::kiosque::Server;
use crate::load::{self, LoadResult, Pace, Workload};
use crate::logins::{pages_rows, talked};
use crate::measure;
use crate::options::{Effort, Size};
use crate::report::{Aim, Row};
use crate::run::Run;
use crate::spread::Spread;

/// Orders per request, concurrent requests, orders in a round, and durable orders per second to aim
/// for.
const BATCHES: [(usize, usize, usize, f64); 3] =
    [(1, 32, 10_000, 3_000.0), (100, 8, 40_000, 15_000.0), (1_000, 4, 50_000, 25_000.0)];
/// Aim for durable orders a second, largest batches, on PostgreSQL.
const ON_POSTGRES: f64 = 20_000.0;
/// The orders streamed while pages are requested.
const DURING_PAGES: (usize, usize) = (1_000, 4);
/// The maximum time in which the orders of a round are sent.
const SENDING_MAX: Duration = Duration::from_secs(86_400);
/// More orders than are stored in a second of it.
const SENT_A_SECOND_MAX: usize = 60_000;

/// Orders that have not been sent yet.
struct Unsent(io::Lines<BufReader<File>>);

impl Unsent {
    /// Returns the next orders, this many per request.
    fn take(&mut self, key: &str, orders: usize, batch: usize) -> anyhow::Result<Vec<Call>> {
        let mut calls = Vec::with_capacity(orders / batch);
        for _ in 0..orders / batch {
            let mut body = Vec::new();
            for _ in 0..batch {
                let line = self.0.next().context("the file of orders is too short")??;
                body.extend_from_slice(line.as_bytes());
                body.push(b'\n');
            }
            calls.push(Call::orders(key, body)?);
        }
        Ok(calls)
    }
}

/// Measures each batch size, on separate data.
///
/// # Errors
/// An order is not accepted.
pub(crate) async fn run(run: &Run<'_>, input: &Input) -> anyhow::Result<Vec<Row>> {
    let size = &input.size;
    let effort = &run.options.effort;
    let kiosque = run.kiosque(input.dir.join("data-ingest"));
    kiosque.begin_with(&input.fleet)?;
    kiosque.run(&["import", "rates"], &input.rates);
    let key = kiosque.operator_key("orders");
    let mut unsent = Unsent(BufReader::new(File::open(&input.orders)?).lines());
    let server = kiosque.serve_ready()?;
    let operator = server.operator()?;
    let mut rows = Vec::new();
    for (batch, at_a_time, orders, aim) in BATCHES {
        let measure = async || {
            let calls = unsent.take(&key, orders, batch)?;
            send(&operator, calls, at_a_time).await
        };
        let outcomes = effort.each_round(&format!("batches of {batch}"), measure).await?;
        // On PostgreSQL only the large batches have an aim.
        let aim = match (run.engine.has_files(), batch) {
            (true, _) => Some(aim),
            (false, 1_000) => Some(ON_POSTGRES),
            (false, _) => None,
        };
        rows.push(row(batch, at_a_time, &outcomes, aim));
    }
    rows.extend(during_pages(&server, &mut unsent, &key, size, effort).await?);
    kiosque.discard(server)?;
    Ok(rows)
}

/// Sends each call once, this many concurrently.
///
/// # Errors
/// An order is not accepted.
pub(crate) async fn send(
    client: &Client,
    calls: Vec<Call>,
    at_a_time: usize,
) -> anyhow::Result<LoadResult> {
    let connections = client.connect_all(at_a_time).await?;
    let workload = Workload::in_turn(at_a_time, calls.into_iter());
    load::run(connections, &workload, SENDING_MAX, Pace::Closed).await?.1.all_good()
}

fn row(batch: usize, at_a_time: usize, outcomes: &[LoadResult], aim: Option<f64>) -> Row {
    let rates = outcomes.iter().map(|outcome| outcome.rate() * measure::count(batch));
    let rates = Spread::of(rates);
    let name = format!("orders streamed, batches of {batch}");
    let row = Row::about(name, rates, " orders/s", aim.map(Aim::AtLeast));
    let row = Row { per_second: Some(rates), ..row.answers(outcomes.iter()) };
    row.noted(format!(
        "{at_a_time} requests at a time; orders a second, each durable when it is answered; p50 \
         and p99 are of requests"
    ))
}

/// Order pages at a steady pace, while nothing else happens and while orders come in at full rate.
async fn during_pages(
    server: &Server,
    unsent: &mut Unsent,
    key: &str,
    size: &Size,
    effort: &Effort,
) -> anyhow::Result<[Row; 2]> {
    let client = server.client()?;
    let sessions = Sessions::open(&client, size, effort.connections).await?;
    let pages = sessions.order_pages(false)?;
    let (span, pace) = (effort.span(), Pace::Steady(effort.page_rate));
    let (batch, at_a_time) = DURING_PAGES;
    let measure = async || {
        let wanted = measure::count(SENT_A_SECOND_MAX) * effort.seconds;
        let calls = (0..).take_while(|sent| measure::count(sent * batch) < wanted).count();
        let calls = unsent.take(key, calls * batch, batch)?;
        let all = calls.len();
        let readers = talked(&client, &pages).await?;
        let (readers, idle) = load::run(readers, &pages, span, pace).await?;
        let calls = Workload::in_turn(at_a_time, calls.into_iter());
        let sending = Background::calls(server.operator()?, calls, Pace::Closed);
        let (_, during) = load::run(readers, &pages, span, pace).await?;
        let sent = sending.stop()?.all_good()?.latencies.len();
        ensure!(sent < all, "all orders were sent before the pages were measured");
        Ok((idle.all_good()?, during.all_good()?))
    };
    let rounds = effort.each_round("order pages and batches", measure).await?;
    let names = ["order pages before orders are streamed", "order pages during streamed orders"];
    let [idle, during] = pages_rows(names, rounds.iter().map(|(idle, during)| (idle, during)));
    let note = format!("{at_a_time} senders of batches of {batch}, as fast as they are answered");
    Ok([idle, during.noted(note)])
}
