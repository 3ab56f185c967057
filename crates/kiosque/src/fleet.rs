//! `kiosque fleet`

use anyhow::Context;
use kiosque_clock::Clock;
use kiosque_contract::inventory::DeviceOwner;
use kiosque_contract::{FleetDevice, FleetFile, Object};
use kiosque_model::{DeviceCode, UnixMs, counted};
use kiosque_store::{Listing, Passwords, Store};

use crate::args::{FleetFormat, FleetWhat};
use crate::open;
use crate::output::{self, eprint_line};
use crate::settings::Settings;
use crate::table::printable;

pub(crate) async fn run(settings: &Settings, what: FleetWhat) -> anyhow::Result<()> {
    let FleetWhat::Export { output } = what;
    let store = open::store(settings).await?;
    let all = Listing { after: None, limit: usize::MAX };
    let fleet =
        store.inventory().fleet_file(all, Passwords::Hashed, Clock::System.now()).await?.fleet;
    let text = match output {
        FleetFormat::Toml => toml::to_string(&fleet).context("the fleet cannot be written")?,
        FleetFormat::Json => format!("{}\n", serde_json::to_string(&fleet)?),
    };
    eprint_line!("note: the fleet contains the hashes of passwords; only you should read it");
    warn_of_earlier_groups(&store, &fleet).await?;
    output::print(&text)
}

/// Prints the devices that had other groups before the one in the file, with all of their groups.
async fn warn_of_earlier_groups(store: &Store, fleet: &FleetFile) -> anyhow::Result<()> {
    let groups = store.fleet().snapshot().await?.groups_by_device;
    let moved: Vec<&FleetDevice> = fleet
        .device
        .iter()
        .map(|Object(device)| device)
        .filter(|device| groups.has_moved(&device.code))
        .collect();
    if moved.is_empty() {
        return Ok(());
    }
    eprint_line!(
        "warning: the fleet only has the last group of {} that moved, listed below; applied to \
         empty data, it gives that group all of their orders. To keep the groups, apply the \
         earlier ones first: see Upgrade in docs/operating.md",
        counted(moved.len(), "device")
    );
    for device in moved {
        let code = DeviceCode::parse(device.code.clone()).context("the device's code")?;
        let detail = store.inventory().device_detail(code, Clock::System.now()).await?;
        let owners = detail.map(|detail| detail.owners).unwrap_or_default();
        let owners: Vec<String> = owners.iter().map(owner_since).collect();
        let line = format!("device {}: {}", device.code, owners.join(", "));
        eprint_line!("{}", printable(&line));
    }
    Ok(())
}

fn owner_since(owner: &DeviceOwner) -> String {
    match owner.since_timestamp {
        None => owner.group_id.clone(),
        Some(since) => format!("{} since {}", owner.group_id, UnixMs(since).rfc3339()),
    }
}
