//! `kiosque import rates`

use std::fs::File;
use std::path::Path;

use anyhow::Context;
use kiosque_clock::Clock;
use kiosque_ingest::csv::{RatesError, read_rates};
use kiosque_model::ActedBy;
use kiosque_model::audit::{Act, CommandRun};
use kiosque_store::WhenAbsent;

use crate::settings::Settings;
use crate::{CommandOutcome, acting, open};

pub(crate) async fn run(settings: &Settings, file: &Path) -> anyhow::Result<CommandOutcome> {
    let input = File::open(file).with_context(|| file.display().to_string())?;
    let rates = match read_rates(input) {
        Ok(rates) => rates,
        Err(RatesError::Faults(faults)) => {
            for fault in faults {
                eprintln!("{}: {fault}", file.display());
            }
            eprintln!("nothing was imported");
            return Ok(CommandOutcome::Partial);
        }
        Err(error) => return Err(error).with_context(|| file.display().to_string()),
    };
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    let act = Act::RatesImported { rates: rates.len() };
    let changes = store.set_rates(rates).await?;
    println!("rates: {changes}");
    let file = Some(acting::file_name(file));
    let run = CommandRun { file, ..acting::run_of("import rates") };
    store.record_act(act, ActedBy::run(run, Clock::System.now())).await?;
    Ok(CommandOutcome::Complete)
}
