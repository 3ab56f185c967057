//! The rows that reports share.

use std::sync::Arc;

use kiosque_model::DeviceNo;

use super::day_totals::CacheEntry;
use super::range::PartialDay;
use super::sums::{self, SumRows};
use super::{Report, Request, Sales, SalesBy, months};
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
    /// A partial day with sales outside of the range.
    Partial,
    /// The sales of a device in a month.
    DeviceMonth,
    /// The sales of a product in a month.
    ProductMonth,
    /// The sums of a product of a device on a day.
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
        let partial = range.partial_days.iter();
        let partial = partial.map(|part| sums::bind_partial(part, range, group));
        steps.extend(partial.map(|part| part.step(SharedStep::Partial)));
        steps.push(sums::bind_rates(range, group).step(SharedStep::Rate));
        steps.push(match (R::SALES, request.codes()) {
            (SalesBy::Product, None) => {
                months::bind_products(range, group).step(SharedStep::ProductMonth)
            }
            (SalesBy::Product, Some(codes)) => {
                sums::bind_products_of(codes, range, group).step(SharedStep::ProductDay)
            }
            _ => months::bind_devices(request, range, group).step(SharedStep::DeviceMonth),
        });
    }
    for part in &range.partial_days {
        let sales = sums::bind_partial_day(part, range, group);
        steps.push(sales.step(SharedStep::PartialDay(*part)));
    }
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
        let selects = |device| request.is_of_all_devices() || filtered.contains(device);
        match step {
            SharedStep::Versions(group) => self.look_up(group, row.read()?, request),
            SharedStep::FilteredDevice => filtered.add(row.read()?),
            SharedStep::Day => sums.add_day(&row.read()?, request.range.as_ref())?,
            SharedStep::Rate => sums.add_rate(&row.read()?)?,
            SharedStep::Partial => sums.add_partial(row.read()?),
            SharedStep::DeviceMonth => {
                if let Some(range) = &request.range {
                    sums.on_device((row, R::SALES), range, selects, on_sales)?;
                }
            }
            SharedStep::ProductMonth => {
                if let Some(range) = &request.range {
                    sums.on_product(row, range, on_sales)?;
                }
            }
            SharedStep::ProductDay => sums.on_product_day(row, selects, on_sales)?,
            SharedStep::PartialDay(part) => {
                let row = (row, &*request.dictionaries);
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
