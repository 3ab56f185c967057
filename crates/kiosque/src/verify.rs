//! `kiosque verify`

use kiosque_store::WhenAbsent;

use crate::output::print_line;
use crate::settings::Settings;
use crate::{CommandOutcome, open};

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<CommandOutcome> {
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    let verified = store.upkeep().verify().await?;
    for difference in &verified.differences {
        print_line!("{difference}")?;
    }
    let (orders, ledgers, sums) = (verified.orders, verified.ledgers, verified.sums);
    let recounted = format!("{orders} orders in {ledgers} ledgers and {sums} sums");
    match verified.differences.len() {
        0 => {
            print_line!("verified: {recounted}, no difference")?;
            Ok(CommandOutcome::Complete)
        }
        differences => {
            print_line!("verified: {recounted}, {differences} differences")?;
            Ok(CommandOutcome::Partial)
        }
    }
}
