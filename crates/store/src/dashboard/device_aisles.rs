//! The aisles of the devices that a group owns now.

use std::marker::PhantomData;

use kiosque_model::{Claim, UnixMs};

use super::device_part::PartRows;
use super::{
    AnswerContext, DashboardQuery, DevicePart, DevicesRead, Report, Request, RowContext, SalesBy,
};
use crate::db::{Bound, Step};
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, row, statements};
use crate::{Error, Refused, Store};

row! {
    pub(super) struct ElementRow<'r> {
        pub(super) device_code: &'r str,
        /// `None` for a device that an older program has applied.
        pub(super) element: Option<&'r str>,
    }
}

statements! {
    AISLES(group_no, now_ms, after, size) -> ElementRow<'_> = "select o.device_code, t.element
        from device_owners o left join aisle_texts t on t.device_no = o.device_no
        where o.group_no = $group_no and o.device_code > $after and o.since_ms <= $now_ms
            and o.until_ms > $now_ms and o.listed
        order by o.device_code limit $size";
    AISLES_OF(group_no, now_ms) -> ElementRow<'_> = "select o.device_code, t.element
        from {rows r: code text}
        cross join device_owners o
        left join aisle_texts t on t.device_no = o.device_no
        where o.group_no = $group_no and o.device_code = r.code and o.since_ms <= $now_ms
            and o.until_ms > $now_ms and o.listed
        order by o.device_code";
}

/// A device of the hierarchy of aisles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceElement<'a> {
    /// `deviceCode`.
    pub device_code: &'a str,
    /// The device with its aisles: the JSON of [`kiosque_contract::DeviceAisles`].
    pub json: &'a str,
}

impl Store {
    /// Visits a part of the enabled devices that the group owns now, each with its aisles, by code.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_aisles<A, V>(
        &self,
        claim: Claim,
        query: DashboardQuery,
        part: DevicePart,
        visit: V,
    ) -> Result<DevicesRead<A>, Refused>
    where
        A: Default + Send + 'static,
        V: Fn(&mut A, DeviceElement<'_>) -> Result<(), Error> + Send + Sync + 'static,
    {
        self.report(claim, query, AislesReport { part, visit, visited: PhantomData }).await
    }
}

/// Binds the part of all devices of a group.
pub(super) fn bind_part(group: HintedGroup, now: UnixMs, part: &DevicePart) -> Bound<'_> {
    let (after, size) = (part.after.as_str().into(), part.size());
    Bound::new(&AISLES, [group.into(), now.into(), after, size])
}

struct AislesReport<A, V> {
    part: DevicePart,
    visit: V,
    visited: PhantomData<fn() -> A>,
}

impl<A, V> Report for AislesReport<A, V>
where
    A: Default + Send + 'static,
    V: Fn(&mut A, DeviceElement<'_>) -> Result<(), Error> + Send + Sync + 'static,
{
    type Rows = PartRows<A>;
    type Step = ();
    type Answer = DevicesRead<A>;
    const SALES: SalesBy = SalesBy::Nothing;

    fn steps<'a>(&'a self, request: &'a Request, group: HintedGroup) -> Vec<Step<'a, ()>> {
        let bound = if request.is_of_all_devices() {
            bind_part(group, request.now, &self.part)
        } else {
            let params = [group.into(), request.now.into()];
            Bound::new(&AISLES_OF, params).with_rows(self.part.filter_rows(request))
        };
        vec![bound.step(())]
    }

    fn on_row(
        &self,
        rows: &mut Self::Rows,
        (): &(),
        row: &Row<'_>,
        _: &RowContext<'_>,
    ) -> Result<(), Error> {
        let ElementRow { device_code, element } = row.read()?;
        rows.visit(device_code);
        match element {
            Some(json) => (self.visit)(&mut rows.devices, DeviceElement { device_code, json }),
            None => Ok(()),
        }
    }

    fn answer(
        self,
        rows: Self::Rows,
        context: &AnswerContext<'_>,
    ) -> Result<Self::Answer, Refused> {
        Ok(rows.finish(&self.part, context.request))
    }
}
