//! The rows that reports share.

use std::sync::Arc;

use kiosque_model::DeviceNo;

use super::day_totals::CacheEntry;
use super::range::{PartialDay, Range};
use super::spans::Spans;
use super::sums::{self, SumRows};
use super::{Report, Request, RowContext, Sales, SalesBy, months};
use crate::Error;
use crate::db::{Bound, Decision, Step};
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, Value, statements};
use crate::versions::{Versions, bind_versions};

statements! {
    DEVICES_IN_SCOPE(group_no, now_ms) -> DeviceNo = "select l.device_no from {rows r: code text}
        cross join ledger l
        where l.group_no = $group_no and l.device_code = r.code
            and (l.since_ms <= $now_ms or l.last_seq >= l.first_seq)";
}

/// A statement that reports share.
#[derive(Clone, Copy)]
pub(super) enum SharedStep {
    /// The versions of the group.
    Versions(HintedGroup),
    /// The devices of the filter.
    FilteredDevice,
    /// The sums of a whole day, which also show whether all sales of a partial day lie in the
    /// range.
    Day,
    Rate,
    /// The rate of a currency on a day, and the bounds of the day.
    DayRate,
    /// The sales of a device in a closed month.
    DeviceMonth,
    /// The sales of a product in a closed month.
    ProductMonth,
    /// The sales of a product of a device in a closed month.
    DeviceProductMonth,
    /// The sums of a device on a whole day.
    DeviceDay,
    /// The sums of a product of a device on a whole day.
    ProductDay,
    /// The sales in the range of a partial day.
    PartialDay(PartialDay),
}

/// An accumulator for the shared rows.
#[derive(Default)]
pub(super) struct SharedRows {
    pub(super) filtered: FilteredDevices,
    pub(super) sums: SumRows,
    pub(super) versions: Option<Versions>,
    /// The cached rows, if they make it unnecessary to read the sums.
    pub(super) cached: Option<Arc<CacheEntry>>,
}

/// The devices of the filter that are in scope.
#[derive(Default)]
pub(super) struct FilteredDevices {
    /// Sorted.
    devices: Vec<DeviceNo>,
    /// How many codes of the filter were found. A repeated code counts each time.
    codes_found: usize,
}

/// Returns the statements that a report shares with others, in the order in which their rows
/// arrive.
pub(super) fn steps<R: Report>(request: &Request, group: HintedGroup) -> Vec<Step<'_, SharedStep>> {
    let mut steps = vec![bind_filter(request, group).step(SharedStep::FilteredDevice)];
    let Some(range) = request.range.as_ref().filter(|_| R::SALES != SalesBy::Nothing) else {
        return steps;
    };
    if is_cached::<R>(request) {
        steps.push(sums::bind_days(range, group).step(SharedStep::Day));
        steps.push(sums::bind_rates(range, group).step(SharedStep::Rate));
    } else {
        steps.extend(sum_steps(R::SALES, request, range, group));
    }
    for part in &range.partial_days {
        let sales = sums::bind_partial_day(part, range, group);
        steps.push(sales.step(SharedStep::PartialDay(*part)));
    }
    steps
}

/// Returns the statements that read sums by device or by product.
fn sum_steps<'a>(
    sales_by: SalesBy,
    request: &'a Request,
    range: &Range,
    group: HintedGroup,
) -> Vec<Step<'a, SharedStep>> {
    let codes = request.query.devices.as_slice();
    let spans = match sales_by {
        SalesBy::Day => Spans::by_day(range),
        _ => Spans::by_month(range, request.zone.day_of(request.now)),
    };
    let mut steps = vec![sums::bind_day_rates(&spans, group).step(SharedStep::DayRate)];
    if let Some(months) = spans.months() {
        steps.push(match (sales_by, codes) {
            (SalesBy::Product, []) => {
                months::bind_products(&spans, months, group).step(SharedStep::ProductMonth)
            }
            (SalesBy::Product, codes) => {
                months::bind_products_of(codes, &spans, group).step(SharedStep::DeviceProductMonth)
            }
            (_, []) => months::bind_devices(&spans, months, group).step(SharedStep::DeviceMonth),
            (_, codes) => {
                months::bind_devices_of(codes, &spans, group).step(SharedStep::DeviceMonth)
            }
        });
    }
    steps.push(match sales_by {
        SalesBy::Product => sums::bind_products(codes, &spans, group).step(SharedStep::ProductDay),
        _ => sums::bind_devices(codes, &spans, group).step(SharedStep::DeviceDay),
    });
    steps
}

