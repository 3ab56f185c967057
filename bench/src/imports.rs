//! The speed of imports, alone and while accounts log in.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::calls;
use crate::input::Input;
use crate::kiosque::Kiosque;
use crate::load::{self, LoadResult, Pace, Workload};
use crate::logins;
use crate::options::Size;
use crate::report::{Aim, Row};
use crate::spread::Spread;

/// Orders per second that an import should reach.
const AIM: Aim = Aim::AtLeast(30_000.0);

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
    imported("import", size, started.elapsed(), Some(AIM))
}

fn imported(name: &str, size: &Size, took: Duration, aim: Option<Aim>) -> anyhow::Result<Row> {
    let rate = Spread::of([f64::from(u32::try_from(size.orders)?) / took.as_secs_f64()]);
    let mut row = Row::about(name, rate, " orders/s", aim);
    row.per_second = Some(rate);
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
    let mut server = kiosque.serve()?;
    runtime.block_on(server.first_answer(&calls::first_login(size)?))?;
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
    Ok([imported("import during logins", size, took, None)?, logins_row(outcome)])
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
    let row = Row::about("logins during import", failed, " failed", Some(Aim::AtMost(0.0)));
    let mut row = row.answers(std::iter::once(&outcome));
    if let Some(first) = outcome.first_failure {
        row.note = format!("the first failure: {first}");
    }
    row
}
