//! The list of devices, and one device in detail.

mod search;

use std::collections::HashMap;
use std::sync::Arc;

use kiosque_contract::inventory::{
    AisleItem, DeviceDetail, DeviceItem, DeviceLedger, DeviceOwner, PlannedMove,
};
use kiosque_contract::{FleetAisle, FleetDevice, Object};
use kiosque_model::fleet::Aisle;
use kiosque_model::{DeviceCode, DeviceNo, GroupId, GroupNo, UnixMs};

use super::{Listed, Listing, numbers};
use crate::activity::Activity;
use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::fleet::{self, DeviceRow, Period};
use crate::sql::{Value, row, statements};
use crate::views::Inventory;
pub use search::{DeviceSearch, FoundDevice, FoundDevices};

row! {
    struct LedgerRow { device_no: DeviceNo, group_no: GroupNo, ledger: DeviceLedger }
    for DeviceLedger { group_id, order_count, archived_count, last_active_timestamp }
    for AisleItem {
        aisle_code, cabinet_code, layer, goods_id, price, show_price, curr_stock, max_stock,
        enabled, broken,
    }
}

statements! {
    [search]
    DEVICES(after, count) -> DeviceRow = "select device_no, device_code, device_name, device_model,
            address, enabled, created_at_ms, total_curr_stock
        from devices where device_code > $after order by device_code limit $count";
    DEVICES_OF_GROUP(group_id, now_ms, after, count) -> DeviceRow = "select d.device_no,
            d.device_code, d.device_name, d.device_model, d.address, d.enabled, d.created_at_ms,
            d.total_curr_stock
        from device_owners o cross join devices d
        where o.group_no = (select group_no from groups where group_id = $group_id)
            and o.device_code > $after and o.since_ms <= $now_ms and o.until_ms > $now_ms
            and d.device_no = o.device_no
        order by o.device_code limit $count";
    DEVICE(device_code) -> DeviceRow = "select device_no, device_code, device_name, device_model,
            address, enabled, created_at_ms, total_curr_stock
        from devices where device_code = $device_code";
    AISLES(device_no) -> AisleItem = "select aisle_code, cabinet_code, layer, goods_id, price,
            show_price, curr_stock, max_stock, enabled, broken
        from aisles where device_no = $device_no order by position";
    LEDGERS() -> LedgerRow = "select d.device_no, l.group_no, g.group_id,
            l.last_seq - l.first_seq + 1 as order_count,
            l.archived_seq - l.first_seq + 1 as archived_count,
            l.last_active_ms as last_active_timestamp
        from {rows r: device bigint} cross join devices d cross join ledger l
        join groups g on g.group_no = l.group_no
        where d.device_no = r.device and l.device_code = d.device_code
        order by d.device_no, l.since_ms";
}

impl Inventory<'_> {
    /// Returns a part of the list of devices, by `deviceCode`: those that a group owns now, or all.
    ///
    /// # Errors
    /// The store failed.
    pub async fn devices(
        self,
        group: Option<GroupId>,
        listing: Listing,
        now: UnixMs,
    ) -> Result<Listed<DeviceItem>, Error> {
        let activity = Arc::clone(&self.0.activity);
        let list = async move |read: &Read<'_>| {
            let rows = rows(read, group.as_ref(), &listing, now).await?;
            let keys = numbers(rows.entries.iter().map(|row| row.device_no));
            let mut periods = device_periods(read, &keys, &activity).await?;
            Ok(rows.map(|row| {
                let periods = periods.remove(&row.device_no).unwrap_or_default();
                item(row, &periods, now)
            }))
        };
        self.0.db.read(Deadline::OfRequest, list).await
    }

    /// Returns a device in detail, if there is one with this code.
    ///
    /// # Errors
    /// The store failed.
    pub async fn device_detail(
        self,
        code: DeviceCode,
        now: UnixMs,
    ) -> Result<Option<DeviceDetail>, Error> {
        let activity = Arc::clone(&self.0.activity);
        let find = async move |read: &Read<'_>| {
            let code = [code.as_str().into()];
            let Some(row) = read.one::<DeviceRow>(&DEVICE, &code).await? else { return Ok(None) };
            let key = numbers([row.device_no]);
            let periods = device_periods(read, &key, &activity).await?.remove(&row.device_no);
            let periods = periods.unwrap_or_default();
            let aisles = read.all(&AISLES, &[row.device_no.into()]).await?;
            let ends = periods.all.iter().skip(1).map(|next| Some(next.since.0));
            let owners = periods.all.iter().zip(ends.chain([None])).map(|(period, until)| {
                let since_timestamp = Some(period.since.0).filter(|since| *since != 0);
                let group_id = period.group_id.clone();
                DeviceOwner { group_id, since_timestamp, until_timestamp: until }
            });
            let owners = owners.collect();
            let device = item(row, &periods, now);
            let ledgers = periods.ledgers.into_iter().map(|(_, ledger)| ledger).collect();
            Ok(Some(DeviceDetail { device, owners, ledgers, aisles }))
        };
        self.0.db.read(Deadline::OfRequest, find).await
    }
}

