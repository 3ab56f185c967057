//! The devices of a filter, each of which must be in scope (SCOPE-4).
//!
//! Sums of sales are found by device number, and a filter has codes. A device keeps its number
//! until it is deleted, so the statements of a report are sent with the numbers that an earlier
//! filter of its group found; if the devices in scope differ, the report runs again.

use kiosque_model::{Claim, DeviceNo, Refusal, Scope, UnixMs};

use super::DashboardQuery;
use crate::db::{Bound, Reading, Readings};
use crate::error::Refused;
use crate::scoped::{HintedGroup, presumed_group, scoped};
use crate::sql::{Value, statements};
use crate::sums::device_set::DeviceSet;
use crate::views::Reports;

statements! {
    IN_SCOPE(group_no, now_ms) -> (String, DeviceNo) = "select l.device_code, l.device_no
        from {rows r: code text} cross join ledger l
        where l.group_no = $group_no and l.device_code = r.code
            and (l.since_ms <= $now_ms or l.last_seq >= l.first_seq)";
}

/// The devices that a report is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Devices {
    All,
    Some(DeviceSet),
}

impl Devices {
    pub(super) fn selects(&self, device: DeviceNo) -> bool {
        match self {
            Devices::All => true,
            Devices::Some(devices) => devices.contains(device),
        }
    }
}

impl Reports<'_> {
    /// Reads about the devices of a query, after checking which devices of a filter are in scope.
    ///
    /// # Errors
    /// `OutOfScope` if one is not.
    pub(super) async fn scoped_to_devices<R: Readings>(
        self,
        claim: &Claim,
        query: &DashboardQuery,
        about: impl Fn(HintedGroup, &Devices) -> R,
    ) -> Result<(Scope, Devices, R::Rows), Refused> {
        let group = presumed_group(self.0, claim, query.group.as_ref());
        let known = |codes: Vec<&str>| Devices::Some(self.0.known_devices.of(&codes, group));
        let mut devices = query.codes().map_or(Devices::All, known);
        loop {
            let about = |group| (query.devices_in_scope(group, claim.now), about(group, &devices));
            let (scope, (in_scope, rows)) =
                scoped(self.0, claim, query.group.as_ref(), about).await?;
            let found = query.selected(in_scope.as_deref())?;
            if found == devices {
                return Ok((scope, devices, rows));
            }
            self.0.known_devices.insert(scope.group(), in_scope.unwrap_or_default());
            devices = found;
        }
    }
}

impl DashboardQuery {
    pub(super) fn is_of_all_devices(&self) -> bool {
        self.devices.is_empty()
    }

    /// Returns the codes of the filter, sorted and without duplicates; `None` for a query about all
    /// devices.
    pub(super) fn codes(&self) -> Option<Vec<&str>> {
        let codes = self.devices.iter().filter_map(|code| code.as_ref().ok());
        let mut codes: Vec<&str> = codes.map(|code| code.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        (!self.is_of_all_devices()).then_some(codes)
    }

    /// Reads the devices of the filter that are in scope, if there is a filter. A repeated code is
    /// read each time.
    pub(super) fn devices_in_scope(
        &self,
        group: HintedGroup,
        now: UnixMs,
    ) -> Option<Reading<Vec<(String, DeviceNo)>>> {
        let codes = self.devices.iter().filter_map(|code| code.as_ref().ok());
        let codes: Vec<&str> = codes.map(|code| code.as_str()).collect();
        let in_scope =
            || Bound::new(&IN_SCOPE, [group.into(), now.into()]).with_rows(rows_of(&codes)).all();
        (!self.is_of_all_devices()).then(in_scope)
    }

    /// Returns the devices of the query, given which devices of the filter are in scope.
    ///
    /// # Errors
    /// `OutOfScope` if one is not.
    pub(super) fn selected(
        &self,
        in_scope: Option<&[(String, DeviceNo)]>,
    ) -> Result<Devices, Refusal> {
        let Some(in_scope) = in_scope else { return Ok(Devices::All) };
        if in_scope.len() != self.devices.len() {
            return Err(Refusal::OutOfScope);
        }
        Ok(Devices::Some(in_scope.iter().map(|(_, number)| *number).collect()))
    }
}

/// Returns texts as the rows of a bulk statement.
pub(super) fn rows_of<'a>(texts: &[&'a str]) -> Vec<Vec<Value<'a>>> {
    texts.iter().map(|text| vec![(*text).into()]).collect()
}
