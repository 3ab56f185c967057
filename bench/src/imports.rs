//! The speed of imports, alone and while accounts log in.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::calls;
use crate::input::Input;
use crate::kiosque::Kiosque;
use crate::load::{self, LoadResult, Pace, Workload};
use crate::logins;
use crate::options::Size;
use crate::report::{Aim, Figure, Row};
use crate::spread::Spread;

/// Orders per second that an import should reach.
const AIM: f64 = 30_000.0;

/// Imports all orders into an empty directory.
///
/// # Errors
/// When a command fails.
pub(crate) fn alone(kiosque: &Kiosque, input: &Input, size: &Size) -> anyhow::Result<Row> {
    kiosque.clear()?;
    kiosque.apply(&input.fleet)?;
    kiosque.import_rates(&input.rates)?;
    eprintln!("importing {} orders", size.orders);
    let started = Instant::now();
    let import = kiosque.start_import(&input.orders)?;
    kiosque.finish(import, "import")?;
    let took = started.elapsed();
    let mut row = imported("import", size, took)?;
    if let Some(figure) = &mut row.figure {
        *figure = Figure::new(figure.value, figure.unit, Some(Aim::AtLeast(AIM)));
    }
    Ok(row)
}

fn imported(name: &str, size: &Size, took: Duration) -> anyhow::Result<Row> {
    let rate = Spread::of([f64::from(u32::try_from(size.orders)?) / took.as_secs_f64()]);
    let mut row = Row::new(name);
    row.per_second = Some(rate);
    row.figure = Some(Figure::new(rate, " orders/s", None));
    row.note = format!("{} orders in {:.1} s, from start to exit", size.orders, took.as_secs_f64());
    Ok(row)
}

/// Imports all orders into a second empty directory, while a server on it is kept busy with logins.
///
/// # Errors
/// A command fails. A failed login is only counted, and misses the aim.
pub(crate) fn during_logins(
    runtime: &Runtime,
    kiosque: &Kiosque,
    input: &Input,
    (size, cores): (&Size, usize),
) -> anyhow::Result<[Row; 2]> {
    kiosque.clear()?;
    kiosque.apply(&input.fleet)?;
    let workload = logins::workload(size, cores)?;
    let first = &calls::logins(size, 1)?;
    let mut server = kiosque.serve()?;
    if let Some(call) = first.first() {
        runtime.block_on(server.first_answer(call))?;
    }
    eprintln!("importing {} orders during logins", size.orders);
    let started = Instant::now();
    let mut import = kiosque.start_import(&input.orders)?;
    let waiting = std::thread::spawn(move || {
        let status = import.wait();
        (import, status, started.elapsed())
    });
    let mut outcome = LoadResult::default();
    while !waiting.is_finished() {
        outcome.merge(runtime.block_on(a_while(&mut server, &workload))?);
    }
    let (import, status, took) =
        waiting.join().map_err(|_| anyhow::anyhow!("waiting for the import failed"))?;
    status?;
    kiosque.finish(import, "import")?;
    server.process.stop()?;
    kiosque.clear()?;
    Ok([imported("import during logins", size, took)?, logins_row(outcome)])
}

async fn a_while(
    server: &mut crate::kiosque::Server,
    workload: &Workload,
) -> anyhow::Result<LoadResult> {
    let connections = server.client().await?.connect_all(workload.workers()).await?;
    let span = Duration::from_millis(500);
    Ok(load::run(connections, workload, span, Pace::Closed).await?.1)
}

fn logins_row(outcome: LoadResult) -> Row {
    let failed = Spread::of([crate::measure::count(outcome.failed)]);
    let note = outcome.first_failure.clone().map(|first| format!("the first failure: {first}"));
    let mut answers = [(outcome.rate(), outcome.latencies)];
    let mut row = Row::new("logins during import").answers(&mut answers);
    row.figure = Some(Figure::new(failed, " failed", Some(Aim::AtMost(0.0))));
    row.note = note.unwrap_or_default();
    row
}
