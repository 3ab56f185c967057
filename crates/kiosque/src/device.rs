//! `kiosque device`

use anyhow::{Context, bail};
use kiosque_clock::Clock;
use kiosque_contract::inventory::{AisleItem, DeviceDetail, DeviceItem};
use kiosque_model::{DeviceCode, GroupId, Zone};

use crate::args::DeviceWhat;
use crate::confirmation::is_confirmed;
use crate::output::{self, Output, YesNo, print_line, time};
use crate::settings::Settings;
use crate::table::{Table, printable};
use crate::{acting, lists, open};

pub(crate) async fn run(settings: &Settings, what: DeviceWhat) -> anyhow::Result<()> {
    match what {
        DeviceWhat::List { group, output } => list(settings, group, output).await,
        DeviceWhat::Show { code, output } => show(settings, code, output).await,
        DeviceWhat::Delete { code, yes } => delete(settings, code, yes).await,
    }
}

async fn list(settings: &Settings, group: Option<String>, output: Output) -> anyhow::Result<()> {
    let group = group.map(GroupId::parse).transpose().context("--group")?;
    let store = open::store(settings).await?;
    if let Some(group) = &group
        && !store.inventory().has_group(group).await?
    {
        bail!(lists::unknown_group(group));
    }
    let now = Clock::System.now();
    let list = async |part| store.inventory().devices(group.clone(), part, now).await;
    let devices = output::whole(list).await?;
    output.print(&devices, |devices| table(devices, store.zone()))
}

async fn show(settings: &Settings, code: String, output: Output) -> anyhow::Result<()> {
    let code = DeviceCode::parse(code).context("the device's code")?;
    let store = open::store(settings).await?;
    let found = store.inventory().device_detail(code.clone(), Clock::System.now()).await?;
    let device = found.with_context(|| unknown(&code))?;
    output.print(&device, |device| sheet(device, store.zone()))
}

/// Returns the message about a device that does not exist.
pub(crate) fn unknown(code: &DeviceCode) -> String {
    format!("no device {code} is known; `kiosque device list` prints all")
}

async fn delete(settings: &Settings, code: String, yes: bool) -> anyhow::Result<()> {
    let parsed = DeviceCode::parse(code.clone()).context("the device's code")?;
    let store = open::store(settings).await?;
    let prompt = format!("Delete device {}, its aisles and its owners?", printable(&code));
    if !yes && !is_confirmed("", &prompt)? {
        bail!("device {code} was not deleted");
    }
    store.fleet().delete_device(parsed, acting::by("device delete")).await?;
    print_line!("deleted device {code}")
}

fn table(devices: &[DeviceItem], zone: &Zone) -> Table {
    let header = ["CODE", "GROUP", "ENABLED", "ORDERS", "STOCK", "LAST ACTIVE", "NAME"];
    Table::of(header, devices, |device| {
        [
            device.device_code.clone(),
            device.group_id.clone(),
            YesNo(device.enabled).to_string(),
            device.order_count.to_string(),
            device.total_curr_stock.to_string(),
            time(zone, device.last_active_timestamp),
            device.device_name.clone(),
        ]
    })
}

/// Returns the details of a device, for people.
fn sheet(detail: &DeviceDetail, zone: &Zone) -> String {
    let DeviceDetail { device, owners, ledgers, aisles } = detail;
    let fields = [
        ("NAME", device.device_name.clone()),
        ("MODEL", device.device_model.clone()),
        ("ADDRESS", device.address.clone()),
        ("ENABLED", YesNo(device.enabled).to_string()),
        ("GROUP", device.group_id.clone()),
        ("CREATED", time(zone, Some(device.created_timestamp))),
        ("LAST ACTIVE", time(zone, device.last_active_timestamp)),
    ];
    let fields = Table::of(["CODE", &device.device_code], &fields, |(field, value)| {
        [(*field).to_owned(), value.clone()]
    });
    let periods = Table::of(["OWNER", "FROM", "UNTIL"], owners, |owner| {
        let (since, until) = (owner.since_timestamp, owner.until_timestamp);
        [owner.group_id.clone(), time(zone, since), time(zone, until)]
    });
    let header = ["ORDERS OF", "ORDERS", "ARCHIVED", "LAST ACTIVE"];
    let orders = Table::of(header, ledgers, |ledger| {
        let (orders, archived) = (ledger.order_count, ledger.archived_count);
        let last_active = time(zone, ledger.last_active_timestamp);
        [ledger.group_id.clone(), orders.to_string(), archived.to_string(), last_active]
    });
    format!("{fields}\n{periods}\n{orders}\n{}", aisle_table(aisles))
}

fn aisle_table(aisles: &[AisleItem]) -> Table {
    let header =
        ["AISLE", "CABINET", "LAYER", "PRODUCT", "PRICE", "STOCK", "CAPACITY", "ENABLED", "BROKEN"];
    Table::of(header, aisles, |aisle| {
        [
            aisle.aisle_code.clone(),
            aisle.cabinet_code.clone(),
            aisle.layer.to_string(),
            aisle.goods_id.clone(),
            aisle.price.to_string(),
            aisle.curr_stock.to_string(),
            aisle.max_stock.to_string(),
            YesNo(aisle.enabled).to_string(),
            YesNo(aisle.broken).to_string(),
        ]
    })
}
