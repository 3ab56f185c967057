//! `kiosque init`

use anyhow::Context;
use kiosque_store::{Changes, WhenAbsent};

use crate::open;
use crate::output::print_line;
use crate::settings::Settings;

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<()> {
    let place = open::place(settings)?;
    let store = match open::existing(settings, Changes::Stored).await? {
        Some(store) => store,
        None => {
            settings.common.timezone.as_ref().context(
                "--timezone ZONE is required: the platform's time zone, such as Europe/Paris, \
                 which cannot be changed later",
            )?;
            open::store_for(settings, WhenAbsent::Create, Changes::Stored).await?
        }
    };
    let zone = store.zone().name();
    match store.is_new() {
        true => print_line!("created data in {place}, time zone {zone}"),
        false => print_line!("{place} has data already, time zone {zone}"),
    }
}
