//! The sales of each device.

use std::collections::{BTreeMap, HashMap};

use kiosque_model::sales::Turnover;
use kiosque_model::{Claim, DeviceNo, GroupNo};

use super::{AnswerContext, DashboardQuery, Report, Request, RowContext, SalesBy};
use crate::db::{Bound, Read, Step};
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, row, statements};
use crate::{Error, Refused, Store};

row! {
    pub(super) struct NameRow {
        pub(super) device_no: DeviceNo,
        pub(super) device_code: String,
        pub(super) device_name: String,
    }
}

statements! {
    NAMES(group_no) -> NameRow = "select device_no, device_code, device_name from ledger
        where group_no = $group_no";
    NAMES_OF(group_no) -> NameRow = "select l.device_no, l.device_code, l.device_name
        from {rows r: code text} cross join ledger l
        where l.group_no = $group_no and l.device_code = r.code";
}

/// The sales of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSales {
    /// `deviceCode`.
    pub code: String,
    /// `deviceName`: the present one, or for a device that has left, its last one in the group.
    pub name: String,
    /// Its sales.
    pub turnover: Turnover,
}

impl Store {
    /// Returns the sales of each device with sales in the range.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn sales_by_device(
        &self,
        claim: Claim,
        query: DashboardQuery,
    ) -> Result<Vec<DeviceSales>, Refused> {
        self.report(claim, query, DeviceSalesReport).await
    }
}

/// Visits the name of each device that a group owns or ever owned, a [`NameRow`] each.
pub(super) async fn each_name(
    read: &Read<'_>,
    group: GroupNo,
    visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    read.each(&NAMES, &[group.into()], visit).await
}

struct DeviceSalesReport;

#[derive(Default)]
struct DeviceSalesRows {
    sales: BTreeMap<DeviceNo, Turnover>,
    names: HashMap<DeviceNo, NameRow>,
}

impl Report for DeviceSalesReport {
    type Rows = DeviceSalesRows;
    type Step = ();
    type Answer = Vec<DeviceSales>;
    const SALES: SalesBy = SalesBy::Device;

    fn on_device(&self, rows: &mut Self::Rows, device: DeviceNo, turnover: &Turnover) {
        rows.sales.entry(device).or_default().join(turnover);
    }

    fn steps<'a>(&'a self, request: &'a Request, group: HintedGroup) -> Vec<Step<'a, ()>> {
        let names = match request.codes() {
            None => Bound::new(&NAMES, [group.into()]),
            Some(codes) => Bound::new(&NAMES_OF, [group.into()]).with_rows(codes),
        };
        vec![names.step(())]
    }

    fn on_row(
        &self,
        rows: &mut Self::Rows,
        (): &(),
        row: &Row<'_>,
        _: &RowContext<'_>,
    ) -> Result<(), Error> {
        if rows.sales.contains_key(&row.read()?) {
            let name: NameRow = row.read()?;
            rows.names.insert(name.device_no, name);
        }
        Ok(())
    }

    fn answer(self, mut rows: Self::Rows, _: &AnswerContext<'_>) -> Result<Self::Answer, Refused> {
        let sales = rows.sales.into_iter().filter(|(_, turnover)| turnover.orders != 0);
        let named = sales.map(|(device, turnover)| {
            let unknown = || Error::Data(format!("device {} has sales and no name", device.0));
            let name = rows.names.remove(&device).ok_or_else(unknown)?;
            Ok(DeviceSales { code: name.device_code, name: name.device_name, turnover })
        });
        Ok(named.collect::<Result<_, Error>>()?)
    }
}
