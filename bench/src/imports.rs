//! The speed of imports, alone and while accounts log in.

use std::time::{Duration, Instant};

use crate::background::Background;
use crate::input::Input;
use crate::kiosque::Kiosque;
use crate::load::{LoadResult, Pace};
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
pub(crate) fn alone(kiosque: &Kiosque, input: &Input) -> anyhow::Result<Row> {
    kiosque.begin_with(&input.fleet)?;
    kiosque.run(&["import", "rates"], &input.rates);
    eprintln!("importing {} orders", input.size.orders);
    let started = Instant::now();
    kiosque.run(&["import", "orders"], &input.orders);
    imported("import", &input.size, started.elapsed(), Some(AIM))
}

fn imported(name: &str, size: &Size, took: Duration, aim: Option<Aim>) -> anyhow::Result<Row> {
    let orders = size.orders;
    let seconds = took.as_secs_f64();
    let rate = Spread::of([f64::from(u32::try_from(orders)?) / seconds]);
    let row = Row { per_second: Some(rate), ..Row::about(name, rate, " orders/s", aim) };
    Ok(row.noted(format!("{orders} orders in {seconds:.1} s, from start to exit")))
}

/// Imports all orders into a second empty directory, while a server on it is kept busy with logins.
///
/// # Errors
/// The server cannot be called. A failed login is only counted, and misses the aim.
pub(crate) fn during_logins(
    kiosque: &Kiosque,
    input: &Input,
    cores: usize,
) -> anyhow::Result<[Row; 2]> {
    kiosque.begin_with(&input.fleet)?;
    let server = kiosque.serve_ready()?;
    eprintln!("importing {} orders during logins", input.size.orders);
    let logins = Background::calls(server.client()?, logins::workload(cores)?, Pace::Closed);
    let started = Instant::now();
    kiosque.run(&["import", "orders"], &input.orders);
    let took = started.elapsed();
    let logins = logins_row(logins.stop()?);
    kiosque.discard(server)?;
    Ok([imported("import during logins", &input.size, took, None)?, logins])
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
