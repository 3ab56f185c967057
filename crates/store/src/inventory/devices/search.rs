//! A search for devices by text, group and state.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use kiosque_contract::inventory::DeviceItem;
use kiosque_model::{Day, DeviceNo, DeviceState, GroupId, GroupNo, UnixMs};

use super::{DevicePeriods, DeviceRow, Listing, device_periods, item, numbers, rows};
use crate::activity::Activity;
use crate::db::{Deadline, Read};
use crate::devices::OnlineSince;
use crate::error::Error;
use crate::sql::{Value, statements};
use crate::sums::device_block::{SumsOfDay, block_of, each_device};
use crate::views::Inventory;

statements! {
    INACTIVE_GROUPS() -> String = "select group_id from groups where not active";
    SALES() -> SumsOfDay<'_> = "select s.day, s.device_block, s.currency, s.devices as sums
        from {rows r: group_no bigint, day bigint, block bigint} cross join sales_by_device s
        where s.group_no = r.group_no and s.day = r.day and s.device_block = r.block";
}

/// Number of devices that a part of the search reads at a time.
const CHUNK: usize = 500;

/// Selects devices.
#[derive(Clone, Debug)]
pub struct DeviceSearch {
    /// Only those that this group owns now.
    pub group: Option<GroupId>,
    /// Only those with this text in their code or name, ignoring case.
    pub text: String,
    /// Only those in this state.
    pub state: Option<DeviceState>,
    /// Only those with one of these codes.
    pub only: Option<BTreeSet<String>>,
    /// The earliest last activity with which a device is online.
    pub online: OnlineSince,
    /// The first of the days whose orders are counted.
    pub first_day: Day,
    /// The last of these days.
    pub last_day: Day,
    /// The maximum number of devices that one part reads; the next part continues after them.
    pub read_max: usize,
}

/// A part of the devices found by a search, by code.
#[derive(Clone, Debug)]
pub struct FoundDevices {
    /// The devices.
    pub devices: Vec<FoundDevice>,
    /// `after` of the next part; `None` in the last one.
    pub next: Option<String>,
    /// Whether the part ended because the search had read the maximum number of devices, not
    /// because the part is full.
    pub is_cut: bool,
}

/// A device found by a search.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundDevice {
    /// The device.
    pub item: DeviceItem,
    /// Its state.
    pub state: DeviceState,
    /// The number of sales on each of the days, the first day first.
    pub orders: Vec<i64>,
}

fn state_of(device: &DeviceItem, inactive: &[String], online: OnlineSince) -> DeviceState {
    let last_active = device.last_active_timestamp.map(UnixMs);
    let is_active = !inactive.contains(&device.group_id);
    match (device.enabled, is_active, online.holds(last_active)) {
        (false, ..) => DeviceState::Disabled,
        (true, false, _) => DeviceState::GroupDisabled,
        (true, true, true) => DeviceState::Online,
        (true, true, false) => DeviceState::Silent,
    }
}

impl Inventory<'_> {
    /// Returns the state of a device.
    ///
    /// # Errors
    /// The store failed.
    pub async fn device_state(
        self,
        device: &DeviceItem,
        online: OnlineSince,
    ) -> Result<DeviceState, Error> {
        let inactive = self.0.db.read(Deadline::OfRequest, inactive_groups).await?;
        Ok(state_of(device, &inactive, online))
    }

    /// Returns a part of the devices that match.
    ///
    /// # Errors
    /// The store failed.
    pub async fn search_devices(
        self,
        search: DeviceSearch,
        listing: Listing,
        now: UnixMs,
    ) -> Result<FoundDevices, Error> {
        let activity = Arc::clone(&self.0.activity);
        let find = async move |read: &Read<'_>| {
            let (mut found, owners) = matching(read, &search, listing, &activity, now).await?;
            count_orders(read, &search, &mut found.devices, &owners).await?;
            Ok(found)
        };
        self.0.db.read(Deadline::OfRequest, find).await
    }
}

