//! Device pages: the devices that a group owns now, by code.

use std::marker::PhantomData;
use std::sync::Arc;

use kiosque_model::{
    DeviceCode, DeviceNo, GroupId, GroupNo, PageRequest, PresentedToken, Refusal, Scope, UnixMs,
};

use crate::activity::Activity;
use crate::db::{Ask, Length};
use crate::scoped_query::ScopedQuery;
use crate::sql::{Row, Value, statements};
use crate::{Error, Refused, Store};

statements! {
    IN_SCOPE = "select 1 from ledger
        where group_no = $1 and device_code = $2 and since_ms <= $3";
    GROUP = "select g.group_id, g.group_name, (
            select count(*) from device_owners
            where group_no = $1 and since_ms <= $2 and until_ms > $2 and listed
        ), g.group_no from groups g where g.group_no = $1";
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
pub struct DeviceQuery {
    /// Another group of the account; does not switch.
    pub group: Option<GroupFilter>,
    /// Exactly this code, which must be one of the scope.
    pub code: Option<CodeFilter>,
    /// The name contains this text.
    pub name_part: Option<String>,
    /// 1: online, 0: not.
    pub is_online: Option<i64>,
    /// Which page.
    pub page: PageRequest,
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

impl DeviceQuery {
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
    pub async fn device_page<A, V>(
        &self,
        presented: &PresentedToken,
        now: UnixMs,
        online: OnlineSince,
        ask: DeviceQuery,
        visit: V,
    ) -> Result<(i64, A), Refused>
    where
        A: Default + Send + 'static,
        V: Fn(&mut A, Device<'_>) -> Result<(), Error> + Send + Sync + 'static,
    {
        let activity = Arc::clone(&self.activity);
        let page = Page { ask, now, online, activity, visit, devices: PhantomData };
        self.ask(presented, now, page).await
    }
}

/// A page of a group's devices: a range of its listing, or of those that match when some filter
/// asks for them one by one. Half of what is asked for stands in memory, and text is told apart by
/// its bytes on every engine.
struct Page<A, V> {
    ask: DeviceQuery,
    now: UnixMs,
    online: OnlineSince,
    activity: Arc<Activity>,
    visit: V,
    devices: PhantomData<fn() -> A>,
}

#[derive(Default)]
struct FoundPage<A> {
    group: Option<Owner>,
    /// How many devices the group has.
    listed: i64,
    /// How many of them match.
    matching: i64,
    is_in_scope: Option<()>,
    devices: A,
}

impl<A, V> ScopedQuery for Page<A, V>
where
    A: Default + Send + 'static,
    V: Fn(&mut A, Device<'_>) -> Result<(), Error> + Send + Sync + 'static,
{
    type Found = FoundPage<A>;
    type Answer = (i64, A);

    fn group(&self) -> Option<&GroupFilter> {
        self.ask.group.as_ref()
    }

    fn length(&self) -> Length {
        if self.ask.is_plain() { Length::Short } else { Length::Long }
    }

    fn asks(&self, group: GroupNo) -> Vec<Ask<'_>> {
        let (number, now) = (Value::Int(group.0), Value::Int(self.now.0));
        let mut asks = vec![ask_owner(group, self.now)];
        if self.ask.is_plain() {
            let page = [number, now, self.ask.page.size().into(), self.ask.page.skip().into()];
            asks.push(Ask::new(&PAGE, page));
            return asks;
        }
        match &self.ask.code {
            // A text that can be no code is in nobody's scope.
            Some(Err(_)) => {}
            Some(Ok(code)) => {
                asks.push(ask_listed(group, self.now, Some(code.as_str())));
                asks.push(Ask::new(&IN_SCOPE, [number, code.as_str().into(), now]));
            }
            None => asks.push(ask_listed(group, self.now, None)),
        }
        asks
    }

    fn row(&self, found: &mut Self::Found, ask: usize, row: &Row<'_>) -> Result<(), Error> {
        match ask {
            0 => {
                found.group = Some(Owner::of(row)?);
                found.listed = row.int(2)?;
            }
            1 => {
                let Some(owner) = &found.group else { return Ok(()) };
                let device = owner.device(row, &self.activity)?;
                if self.ask.is_plain() {
                    return (self.visit)(&mut found.devices, device);
                }
                if self.ask.matches(&device, self.online) {
                    let skip = self.ask.page.skip();
                    let end = skip.saturating_add(self.ask.page.size());
                    if (skip..end).contains(&found.matching) {
                        (self.visit)(&mut found.devices, device)?;
                    }
                    found.matching += 1;
                }
            }
            _ => found.is_in_scope = Some(()),
        }
        Ok(())
    }

    /// SCOPE-4, DEV-5: a device outside the scope is refused. One that the group once owned, or
    /// that is not enabled, is in scope and on no page.
    fn answer(self, found: Self::Found, _: Scope) -> Result<Self::Answer, Refused> {
        if self.ask.code.is_some() {
            found.is_in_scope.ok_or(Refusal::OutOfScope)?;
        }
        let total = if self.ask.is_plain() { found.listed } else { found.matching };
        Ok((total, found.devices))
    }
}

/// Asks for the group whose devices are listed, and how many it has.
pub(crate) fn ask_owner(group: GroupNo, now: UnixMs) -> Ask<'static> {
    Ask::new(&GROUP, [group.0.into(), now.0.into()])
}

/// Asks for every device that a group owns now, or the one of a code, by code.
pub(crate) fn ask_listed(group: GroupNo, now: UnixMs, code: Option<&str>) -> Ask<'_> {
    Ask::new(&LISTED, [group.0.into(), now.0.into(), code.into()])
}

/// The group whose devices are listed.
#[derive(Debug)]
pub(crate) struct Owner {
    number: GroupNo,
    id: String,
    name: String,
}

impl Owner {
    /// Reads a row of [`ask_owner`].
    pub(crate) fn of(row: &Row<'_>) -> Result<Owner, Error> {
        let (id, name) = (row.text(0)?.to_owned(), row.text(1)?.to_owned());
        Ok(Owner { number: GroupNo(row.int(3)?), id, name })
    }

    /// Reads a row of [`ask_listed`], or of a page of it.
    pub(crate) fn device<'r>(
        &'r self,
        row: &'r Row<'_>,
        activity: &Activity,
    ) -> Result<Device<'r>, Error> {
        let account = (self.number, DeviceNo(row.int(7)?));
        Ok(Device {
            code: row.text(0)?,
            name: row.text(1)?,
            group_id: &self.id,
            group_name: &self.name,
            model: row.text(2)?,
            address: row.text(3)?,
            total_curr_stock: row.int(4)?,
            last_active: activity.merged(account, row.maybe_int(5)?.map(UnixMs)),
            created_at: UnixMs(row.int(6)?),
        })
    }
}
