//! `kiosque group`

use kiosque_clock::Clock;
use kiosque_contract::inventory::GroupItem;
use kiosque_model::Zone;
use kiosque_store::WhenAbsent;

use crate::args::GroupWhat;
use crate::output::{self, YesNo, time};
use crate::settings::Settings;
use crate::table::Table;
use crate::{CommandOutcome, open};

pub(crate) async fn run(settings: &Settings, what: GroupWhat) -> anyhow::Result<CommandOutcome> {
    let GroupWhat::List { output } = what;
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    let now = Clock::System.now();
    let groups = output::whole(async |part| store.inventory().groups(part, now).await).await?;
    output.print(&groups, |groups| table(groups, store.zone()))?;
    Ok(CommandOutcome::Complete)
}

fn table(groups: &[GroupItem], zone: &Zone) -> Table<7> {
    let mut table =
        Table::new(["ID", "ACTIVE", "DEVICES", "ACCOUNTS", "ORDERS", "LAST ACTIVE", "NAME"]);
    for group in groups {
        table.add([
            group.group_id.clone(),
            YesNo(group.active).to_string(),
            group.device_count.to_string(),
            group.account_count.to_string(),
            group.order_count.to_string(),
            time(zone, group.last_active_timestamp),
            group.group_name.clone(),
        ]);
    }
    table
}
