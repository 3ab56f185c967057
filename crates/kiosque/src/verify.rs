//! `kiosque verify`

use kiosque_model::counted;
use kiosque_store::WhenAbsent;

use crate::output::print_line;
use crate::settings::Settings;
use crate::table::printable;
use crate::{CommandOutcome, open};

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<CommandOutcome> {
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    let verified = store.upkeep().verify().await?;
    for difference in &verified.differences {
        print_line!("{}", printable(difference))?;
    }
    let orders = counted(verified.orders, "order");
    let (ledgers, sums) = (counted(verified.ledgers, "ledger"), counted(verified.sums, "sum"));
    let recounted = format!("{orders} in {ledgers} and {sums}");
    match verified.differences.len() {
        0 => {
            print_line!("verified: {recounted}, no difference")?;
            Ok(CommandOutcome::Complete)
        }
        differences => {
            print_line!("verified: {recounted}, {}", counted(differences, "difference"))?;
            Ok(CommandOutcome::Partial)
        }
    }
}
