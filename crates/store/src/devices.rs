//! Device pages: the devices that a group owns now, by code.

use std::marker::PhantomData;
use std::sync::Arc;

use kiosque_model::ids::IdFault;
use kiosque_model::{Claim, DeviceCode, DeviceNo, GroupNo, PageRequest, Refusal, Scope, UnixMs};

use crate::activity::Activity;
use crate::db::{Bound, Cost, Step};
use crate::scoped_query::{GroupFilter, HintedGroup, ScopedQuery};
use crate::sql::{Row, row, statements};
use crate::{Error, Refused, Store};

row! {
    struct OwnerRow { group_id: String, group_name: String, listed: i64, group_no: GroupNo }
    /// Begins with the number, so that a reader can skip a device by its number alone.
    pub(crate) struct DeviceRow<'r> {
        device_no: DeviceNo,
        device_code: &'r str,
        device_name: &'r str,
        device_model: &'r str,
        address: &'r str,
        total_curr_stock: i64,
        last_active_ms: Option<UnixMs>,
        created_at_ms: UnixMs,
    }
}

statements! {
    IN_SCOPE(group_no, device_code, now_ms) -> i64 = "select 1 from ledger
        where group_no = $group_no and device_code = $device_code and since_ms <= $now_ms";
    GROUP(group_no, now_ms) -> OwnerRow = "select g.group_id, g.group_name, (
            select count(*) from device_owners
            where group_no = $group_no and since_ms <= $now_ms and until_ms > $now_ms and listed
        ) as listed, g.group_no from groups g where g.group_no = $group_no";
    PAGE(group_no, now_ms, size, skip) -> DeviceRow<'_> = "select
            d.device_no, d.device_code, d.device_name, d.device_model, d.address,
            d.total_curr_stock, l.last_active_ms, d.created_at_ms
        from (
            select device_no, device_code from device_owners
            where group_no = $group_no and since_ms <= $now_ms and until_ms > $now_ms and listed
            order by device_code limit $size offset $skip
        ) o
        join devices d on d.device_no = o.device_no
        join ledger l on l.group_no = $group_no and l.device_code = o.device_code
        order by o.device_code";
    LISTED(group_no, now_ms, device_code) -> DeviceRow<'_> = "select
            d.device_no, d.device_code, d.device_name, d.device_model, d.address,
            d.total_curr_stock, l.last_active_ms, d.created_at_ms
        from device_owners o
        join devices d on d.device_no = o.device_no
        join ledger l on l.group_no = $group_no and l.device_code = o.device_code
        where o.group_no = $group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms and o.listed
            and (cast($device_code as text) is null or o.device_code = $device_code)
        order by o.device_code";
}

/// The parameters of a device page.
#[derive(Clone, Debug)]
pub struct DeviceQuery {
    /// Another group of the account. The selected group stays selected.
    pub group: Option<GroupFilter>,
    /// Exactly this code, which must be in scope.
    pub code: Option<CodeFilter>,
    /// The name contains this text.
    pub name_part: Option<String>,
    /// 1: online, 0: not.
    pub is_online: Option<i64>,
    /// The page of the list.
    pub page: PageRequest,
}

/// A `deviceCode` filter; `Err` for a text that cannot be a code, which names no device.
pub type CodeFilter = Result<DeviceCode, IdFault>;

/// The earliest last activity with which a device counts as online.
#[derive(Clone, Copy, Debug)]
pub struct OnlineSince(pub UnixMs);

impl OnlineSince {
    /// Returns whether a device with this last activity is online.
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
    /// The number of items in all its aisles, as last reported.
    pub total_curr_stock: i64,
    /// Its last activity in this group.
    pub last_active: Option<UnixMs>,
    /// The time of the `apply` that first had it.
    pub created_at: UnixMs,
}

impl DeviceQuery {
    /// Returns whether the page is one of all devices of the group.
    fn is_plain(&self) -> bool {
        let DeviceQuery { group: _, code, name_part, is_online, page: _ } = self;
        code.is_none() && name_part.is_none() && is_online.is_none()
    }

    /// Returns whether a device matches the filters. The statement selects the group and the code.
    fn matches(&self, device: &Device<'_>, online: OnlineSince) -> bool {
        let DeviceQuery { group: _, code: _, name_part, is_online, page: _ } = self;
        let named = name_part.as_ref().is_none_or(|part| device.name.contains(part.as_str()));
        let now_online = i64::from(online.holds(device.last_active));
        named && is_online.is_none_or(|wanted| wanted == now_online)
    }
}

impl Store {
    /// Visits a page of the devices that the scope's group owns now, and returns the total.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_page<A, V>(
        &self,
        claim: Claim,
        online: OnlineSince,
        request: DeviceQuery,
        visit: V,
    ) -> Result<(i64, A), Refused>
    where
        A: Default + Send + 'static,
        V: Fn(&mut A, Device<'_>) -> Result<(), Error> + Send + Sync + 'static,
    {
        let (now, activity) = (claim.now, Arc::clone(&self.activity));
        let page = Page { request, now, online, activity, visit, devices: PhantomData };
        self.query(claim, page).await
    }
}

