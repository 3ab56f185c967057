//! List devices (DEV-1 to DEV-7).

use kiosque_contract::{DeviceFilter, DeviceRecord, Page, ZeroOrOne};
use kiosque_model::{DeviceCode, GroupId, PageRequest};
use kiosque_store::{Device, DeviceQuery, JsonRecords, OnlineSince};

use crate::answer::{Data, Failure};
use crate::call::{Caller, Validate};

impl Validate for DeviceFilter {}

/// `POST …/kioskDevice/devicePage`
pub(crate) async fn device_page(
    caller: Caller<'_>,
    filter: DeviceFilter,
    page: PageRequest,
) -> Result<Data<Page<DeviceRecord<'static>>>, Failure> {
    let Caller { call, claim } = caller;
    let query = DeviceQuery {
        group: filter.group_id.map(GroupId::parse),
        code: filter.device_code.map(DeviceCode::parse),
        name_part: filter.device_name,
        is_online: filter.is_online.map(|ZeroOrOne(int)| int),
        page,
    };
    let online = call.app.online_since(call.now);
    let collect =
        move |records: &mut JsonRecords, device: Device<'_>| records.push(&record(device, online));
    let (total, records) = call.app.store.device_page(claim, online, query, collect).await?;
    Ok(Data::page(total, page, records.iter()))
}

pub(crate) fn record(device: Device<'_>, online: OnlineSince) -> DeviceRecord<'_> {
    DeviceRecord {
        device_code: device.code.into(),
        device_name: device.name.into(),
        group_id: device.group_id.into(),
        group_name: device.group_name.into(),
        device_model: device.model.into(),
        address: device.address.into(),
        is_online: i64::from(online.holds(device.last_active)),
        total_curr_stock: device.total_curr_stock,
        last_active_timestamp: device.last_active.map(|last| last.0),
        create_timestamp: device.created_at.0,
    }
}
