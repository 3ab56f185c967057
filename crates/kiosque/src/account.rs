//! `kiosque account`

use kiosque_clock::Clock;
use kiosque_contract::inventory::AccountItem;
use kiosque_model::Zone;
use kiosque_store::WhenAbsent;

use crate::args::AccountWhat;
use crate::output::{self, YesNo, time};
use crate::settings::Settings;
use crate::table::Table;
use crate::{CommandOutcome, open};

pub(crate) async fn run(settings: &Settings, what: AccountWhat) -> anyhow::Result<CommandOutcome> {
    let AccountWhat::List { output } = what;
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    let now = Clock::System.now();
    let accounts = output::whole(async |part| store.inventory().accounts(part, now).await).await?;
    output.print(&accounts, |accounts| table(accounts, store.zone()))?;
    Ok(CommandOutcome::Complete)
}

fn table(accounts: &[AccountItem], zone: &Zone) -> Table<6> {
    let mut table = Table::new(["LOGIN NAME", "ENABLED", "API", "SESSION UNTIL", "GROUPS", "NAME"]);
    for account in accounts {
        table.add([
            account.account.clone(),
            YesNo(account.enabled).to_string(),
            YesNo(account.third_party_api).to_string(),
            time(zone, account.session_expires_timestamp),
            account.group_ids.join(","),
            account.display_name.clone(),
        ]);
    }
    table
}
