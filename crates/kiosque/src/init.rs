//! `kiosque init`

use anyhow::Context;
use kiosque_store::{Changes, WhenAbsent};

use crate::open;
use crate::output::print_line;
use crate::settings::Settings;

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<()> {
    let place = open::place(settings)?;
    match open::existing(settings, Changes::Stored).await? {
        Some(store) => print_line!("{place} has data already, time zone {}", store.zone().name()),
        None => {
            settings.common.timezone.as_ref().context(
                "--timezone ZONE is required: the platform's time zone, such as Europe/Paris, \
                 which cannot be changed later",
            )?;
            let store = open::store_for(settings, WhenAbsent::Create, Changes::Stored).await?;
            print_line!("created data in {place}, time zone {}", store.zone().name())
        }
    }
}
