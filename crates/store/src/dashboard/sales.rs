//! What sales come to: together, by day, and by device.

use std::collections::{BTreeMap, HashMap};

use kiosque_model::sales::Turnover;
use kiosque_model::{Claim, Day, DeviceNo};

use super::range::{self, Range, Sold};
use super::{DashboardQuery, Grain, Report, ReportContext, ReportQuery, RowContext};
use crate::db::{Bound, Step};
use crate::devices::OnlineSince;
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, statements};
use crate::{Error, Refused, Store};

statements! {
    NAMES = "select l.device_no, l.device_code, d.device_name
        from ledger l join devices d on d.device_no = l.device_no where l.group_no = $1";
}

/// What the summary tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Every sale of the range.
    pub turnover: Turnover,
    /// Devices that the group owns now.
    pub devices: i64,
    /// Those of them that are online.
    pub online_devices: i64,
}

/// The sales of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSales {
    /// `deviceCode`.
    pub code: String,
    /// `deviceName`, as it is now.
    pub name: String,
    /// What it sold.
    pub turnover: Turnover,
}

impl Store {
    /// What all sales of the range come to, and how many devices there are now.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn summary(
        &self,
        claim: Claim,
        online: OnlineSince,
        ask: DashboardQuery,
    ) -> Result<Summary, Refused> {
        self.dashboard(claim, ask, SummaryFigures(online)).await
    }

    /// What the sales of each day come to, for every day that the range touches.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn sales_trend(
        &self,
        claim: Claim,
        ask: DashboardQuery,
    ) -> Result<Vec<(Day, Turnover)>, Refused> {
        self.dashboard(claim, ask, TrendFigures).await
    }

    /// What each device sold, for those that sold something.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn sales_by_device(
        &self,
        claim: Claim,
        ask: DashboardQuery,
    ) -> Result<Vec<DeviceSales>, Refused> {
        self.dashboard(claim, ask, DeviceFigures).await
    }
}

struct SummaryFigures(OnlineSince);

impl Report for SummaryFigures {
    type Found = Turnover;
    type Step = ();
    type Answer = Summary;
    const GRAIN: Grain = Grain::Day;
    const COUNTS_DEVICES: bool = true;

    fn sold(&self, found: &mut Turnover, range: &Range, sold: Sold<'_>) -> Result<(), Error> {
        Ok(found.add(&range.rates, sold.day, sold.currency, sold.totals)?)
    }

    fn day(&self, found: &mut Turnover, _: Day, turnover: &Turnover) {
        found.join(turnover);
    }

    fn answer(self, made: ReportContext<'_>, turnover: Turnover) -> Result<Summary, Refused> {
        let (devices, online_devices) = made.counted.now(made.view, made.scope.group(), self.0);
        Ok(Summary { turnover, devices, online_devices })
    }
}

struct TrendFigures;

impl Report for TrendFigures {
    type Found = BTreeMap<Day, Turnover>;
    type Step = ();
    type Answer = Vec<(Day, Turnover)>;
    const GRAIN: Grain = Grain::Day;

    fn sold(&self, found: &mut Self::Found, range: &Range, sold: Sold<'_>) -> Result<(), Error> {
        let turnover = found.entry(sold.day).or_default();
        Ok(turnover.add(&range.rates, sold.day, sold.currency, sold.totals)?)
    }

    fn day(&self, found: &mut Self::Found, day: Day, turnover: &Turnover) {
        found.entry(day).or_default().join(turnover);
    }

    fn answer(
        self,
        made: ReportContext<'_>,
        mut found: Self::Found,
    ) -> Result<Self::Answer, Refused> {
        let (zone, ask) = (&made.view.zone, &made.view.ask);
        let days = range::days_touched(zone, ask.start, ask.end);
        Ok(days.into_iter().map(|day| (day, found.remove(&day).unwrap_or_default())).collect())
    }
}

struct DeviceFigures;

#[derive(Default)]
struct DevicesSold {
    sold: BTreeMap<DeviceNo, Turnover>,
    names: HashMap<DeviceNo, (String, String)>,
}

impl Report for DeviceFigures {
    type Found = DevicesSold;
    type Step = ();
    type Answer = Vec<DeviceSales>;
    const GRAIN: Grain = Grain::Device;

    fn steps<'a>(&'a self, _: &'a ReportQuery, group: HintedGroup) -> Vec<Step<'a, ()>> {
        vec![Bound::new(&NAMES, [group.into()]).step(())]
    }

    fn on_row(
        &self,
        _: &RowContext<'_>,
        found: &mut Self::Found,
        (): &(),
        row: &Row<'_>,
    ) -> Result<(), Error> {
        let device = DeviceNo(row.int(0)?);
        if found.sold.contains_key(&device) {
            found.names.insert(device, (row.text(1)?.to_owned(), row.text(2)?.to_owned()));
        }
        Ok(())
    }

    fn sold(&self, found: &mut Self::Found, range: &Range, sold: Sold<'_>) -> Result<(), Error> {
        let turnover = found.sold.entry(sold.device).or_default();
        Ok(turnover.add(&range.rates, sold.day, sold.currency, sold.totals)?)
    }

    fn answer(self, _: ReportContext<'_>, mut found: Self::Found) -> Result<Self::Answer, Refused> {
        let sold = found.sold.into_iter().filter(|(_, turnover)| turnover.orders != 0);
        let named = sold.map(|(device, turnover)| {
            let unknown = || Error::Data(format!("device {} sold and is not known", device.0));
            let (code, name) = found.names.remove(&device).ok_or_else(unknown)?;
            Ok(DeviceSales { code, name, turnover })
        });
        Ok(named.collect::<Result<_, Error>>()?)
    }
}
