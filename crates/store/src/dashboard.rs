//! The dashboard: reports on the sales and the devices of a group.
//!
//! A report is one method of [`Reports`](crate::views::Reports), in a separate file of this module.
//! To add one:
//!
//! 1. Declare its answer.
//! 2. Read what it needs with `scoped`, as one tuple of readings: [`sums`] has the sums of whole
//!    days, exchange rates and the sales of partial days, [`device_sums`] the sales of devices and
//!    products. Other statements are declared in the file of the report. A report of sales by day
//!    uses `Reports::sales_by_day`, which has a cache.
//! 3. With a filter of devices, read with `Reports::scoped_to_devices`, which refuses devices that
//!    are out of scope. A list of devices adds `DashboardQuery::devices_in_scope` to its readings,
//!    and refuses with `DashboardQuery::selected`.
//! 4. Compute the answer from the rows. Sums, conversions and rankings are functions in
//!    [`figures`].
//! 5. List the file here, and in the brackets of `statements!` if it has statements.

mod best_sellers;
mod device_aisles;
mod device_days;
mod device_part;
mod device_sums;
mod figures;
mod filter;
mod fleet_sales;
mod group_profile;
mod range;
mod sales_by_day;
mod sales_by_device;
mod sales_trend;
mod summary;
mod sums;

use kiosque_model::{UnixMs, Zone};

use crate::devices::CodeFilter;
use crate::hints::GroupFilter;
use crate::sql::statements;

pub use device_part::{DevicePart, DevicesRead};
pub use figures::goods::ProductSales;
pub use fleet_sales::FleetSalesQuery;
use range::Range;
pub use summary::Summary;

statements! {
    [
        best_sellers, device_aisles, device_days, device_sums, filter, fleet_sales, group_profile,
        sales_by_device, summary, sums
    ]
}

/// The common parameters of all reports.
#[derive(Clone, Debug)]
pub struct DashboardQuery {
    /// Another group of the account. The selected group stays selected.
    pub group: Option<GroupFilter>,
    /// Only these devices, each of which must be in scope; all devices if empty.
    pub devices: Vec<CodeFilter>,
    /// The first instant of the range.
    pub start: UnixMs,
    /// The first instant after the range.
    pub end: UnixMs,
}

impl DashboardQuery {
    /// Returns the range; `None` if it is empty.
    fn range(&self, zone: &Zone) -> Option<Range> {
        Range::of(self.start, self.end, zone)
    }
}