/// Returns a part of the devices as entries of a fleet file: each with its last owner, which may be
/// the target of a planned move, and its aisles.
pub(super) async fn fleet_devices(
    read: &Read<'_>,
    listing: &Listing,
    now: UnixMs,
) -> Result<Listed<FleetDevice>, Error> {
    let rows = rows(read, None, listing, now).await?;
    let keys = numbers(rows.entries.iter().map(|row| row.device_no));
    let mut periods = fleet::periods_of(read, &keys).await?;
    let mut aisles = fleet::aisles_of(read, &keys).await?;
    Ok(rows.map(|row| {
        let last = periods.remove(&row.device_no).and_then(|mut periods| periods.pop());
        let aisles = aisles.remove(&row.device_no).unwrap_or_default();
        let planned = last.as_ref().map(|period| period.since).filter(|since| *since > now);
        FleetDevice {
            code: row.device_code,
            name: Some(row.device_name),
            group: last.map(|period| period.group_id),
            since: planned.map(UnixMs::rfc3339),
            model: Some(row.device_model),
            address: Some(row.address),
            enabled: Some(row.enabled),
            aisle: Some(aisles.into_iter().map(fleet_aisle).map(Object).collect()),
        }
    }))
}

fn fleet_aisle(aisle: Aisle) -> FleetAisle {
    FleetAisle {
        code: aisle.code,
        product: aisle.goods_id,
        price: aisle.price.0,
        show_price: Some(aisle.show_price.0),
        stock: aisle.stock,
        capacity: aisle.capacity,
        cabinet: Some(aisle.cabinet),
        layer: Some(aisle.layer),
        enabled: Some(aisle.enabled),
        broken: aisle.broken,
    }
}

async fn rows(
    read: &Read<'_>,
    group: Option<&GroupId>,
    listing: &Listing,
    now: UnixMs,
) -> Result<Listed<DeviceRow>, Error> {
    let Some(group) = group else {
        return listing.read(read, &DEVICES, &[], |row: &DeviceRow| &row.device_code).await;
    };
    let of_group = [group.as_str().into(), now.into()];
    listing.read(read, &DEVICES_OF_GROUP, &of_group, |row: &DeviceRow| &row.device_code).await
}

/// The periods and the ledgers of a device, by their starts.
#[derive(Default)]
struct DevicePeriods {
    all: Vec<Period>,
    /// A ledger belongs to an owner, even if it owned the device twice, or to a group that keeps
    /// orders of a period that was replaced.
    ledgers: Vec<(GroupNo, DeviceLedger)>,
}

/// Returns the periods and the ledgers of devices.
async fn device_periods(
    read: &Read<'_>,
    devices: &[[Value<'_>; 1]],
    activity: &Activity,
) -> Result<HashMap<DeviceNo, DevicePeriods>, Error> {
    let periods = fleet::periods_of(read, devices).await?.into_iter();
    let periods = periods.map(|(device, all)| (device, DevicePeriods { all, ..<_>::default() }));
    let mut periods: HashMap<DeviceNo, DevicePeriods> = periods.collect();
    for row in read.all_of(&LEDGERS, devices, &[]).await? {
        let LedgerRow { device_no, group_no, mut ledger } = row;
        let last_active = ledger.last_active_timestamp.map(UnixMs);
        let last_active = activity.merged((group_no, device_no), last_active);
        ledger.last_active_timestamp = last_active.map(|at| at.0);
        periods.entry(device_no).or_default().ledgers.push((group_no, ledger));
    }
    Ok(periods)
}

impl DevicePeriods {
    /// Returns the owner at a time. The first one owns all earlier time.
    fn owner_at(&self, at: UnixMs) -> Option<&str> {
        let latest = self.all.iter().rev().find(|period| period.since <= at);
        latest.or(self.all.first()).map(|period| period.group_id.as_str())
    }
}

fn item(row: DeviceRow, periods: &DevicePeriods, now: UnixMs) -> DeviceItem {
    let ledgers = || periods.ledgers.iter().map(|(_, ledger)| ledger);
    let next = periods.all.iter().find(|period| period.since > now);
    DeviceItem {
        group_id: periods.owner_at(now).unwrap_or_default().to_owned(),
        next_move: next.map(|period| PlannedMove {
            group_id: period.group_id.clone(),
            since_timestamp: period.since.0,
        }),
        last_active_timestamp: ledgers().filter_map(|ledger| ledger.last_active_timestamp).max(),
        order_count: ledgers().map(|ledger| ledger.order_count).sum(),
        archived_count: ledgers().map(|ledger| ledger.archived_count).sum(),
        device_code: row.device_code,
        device_name: row.device_name,
        device_model: row.device_model,
        address: row.address,
        enabled: row.enabled,
        created_timestamp: row.created_at_ms.0,
        total_curr_stock: row.total_curr_stock,
    }
}
