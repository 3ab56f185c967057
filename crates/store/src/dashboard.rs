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
use kiosque_model::{Day, DeviceNo, GroupNo, PresentedToken, Refusal, Scope, UnixMs, Zone};

use crate::activity::Activity;
use crate::db::{Ask, Due, Length};
use crate::devices::{CodeFilter, GroupFilter};
use crate::scoped_query::ScopedQuery;
use crate::sql::{Row, Sql, Value, statements};
use crate::{Error, Refused, Store};

pub(crate) use cache::DashboardCache;
use cache::{CacheEntry, CacheVersion, DaySum};
pub use devices::{Aisle, DeviceLine};
use devices::{COUNT_ASKS, Counted};
pub use products::ProductSales;
use range::{Part, Plan, Range, Sold};
pub use sales::{DeviceSales, Summary};

statements! {
    DEVICES_IN_SCOPE = "select l.device_no from {rows r: code text}
        cross join ledger l
        where l.group_no = $2 and l.device_code = r.code and l.since_ms <= $3";
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
    /// What it comes to.
    type Answer;

    const GRAIN: Grain;
    /// Whether it tells how many devices there are.
    const COUNTS_DEVICES: bool = false;

    /// What it asks beside the sales, whose rows come after theirs.
    fn asks<'a>(&'a self, _: &'a ReportQuery, _: GroupNo) -> Vec<Ask<'a>> {
        Vec::new()
    }

    /// Takes a row of its own statement in place `ask`.
    fn row(
        &self,
        _: &RowContext<'_>,
        _: &mut Self::Found,
        _: usize,
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

/// What a statement of a dashboard is for.
enum Place<'a> {
    Devices,
    Sales(&'a Part),
    Count(usize),
    Report(usize),
}

impl<F: Report> ScopedQuery for Dashboard<F> {
    type Found = Found<F::Found>;
    type Answer = F::Answer;

    fn group(&self) -> Option<&GroupFilter> {
        self.view.ask.group.as_ref()
    }

    fn length(&self) -> Length {
        self.plan.length
    }

    fn asks(&self, group: GroupNo) -> Vec<Ask<'_>> {
        let mut asks = vec![self.view.ask_devices(group)];
        asks.extend(self.plan.parts.iter().map(|part| part.ask(&self.view, group)));
        if F::COUNTS_DEVICES {
            asks.extend(devices::ask_count(&self.view, group));
        }
        asks.extend(self.figures.asks(&self.view, group));
        asks
    }

    fn row(&self, found: &mut Self::Found, ask: usize, row: &Row<'_>) -> Result<(), Error> {
        let Found { devices, range, counted, of_figures, .. } = found;
        let seen = RowContext { view: &self.view, devices };
        match self.place(ask) {
            Place::Devices => devices.add(row),
            Place::Count(ask) => counted.row(&seen, ask, row),
            Place::Report(ask) => self.figures.row(&seen, of_figures, ask, row),
            Place::Sales(part) => {
                let shows = |device| seen.shows(device);
                part.row(&self.view, F::GRAIN, range, row, shows, |range, sold| {
                    self.figures.sold(of_figures, range, sold)
                })
            }
        }
    }

    fn shortcut(&self, group: GroupNo) -> Option<Ask<'_>> {
        self.whole_days().map(|_| CacheVersion::ask(group))
    }

    fn shortcut_row(
        &self,
        found: &mut Self::Found,
        group: GroupNo,
        row: &Row<'_>,
    ) -> Result<(), Error> {
        let (numbers, view) = (CacheVersion::of(row)?, &self.view);
        found.numbers = Some((group, numbers));
        let span = self.whole_days();
        found.remembered = span.and_then(|span| view.memory.get(group, &numbers, view, span));
        let has_devices = |known: &Arc<CacheEntry>| known.devices.is_some();
        found.remembered.take_if(|known| F::COUNTS_DEVICES && !has_devices(known));
        Ok(())
    }

    fn due(&self, found: &Self::Found, ask: usize) -> Due {
        match self.place(ask) {
            Place::Sales(_) | Place::Count(_) if found.remembered.is_some() => Due::Never,
            Place::Sales(part) => part.due(&found.range),
            Place::Devices | Place::Count(_) | Place::Report(_) => Due::Now,
        }
    }

    fn answer(self, mut found: Self::Found, scope: Scope) -> Result<Self::Answer, Refused> {
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
    fn place(&self, ask: usize) -> Place<'_> {
        let Some(after_devices) = ask.checked_sub(1) else { return Place::Devices };
        if let Some(part) = self.plan.parts.get(after_devices) {
            return Place::Sales(part);
        }
        let after_sales = after_devices - self.plan.parts.len();
        match after_sales.checked_sub(COUNT_ASKS) {
            _ if !F::COUNTS_DEVICES => Place::Report(after_sales),
            None => Place::Count(after_sales),
            Some(after_count) => Place::Report(after_count),
        }
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
        let device = DeviceNo(row.int(0)?);
        self.rows += 1;
        // A device that is named twice sold once.
        if let Err(place) = self.numbers.binary_search(&device) {
            self.numbers.insert(place, device);
        }
        Ok(())
    }
}

impl ReportQuery {
    fn ask_devices(&self, group: GroupNo) -> Ask<'_> {
        let codes = self.ask.devices.iter().filter_map(|code| code.as_ref().ok());
        let codes: Vec<Vec<Value<'_>>> = codes.map(|code| vec![code.as_str().into()]).collect();
        Ask::new(&DEVICES_IN_SCOPE, [group.0.into(), self.now.0.into()]).of(codes)
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
        presented: &PresentedToken,
        now: UnixMs,
        ask: DashboardQuery,
        figures: F,
    ) -> Result<F::Answer, Refused> {
        let activity = Arc::clone(&self.activity);
        let (zone, memory) = (self.zone.clone(), Arc::clone(&self.memory));
        let view = ReportQuery { ask, now, zone, activity, memory };
        let plan = Plan::of(&view, F::GRAIN);
        self.ask(presented, now, Dashboard { view, plan, figures }).await
    }
}