/// A page of a group's devices: a range of its list, or of the devices that match the filters.
///
/// Filters are applied here, one device at a time: half of a device's last activity is in memory,
/// and both engines must compare texts alike.
struct Page<A, V> {
    request: DeviceQuery,
    now: UnixMs,
    online: OnlineSince,
    activity: Arc<Activity>,
    visit: V,
    devices: PhantomData<fn() -> A>,
}

#[derive(Default)]
struct PageRows<A> {
    group: Option<Owner>,
    /// The number of devices of the group.
    listed: i64,
    /// The number of those that match.
    matching: i64,
    is_code_in_scope: bool,
    devices: A,
}

/// A statement of a page.
enum PageStep {
    Owner,
    Device,
    CodeInScope,
}

impl<A, V> ScopedQuery for Page<A, V>
where
    A: Default + Send + 'static,
    V: Fn(&mut A, Device<'_>) -> Result<(), Error> + Send + Sync + 'static,
{
    type Rows = PageRows<A>;
    type Step = PageStep;
    type Answer = (i64, A);

    fn group(&self) -> Option<&GroupFilter> {
        self.request.group.as_ref()
    }

    fn cost(&self) -> Cost {
        if self.request.is_plain() { Cost::Inline } else { Cost::Blocking }
    }

    fn steps(&self, group: HintedGroup) -> Vec<Step<'_, PageStep>> {
        let mut steps = vec![bind_owner(group, self.now).step(PageStep::Owner)];
        if self.request.is_plain() {
            let (size, skip) = (self.request.page.size(), self.request.page.skip());
            let page = [group.into(), self.now.into(), size.into(), skip.into()];
            steps.push(Bound::new(&PAGE, page).step(PageStep::Device));
            return steps;
        }
        match &self.request.code {
            Some(Err(_)) => {}
            Some(Ok(code)) => {
                let listed = bind_listed(group, self.now, Some(code.as_str()));
                let in_scope = [group.into(), code.as_str().into(), self.now.into()];
                steps.push(listed.step(PageStep::Device));
                steps.push(Bound::new(&IN_SCOPE, in_scope).step(PageStep::CodeInScope));
            }
            None => steps.push(bind_listed(group, self.now, None).step(PageStep::Device)),
        }
        steps
    }

    fn on_row(&self, rows: &mut Self::Rows, step: &PageStep, row: &Row<'_>) -> Result<(), Error> {
        match step {
            PageStep::Owner => {
                let owner: OwnerRow = row.read()?;
                rows.listed = owner.listed;
                rows.group = Some(Owner::of(owner));
            }
            PageStep::Device => {
                let Some(owner) = &rows.group else { return Ok(()) };
                let device = owner.device(row, &self.activity)?;
                if self.request.is_plain() {
                    return (self.visit)(&mut rows.devices, device);
                }
                if self.request.matches(&device, self.online) {
                    let skip = self.request.page.skip();
                    let end = skip.saturating_add(self.request.page.size());
                    if (skip..end).contains(&rows.matching) {
                        (self.visit)(&mut rows.devices, device)?;
                    }
                    rows.matching += 1;
                }
            }
            PageStep::CodeInScope => rows.is_code_in_scope = true,
        }
        Ok(())
    }

    /// A device outside the scope is refused (SCOPE-4). A device that the group once owned, or that
    /// is not enabled, is in scope and on no page (DEV-5).
    fn answer(self, rows: Self::Rows, _: Scope) -> Result<Self::Answer, Refused> {
        if self.request.code.is_some() && !rows.is_code_in_scope {
            return Err(Refusal::OutOfScope.into());
        }
        let total = if self.request.is_plain() { rows.listed } else { rows.matching };
        Ok((total, rows.devices))
    }
}

/// Binds the look-up of the group whose devices are listed, with their number.
pub(crate) fn bind_owner(group: HintedGroup, now: UnixMs) -> Bound<'static> {
    Bound::new(&GROUP, [group.into(), now.into()])
}

/// Binds the list of the devices that a group owns now, by code: all, or the one with a code.
pub(crate) fn bind_listed(group: HintedGroup, now: UnixMs, code: Option<&str>) -> Bound<'_> {
    Bound::new(&LISTED, [group.into(), now.into(), code.into()])
}

/// The group whose devices are listed.
#[derive(Debug)]
pub(crate) struct Owner {
    number: GroupNo,
    id: String,
    name: String,
}

impl Owner {
    /// Reads a row of [`bind_owner`].
    pub(crate) fn read(row: &Row<'_>) -> Result<Owner, Error> {
        row.read().map(Owner::of)
    }

    fn of(row: OwnerRow) -> Owner {
        Owner { number: row.group_no, id: row.group_id, name: row.group_name }
    }

    /// Reads a row of [`bind_listed`], or of a page of it.
    pub(crate) fn device<'r>(
        &'r self,
        row: &'r Row<'_>,
        activity: &Activity,
    ) -> Result<Device<'r>, Error> {
        let row: DeviceRow<'r> = row.read()?;
        Ok(Device {
            code: row.device_code,
            name: row.device_name,
            group_id: &self.id,
            group_name: &self.name,
            model: row.device_model,
            address: row.address,
            total_curr_stock: row.total_curr_stock,
            last_active: activity.merged((self.number, row.device_no), row.last_active_ms),
            created_at: row.created_at_ms,
        })
    }
}
