//! `kiosque fleet`

use anyhow::Context;
use kiosque_clock::Clock;
use kiosque_store::{Listing, Passwords, WhenAbsent};

use crate::args::{FleetFormat, FleetWhat};
use crate::output::{self, eprint_line};
use crate::settings::Settings;
use crate::{CommandOutcome, open};

pub(crate) async fn run(settings: &Settings, what: FleetWhat) -> anyhow::Result<CommandOutcome> {
    let FleetWhat::Export { output } = what;
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    let all = Listing { after: None, limit: usize::MAX };
    let fleet =
        store.inventory().fleet_file(all, Passwords::Hashed, Clock::System.now()).await?.fleet;
    let text = match output {
        FleetFormat::Toml => toml::to_string(&fleet).context("the fleet cannot be written")?,
        FleetFormat::Json => format!("{}\n", serde_json::to_string(&fleet)?),
    };
    eprint_line!("note: the fleet contains the hashes of passwords; only you should read it");
    output::print(&text)?;
    Ok(CommandOutcome::Complete)
}
