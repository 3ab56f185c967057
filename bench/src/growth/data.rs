//! Groups that differ only in the number of their devices, and a device with many orders.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use kiosque_contract::{DashboardFilter, SessionData};
use serde_json::{Value, json};

use crate::calls::login;
use crate::client::Client;
use crate::fairness::data::{
    DAY, PRODUCTS, STEP, account, device_code, devices, products, write_order,
};
use crate::options::FairnessSize;
use crate::orders::LAST_TRADE;

/// The group of the device with many orders.
pub(super) const BUSY: &str = "busy";
/// Days of the last month on which each device sells.
const DAYS_OF_SALES: usize = 10;
/// The first second of the last month: 2026-10-01 00:00:00 UTC.
const MONTH: i64 = LAST_TRADE - 31 * DAY;

/// A group with this number of devices.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) devices: usize,
}

/// The largest group, and two that are smaller by a factor of about twenty each.
pub(super) fn groups(size: &FairnessSize) -> Vec<Group> {
    let sizes = [size.large_group / 400, size.large_group / 20, size.large_group];
    let group = |devices: usize| Group { name: format!("of{devices}"), devices };
    sizes.into_iter().map(|devices| group(devices.max(10))).collect()
}

/// Writes the fleet and the orders.
///
/// # Errors
/// They cannot be written, or the sizes are too small to differ.
pub(super) fn prepare(
    dir: &Path,
    groups: &[Group],
    size: &FairnessSize,
) -> anyhow::Result<(PathBuf, PathBuf)> {
    ensure!(size.large_group >= 4_000, "--fair-devices: at least 4000 to measure growth");
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let (fleet_file, orders) = (dir.join("growth-fleet.json"), dir.join("growth-orders.ndjson"));
    serde_json::to_writer(BufWriter::new(File::create(&fleet_file)?), &fleet(groups))?;
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&orders)?);
    write_orders(groups, size, &mut out)?;
    out.flush()?;
    Ok((fleet_file, orders))
}

fn fleet(groups: &[Group]) -> Value {
    let busy = Group { name: BUSY.to_owned(), devices: 1 };
    let all: Vec<&Group> = groups.iter().chain([&busy]).collect();
    let names = all.iter().map(|group| json!({ "id": group.name, "name": group.name }));
    let accounts = all.iter().map(|group| account(&group.name, &[&group.name]));
    let devices = all.iter().flat_map(|group| devices(&group.name, group.devices, "Kiosk"));
    json!({ "group": names.collect::<Vec<_>>(), "product": products(),
        "device": devices.collect::<Vec<_>>(), "account": accounts.collect::<Vec<_>>() })
}

fn write_orders(groups: &[Group], size: &FairnessSize, out: &mut impl Write) -> anyhow::Result<()> {
    for day in 0..DAYS_OF_SALES {
        let start = MONTH + 3 * DAY * i64::try_from(day)? + DAY / 2;
        for group in groups {
            for device in 0..group.devices {
                let goods = [device, device + day + 1].map(|at| {
                    json!({ "goodsId": format!("p{}", at % PRODUCTS), "count": 1,
                        "payAmount": 500 })
                });
                let code = device_code(&group.name, device);
                write_order(out, &format!("{code}-{day}"), &code, start, &goods)?;
            }
        }
    }
    let one = [json!({ "goodsId": "p0", "count": 1, "payAmount": 1_000 })];
    let many = i64::try_from(size.large_device_orders)?;
    for number in 0..many {
        let start = LAST_TRADE - STEP * (many - number);
        write_order(out, &format!("busy{number}"), &device_code(BUSY, 0), start, &one)?;
    }
    Ok(())
}

/// Logs an account in.
///
/// # Errors
/// When the login is refused.
pub(super) async fn token(client: &Client, account: &str) -> anyhow::Result<String> {
    let session: SessionData = client.connect().await?.ask(&login(account)?).await?;
    Ok(session.access_token)
}

/// A filter of the last month: of a device, or of all.
///
/// # Errors
/// It cannot be serialized as JSON.
pub(super) fn month(device: Option<String>) -> anyhow::Result<String> {
    let filter = DashboardFilter {
        start_timestamp: Some(MONTH * 1_000),
        end_timestamp: Some(LAST_TRADE * 1_000),
        device_codes: device.into_iter().collect(),
        ..DashboardFilter::default()
    };
    Ok(serde_json::to_string(&filter)?)
}
