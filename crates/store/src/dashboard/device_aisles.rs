//! The aisles of the devices that a group owns now.

use kiosque_model::{Claim, UnixMs};

use super::device_part::PartRows;
use super::{DashboardQuery, DevicePart, DevicesRead};
use crate::db::Bound;
use crate::error::{Error, Refused};
use crate::scoped::{HintedGroup, scoped};
use crate::sql::{Row, row, statements};
use crate::views::Reports;

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
        from {each r: code text}
        cross join device_owners o
        left join aisle_texts t on t.device_no = o.device_no
        where o.group_no = $group_no and o.device_code = r.code and o.since_ms <= $now_ms
            and o.until_ms > $now_ms and o.listed";
}

impl<'r> ElementRow<'r> {
    /// Returns the element, which is sent as stored.
    ///
    /// # Errors
    /// It is not JSON: the data is damaged.
    pub(super) fn json(&self) -> Result<Option<&'r str>, Error> {
        if let Some(element) = self.element {
            serde_json::from_str::<serde::de::IgnoredAny>(element).map_err(|error| {
                Error::Data(format!("device {:?}: its stored aisles: {error}", self.device_code))
            })?;
        }
        Ok(self.element)
    }
}

/// A device of the hierarchy of aisles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceElement<'a> {
    /// `deviceCode`.
    pub device_code: &'a str,
    /// The device with its aisles: the JSON of [`kiosque_contract::DeviceAisles`].
    pub json: &'a str,
}

impl Reports<'_> {
    /// Visits a part of the enabled devices that the group owns now, each with its aisles, by code.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_aisles<A, V>(
        self,
        claim: Claim,
        query: DashboardQuery,
        part: DevicePart,
        visit: V,
    ) -> Result<DevicesRead<A>, Refused>
    where
        A: Default + Send + 'static,
        V: Fn(&mut A, DeviceElement<'_>) -> Result<(), Error> + Clone + Send + Sync + 'static,
    {
        let (now, codes) = (claim.now, query.codes());
        let about = |group: HintedGroup| {
            let devices = match &codes {
                None => bind_part(group, now, &part),
                Some(codes) => Bound::new(&AISLES_OF, [group.into(), now.into()])
                    .with_rows(part.filter_rows(codes)),
            };
            let visit = visit.clone();
            let add = move |rows: &mut PartRows<A>, row: &Row<'_>| {
                let row: ElementRow<'_> = row.read()?;
                let device_code = row.device_code;
                rows.visit(device_code);
                match row.json()? {
                    Some(json) => visit(&mut rows.devices, DeviceElement { device_code, json }),
                    None => Ok(()),
                }
            };
            (query.devices_in_scope(group, now), devices.fold(PartRows::default(), add))
        };
        let (_, (in_scope, rows)) = scoped(self.0, &claim, query.group.as_ref(), about).await?;
        query.selected(in_scope.as_deref())?;
        Ok(rows.finish(&part, &query))
    }
}

/// Binds the part of all devices of a group.
pub(super) fn bind_part(group: HintedGroup, now: UnixMs, part: &DevicePart) -> Bound {
    let (after, size) = (part.after.as_str().into(), part.size.into());
    Bound::new(&AISLES, [group.into(), now.into(), after, size])
}
