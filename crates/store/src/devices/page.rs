//! The query of a device page.

use std::marker::PhantomData;
use std::sync::Arc;

use kiosque_model::{Refusal, Scope, UnixMs};

use super::{
    Device, DeviceQuery, DeviceRow, OnlineSince, Owner, bind_listed, bind_listed_count, bind_owner,
};
use crate::activity::Activity;
use crate::db::{Bound, Cost, Step};
use crate::scoped_query::{GroupFilter, HintedGroup, ScopedQuery};
use crate::sql::{Row, statements};
use crate::{Error, Refused};

statements! {
    /// A page of all devices of a group. Without a move ahead, its first device is found in an
    /// index of the devices that are listed now; otherwise by the owners at the time of the
    /// request.
    PAGE(group_no, now_ms, skip, size) -> DeviceRow<'_> = "select
            d.device_no, d.device_code, d.device_name, d.device_model, d.address,
            d.total_curr_stock, l.last_active_ms, d.created_at_ms
        from group_changes c cross join device_owners o cross join devices d cross join ledger l
        where c.group_no = $group_no and o.group_no = $group_no
            and o.device_code >= case when c.devices_from_ms <= $now_ms
                then (
                    select x.device_code from device_owners x
                    where x.group_no = $group_no and x.listed = true
                        and x.until_ms = 9223372036854775807
                    order by x.device_code limit 1 offset $skip
                )
                else (
                    select x.device_code from device_owners x
                    where x.group_no = $group_no and x.since_ms <= $now_ms
                        and x.until_ms > $now_ms and x.listed
                    order by x.device_code limit 1 offset $skip
                )
            end
            and o.since_ms <= $now_ms and o.until_ms > $now_ms and o.listed
            and d.device_no = o.device_no
            and l.group_no = $group_no and l.device_code = o.device_code
        order by o.device_code limit $size";
    IN_SCOPE(group_no, device_code, now_ms) -> i64 = "select 1 from ledger
        where group_no = $group_no and device_code = $device_code
            and (since_ms <= $now_ms or last_seq >= first_seq)";
}

/// A page of the devices of a group: a range of all of them, or of those that match filters, for
/// which all devices are read, or the one with a code.
///
/// Filters are applied here, one device at a time: half of a device's last activity is in memory,
/// and both engines must compare texts alike.
pub(super) struct DevicePage<A, V> {
    pub(super) request: DeviceQuery,
    pub(super) now: UnixMs,
    pub(super) online: OnlineSince,
    pub(super) activity: Arc<Activity>,
    pub(super) visit: V,
    pub(super) devices: PhantomData<fn() -> A>,
}

#[derive(Default)]
pub(super) struct PageRows<A> {
    group: Option<Owner>,
    /// The number of devices that match.
    matching: i64,
    is_code_in_scope: bool,
    devices: A,
}

/// A statement of a page.
pub(super) enum PageStep {
    Owner,
    Count,
    /// A device of the page.
    OnPage,
    /// A device that may match.
    Device,
    CodeInScope,
}

impl<A, V> ScopedQuery for DevicePage<A, V>
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
        if self.request.is_plain() {
            Cost::of_records(self.request.page.size())
        } else if self.request.code.is_some() {
            Cost::Inline
        } else {
            Cost::Blocking
        }
    }

    fn steps(&self, group: HintedGroup) -> Vec<Step<'_, PageStep>> {
        let mut steps = vec![bind_owner(group).step(PageStep::Owner)];
        match &self.request.code {
            Some(Err(_)) => {}
            Some(Ok(code)) => {
                let codes = vec![vec![code.as_str().into()]];
                let listed = bind_listed(group, self.now, Some(codes));
                let in_scope = [group.into(), code.as_str().into(), self.now.into()];
                steps.push(listed.step(PageStep::Device));
                steps.push(Bound::new(&IN_SCOPE, in_scope).step(PageStep::CodeInScope));
            }
            None if self.request.is_plain() => {
                let (skip, size) = (self.request.page.skip(), self.request.page.size());
                let page = [group.into(), self.now.into(), skip.into(), size.into()];
                steps.push(bind_listed_count(group, self.now).step(PageStep::Count));
                steps.push(Bound::new(&PAGE, page).step(PageStep::OnPage));
            }
            None => steps.push(bind_listed(group, self.now, None).step(PageStep::Device)),
        }
        steps
    }

    fn on_row(&self, rows: &mut Self::Rows, step: &PageStep, row: &Row<'_>) -> Result<(), Error> {
        match step {
            PageStep::Owner => rows.group = Some(Owner::read(row)?),
            PageStep::Count => rows.matching = row.read()?,
            PageStep::OnPage => {
                let Some(owner) = &rows.group else { return Ok(()) };
                let device = owner.device(row, &self.activity)?;
                (self.visit)(&mut rows.devices, device)?;
            }
            PageStep::Device => {
                let Some(owner) = &rows.group else { return Ok(()) };
                let device = owner.device(row, &self.activity)?;
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
        Ok((rows.matching, rows.devices))
    }
}
