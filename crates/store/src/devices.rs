//! Device pages: the devices that a group owns now, by code.

use kiosque_model::{DeviceCode, GroupId, PageAsk, Presented, Refusal, Scope, UnixMs};

use crate::accounts;
use crate::db::Read;
use crate::sql::{Row, Value, statements};
use crate::{Error, Refused, Store};

statements! {
    IN_SCOPE = "select 1 from ledger
        where group_no = $1 and device_code = $2 and since_ms <= $3";
    COUNT = "select count(*) from device_owners
        where group_no = $1 and since_ms <= $2 and until_ms > $2 and listed";
    PAGE = "select d.device_code, d.device_name, g.group_id, g.group_name, d.device_model,
            d.address, d.total_curr_stock, l.last_active_ms, d.created_at_ms
        from (
            select device_no, device_code from device_owners
            where group_no = $1 and since_ms <= $2 and until_ms > $2 and listed
            order by device_code limit $3 offset $4
        ) o
        join devices d on d.device_no = o.device_no
        join ledger l on l.group_no = $1 and l.device_code = o.device_code
        join groups g on g.group_no = $1
        order by o.device_code";
    COUNT_MATCHING = "select count(*)
        from device_owners o
        join devices d on d.device_no = o.device_no
        join ledger l on l.group_no = $1 and l.device_code = o.device_code
        where o.group_no = $1 and o.since_ms <= $2 and o.until_ms > $2 and o.listed
            and (cast($3 as text) is null or o.device_code = $3)
            and (cast($4 as text) is null or replace(d.device_name, $4, '') <> d.device_name)
            and (cast($5 as bigint) is null
                or case when l.last_active_ms >= $6 then 1 else 0 end = $5)";
    PAGE_MATCHING = "select d.device_code, d.device_name, g.group_id, g.group_name, d.device_model,
            d.address, d.total_curr_stock, l.last_active_ms, d.created_at_ms
        from device_owners o
        join devices d on d.device_no = o.device_no
        join ledger l on l.group_no = $1 and l.device_code = o.device_code
        join groups g on g.group_no = $1
        where o.group_no = $1 and o.since_ms <= $2 and o.until_ms > $2 and o.listed
            and (cast($3 as text) is null or o.device_code = $3)
            and (cast($4 as text) is null or replace(d.device_name, $4, '') <> d.device_name)
            and (cast($5 as bigint) is null
                or case when l.last_active_ms >= $6 then 1 else 0 end = $5)
        order by o.device_code limit $7 offset $8";
}

/// Which devices to list.
#[derive(Clone, Debug)]
pub struct DeviceAsk {
    /// Another group of the account; does not switch.
    pub group: Option<GroupFilter>,
    /// Exactly this code, which must be one of the scope.
    pub code: Option<CodeFilter>,
    /// The name contains this text.
    pub name_part: Option<String>,
    /// 1: online, 0: not.
    pub is_online: Option<i64>,
    /// Which page.
    pub page: PageAsk,
}

/// A `groupId` filter; a text that can be no id names no group.
pub type GroupFilter = Result<GroupId, kiosque_model::ids::IdFault>;

/// A `deviceCode` filter; a text that can be no code names no device.
pub type CodeFilter = Result<DeviceCode, kiosque_model::ids::IdFault>;

/// The earliest last activity with which a device counts as online.
#[derive(Clone, Copy, Debug)]
pub struct OnlineSince(pub UnixMs);

/// A device of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// `deviceCode`.
    pub code: String,
    /// `deviceName`.
    pub name: String,
    /// `groupId` of its owner.
    pub group_id: String,
    /// `groupName` of its owner.
    pub group_name: String,
    /// `deviceModel`.
    pub model: String,
    /// `address`.
    pub address: String,
    /// Items in all its aisles, as last told.
    pub total_curr_stock: i64,
    /// Its last activity in this group.
    pub last_active: Option<UnixMs>,
    /// When it was first applied.
    pub created_at: UnixMs,
}

/// A page of devices.
#[derive(Clone, Debug)]
pub struct DevicePage {
    /// How many match in all.
    pub total: i64,
    /// The page's rows.
    pub devices: Vec<Device>,
}