/// The numbers and the owners of devices.
type Owners = Vec<(DeviceNo, DevicePeriods)>;

/// Returns the ids of the groups that are deactivated.
async fn inactive_groups(read: &Read<'_>) -> Result<Vec<String>, Error> {
    read.all(&INACTIVE_GROUPS, &[]).await
}

/// Returns the matching devices of a part, without their orders, and their owners.
async fn matching(
    read: &Read<'_>,
    search: &DeviceSearch,
    listing: Listing,
    activity: &Activity,
    now: UnixMs,
) -> Result<(FoundDevices, Owners), Error> {
    let mut devices = Vec::new();
    let mut owners = Vec::new();
    let mut after = listing.after;
    let inactive = inactive_groups(read).await?;
    let mut left = search.read_max;
    while left > 0 {
        let chunk = Listing { after: after.take(), limit: CHUNK.min(left) };
        left -= chunk.limit;
        let part = rows(read, search.group.as_ref(), &chunk, now).await?;
        let named: Vec<DeviceRow> =
            part.entries.into_iter().filter(|row| search.names(row)).collect();
        let keys = numbers(named.iter().map(|row| row.device_no));
        let mut periods = device_periods(read, &keys, activity).await?;
        for row in named {
            let number = row.device_no;
            let periods = periods.remove(&number).unwrap_or_default();
            let item = item(row, &periods, now);
            let state = state_of(&item, &inactive, search.online);
            if search.state.is_some_and(|wanted| wanted != state) {
                continue;
            }
            if devices.len() == listing.limit {
                let last = devices.last();
                let next = last.map(|device: &FoundDevice| device.item.device_code.clone());
                return Ok((FoundDevices { devices, next, is_cut: false }, owners));
            }
            devices.push(FoundDevice { item, state, orders: Vec::new() });
            owners.push((number, periods));
        }
        match part.next {
            Some(next) => after = Some(next),
            None => return Ok((FoundDevices { devices, next: None, is_cut: false }, owners)),
        }
    }
    Ok((FoundDevices { devices, next: after, is_cut: true }, owners))
}

/// Counts the sales of each device on each day, in all groups that owned it.
async fn count_orders(
    read: &Read<'_>,
    search: &DeviceSearch,
    found: &mut [FoundDevice],
    owners: &[(DeviceNo, DevicePeriods)],
) -> Result<(), Error> {
    let days = search.first_day.0..=search.last_day.0;
    let mut blocks: BTreeSet<(GroupNo, i64, Day)> = BTreeSet::new();
    for (device, periods) in owners {
        for (group, _) in &periods.ledgers {
            let of_day = |day| (*group, block_of(*device), Day(day));
            blocks.extend(days.clone().map(of_day));
        }
    }
    let keys: Vec<[Value<'_>; 3]> = blocks
        .iter()
        .map(|(group, block, day)| [(*group).into(), (*day).into(), (*block).into()])
        .collect();
    let mut orders: HashMap<(DeviceNo, Day), i64> = HashMap::new();
    read.each_of(&SALES, &keys, &[], |row| {
        let SumsOfDay { day, device_block, sums, .. } = row.read()?;
        each_device(sums, device_block, |device, [of_day, ..]| {
            *orders.entry((device, day)).or_default() += of_day;
        })
    })
    .await?;
    for (device, (number, _)) in found.iter_mut().zip(owners) {
        let of_day = |day| orders.get(&(*number, Day(day))).copied().unwrap_or_default();
        device.orders = days.clone().map(of_day).collect();
    }
    Ok(())
}

impl DeviceSearch {
    /// Returns whether a device has one of the requested codes, and has the text in its code or its
    /// name.
    fn names(&self, device: &DeviceRow) -> bool {
        if self.only.as_ref().is_some_and(|only| !only.contains(&device.device_code)) {
            return false;
        }
        let text = self.text.to_lowercase();
        let has = |name: &str| name.to_lowercase().contains(&text);
        text.is_empty() || has(&device.device_code) || has(&device.device_name)
    }
}
