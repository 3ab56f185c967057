//! List devices (DEV-1 to DEV-7).

use kiosque_contract::{DeviceFilter, DeviceRecord, Page, ZeroOrOne};
use kiosque_model::{DeviceCode, GroupId};
use kiosque_store::DeviceQuery;

use crate::answer::Data;
use crate::call::{Caller, Validate};
use crate::failure::Failure;

impl Validate for DeviceFilter {}

/// `POST …/kioskDevice/devicePage`
pub(crate) async fn device_page(
    caller: Caller<'_>,
    filter: DeviceFilter,
) -> Result<Data<Page<DeviceRecord<'static>>>, Failure> {
    let Caller { call, claim, page } = caller;
    let query = DeviceQuery {
        group: filter.group_id.map(GroupId::parse),
        code: filter.device_code.map(DeviceCode::parse),
        name_part: filter.device_name,
        is_online: filter.is_online.map(|ZeroOrOne(int)| int),
        page,
    };
    let online = call.app.online_since(call.now);
    let (total, records) = call.app.store.reports().device_page(claim, online, query).await?;
    Ok(Data::page(total, page, records.iter()))
}