/// Returns the step that looks the report up in the cache, if it can be there: sums by day, of all
/// devices.
pub(super) fn cache_check<R: Report>(
    request: &Request,
    group: HintedGroup,
) -> Option<Step<'static, SharedStep>> {
    is_cached::<R>(request).then(|| bind_versions(group).step(SharedStep::Versions(group)))
}

/// Returns whether the rows of a report can be cached.
pub(super) fn is_cached<R: Report>(request: &Request) -> bool {
    matches!(R::SALES, SalesBy::Day | SalesBy::Range)
        && request.is_of_all_devices()
        && request.range.is_some()
}

impl SharedRows {
    /// Decides whether to run a step, by the rows before it.
    pub(super) fn decide(&self, step: SharedStep) -> Decision {
        match step {
            SharedStep::Versions(_) | SharedStep::FilteredDevice => Decision::Run,
            _ if self.cached.is_some() => Decision::Skip,
            // Only if some sales of the day lie outside of the range; reading orders is slow.
            SharedStep::PartialDay(part) if self.sums.is_partial(part.day) => Decision::RunBlocking,
            SharedStep::PartialDay(_) => Decision::Skip,
            _ => Decision::Run,
        }
    }

    /// Adds a row of a step. Passes sales of the request's devices to `on_sales`.
    pub(super) fn on_row<R: Report>(
        &mut self,
        step: SharedStep,
        row: &Row<'_>,
        request: &Request,
        on_sales: impl FnMut(&Sales<'_>),
    ) -> Result<(), Error> {
        let SharedRows { filtered, sums, .. } = self;
        let context = RowContext { request, filtered };
        let selects = |device| context.selects(device);
        match step {
            SharedStep::Versions(group) => self.look_up(group, row.read()?, request),
            SharedStep::FilteredDevice => filtered.add(row.read()?),
            SharedStep::Day => sums.add_day(&row.read()?, request.range.as_ref())?,
            SharedStep::Rate => sums.add_rate(&row.read()?)?,
            SharedStep::DayRate => {
                if let Some(range) = &request.range {
                    sums.add_day_rate(&row.read()?, range)?;
                }
            }
            SharedStep::DeviceMonth => months::on_device(row, on_sales)?,
            SharedStep::ProductMonth => months::on_product(row, on_sales)?,
            SharedStep::DeviceProductMonth => months::on_device_product(row, on_sales)?,
            SharedStep::DeviceDay => sums.on_device_day(row, selects, on_sales)?,
            SharedStep::ProductDay => sums.on_product_day(row, selects, on_sales)?,
            SharedStep::PartialDay(part) => {
                sums.on_partial_day(part.day, R::SALES, row, selects, on_sales)?;
            }
        }
        Ok(())
    }

    fn look_up(&mut self, group: HintedGroup, versions: Versions, request: &Request) {
        self.versions = Some(versions);
        let Some(range) = &request.range else { return };
        self.cached = CacheEntry::get(&request.cache, group.number(), &versions, range);
    }
}

impl FilteredDevices {
    fn add(&mut self, device: DeviceNo) {
        self.codes_found += 1;
        if let Err(index) = self.devices.binary_search(&device) {
            self.devices.insert(index, device);
        }
    }

    pub(super) fn contains(&self, device: DeviceNo) -> bool {
        self.devices.binary_search(&device).is_ok()
    }

    /// Returns whether all devices of the filter are in scope.
    pub(super) fn are_all(&self, request: &Request) -> bool {
        self.codes_found == request.query.devices.len()
    }
}

fn bind_filter(request: &Request, group: HintedGroup) -> Bound<'_> {
    let codes = request.query.devices.iter().filter_map(|code| code.as_ref().ok());
    let codes: Vec<Vec<Value<'_>>> = codes.map(|code| vec![code.as_str().into()]).collect();
    Bound::new(&DEVICES_IN_SCOPE, [group.into(), request.now.into()]).with_rows(codes)
}
