//! `kiosque import rates`

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use kiosque_contract::AuditDetails;
use kiosque_ingest::csv::{RatesError, ReadRates, read_rates};
use kiosque_model::audit::{AuditEvent, CommandRun, Interruption};
use kiosque_store::{Act, Changes, Error, RateChange, RatesSet, WhenAbsent};

use crate::apply::print_errors;
use crate::import::warn_of_cut_line;
use crate::output::{eprint_line, print_line};
use crate::settings::Settings;
use crate::{CommandOutcome, acting, open};

/// Maximum replaced rates, and maximum warnings, that are printed.
const PRINTED_MAX: usize = 50;

pub(crate) async fn run(
    settings: &Settings,
    file: &Path,
    changes: Changes,
) -> anyhow::Result<CommandOutcome> {
    let input = File::open(file).with_context(|| file.display().to_string())?;
    let ReadRates { rates, cut_line } = match read_rates(input) {
        Ok(read) => read,
        Err(RatesError::Invalid(errors)) => return Ok(print_errors(file, &errors, "imported")),
        Err(error) => return Err(error).with_context(|| file.display().to_string()),
    };
    if let Some(line) = cut_line {
        warn_of_cut_line(line, file);
    }
    let store = open::store_for(settings, WhenAbsent::Refuse, changes).await?;
    let run = CommandRun { file: Some(acting::file_name(file)), ..acting::run_of("import rates") };
    let import = acting::begin_import(&store, run, Arc::default()).await?;
    let details = AuditDetails { rates: Some(rates.len()), ..AuditDetails::default() };
    let act = Act::new(AuditEvent::RatesImported, details);
    let set = match store.fleet().set_rates(rates).await {
        Ok(set) => set,
        Err(error) => {
            let reason = Interruption::Failure;
            let stored = (!matches!(error, Error::Unknown(_))).then_some(0);
            acting::interrupt_import(&store, &import.run, reason, stored, Vec::new()).await;
            return Err(error.into());
        }
    };
    // The result is recorded before it is printed.
    let id = import.end(&store, act, Vec::new()).await?;
    print(&set)?;
    acting::print_import(id)?;
    Ok(CommandOutcome::Complete)
}

/// Prints the counts and the replaced rates, and warnings about rates that may be mistyped.
fn print(set: &RatesSet) -> anyhow::Result<()> {
    print_line!("rates: {}", set.counts)?;
    for RateChange { new, before } in set.replaced.iter().take(PRINTED_MAX) {
        print_line!("{} on {}: {} -> {}", new.currency, new.day, before.rate, new.rate)?;
    }
    if set.replaced.len() > PRINTED_MAX {
        print_line!("… and {} more", set.replaced.len() - PRINTED_MAX)?;
    }
    for RateChange { new, before } in set.jumps.iter().take(PRINTED_MAX) {
        eprint_line!(
            "warning: {} on {}: {} differs from the previous rate, {} on {}, by a factor of more \
             than ten; if it is mistyped, correct it and import it again",
            new.currency,
            new.day,
            new.rate,
            before.rate,
            before.day
        );
    }
    if set.jumps.len() > PRINTED_MAX {
        eprint_line!("… and {} more warnings", set.jumps.len() - PRINTED_MAX);
    }
    Ok(())
}
