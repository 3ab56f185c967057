//! A report as a query: the rows that it shares with other reports, then its own.

use kiosque_model::{GroupNo, Refusal, Scope};

use super::day_totals::{CacheEntry, DayTotal};
use super::range::Range;
use super::shared::{self, SharedRows, SharedStep};
use super::{AnswerContext, Report, Request, RowContext, Sales, SalesBy};
use crate::db::{Cost, Decision, Step};
use crate::scoped_query::{GroupFilter, HintedGroup, ScopedQuery};
use crate::sql::Row;
use crate::{Error, Refused};

/// Ranges of more days are read on the blocking pool.
const INLINE_DAYS_MAX: i64 = 100;

/// Reports about devices with a filter of at most so many run on the serving thread.
const INLINE_LOOK_UPS_MAX: usize = 10;

/// A report and its request.
pub(super) struct ReportQuery<R> {
    pub(super) request: Request,
    pub(super) report: R,
}

#[derive(Default)]
pub(super) struct ReportRows<T> {
    shared: SharedRows,
    own: T,
}

pub(super) enum ReportStep<S> {
    Shared(SharedStep),
    Own(S),
}

impl<R: Report> ScopedQuery for ReportQuery<R> {
    type Rows = ReportRows<R::Rows>;
    type Step = ReportStep<R::Step>;
    type Answer = R::Answer;

    fn group(&self) -> Option<&GroupFilter> {
        self.request.query.group.as_ref()
    }

    fn cost(&self) -> Cost {
        let Request { query, range, .. } = &self.request;
        let cost = match (R::SALES, range) {
            (SalesBy::Day | SalesBy::Range, None) => Cost::Inline,
            (SalesBy::Day | SalesBy::Range, Some(range)) => cost_of_days(&self.request, range),
            (SalesBy::Nothing, _) if (1..=INLINE_LOOK_UPS_MAX).contains(&query.devices.len()) => {
                Cost::Inline
            }
            _ => Cost::Blocking,
        };
        match cost {
            Cost::Inline if self.report.may_scan(&self.request) => Cost::Unknown,
            cost => cost,
        }
    }

    fn steps(&self, group: HintedGroup) -> Vec<Step<'_, Self::Step>> {
        let shared = shared::steps::<R>(&self.request, group).into_iter();
        let own = self.report.steps(&self.request, group).into_iter();
        let shared = shared.map(|step| step.map(ReportStep::Shared));
        shared.chain(own.map(|step| step.map(ReportStep::Own))).collect()
    }

    fn on_row(&self, rows: &mut Self::Rows, step: &Self::Step, row: &Row<'_>) -> Result<(), Error> {
        let ReportRows { shared, own } = rows;
        match step {
            ReportStep::Shared(step) => {
                let on_sales = |sales: &Sales<'_>| self.on_sales(own, sales);
                shared.on_row::<R>(*step, row, &self.request, on_sales)
            }
            ReportStep::Own(step) => {
                let context = RowContext { request: &self.request, shared };
                self.report.on_row(own, step, row, &context)
            }
        }
    }

    fn cache_check(&self, group: HintedGroup) -> Option<Step<'_, Self::Step>> {
        Some(shared::cache_check::<R>(&self.request, group)?.map(ReportStep::Shared))
    }

    fn decide(&self, rows: &Self::Rows, step: &Self::Step) -> Decision {
        match step {
            ReportStep::Shared(step) => rows.shared.decide(*step),
            ReportStep::Own(step) => self.report.decide(&rows.own, step),
        }
    }

    fn answer(self, rows: Self::Rows, scope: Scope) -> Result<Self::Answer, Refused> {
        self.answer_about(rows, scope.group())
    }
}

impl<R: Report> ReportQuery<R> {
    /// Makes the answer from the rows of a group.
    pub(super) fn answer_about(
        self,
        rows: ReportRows<R::Rows>,
        group: GroupNo,
    ) -> Result<R::Answer, Refused> {
        let ReportRows { shared, mut own } = rows;
        // SCOPE-4: each of `deviceCodes` must be in the scope.
        if !shared.filtered.are_all(&self.request) {
            return Err(Refusal::OutOfScope.into());
        }
        let SharedRows { sums, versions, cached, .. } = shared;
        let range = self.request.range.as_ref().filter(|_| shared::is_cached::<R>(&self.request));
        match (range, &cached) {
            (None, _) => {}
            (Some(range), Some(entry)) => self.on_days(&mut own, range, entry.days_of(range)),
            (Some(range), None) => {
                let days = sums.days()?;
                self.on_days(&mut own, range, &days);
                if let Some(versions) = versions {
                    let (first_day, last_day) = (range.first_day, range.last_day);
                    let entry = CacheEntry { versions, first_day, last_day, days };
                    entry.insert(&self.request.cache, group);
                }
            }
        }
        let context = AnswerContext { request: &self.request, group };
        self.report.answer(own, &context)
    }

    /// Passes sales of devices of the request to the report.
    fn on_sales(&self, rows: &mut R::Rows, sales: &Sales<'_>) {
        match (R::SALES, sales) {
            (SalesBy::Day, Sales::OfDevice { day: Some(day), turnover, .. }) => {
                self.report.on_day(rows, *day, turnover);
            }
            (SalesBy::Range, Sales::OfDevice { turnover, .. }) => {
                self.report.on_sales(rows, turnover);
            }
            (SalesBy::Device, Sales::OfDevice { device, turnover, .. }) => {
                self.report.on_device(rows, *device, turnover);
            }
            (SalesBy::Product, Sales::OfProduct(product)) => self.report.on_product(rows, product),
            _ => {}
        }
    }

    /// Passes the totals of days to the report, except those with sales outside of the range, whose
    /// sales were counted from their orders.
    fn on_days(&self, rows: &mut R::Rows, range: &Range, days: &[DayTotal]) {
        for total in days.iter().filter(|total| total.is_within(range)) {
            match R::SALES {
                SalesBy::Range => self.report.on_sales(rows, &total.turnover),
                _ => self.report.on_day(rows, total.day, &total.turnover),
            }
        }
    }
}

/// Returns the cost of sums by day. A partial last day that ends now has sales outside of the range
/// only if they are dated ahead.
fn cost_of_days(request: &Request, range: &Range) -> Cost {
    let is_long = range.day_count() > INLINE_DAYS_MAX || !request.is_of_all_devices();
    let may_recount =
        range.partial_days.iter().any(|part| part.end < request.now || part.start == range.start);
    match (is_long, may_recount) {
        (true, _) => Cost::Blocking,
        (false, true) => Cost::Unknown,
        (false, false) => Cost::Inline,
    }
}
