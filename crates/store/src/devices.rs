//! Device pages: the devices that a group owns now, by code.

use std::sync::Arc;

use kiosque_model::{DeviceCode, DeviceNo, GroupId, PageAsk, Presented, Refusal, Scope, UnixMs};

use crate::accounts;
use crate::activity::Activity;
use crate::db::Read;
use crate::sql::{Row, Value, statements};
use crate::{Error, Refused, Store};

statements! {
    IN_SCOPE = "select 1 from ledger
        where group_no = $1 and device_code = $2 and since_ms <= $3";
    COUNT = "select count(*) from device_owners
        where group_no = $1 and since_ms <= $2 and until_ms > $2 and listed";
    GROUP = "select group_id, group_name from groups where group_no = $1";
    PAGE = "select d.device_code, d.device_name, d.device_model, d.address,
            d.total_curr_stock, l.last_active_ms, d.created_at_ms, d.device_no
        from (
            select device_no, device_code from device_owners
            where group_no = $1 and since_ms <= $2 and until_ms > $2 and listed
            order by device_code limit $3 offset $4
        ) o
        join devices d on d.device_no = o.device_no
        join ledger l on l.group_no = $1 and l.device_code = o.device_code
        order by o.device_code";
    LISTED = "select d.device_code, d.device_name, d.device_model, d.address,
            d.total_curr_stock, l.last_active_ms, d.created_at_ms, d.device_no
        from device_owners o
        join devices d on d.device_no = o.device_no
        join ledger l on l.group_no = $1 and l.device_code = o.device_code
        where o.group_no = $1 and o.since_ms <= $2 and o.until_ms > $2 and o.listed
            and (cast($3 as text) is null or o.device_code = $3)
        order by o.device_code";
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

impl DeviceAsk {
    fn is_plain(&self) -> bool {
        self.code.is_none() && self.name_part.is_none() && self.is_online.is_none()
    }

    fn matches(&self, device: &Device<'_>, online: OnlineSince) -> bool {
        let named = self.name_part.as_ref().is_none_or(|part| device.name.contains(part.as_str()));
        let is_online = i64::from(online.holds(device.last_active));
        named && self.is_online.is_none_or(|wanted| wanted == is_online)
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
                let scope = filtered_scope(read, scope, ask.group.as_ref())?;
                let listing = Listing::of(read, scope, &self.activity)?;
                listing.page(read, now, &ask, &visit)
            });
        }
        let activity = Arc::clone(&self.activity);
        let matching = move |read: &Read<'_>, scope: Scope| {
            let scope = filtered_scope(read, scope, ask.group.as_ref())?;
            let listing = Listing::of(read, scope, &activity)?;
            listing.page_matching(read, (now, online), &ask, &visit)
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

/// The devices of one group.
pub(crate) struct Listing<'a> {
    scope: Scope,
    group_id: String,
    group_name: String,
    activity: &'a Activity,
}

impl<'a> Listing<'a> {
    pub(crate) fn of(
        read: &Read<'_>,
        scope: Scope,
        activity: &'a Activity,
    ) -> Result<Listing<'a>, Refused> {
        let group = read.one(&GROUP, &[scope.group().0.into()], |row| {
            Ok((row.text(0)?.to_owned(), row.text(1)?.to_owned()))
        })?;
        let (group_id, group_name) = group.ok_or(Refusal::GroupClosed)?;
        Ok(Listing { scope, group_id, group_name, activity })
    }

    fn page<A: Default>(
        &self,
        read: &Read<'_>,
        now: UnixMs,
        ask: &DeviceAsk,
        visit: &impl Fn(&mut A, Device<'_>) -> Result<(), Error>,
    ) -> Result<(i64, A), Refused> {
        let group = Value::Int(self.scope.group().0);
        let total = read.one(&COUNT, &[group, now.0.into()], |row| row.int(0))?.unwrap_or(0);
        let params = [group, now.0.into(), ask.page.size().into(), ask.page.skip().into()];
        let mut page = A::default();
        read.each(&PAGE, &params, |row| visit(&mut page, self.device(row)?))?;
        Ok((total, page))
    }

    /// Filters one by one: half of what is asked for stands in memory, and text is told apart by
    /// its bytes on every engine.
    fn page_matching<A: Default>(
        &self,
        read: &Read<'_>,
        (now, online): (UnixMs, OnlineSince),
        ask: &DeviceAsk,
        visit: &impl Fn(&mut A, Device<'_>) -> Result<(), Error>,
    ) -> Result<(i64, A), Refused> {
        let code = ask.code.as_ref();
        let code = code.map(|code| code_in_scope(read, self.scope, now, code)).transpose()?;
        let end = ask.page.skip().saturating_add(ask.page.size());
        let window = ask.page.skip()..end;
        let (mut total, mut page) = (0, A::default());
        self.each(read, now, code, |_, device| {
            if ask.matches(&device, online) {
                if window.contains(&total) {
                    visit(&mut page, device)?;
                }
                total += 1;
            }
            Ok(())
        })?;
        Ok((total, page))
    }

    /// Visits every device that the group owns now, or the one of a code, by code.
    pub(crate) fn each(
        &self,
        read: &Read<'_>,
        now: UnixMs,
        code: Option<&str>,
        mut visit: impl FnMut(DeviceNo, Device<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let params = [self.scope.group().0.into(), now.0.into(), code.into()];
        read.each(&LISTED, &params, |row| visit(DeviceNo(row.int(7)?), self.device(row)?))
    }

    fn device<'r>(&'r self, row: &'r Row<'_>) -> Result<Device<'r>, Error> {
        let account = (self.scope.group(), DeviceNo(row.int(7)?));
        Ok(Device {
            code: row.text(0)?,
            name: row.text(1)?,
            group_id: &self.group_id,
            group_name: &self.group_name,
            model: row.text(2)?,
            address: row.text(3)?,
            total_curr_stock: row.int(4)?,
            last_active: self.activity.merged(account, row.maybe_int(5)?.map(UnixMs)),
            created_at: UnixMs(row.int(6)?),
        })
    }
}
