//! The devices of a filter, each of which must be in scope (SCOPE-4).

use kiosque_model::{DeviceNo, Refusal, UnixMs};

use super::DashboardQuery;
use crate::db::{Bound, Reading};
use crate::scoped::HintedGroup;
use crate::sql::{Value, statements};

statements! {
    IN_SCOPE(group_no, now_ms) -> DeviceNo = "select l.device_no from {rows r: code text}
        cross join ledger l
        where l.group_no = $group_no and l.device_code = r.code
            and (l.since_ms <= $now_ms or l.last_seq >= l.first_seq)";
}

/// The devices that a report is about.
pub(super) enum Devices {
    All,
    /// Sorted.
    Some(Vec<DeviceNo>),
}

impl Devices {
    pub(super) fn selects(&self, device: DeviceNo) -> bool {
        match self {
            Devices::All => true,
            Devices::Some(devices) => devices.binary_search(&device).is_ok(),
        }
    }
}

impl DashboardQuery {
    pub(super) fn is_of_all_devices(&self) -> bool {
        self.devices.is_empty()
    }

    /// Returns the codes of the filter, sorted, each once; `None` for a query about all devices.
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
    ) -> Option<Reading<Vec<DeviceNo>>> {
        let codes = self.devices.iter().filter_map(|code| code.as_ref().ok());
        let codes = codes.map(|code| code.as_str());
        let in_scope =
            || Bound::new(&IN_SCOPE, [group.into(), now.into()]).with_rows(rows_of(codes)).all();
        (!self.is_of_all_devices()).then(in_scope)
    }

    /// Returns the devices of the query, of which those of the filter are in scope that were read.
    ///
    /// # Errors
    /// `OutOfScope` if one is not.
    pub(super) fn selected(&self, in_scope: Option<Vec<DeviceNo>>) -> Result<Devices, Refusal> {
        let Some(mut devices) = in_scope else { return Ok(Devices::All) };
        if devices.len() != self.devices.len() {
            return Err(Refusal::OutOfScope);
        }
        devices.sort_unstable();
        Ok(Devices::Some(devices))
    }
}

/// Returns texts as the rows of a bulk statement.
pub(super) fn rows_of<'a>(
    texts: impl IntoIterator<Item = &'a str>,
) -> impl Iterator<Item = Vec<Value<'a>>> {
    texts.into_iter().map(|text| vec![text.into()])
}
