//! `kiosque rates`

use kiosque_contract::inventory::RateItem;
use kiosque_store::WhenAbsent;

use crate::args::RatesWhat;
use crate::output;
use crate::settings::Settings;
use crate::table::Table;
use crate::{CommandOutcome, open};

pub(crate) async fn run(settings: &Settings, what: RatesWhat) -> anyhow::Result<CommandOutcome> {
    let RatesWhat::List { output } = what;
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    let rates = output::whole(async |part| store.inventory().rates(part).await).await?;
    output.print(&rates, |rates| table(rates))?;
    Ok(CommandOutcome::Complete)
}

fn table(rates: &[RateItem]) -> Table<3> {
    let mut table = Table::new(["CURRENCY", "FROM", "DOLLARS FOR ONE"]);
    for rate in rates {
        table.add([rate.currency.clone(), rate.date.clone(), rate.usd_per_unit.clone()]);
    }
    table
}
