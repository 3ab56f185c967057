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
    for DeviceElement<'r> { device_code, json }
}

statements! {
    AISLES(group_no, now_ms, after, size) -> DeviceElement<'_> = "select o.device_code,
            t.element as json
        from device_owners o join aisle_texts t on t.device_no = o.device_no
        where o.group_no = $group_no and o.device_code > $after and o.since_ms <= $now_ms
            and o.until_ms > $now_ms and o.listed
        order by o.device_code limit $size";
    AISLES_OF(group_no, now_ms) -> DeviceElement<'_> = "select o.device_code, t.element as json
        from {each r: code text}
        cross join device_owners o
        join aisle_texts t on t.device_no = o.device_no
        where o.group_no = $group_no and o.device_code = r.code and o.since_ms <= $now_ms
            and o.until_ms > $now_ms and o.listed";
}

/// A device of the hierarchy of aisles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceElement<'a> {
    /// `deviceCode`.
    pub device_code: &'a str,
    /// The device with its aisles: the JSON of [`kiosque_contract::DeviceAisles`].
    pub json: &'a str,
}

impl<'r> DeviceElement<'r> {
    /// Reads an element, which is sent as stored.
    ///
    /// # Errors
    /// It is not JSON: the data is damaged.
    pub(super) fn of(row: &'r Row<'_>) -> Result<DeviceElement<'r>, Error> {
        let DeviceElement { device_code, json } = row.read()?;
        serde_json::from_str::<serde::de::IgnoredAny>(json).map_err(|error| {
            Error::Data(format!("device {device_code:?}: its stored aisles: {error}"))
        })?;
        Ok(DeviceElement { device_code, json })
    }
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
                let device = DeviceElement::of(row)?;
                rows.visit(device.device_code);
                visit(&mut rows.devices, device)
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
