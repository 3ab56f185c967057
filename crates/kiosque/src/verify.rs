//! `kiosque verify`

use kiosque_model::counted;

use crate::output::{eprint_line, print_line};
use crate::settings::Settings;
use crate::table::printable;
use crate::{CommandOutcome, open};

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<CommandOutcome> {
    let store = open::store(settings).await?;
    let verified = store.upkeep().verify().await?;
    let by_other_rules = verified.by_other_rules.len();
    for difference in verified.differences.iter().chain(&verified.by_other_rules) {
        print_line!("{}", printable(difference))?;
    }
    if by_other_rules > 0 {
        eprint_line!(
            "the last {} can be explained by rules of the time zone that changed after the orders \
             were stored: no damage",
            counted(by_other_rules, "difference")
        );
    }
    let orders = counted(verified.orders, "order");
    let (ledgers, sums) = (counted(verified.ledgers, "ledger"), counted(verified.sums, "sum"));
    let recounted = format!("{orders} in {ledgers} and {sums}");
    match verified.differences.len() + by_other_rules {
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