impl DeviceAsk {
    fn is_plain(&self) -> bool {
        self.code.is_none() && self.name_part.is_none() && self.is_online.is_none()
    }
}

impl Store {
    /// A page of the devices that the scope's group owns now.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_page(
        &self,
        presented: &Presented,
        now: UnixMs,
        online: OnlineSince,
        ask: DeviceAsk,
    ) -> Result<DevicePage, Refused> {
        if ask.is_plain() {
            return self.scoped(presented, now, |read, scope| {
                page(read, filtered_scope(read, scope, &ask)?, now, &ask)
            });
        }
        let matching = move |read: &Read<'_>, scope: Scope| {
            page_matching(read, filtered_scope(read, scope, &ask)?, now, online, &ask)
        };
        self.scoped_long(presented, now, matching).await
    }
}

fn filtered_scope(read: &Read<'_>, scope: Scope, ask: &DeviceAsk) -> Result<Scope, Refused> {
    let Some(group) = &ask.group else { return Ok(scope) };
    let narrowed = match group {
        Ok(group) => accounts::narrow(read, scope, group)?,
        Err(_) => None,
    };
    Ok(narrowed.ok_or(Refusal::OutOfScope)?)
}

/// "Requests for a device or Group outside the account's scope return a business error." A device
/// that the group once owned, or that is not enabled, is in scope and on no page.
fn code_in_scope<'a>(
    read: &Read<'_>,
    scope: Scope,
    now: UnixMs,
    code: &'a CodeFilter,
) -> Result<&'a str, Refused> {
    let code = code.as_ref().map_err(|_| Refusal::OutOfScope)?.as_str();
    let params = [scope.group().0.into(), code.into(), now.0.into()];
    let known = read.one(&IN_SCOPE, &params, |row| row.int(0))?;
    Ok(known.map(|_| code).ok_or(Refusal::OutOfScope)?)
}

fn page(
    read: &Read<'_>,
    scope: Scope,
    now: UnixMs,
    ask: &DeviceAsk,
) -> Result<DevicePage, Refused> {
    let group = Value::Int(scope.group().0);
    let total = read.one(&COUNT, &[group, now.0.into()], |row| row.int(0))?.unwrap_or(0);
    let params = [group, now.0.into(), ask.page.size().into(), ask.page.skip().into()];
    Ok(DevicePage { total, devices: read.all(&PAGE, &params, device)? })
}

fn page_matching(
    read: &Read<'_>,
    scope: Scope,
    now: UnixMs,
    online: OnlineSince,
    ask: &DeviceAsk,
) -> Result<DevicePage, Refused> {
    let code = ask.code.as_ref().map(|code| code_in_scope(read, scope, now, code)).transpose()?;
    // Text with a NUL exists nowhere; one engine cannot even be asked for it.
    if ask.name_part.as_ref().is_some_and(|part| part.contains('\0')) {
        return Ok(DevicePage { total: 0, devices: Vec::new() });
    }
    let params: [Value<'_>; 8] = [
        scope.group().0.into(),
        now.0.into(),
        code.into(),
        ask.name_part.as_deref().into(),
        ask.is_online.into(),
        online.0.0.into(),
        ask.page.size().into(),
        ask.page.skip().into(),
    ];
    let total = read.one(&COUNT_MATCHING, &params[..6], |row| row.int(0))?.unwrap_or(0);
    Ok(DevicePage { total, devices: read.all(&PAGE_MATCHING, &params, device)? })
}

fn device(row: &Row<'_>) -> Result<Device, Error> {
    Ok(Device {
        code: row.text(0)?.to_owned(),
        name: row.text(1)?.to_owned(),
        group_id: row.text(2)?.to_owned(),
        group_name: row.text(3)?.to_owned(),
        model: row.text(4)?.to_owned(),
        address: row.text(5)?.to_owned(),
        total_curr_stock: row.int(6)?,
        last_active: row.maybe_int(7)?.map(UnixMs),
        created_at: UnixMs(row.int(8)?),
    })
}
