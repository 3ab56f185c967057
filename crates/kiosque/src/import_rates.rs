//! `kiosque import rates`

use std::fs::File;
use std::path::Path;

use anyhow::Context;
use kiosque_ingest::csv::{RatesError, read_rates};
use kiosque_model::audit::{Act, CommandRun};
use kiosque_store::{Changes, WhenAbsent};

use crate::settings::Settings;
use crate::{CommandOutcome, acting, open};

pub(crate) async fn run(
    settings: &Settings,
    file: &Path,
    changes: Changes,
) -> anyhow::Result<CommandOutcome> {
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
    let store = open::store_for(settings, WhenAbsent::Refuse, changes).await?;
    let run = CommandRun { file: Some(acting::file_name(file)), ..acting::run_of("import rates") };
    let import = acting::begin_import(&store, run).await?;
    let act = Act::RatesImported { rates: rates.len() };
    println!("rates: {}", store.set_rates(rates).await?);
    import.end(&store, act).await?;
    Ok(CommandOutcome::Complete)
}
