//! Device pages for which devices are read one by one.

use std::marker::PhantomData;
use std::sync::Arc;

use kiosque_model::{Refusal, Scope, UnixMs};

use super::{Device, DeviceQuery, OnlineSince, Owner, bind_listed, bind_owner};
use crate::activity::Activity;
use crate::db::{Bound, Cost, Step};
use crate::scoped_query::{GroupFilter, HintedGroup, ScopedQuery};
use crate::sql::{Row, statements};
use crate::{Error, Refused};

statements! {
    IN_SCOPE(group_no, device_code, now_ms) -> i64 = "select 1 from ledger
        where group_no = $group_no and device_code = $device_code
            and (since_ms <= $now_ms or last_seq >= first_seq)";
}

/// A page of the devices of a group that match filters, if there are any: all devices are read, or
/// the one with a code.
///
/// Filters are applied here, one device at a time: half of a device's last activity is in memory,
/// and both engines must compare texts alike.
pub(super) struct ScanPage<A, V> {
    pub(super) request: DeviceQuery,
    pub(super) now: UnixMs,
    pub(super) online: OnlineSince,
    pub(super) activity: Arc<Activity>,
    pub(super) visit: V,
    pub(super) devices: PhantomData<fn() -> A>,
}

#[derive(Default)]
pub(super) struct ScanRows<A> {
    group: Option<Owner>,
    /// The number of devices that match.
    matching: i64,
    is_code_in_scope: bool,
    devices: A,
}

/// A statement of a filtered page.
pub(super) enum PageStep {
    Owner,
    Device,
    CodeInScope,
}

impl<A, V> ScopedQuery for ScanPage<A, V>
where
    A: Default + Send + 'static,
    V: Fn(&mut A, Device<'_>) -> Result<(), Error> + Send + Sync + 'static,
{
    type Rows = ScanRows<A>;
    type Step = PageStep;
    type Answer = (i64, A);

    fn group(&self) -> Option<&GroupFilter> {
        self.request.group.as_ref()
    }

    fn cost(&self) -> Cost {
        if self.request.code.is_some() { Cost::Inline } else { Cost::Blocking }
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
            None => steps.push(bind_listed(group, self.now, None).step(PageStep::Device)),
        }
        steps
    }

    fn on_row(&self, rows: &mut Self::Rows, step: &PageStep, row: &Row<'_>) -> Result<(), Error> {
        match step {
            PageStep::Owner => rows.group = Some(Owner::read(row)?),
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
