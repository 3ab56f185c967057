//! The dashboard: sums of sales over a range of days, read as they are kept. A day that the range
//! cuts in two is counted from its orders, unless all its sales lie on one side.
//!
//! What a function tells is its [`Report`]; what it is told of, and how that is read, is common to
//! all: a [`Dashboard`].

mod cache;
mod devices;
mod products;
mod range;
mod sales;

use std::sync::Arc;

use kiosque_model::sales::Turnover;
use kiosque_model::{Claim, Day, DeviceNo, GroupNo, Refusal, Scope, UnixMs, Zone};

use crate::activity::Activity;
use crate::db::{Bound, Cost, Decision, Step};
use crate::devices::CodeFilter;
use crate::scoped_query::{GroupFilter, HintedGroup, ScopedQuery};
use crate::sql::{Row, Sql, Value, statements};
use crate::{Error, Refused, Store};

pub(crate) use cache::DashboardCache;
use cache::{CacheEntry, CacheVersion, DaySum};
pub use devices::{Aisle, DeviceLine};
use devices::{CountStep, Counted};
pub use products::ProductSales;
use range::{Part, Plan, Range, Sold};
pub use sales::{DeviceSales, Summary};

statements! {
    DEVICES_IN_SCOPE(group_no, now_ms) -> DeviceNo = "select l.device_no from {rows r: code text}
        cross join ledger l
        where l.group_no = $group_no and l.device_code = r.code and l.since_ms <= $now_ms";
}

/// Every statement of this module and of those below it.
pub(crate) fn all() -> impl Iterator<Item = &'static Sql> {
    [ALL, devices::ALL, products::ALL, range::ALL, cache::ALL, sales::ALL]
        .into_iter()
        .flatten()
        .copied()
}

/// What a dashboard is asked about.
#[derive(Clone, Debug)]
pub struct DashboardQuery {
    /// Another group of the account; does not switch.
    pub group: Option<GroupFilter>,
    /// Only these devices, each of which must be one of the scope; all when empty.
    pub devices: Vec<CodeFilter>,
    /// The first instant of the range.
    pub start: UnixMs,
    /// The first instant after it.
    pub end: UnixMs,
}

/// What a dashboard is read with.
struct ReportQuery {
    ask: DashboardQuery,
    now: UnixMs,
    zone: Zone,
    activity: Arc<Activity>,
    memory: Arc<DashboardCache>,
}

/// Which sums a function is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grain {
    /// None: it tells of devices, not of sales.
    None,
    Day,
    Device,
    Product,
}

/// What one function of the dashboard makes of what it is told.
trait Report: Send + Sync + 'static {
    /// What it collects.
    type Found: Default + Send;
    /// What one of its own statements is for.
    type Step: Send + Sync;
    /// What it comes to.
    type Answer;

    const GRAIN: Grain;
    /// Whether it tells how many devices there are.
    const COUNTS_DEVICES: bool = false;

    /// What it asks beside the sales, whose rows come after theirs.
    fn steps<'a>(&'a self, _: &'a ReportQuery, _: HintedGroup) -> Vec<Step<'a, Self::Step>> {
        Vec::new()
    }

    /// Adds a row of its own step.
    fn on_row(
        &self,
        _: &RowContext<'_>,
        _: &mut Self::Found,
        _: &Self::Step,
        _: &Row<'_>,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// Takes what was sold, in the grain that it wants.
    fn sold(&self, _: &mut Self::Found, _: &Range, _: Sold<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Takes all that was sold on a day.
    fn day(&self, _: &mut Self::Found, _: Day, _: &Turnover) {}

    fn answer(self, made: ReportContext<'_>, found: Self::Found) -> Result<Self::Answer, Refused>;
}

/// What an answer is made of, beside a function's own.
struct ReportContext<'a> {
    view: &'a ReportQuery,
    counted: &'a Counted,
    scope: Scope,
}

/// What is known when a row of a function's own comes.
struct RowContext<'a> {
    view: &'a ReportQuery,
    devices: &'a Devices,
}

/// The devices that are asked about, by number; as many rows as there are codes, if all of them are
/// of the scope.
#[derive(Default)]
struct Devices {
    numbers: Vec<DeviceNo>,
    rows: usize,
}

/// A function of the dashboard, about to be asked.
struct Dashboard<F> {
    view: ReportQuery,
    plan: Plan,
    figures: F,
}

#[derive(Default)]
struct Found<T> {
    devices: Devices,
    range: Range,
    counted: Counted,
    /// The group and its numbers, where they are asked for, and what is remembered by them.
    numbers: Option<(GroupNo, CacheVersion)>,
    remembered: Option<Arc<CacheEntry>>,
    of_figures: T,
}

/// A statement of a dashboard.
enum DashboardStep<S> {
    CacheVersion(HintedGroup),
    Devices,
    Sales(Part),
    Count(CountStep),
    Report(S),
}

impl<F: Report> ScopedQuery for Dashboard<F> {
    type Rows = Found<F::Found>;
    type Step = DashboardStep<F::Step>;
    type Answer = F::Answer;

    fn group(&self) -> Option<&GroupFilter> {
        self.view.ask.group.as_ref()
    }

    fn cost(&self) -> Cost {
        self.plan.cost
    }

