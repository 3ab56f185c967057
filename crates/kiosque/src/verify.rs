//! `kiosque verify`

use kiosque_store::WhenAbsent;

use crate::settings::Settings;
use crate::{CommandOutcome, open};

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<CommandOutcome> {
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    let verified = store.verify().await?;
    for difference in &verified.differences {
        println!("{difference}");
    }
    let (orders, ledgers, sums) = (verified.orders, verified.ledgers, verified.sums);
    let recounted = format!("{orders} orders in {ledgers} ledgers and {sums} sums");
    match verified.differences.len() {
        0 => {
            println!("verified: {recounted}, no difference");
            Ok(CommandOutcome::Complete)
        }
        differences => {
            println!("verified: {recounted}, {differences} differences");
            Ok(CommandOutcome::Partial)
        }
    }
}
