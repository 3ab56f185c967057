//! The devices that a group owns now, as on a device page.

use kiosque_model::Claim;

use super::device_part::PartRows;
use super::{DashboardQuery, DevicePart, DevicesRead};
use crate::db::Bound;
use crate::devices::{self, Device, DeviceRow};
use crate::error::{Error, Refused};
use crate::scoped::{HintedGroup, scoped};
use crate::sql::statements;
use crate::views::Reports;

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
        from {each r: code text}
        cross join device_owners o
        join devices d on d.device_no = o.device_no
        join ledger l on l.group_no = $group_no and l.device_code = o.device_code
        where o.group_no = $group_no and o.device_code = r.code and o.since_ms <= $now_ms
            and o.until_ms > $now_ms and o.listed";
}

impl Reports<'_> {
    /// Visits a part of the enabled devices that the group owns now, by code.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_profile<A, V>(
        self,
        claim: Claim,
        query: DashboardQuery,
        part: DevicePart,
        visit: V,
    ) -> Result<DevicesRead<A>, Refused>
    where
        A: Default + Send + 'static,
        V: Fn(&mut A, Device<'_>) -> Result<(), Error> + Clone + Send + Sync + 'static,
    {
        let (now, codes) = (claim.now, query.codes());
        let about = |group: HintedGroup| {
            let params = [group.into(), now.into()];
            let devices = match &codes {
                None => {
                    let [group, now] = params;
                    let (after, size) = (part.after.as_str().into(), part.size());
                    Bound::new(&PROFILE, [group, now, after, size])
                }
                Some(codes) => Bound::new(&PROFILE_OF, params).with_rows(part.filter_rows(codes)),
            };
            let visit = visit.clone();
            let visit = move |rows: &mut PartRows<A>, device: Device<'_>| {
                rows.visit(device.code);
                visit(&mut rows.devices, device)
            };
            let devices = devices::devices_of(self.0, group, devices, PartRows::default(), visit);
            (query.devices_in_scope(group, now), devices)
        };
        let (_, (in_scope, (_, rows))) =
            scoped(self.0, &claim, query.group.as_ref(), about).await?;
        query.selected(in_scope.as_deref())?;
        Ok(rows.finish(&part, &query))
    }
}
