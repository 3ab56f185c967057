//! Device pages: the devices that a group owns now, by code.

use kiosque_model::{DeviceCode, GroupId, PageAsk, Presented, Refusal, Scope, UnixMs};

use crate::accounts;
use crate::db::Read;
use crate::sql::{Row, Sql, Value, statements};
use crate::{Error, Refused, Store};

statements! {
    IN_SCOPE = "select 1 from ledger
        where group_no = $1 and device_code = $2 and since_ms <= $3";
    COUNT = "select count(*) from device_owners
        where group_no = $1 and since_ms <= $2 and until_ms > $2 and listed";
    GROUP = "select group_id, group_name from groups where group_no = $1";
    PAGE = "select d.device_code, d.device_name, d.device_model, d.address,
            d.total_curr_stock, l.last_active_ms, d.created_at_ms
        from (
            select device_no, device_code from device_owners
            where group_no = $1 and since_ms <= $2 and until_ms > $2 and listed
            order by device_code limit $3 offset $4
        ) o
        join devices d on d.device_no = o.device_no
        join ledger l on l.group_no = $1 and l.device_code = o.device_code
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
    PAGE_MATCHING = "select d.device_code, d.device_name, d.device_model, d.address,
            d.total_curr_stock, l.last_active_ms, d.created_at_ms
        from device_owners o
        join devices d on d.device_no = o.device_no
        join ledger l on l.group_no = $1 and l.device_code = o.device_code
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

impl OnlineSince {
    /// Whether a device is online whose last activity this was.
    #[must_use]
    pub fn holds(self, last_active: Option<UnixMs>) -> bool {
        last_active.is_some_and(|last| last >= self.0)
    }
}

/// A device of a page, borrowed from its row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device<'a> {
    /// `deviceCode`.
    pub code: &'a str,
    /// `deviceName`.
    pub name: &'a str,
    /// `groupId` of its owner.
    pub group_id: &'a str,
    /// `groupName` of its owner.
    pub group_name: &'a str,
    /// `deviceModel`.
    pub model: &'a str,
    /// `address`.
    pub address: &'a str,
    /// Items in all its aisles, as last told.
    pub total_curr_stock: i64,
    /// Its last activity in this group.
    pub last_active: Option<UnixMs>,
    /// When it was first applied.
    pub created_at: UnixMs,
}

impl<'a> Device<'a> {
    pub(crate) fn of(
        row: &'a Row<'_>,
        group_id: &'a str,
        group_name: &'a str,
    ) -> Result<Device<'a>, Error> {
        Ok(Device {
            code: row.text(0)?,
            name: row.text(1)?,
            group_id,
            group_name,
            model: row.text(2)?,
            address: row.text(3)?,
            total_curr_stock: row.int(4)?,
            last_active: row.maybe_int(5)?.map(UnixMs),
            created_at: UnixMs(row.int(6)?),
        })
    }
}

impl DeviceAsk {
    fn is_plain(&self) -> bool {
        self.code.is_none() && self.name_part.is_none() && self.is_online.is_none()
    }
}

impl Store {
    /// Visits a page of the devices that the scope's group owns now, and returns the total.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_page<A: Default + Send + 'static>(
        &self,
        presented: &Presented,
        now: UnixMs,
        online: OnlineSince,
        ask: DeviceAsk,
        visit: impl Fn(&mut A, Device<'_>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(i64, A), Refused> {
        if ask.is_plain() {
            return self.scoped(presented, now, |read, scope| {
                page(read, filtered_scope(read, scope, ask.group.as_ref())?, now, &ask, &visit)
            });
        }
        let matching = move |read: &Read<'_>, scope: Scope| {
            let scope = filtered_scope(read, scope, ask.group.as_ref())?;
            page_matching(read, scope, now, online, &ask, &visit)
        };
        self.scoped_long(presented, now, matching).await
    }
}

/// "`groupId` filter: any active group of the account, else -1 scope; does not switch."
pub(crate) fn filtered_scope(
    read: &Read<'_>,
    scope: Scope,
    group: Option<&GroupFilter>,
) -> Result<Scope, Refused> {
    let Some(group) = group else { return Ok(scope) };
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

fn page<A: Default>(
    read: &Read<'_>,
    scope: Scope,
    now: UnixMs,
    ask: &DeviceAsk,
    visit: &impl Fn(&mut A, Device<'_>) -> Result<(), Error>,
) -> Result<(i64, A), Refused> {
    let group = Value::Int(scope.group().0);
    let total = read.one(&COUNT, &[group, now.0.into()], |row| row.int(0))?.unwrap_or(0);
    let params = [group, now.0.into(), ask.page.size().into(), ask.page.skip().into()];
    Ok((total, visited(read, scope, &PAGE, &params, visit)?))
}

fn page_matching<A: Default>(
    read: &Read<'_>,
    scope: Scope,
    now: UnixMs,
    online: OnlineSince,
    ask: &DeviceAsk,
    visit: &impl Fn(&mut A, Device<'_>) -> Result<(), Error>,
) -> Result<(i64, A), Refused> {
    let code = ask.code.as_ref().map(|code| code_in_scope(read, scope, now, code)).transpose()?;
    // Text with a NUL exists nowhere; one engine cannot even be asked for it.
    if ask.name_part.as_ref().is_some_and(|part| part.contains('\0')) {
        return Ok((0, A::default()));
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
    Ok((total, visited(read, scope, &PAGE_MATCHING, &params, visit)?))
}

fn visited<A: Default>(
    read: &Read<'_>,
    scope: Scope,
    sql: &'static Sql,
    params: &[Value<'_>],
    visit: &impl Fn(&mut A, Device<'_>) -> Result<(), Error>,
) -> Result<A, Refused> {
    let group = read.one(&GROUP, &[scope.group().0.into()], |row| {
        Ok((row.text(0)?.to_owned(), row.text(1)?.to_owned()))
    })?;
    let (group_id, group_name) = group.ok_or(Refusal::GroupClosed)?;
    let mut page = A::default();
    read.each(sql, params, |row| visit(&mut page, Device::of(row, &group_id, &group_name)?))?;
    Ok(page)
}
