//! The devices that a group owns now, as on a device page.

use std::marker::PhantomData;

use kiosque_model::Claim;

use super::device_part::PartRows;
use super::{
    AnswerContext, DashboardQuery, DevicePart, DevicesRead, Report, Request, RowContext, SalesBy,
};
use crate::db::{Bound, Step};
use crate::devices::{Device, DeviceRow, Owner, bind_owner};
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, statements};
use crate::{Error, Refused, Store};

statements! {
    PROFILE(group_no, now_ms, after, size) -> DeviceRow<'_> = "select
            d.device_no, d.device_code, d.device_name, d.device_model, d.address,
            d.total_curr_stock, l.last_active_ms, d.created_at_ms
        from device_owners o
        join devices d on d.device_no = o.device_no
        join ledger l on l.group_no = $group_no and l.device_code = o.device_code
        where o.group_no = $group_no and o.device_code > $after and o.since_ms <= $now_ms
            and o.until_ms > $now_ms and o.listed
        order by o.device_code limit $size";
    PROFILE_OF(group_no, now_ms) -> DeviceRow<'_> = "select
            d.device_no, d.device_code, d.device_name, d.device_model, d.address,
            d.total_curr_stock, l.last_active_ms, d.created_at_ms
        from {rows r: code text}
        cross join device_owners o
        join devices d on d.device_no = o.device_no
        join ledger l on l.group_no = $group_no and l.device_code = o.device_code
        where o.group_no = $group_no and o.device_code = r.code and o.since_ms <= $now_ms
            and o.until_ms > $now_ms and o.listed
        order by o.device_code";
}

impl Store {
    /// Visits a part of the enabled devices that the group owns now, by code.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_profile<A, V>(
        &self,
        claim: Claim,
        query: DashboardQuery,
        part: DevicePart,
        visit: V,
    ) -> Result<DevicesRead<A>, Refused>
    where
        A: Default + Send + 'static,
        V: Fn(&mut A, Device<'_>) -> Result<(), Error> + Send + Sync + 'static,
    {
        self.report(claim, query, ProfileReport { part, visit, visited: PhantomData }).await
    }
}

struct ProfileReport<A, V> {
    part: DevicePart,
    visit: V,
    visited: PhantomData<fn() -> A>,
}

/// A statement of the profile.
enum ProfileStep {
    Owner,
    Device,
}

impl<A, V> Report for ProfileReport<A, V>
where
    A: Default + Send + 'static,
    V: Fn(&mut A, Device<'_>) -> Result<(), Error> + Send + Sync + 'static,
{
    type Rows = (Option<Owner>, PartRows<A>);
    type Step = ProfileStep;
    type Answer = DevicesRead<A>;
    const SALES: SalesBy = SalesBy::Nothing;

    fn steps<'a>(&'a self, request: &'a Request, group: HintedGroup) -> Vec<Step<'a, ProfileStep>> {
        let owner = bind_owner(group).step(ProfileStep::Owner);
        let (group, now) = (group.into(), request.now.into());
        let devices = if request.is_of_all_devices() {
            let (after, size) = (self.part.after.as_str().into(), self.part.size());
            Bound::new(&PROFILE, [group, now, after, size])
        } else {
            Bound::new(&PROFILE_OF, [group, now]).with_rows(self.part.filter_rows(request))
        };
        vec![owner, devices.step(ProfileStep::Device)]
    }

    fn on_row(
        &self,
        (owner, rows): &mut Self::Rows,
        step: &ProfileStep,
        row: &Row<'_>,
        context: &RowContext<'_>,
    ) -> Result<(), Error> {
        match (step, owner) {
            (ProfileStep::Owner, owner) => *owner = Some(Owner::read(row)?),
            (ProfileStep::Device, Some(owner)) => {
                let device = owner.device(row, &context.request.activity)?;
                rows.visit(device.code);
                (self.visit)(&mut rows.devices, device)?;
            }
            (ProfileStep::Device, None) => {}
        }
        Ok(())
    }

    fn answer(
        self,
        (_, rows): Self::Rows,
        context: &AnswerContext<'_>,
    ) -> Result<Self::Answer, Refused> {
        Ok(rows.finish(&self.part, context.request))
    }
}
