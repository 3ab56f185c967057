//! The dashboard: reports on the sales and the devices of a group.
//!
//! A report is one file below this module, which implements [`Report`]. To add one:
//!
//! 1. Declare its answer, and an accumulator for its rows.
//! 2. Choose with [`Report::SALES`] the sums that it needs, and implement the method that receives
//!    them: `on_sales`, `on_day`, `on_device` or `on_product`.
//! 3. If it needs other rows, declare their statements, return them from `steps` and read them in
//!    `on_row`.
//! 4. Make the answer from the accumulator in `answer`.
//! 5. Add a method to [`Store`] that calls `Store::report`, and list the file here and in [`all`].
//!
//! The rows that reports share are read by [`shared`]: the devices of the filter, the sums of whole
//! days, exchange rates, and the sales of partial days.

mod best_sellers;
mod day_totals;
mod device_aisles;
mod device_part;
mod device_profile;
mod fleet_sales;
mod group_aisles;
mod group_profile;
mod months;
mod product_totals;
mod range;
mod report_query;
mod sales_by_device;
mod sales_trend;
mod shared;
mod summary;
mod sums;

use std::sync::Arc;

use kiosque_model::sales::Turnover;
use kiosque_model::{Claim, Day, DeviceNo, GroupNo, UnixMs, Zone};

use crate::activity::Activity;
use crate::cache::Cache;
use crate::db::{Decision, Step};
use crate::devices::CodeFilter;
use crate::orders::record::dictionaries::Dictionaries;
use crate::scoped_query::{GroupFilter, HintedGroup};
use crate::sql::{Row, Sql, Value};
use crate::{Error, Refused, Store};

pub(crate) use best_sellers::BestSellerHints;
pub use best_sellers::ProductSales;
pub use device_aisles::DeviceElement;
pub use device_part::{DevicePart, DevicesRead};
pub use fleet_sales::{FleetSales, FleetSalesQuery, ProductRank, SilentDevice};
pub use group_aisles::AislesJson;
pub use group_profile::ProfileElement;
use product_totals::ProductTotals;
use range::Range;
use report_query::ReportQuery;
pub use sales_by_device::DeviceSales;
use shared::SharedRows;
pub use summary::Summary;

/// Every statement of this module and of those below it.
pub(crate) fn all() -> impl Iterator<Item = &'static Sql> {
    let shared = [months::ALL, shared::ALL, sums::ALL];
    let reports = [
        best_sellers::ALL,
        device_aisles::ALL,
        device_profile::ALL,
        group_profile::ALL,
        sales_by_device::ALL,
        summary::ALL,
    ];
    shared.into_iter().chain(reports).flatten().copied().chain(fleet_sales::all())
}

/// The parameters that all reports have.
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

/// A request for a report, and the parts of the store that reports use.
struct Request {
    query: DashboardQuery,
    /// `None` if the range is empty.
    range: Option<Range>,
    now: UnixMs,
    zone: Zone,
    activity: Arc<Activity>,
    cache: Arc<Cache>,
    dictionaries: Arc<Dictionaries>,
}

/// The sums of sales that a report receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SalesBy {
    /// No sums: the report is about devices.
    Nothing,
    /// [`Report::on_sales`].
    Range,
    /// [`Report::on_day`].
    Day,
    /// [`Report::on_device`].
    Device,
    /// [`Report::on_product`].
    Product,
}

/// Sales in dollars, as they are read.
enum Sales<'a> {
    /// Sales of a device, on a day or on several.
    OfDevice {
        device: DeviceNo,
        day: Option<Day>,
        turnover: Turnover,
    },
    OfProduct(ProductSum<'a>),
}

/// The sales of a product, by one device or in one month.
struct ProductSum<'a> {
    goods_id: &'a str,
    totals: ProductTotals,
    /// The device that sold it. `None` if it sold no items, and of a month.
    sold_by: Option<DeviceNo>,
}

/// A function of the dashboard.
///
/// Sums may arrive in several parts, in any order, before the rows of its own statements. All rows
/// are of the selected group, but sums only of the devices of the filter.
trait Report: Send + Sync + 'static {
    /// An accumulator for the rows.
    type Rows: Default + Send;
    /// The purpose of one of its own statements.
    type Step: Send + Sync;
    type Answer;

    const SALES: SalesBy;

    /// Adds sales.
    fn on_sales(&self, _: &mut Self::Rows, _: &Turnover) {}

    /// Adds sales of a day.
    fn on_day(&self, _: &mut Self::Rows, _: Day, _: &Turnover) {}

    /// Adds sales of a device.
    fn on_device(&self, _: &mut Self::Rows, _: DeviceNo, _: &Turnover) {}

    /// Adds sales of a product.
    fn on_product(&self, _: &mut Self::Rows, _: &ProductSum<'_>) {}

    /// Returns the statements of its own, in the order in which their rows arrive.
    fn steps<'a>(&'a self, _: &'a Request, _: HintedGroup) -> Vec<Step<'a, Self::Step>> {
        Vec::new()
    }

    /// Returns whether one of its own statements may read all devices of the group.
    fn may_scan(&self, _: &Request) -> bool {
        false
    }

    /// Decides whether to run one of its own statements, by the rows before it.
    fn decide(&self, _: &Self::Rows, _: &Self::Step) -> Decision {
        Decision::Run
    }

    /// Adds a row of one of its own statements.
    fn on_row(
        &self,
        _: &mut Self::Rows,
        _: &Self::Step,
        _: &Row<'_>,
        _: &RowContext<'_>,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// Makes the answer from the rows.
    fn answer(self, rows: Self::Rows, context: &AnswerContext<'_>)
    -> Result<Self::Answer, Refused>;
}

/// The context of [`Report::on_row`].
struct RowContext<'a> {
    request: &'a Request,
    shared: &'a SharedRows,
}

/// The context of [`Report::answer`].
struct AnswerContext<'a> {
    request: &'a Request,
    group: GroupNo,
}

impl Request {
    fn is_of_all_devices(&self) -> bool {
        self.query.devices.is_empty()
    }

    /// Returns the codes of the filter as the rows of a bulk statement, sorted, each once; `None`
    /// for a request about all devices.
    fn codes(&self) -> Option<Vec<Vec<Value<'_>>>> {
        if self.is_of_all_devices() {
            return None;
        }
        let codes = self.query.devices.iter().filter_map(|code| code.as_ref().ok());
        let mut codes: Vec<&str> = codes.map(|code| code.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        Some(codes.into_iter().map(|code| vec![code.into()]).collect())
    }
}

impl Store {
    async fn report<R: Report>(
        &self,
        claim: Claim,
        query: DashboardQuery,
        report: R,
    ) -> Result<R::Answer, Refused> {
        let request = Request {
            range: Range::of(query.start, query.end, &self.zone),
            query,
            now: claim.now,
            zone: self.zone.clone(),
            activity: Arc::clone(&self.activity),
            cache: Arc::clone(&self.cache),
            dictionaries: Arc::clone(&self.dictionaries),
        };
        self.query(claim, ReportQuery { request, report }).await
    }
}
