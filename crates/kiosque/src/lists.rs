//! `kiosque group list`, `account list`, `product list`, `rates list` and `import list`

use kiosque_clock::Clock;
use kiosque_contract::AuditDetails;
use kiosque_contract::inventory::{
    AccountItem, GroupItem, ImportItem, ImportState, ProductItem, RateItem,
};
use kiosque_model::{GroupId, Zone, counted};

use crate::open;
use crate::output::{self, Output, YesNo, time};
use crate::settings::Settings;
use crate::table::{ABSENT, Table, cell};

pub(crate) async fn groups(settings: &Settings, output: Output) -> anyhow::Result<()> {
    let store = open::store(settings).await?;
    let now = Clock::System.now();
    let groups = output::whole(async |part| store.inventory().groups(part, now).await).await?;
    output.print(&groups, |groups| group_table(groups, store.zone()))
}

/// Returns the message about a group that does not exist.
pub(crate) fn unknown_group(id: &GroupId) -> String {
    format!("no group {id} is known; `kiosque group list` prints all")
}

fn group_table(groups: &[GroupItem], zone: &Zone) -> Table {
    let header = ["ID", "ACTIVE", "DEVICES", "ACCOUNTS", "ORDERS", "LAST ACTIVE", "NAME"];
    Table::of(header, groups, |group| {
        [
            group.group_id.clone(),
            YesNo(group.active).to_string(),
            group.device_count.to_string(),
            group.account_count.to_string(),
            group.order_count.to_string(),
            time(zone, group.last_active_timestamp),
            group.group_name.clone(),
        ]
    })
}

pub(crate) async fn accounts(settings: &Settings, output: Output) -> anyhow::Result<()> {
    let store = open::store(settings).await?;
    let now = Clock::System.now();
    let accounts = output::whole(async |part| store.inventory().accounts(part, now).await).await?;
    output.print(&accounts, |accounts| account_table(accounts, store.zone()))
}

fn account_table(accounts: &[AccountItem], zone: &Zone) -> Table {
    let header = ["LOGIN NAME", "ENABLED", "API", "SESSION UNTIL", "GROUPS", "NAME"];
    Table::of(header, accounts, |account| {
        [
            account.account.clone(),
            YesNo(account.enabled).to_string(),
            YesNo(account.third_party_api).to_string(),
            time(zone, account.session_expires_timestamp),
            account.group_ids.join(","),
            account.display_name.clone(),
        ]
    })
}

pub(crate) async fn products(settings: &Settings, output: Output) -> anyhow::Result<()> {
    let store = open::store(settings).await?;
    let products = output::whole(async |part| store.inventory().products(part).await).await?;
    output.print(&products, |products| product_table(products))
}

/// Prices are minor units, as in a fleet file.
fn product_table(products: &[ProductItem]) -> Table {
    Table::of(["ID", "CURRENCY", "PRICE", "CATEGORY", "NAME"], products, |product| {
        [
            product.goods_id.clone(),
            product.currency.clone(),
            cell(product.default_price),
            product.category.clone(),
            product.goods_name.clone(),
        ]
    })
}

pub(crate) async fn rates(settings: &Settings, output: Output) -> anyhow::Result<()> {
    let store = open::store(settings).await?;
    let rates = output::whole(async |part| store.inventory().rates(part).await).await?;
    output.print(&rates, |rates| rate_table(rates))
}

fn rate_table(rates: &[RateItem]) -> Table {
    Table::of(["CURRENCY", "FROM", "DOLLARS FOR ONE"], rates, |rate| {
        [rate.currency.clone(), rate.date.clone(), rate.usd_per_unit.clone()]
    })
}

pub(crate) async fn imports(settings: &Settings, output: Output) -> anyhow::Result<()> {
    let store = open::store(settings).await?;
    let now = Clock::System.now();
    let imports = output::whole(async |part| store.intake().imports(part, now).await).await?;
    output.print(&imports, |imports| import_table(imports, store.zone()))
}

/// Returns a row for each import, and one for each group of an import with orders of several
/// groups.
fn import_table(imports: &[ImportItem], zone: &Zone) -> Table {
    let mut table = Table::new(&[
        "ID",
        "BEGUN",
        "ENDED",
        "USER",
        "FILE",
        "MAPPING",
        "GROUP",
        "ACCEPTED",
        "UPDATED",
        "UNCHANGED",
        "REJECTED",
    ]);
    for import in imports {
        let AuditDetails { user, uid, file, mapping, groups, .. } = &import.details;
        let AuditDetails { accepted, updated, unchanged, rejected, .. } = &import.details;
        let user = user.clone().or_else(|| uid.map(|uid| uid.to_string()));
        let group = match groups.as_slice() {
            [only] => only.group_id.clone(),
            [] => ABSENT.to_owned(),
            groups => format!("all {}", groups.len()),
        };
        table.add(&[
            import.import_id.clone(),
            time(zone, Some(import.started_timestamp)),
            ended(import, zone),
            cell(user),
            cell(file.as_ref()),
            cell(mapping.as_ref()),
            group,
            cell(*accepted),
            cell(*updated),
            cell(*unchanged),
            cell(*rejected),
        ]);
        for group in groups.iter().filter(|_| groups.len() > 1) {
            let [begun, ended, user, file, mapping] = [const { String::new() }; 5];
            table.add(&[
                import.import_id.clone(),
                begun,
                ended,
                user,
                file,
                mapping,
                group.group_id.clone(),
                group.accepted.to_string(),
                group.updated.to_string(),
                group.unchanged.to_string(),
                ABSENT.to_owned(),
            ]);
        }
    }
    table
}

fn ended(import: &ImportItem, zone: &Zone) -> String {
    match (import.state, import.ended_timestamp) {
        (ImportState::Running, _) => "running".to_owned(),
        (ImportState::Complete, at) => time(zone, at),
        (ImportState::Interrupted, at) => {
            let at = at.map(|at| format!(" {}", time(zone, Some(at)))).unwrap_or_default();
            let stored = import.details.orders;
            let stored = stored.map(|orders| format!(", {} stored", counted(orders, "order")));
            format!("interrupted{at}{}", stored.unwrap_or_default())
        }
    }
}
