//! `kiosque archive`

use kiosque_clock::Clock;
use kiosque_model::ActedBy;
use kiosque_store::WhenAbsent;

use crate::settings::Settings;
use crate::{CommandOutcome, acting, open};

pub(crate) async fn run(settings: &Settings, before: &str) -> anyhow::Result<CommandOutcome> {
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    let before = store
        .zone()
        .parse_time_or_date(before)
        .map_err(|error| anyhow::anyhow!("--before: {error}"))?;
    let now = Clock::System.now();
    let archived = store.archive(before, now).await?;
    println!("archived {} orders of {} devices", archived.orders, archived.devices);
    store.record_act(archived.into(), ActedBy::run(acting::run_of("archive"), now)).await?;
    Ok(CommandOutcome::Complete)
}
