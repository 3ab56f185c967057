//! The devices that a group owns now, as on a device page.

use kiosque_model::Claim;

use super::device_part::PartRows;
use super::{DashboardQuery, DevicePart, DevicesRead};
use crate::devices::{self, Device};
use crate::error::{Error, Refused};
use crate::scoped::{HintedGroup, scoped};
use crate::views::Reports;

impl Reports<'_> {
    /// Visits a part of the enabled devices that the group owns now, by code.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_profile<A: Default + Send + 'static>(
        self,
        claim: Claim,
        query: DashboardQuery,
        part: DevicePart,
        visit: impl Fn(&mut A, Device<'_>) -> Result<(), Error> + Clone + Send + Sync + 'static,
    ) -> Result<DevicesRead<A>, Refused> {
        let (now, codes) = (claim.now, query.codes());
        let about = |group: HintedGroup| {
            let devices = match &codes {
                None => devices::listed(group, now, &part.after, part.size.into()),
                Some(codes) => devices::listed_with(group, now, part.filter_rows(codes)),
            };
            let visit = visit.clone();
            let visit = move |rows: &mut PartRows<A>, device: Device<'_>| {
                rows.visit(device.row.device_code);
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
