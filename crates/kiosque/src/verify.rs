//! `kiosque verify`

use kiosque_store::WhenAbsent;

use crate::settings::Settings;
use crate::{Done, open};

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<Done> {
    let store = open::store(settings, WhenAbsent::Refuse)?;
    let verified = store.verify().await?;
    for difference in &verified.differences {
        println!("{difference}");
    }
    let (orders, ledgers) = (verified.orders, verified.ledgers);
    match verified.differences.len() {
        0 => {
            println!("verified: {orders} orders in {ledgers} ledgers, no difference");
            Ok(Done::All)
        }
        differences => {
            println!("verified: {orders} orders in {ledgers} ledgers, {differences} differences");
            Ok(Done::InPart)
        }
    }
}
