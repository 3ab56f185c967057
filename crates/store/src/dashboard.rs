//! The dashboard: sums of sales over a range of days, read as they are kept. A day that the range
//! cuts in two is counted from its orders, unless all its sales lie on one side.
//!
//! What a function tells is its [`Figures`]; what it is told of, and how that is read, is common to
//! all: a [`Dashboard`].

mod devices;
mod products;
mod range;
mod sales;

use std::sync::Arc;

use kiosque_model::{DeviceNo, GroupNo, Presented, Refusal, Scope, UnixMs, Zone};

use crate::activity::Activity;
use crate::db::{Ask, Length};
use crate::devices::{CodeFilter, GroupFilter};
use crate::question::Question;
use crate::record::RecordShape;
use crate::sql::{Row, Sql, Value, statements};
use crate::{Error, Refused, Store};

pub use devices::{Aisle, DeviceLine};
pub use products::ProductSales;
use range::{Part, Range, Sold};
pub use sales::{DeviceSales, Summary};

statements! {
    DEVICES_IN_SCOPE = "select l.device_no from {rows r: code text}
        cross join ledger l
        where l.group_no = $2 and l.device_code = r.code and l.since_ms <= $3";
}

/// Every statement of this module and of those below it.
pub(crate) fn all() -> impl Iterator<Item = &'static Sql> {
    [ALL, devices::ALL, products::ALL, range::ALL, sales::ALL].into_iter().flatten().copied()
}

/// What a dashboard is asked about.
#[derive(Clone, Debug)]
pub struct DashboardAsk {
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
struct View {
    ask: DashboardAsk,
    now: UnixMs,
    zone: Zone,
    shape: Arc<dyn RecordShape>,
    activity: Arc<Activity>,
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
trait Figures: Send + Sync + 'static {
    /// What it collects.
    type Found: Default + Send;
    /// What it comes to.
    type Answer;

    const GRAIN: Grain;

    /// What it asks beside the sales, whose rows come after theirs.
    fn asks<'a>(&'a self, view: &'a View, group: GroupNo) -> Vec<Ask<'a>>;

    /// Takes a row of its own statement in place `ask`.
    fn row(
        &self,
        seen: &Seen<'_>,
        found: &mut Self::Found,
        ask: usize,
        row: &Row<'_>,
    ) -> Result<(), Error>;

    /// Takes what was sold, in the grain that it wants.
    fn sold(&self, _: &mut Self::Found, _: &Range, _: Sold<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn answer(
        self,
        view: &View,
        range: &Range,
        found: Self::Found,
        scope: Scope,
    ) -> Result<Self::Answer, Refused>;
}

/// What is known when a row of a function's own comes.
struct Seen<'a> {
    view: &'a View,
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
    view: View,
    plan: Vec<Part>,
    figures: F,
}

#[derive(Default)]
struct Found<T> {
    devices: Devices,
    range: Range,
    of_figures: T,
}

impl<F: Figures> Question for Dashboard<F> {
    type Found = Found<F::Found>;
    type Answer = F::Answer;

    fn group(&self) -> Option<&GroupFilter> {
        self.view.ask.group.as_ref()
    }

    fn length(&self) -> Length {
        if F::GRAIN == Grain::Day { range::length(&self.view) } else { Length::Long }
    }

    fn asks(&self, group: GroupNo) -> Vec<Ask<'_>> {
        let mut asks = vec![self.view.ask_devices(group)];
        asks.extend(self.plan.iter().map(|part| part.ask(&self.view, group)));
        asks.extend(self.figures.asks(&self.view, group));
        asks
    }

    fn row(&self, found: &mut Self::Found, ask: usize, row: &Row<'_>) -> Result<(), Error> {
        let Found { devices, range, of_figures } = found;
        if ask == 0 {
            return devices.add(row);
        }
        let Some(part) = self.plan.get(ask - 1) else {
            let seen = Seen { view: &self.view, devices };
            return self.figures.row(&seen, of_figures, ask - 1 - self.plan.len(), row);
        };
        let shows = |device| self.view.shows(devices, device);
        part.row(&self.view, F::GRAIN, range, row, shows, |range, sold| {
            self.figures.sold(of_figures, range, sold)
        })
    }

    fn answer(self, mut found: Self::Found, scope: Scope) -> Result<Self::Answer, Refused> {
        // "`deviceCode` unknown, or of another group only, or any of `deviceCodes`: -1 scope."
        if found.devices.rows != self.view.ask.devices.len() {
            return Err(Refusal::OutOfScope.into());
        }
        if F::GRAIN == Grain::Day && self.view.ask.devices.is_empty() {
            let of_figures = &mut found.of_figures;
            found.range.each_kept(|range, sold| self.figures.sold(of_figures, range, sold))?;
        }
        self.figures.answer(&self.view, &found.range, found.of_figures, scope)
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

impl View {
    fn ask_devices(&self, group: GroupNo) -> Ask<'_> {
        let codes = self.ask.devices.iter().filter_map(|code| code.as_ref().ok());
        let codes: Vec<Vec<Value<'_>>> = codes.map(|code| vec![code.as_str().into()]).collect();
        Ask::new(&DEVICES_IN_SCOPE, [group.0.into(), self.now.0.into()]).of(codes)
    }

    fn shows(&self, devices: &Devices, device: DeviceNo) -> bool {
        self.ask.devices.is_empty() || devices.numbers.binary_search(&device).is_ok()
    }
}

impl Seen<'_> {
    fn shows(&self, device: DeviceNo) -> bool {
        self.view.shows(self.devices, device)
    }
}

impl Store {
    async fn dashboard<F: Figures>(
        &self,
        presented: &Presented,
        now: UnixMs,
        ask: DashboardAsk,
        figures: F,
    ) -> Result<F::Answer, Refused> {
        let (shape, activity) = (Arc::clone(&self.shape), Arc::clone(&self.activity));
        let view = View { ask, now, zone: self.zone.clone(), shape, activity };
        let plan = range::plan(&view, F::GRAIN);
        self.ask(presented, now, Dashboard { view, plan, figures }).await
    }
}