    fn steps(&self, group: HintedGroup) -> Vec<Step<'_, Self::Step>> {
        let mut steps = vec![self.view.bind_devices(group).step(DashboardStep::Devices)];
        let sales = self.plan.parts.iter();
        steps.extend(
            sales.map(|part| part.bind(&self.view, group).step(DashboardStep::Sales(*part))),
        );
        if F::COUNTS_DEVICES {
            let count = devices::count_steps(&self.view, group);
            steps.extend(count.map(|step| step.map(DashboardStep::Count)));
        }
        let own = self.figures.steps(&self.view, group).into_iter();
        steps.extend(own.map(|step| step.map(DashboardStep::Report)));
        steps
    }

    fn on_row(
        &self,
        found: &mut Self::Rows,
        step: &Self::Step,
        row: &Row<'_>,
    ) -> Result<(), Error> {
        let Found { devices, range, counted, of_figures, .. } = found;
        let seen = RowContext { view: &self.view, devices };
        match step {
            DashboardStep::CacheVersion(group) => self.look_up(found, *group, row),
            DashboardStep::Devices => devices.add(row),
            DashboardStep::Count(step) => counted.on_row(&seen, step, row),
            DashboardStep::Report(step) => self.figures.on_row(&seen, of_figures, step, row),
            DashboardStep::Sales(part) => {
                let shows = |device| seen.shows(device);
                part.on_row(&self.view, F::GRAIN, range, row, shows, |range, sold| {
                    self.figures.sold(of_figures, range, sold)
                })
            }
        }
    }

    fn cache_check(&self, group: HintedGroup) -> Option<Step<'_, Self::Step>> {
        self.whole_days()?;
        Some(CacheVersion::bind(group).step(DashboardStep::CacheVersion(group)))
    }

    fn decide(&self, found: &Self::Rows, step: &Self::Step) -> Decision {
        match step {
            DashboardStep::Sales(_) | DashboardStep::Count(_) if found.remembered.is_some() => {
                Decision::Skip
            }
            DashboardStep::Sales(part) => part.decide(&found.range),
            _ => Decision::Run,
        }
    }

    fn answer(self, mut found: Self::Rows, scope: Scope) -> Result<Self::Answer, Refused> {
        // SCOPE-4: each of `deviceCodes` must be in the scope.
        if found.devices.rows != self.view.ask.devices.len() {
            return Err(Refusal::OutOfScope.into());
        }
        let remembered = found.remembered.take();
        let known_devices = remembered.as_ref().and_then(|known| known.devices.clone());
        let counted = known_devices.unwrap_or_else(|| Arc::new(std::mem::take(&mut found.counted)));
        if let (Some(known), Some(span)) = (&remembered, self.whole_days()) {
            self.each_day(&mut found.of_figures, known.days_in(span));
        } else if let Some(span) = self.whole_days() {
            let days = found.range.days()?;
            self.each_day(&mut found.of_figures, &days);
            if let Some((group, numbers)) = found.numbers {
                let devices = F::COUNTS_DEVICES.then(|| Arc::clone(&counted));
                let read = CacheEntry { numbers, at: self.view.now, span, days, devices };
                self.view.memory.remember(group, read);
            }
        }
        let made = ReportContext { view: &self.view, counted: &counted, scope };
        self.figures.answer(made, found.of_figures)
    }
}

impl<F: Report> Dashboard<F> {
    /// Looks the group up in the cache, by the version that was read of it.
    fn look_up(
        &self,
        found: &mut Found<F::Found>,
        group: HintedGroup,
        row: &Row<'_>,
    ) -> Result<(), Error> {
        let (group, version) = (group.number(), CacheVersion::read(row)?);
        found.numbers = Some((group, version));
        let Some(span) = self.whole_days() else { return Ok(()) };
        found.remembered = self.view.memory.get(group, &version, &self.view, span);
        found.remembered.take_if(|known| F::COUNTS_DEVICES && known.devices.is_none());
        Ok(())
    }

    /// The days that are asked about, if what they came to is told of all devices together.
    fn whole_days(&self) -> Option<(Day, Day)> {
        let of_all = F::GRAIN == Grain::Day && self.view.ask.devices.is_empty();
        self.plan.span.filter(|_| of_all)
    }

    /// Passes on what each day came to, but for those of which only a part counts.
    fn each_day(&self, found: &mut F::Found, days: &[DaySum]) {
        for sum in days.iter().filter(|sum| !sum.is_cut(&self.view)) {
            self.figures.day(found, sum.day, &sum.turnover);
        }
    }
}

impl Devices {
    fn add(&mut self, row: &Row<'_>) -> Result<(), Error> {
        let device: DeviceNo = row.read()?;
        self.rows += 1;
        // A device that is named twice sold once.
        if let Err(place) = self.numbers.binary_search(&device) {
            self.numbers.insert(place, device);
        }
        Ok(())
    }
}

impl ReportQuery {
    fn bind_devices(&self, group: HintedGroup) -> Bound<'_> {
        let codes = self.ask.devices.iter().filter_map(|code| code.as_ref().ok());
        let codes: Vec<Vec<Value<'_>>> = codes.map(|code| vec![code.as_str().into()]).collect();
        Bound::new(&DEVICES_IN_SCOPE, [group.into(), self.now.into()]).with_rows(codes)
    }

    fn shows(&self, devices: &Devices, device: DeviceNo) -> bool {
        self.ask.devices.is_empty() || devices.numbers.binary_search(&device).is_ok()
    }
}

impl RowContext<'_> {
    fn shows(&self, device: DeviceNo) -> bool {
        self.view.shows(self.devices, device)
    }
}

impl Store {
    async fn dashboard<F: Report>(
        &self,
        claim: Claim,
        ask: DashboardQuery,
        figures: F,
    ) -> Result<F::Answer, Refused> {
        let activity = Arc::clone(&self.activity);
        let (zone, memory) = (self.zone.clone(), Arc::clone(&self.memory));
        let view = ReportQuery { ask, now: claim.now, zone, activity, memory };
        let plan = Plan::of(&view, F::GRAIN);
        self.query(claim, Dashboard { view, plan, figures }).await
    }
}
