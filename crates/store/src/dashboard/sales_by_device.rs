//! The sales of each device.

use std::collections::BTreeMap;

use kiosque_model::sales::{DeviceSales, Turnover};
use kiosque_model::{Claim, DeviceNo};

use super::figures::days::each_in_parts;
use super::filter::{Devices, rows_of};
use super::{DashboardQuery, device_sums, sums};
use crate::db::{Bound, Reading};
use crate::error::{Error, Refused};
use crate::scoped::HintedGroup;
use crate::sql::{row, statements};
use crate::views::Reports;

row! {
    /// The name of a device.
    struct NameRow { device_no: DeviceNo, device_code: String, device_name: String }
}

statements! {
    NAMES(group_no) -> NameRow = "select device_no, device_code, device_name from ledger
        where group_no = $group_no";
    NAMES_OF(group_no) -> NameRow = "select l.device_no, l.device_code, l.device_name
        from {rows r: code text} cross join ledger l
        where l.group_no = $group_no and l.device_code = r.code";
}

impl Reports<'_> {
    /// Returns the sales of each device with sales in the range.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn sales_by_device(
        self,
        claim: Claim,
        query: DashboardQuery,
    ) -> Result<Vec<DeviceSales>, Refused> {
        let (range, codes) = (query.range(&self.0.zone), query.codes());
        let about = |group: HintedGroup, devices: &Devices| {
            let sales = range.as_ref().map(|range| {
                (device_sums::by_device(devices, range, group), sums::parts(range, group))
            });
            (sales, names(codes.as_deref(), group))
        };
        let (_, devices, (sales, names)) = self.scoped_to_devices(&claim, &query, about).await?;
        let Some((sums, parts)) = sales else { return Ok(Vec::new()) };
        let mut sales = sums.sales;
        each_in_parts(&parts, &devices, &sums.rates, |_, device, turnover| {
            sales.entry(device).or_default().join(turnover);
        });
        Ok(named(sales, names)?)
    }
}

/// Reads the names of devices that a group owns or ever owned: all of them, or those with codes.
fn names(codes: Option<&[&str]>, group: HintedGroup) -> Reading<Vec<NameRow>> {
    match codes {
        None => Bound::new(&NAMES, [group.into()]).all(),
        Some(codes) => Bound::new(&NAMES_OF, [group.into()]).with_rows(rows_of(codes)).all(),
    }
}

/// Returns the devices with sales, each with its name.
fn named(
    mut sales: BTreeMap<DeviceNo, Turnover>,
    names: Vec<NameRow>,
) -> Result<Vec<DeviceSales>, Error> {
    sales.retain(|_, turnover| turnover.orders != 0);
    let of_device = |NameRow { device_no, device_code: code, device_name: name }| {
        let turnover = sales.remove(&device_no)?;
        Some(DeviceSales { code, name, turnover })
    };
    let named = names.into_iter().filter_map(of_device).collect();
    sums::check_named(sales.keys().next().copied())?;
    Ok(named)
}
