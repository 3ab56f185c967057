//! How long a server takes from its start to its first answer, and the memory that it then needs.

use crate::client::Call;
use crate::kiosque::{Kiosque, Server};
use crate::measure;
use crate::report::{Aim, Row};
use crate::spread::Spread;

/// Number of starts, the best of which counts: other load on the machine only makes them longer.
const STARTS: usize = 5;

/// Starts the server repeatedly; the last one keeps running.
///
/// # Errors
/// When it does not answer.
pub(crate) async fn run(kiosque: &Kiosque, call: &Call) -> anyhow::Result<(Server, Row)> {
    let mut taken = Vec::new();
    loop {
        let mut server = kiosque.serve()?;
        let took = server.first_answer(call).await?.as_secs_f64() * 1e3;
        eprintln!("start: {took:.1} ms");
        taken.push(took);
        if taken.len() == STARTS {
            return Ok((server, row(taken)));
        }
        server.process.stop();
    }
}

fn row(taken: Vec<f64>) -> Row {
    let all = Spread::of(taken);
    let best = Spread { median: all.min, ..all };
    let row = Row::about("start to first order page", best, " ms", Some(Aim::AtMost(100.0)));
    row.noted(format!(
        "best of {STARTS}, median {:.1} ms, worst {:.1} ms; the page is asked for with a session \
         from before the restart",
        all.median, all.max
    ))
}

/// Memory of the server now, at most this many MiB.
///
/// # Errors
/// When it is gone.
pub(crate) fn memory(pid: u32, serving: &str, most: f64) -> anyhow::Result<Row> {
    let current = measure::memory(pid, measure::RESIDENT)?;
    let peak = measure::memory(pid, measure::PEAK)?;
    let name = format!("memory while serving {serving}");
    let aim = Some(Aim::AtMost(most));
    let row = Row::about(name, Spread::of([current]), " MiB", aim);
    Ok(row.noted(format!("resident after the reads above; the peak was {peak:.1} MiB")))
}
