//! `kiosque apply`

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use kiosque_clock::{Clock, Entropy};
use kiosque_contract::{DatedMove, FleetCounts};
use kiosque_https_client::read_text_file_up_to;
use kiosque_ingest::fleet::{self, Format};
use kiosque_model::audit::CommandRun;
use kiosque_model::{ActedBy, UnixMs, Zone};
use kiosque_store::{Applied, ApplyError, Changes, WhenAbsent};

use crate::output::{eprint_line, print_line};
use crate::settings::Settings;
use crate::{CommandOutcome, acting, dry_run, open};

/// The largest fleet file: more than the export of 20,000 devices with 40 aisles each. A fleet that
/// an operator sends has a limit of its own, which is a setting of the server.
const FILE_MAX_BYTES: usize = 256 << 20;

pub(crate) async fn run(
    settings: &Settings,
    file: &Path,
    changes: Changes,
) -> anyhow::Result<CommandOutcome> {
    let format = match file.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => Format::Toml,
        Some("json") => Format::Json,
        _ => bail!("{}: a fleet file is a .toml or a .json file", file.display()),
    };
    let text = read(file).with_context(|| file.display().to_string())?;
    let existing = open::existing(settings, changes).await?;
    let is_new = existing.is_none();
    let store = match existing {
        Some(store) => store,
        // A fleet with errors creates no data.
        None => open::store_for(settings, WhenAbsent::Create, Changes::RolledBack).await?,
    };
    let fleet = match fleet::parse(&text, format, store.zone()) {
        Ok(fleet) => Arc::new(fleet),
        Err(errors) => {
            let errors = errors.with_stored(&store, Clock::System.now()).await?;
            return Ok(print_errors(file, &errors, "applied"));
        }
    };
    for warning in fleet::warnings(&fleet) {
        eprint_line!("warning: {warning}");
    }
    let store = match (is_new, changes) {
        (false, _) => store,
        (true, Changes::RolledBack) => {
            dry_run::announce_creation(settings, store.zone())?;
            store
        }
        (true, Changes::Stored) => {
            let errors = store.fleet().errors(Arc::clone(&fleet), Clock::System.now()).await?;
            if !errors.is_empty() {
                return Ok(print_errors(file, &errors, "applied"));
            }
            drop(store);
            open::store_for(settings, WhenAbsent::Create, changes).await?
        }
    };
    let run = CommandRun { file: Some(acting::file_name(file)), ..acting::run_of("apply") };
    let by = ActedBy::run(run, Clock::System.now());
    match fleet::apply(&store, fleet, &Clock::System, &Entropy::system(), by).await {
        Ok(applied) => {
            print(&applied, store.zone())?;
            if changes == Changes::RolledBack {
                dry_run::print_differences(&applied, store.zone())?;
            }
            Ok(CommandOutcome::Complete)
        }
        Err(ApplyError::Invalid(errors)) => Ok(print_errors(file, &errors, "applied")),
        Err(error @ (ApplyError::PasswordChanged | ApplyError::Store(_))) => Err(error.into()),
    }
}

fn read(file: &Path) -> anyhow::Result<String> {
    read_text_file_up_to(file, FILE_MAX_BYTES).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => anyhow!("{error}, or apply its entries in several files"),
        _ => error.into(),
    })
}

/// Prints the errors of a file, of which nothing was `done`.
pub(crate) fn print_errors(file: &Path, errors: &[impl Display], done: &str) -> CommandOutcome {
    for error in fleet::listed_errors(errors) {
        eprint_line!("{}: {error}", file.display());
    }
    eprint_line!("nothing was {done}");
    CommandOutcome::Partial
}

fn print(applied: &Applied, zone: &Zone) -> anyhow::Result<()> {
    let FleetCounts { groups, accounts, products, devices, sessions_ended } = applied.counts;
    print_line!("groups:   {groups}")?;
    print_line!("accounts: {accounts}")?;
    print_line!("products: {products}")?;
    print_line!("devices:  {devices}")?;
    if sessions_ended > 0 {
        print_line!("sessions ended: {sessions_ended}")?;
    }
    for DatedMove { device_code, group_id, since_timestamp } in &applied.dated_moves {
        let since = zone.text(UnixMs(*since_timestamp));
        let zone = zone.name();
        print_line!("device {device_code}: belongs to group {group_id} from {since} {zone} on")?;
    }
    Ok(())
}
