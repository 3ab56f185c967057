//! List devices.

use kiosque_contract::DeviceRecord;
use kiosque_model::{DeviceCode, GroupId, Refusal};
use kiosque_store::{Device, DeviceQuery, OnlineSince};

use crate::answer::{Data, Failure};
use crate::call::{Call, after_session};
use crate::records::Records;

/// `POST …/kioskDevice/devicePage`
pub(crate) async fn device_page(call: Call<'_>) -> Result<Data, Failure> {
    let (app, now) = (call.app, call.now);
    let presented = call.presented(Refusal::TokenInvalid)?;
    let asked = device_ask(call);
    let ask = after_session(app, now, &presented, asked).await?;

    let (page, online) = (ask.page, app.online_since(now));
    let collect = move |records: &mut Records, device: Device<'_>| {
        records.put(|json| serde_json::to_writer(json, &record(device, online)))
    };
    let (total, records) = app.store.device_page(&presented, now, online, ask, collect).await?;
    Ok(Data::page(total, page, records.in_order()))
}

fn device_ask(call: Call<'_>) -> Result<DeviceQuery, Refusal> {
    let (query, size_max) = (call.query(), call.app.settings.limits.page_size_max);
    let mut form = call.form()?;
    let page = form.page(&query, size_max);
    let group = form.text("groupId").map(GroupId::parse);
    let code = form.text("deviceCode").map(DeviceCode::parse);
    let name_part = form.text("deviceName");
    let is_online = form.zero_or_one("isOnline");
    form.finish(page.map(|page| DeviceQuery { group, code, name_part, is_online, page }))
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
