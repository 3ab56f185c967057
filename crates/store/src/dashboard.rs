//! The dashboard: sums of sales over a range of days, read as they are kept. A day that the range
//! cuts in two is counted from its orders, unless all its sales lie on one side.

mod devices;
mod products;
mod range;

use kiosque_model::sales::{Rates, Turnover};
use kiosque_model::{Currency, Day, DeviceNo, Presented, Refusal, Scope, UnixMs, Zone};

use crate::activity::Activity;
use crate::db::Read;
use crate::devices::{CodeFilter, GroupFilter, OnlineSince, filtered_scope};
use crate::record::RecordShape;
use crate::sql::{Sql, statements};
use crate::{Error, Refused, Store};

pub use devices::{Aisle, DeviceLine};
pub use products::ProductSales;
use range::Range;

statements! {
    DEVICE_IN_SCOPE = "select device_no from ledger
        where group_no = $1 and device_code = $2 and since_ms <= $3";
    DEVICE_NAME = "select device_code, device_name from devices where device_no = $1";
}

/// Every statement of this module and of those below it.
pub(crate) fn all() -> impl Iterator<Item = &'static Sql> {
    [ALL, devices::ALL, products::ALL, range::ALL].into_iter().flatten().copied()
}

/// Days that are read where they are asked for; more go to a thread for long work.
const DAYS_IN_PLACE_MAX: i64 = 100;

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

/// What a dashboard is read with: a snapshot, a proven scope, and what there is to know beside.
struct View<'a> {
    read: &'a Read<'a>,
    scope: Scope,
    zone: &'a Zone,
    shape: &'a dyn RecordShape,
    activity: &'a Activity,
    now: UnixMs,
    /// By number, each once; `None`: all of the group.
    devices: Option<Vec<DeviceNo>>,
}

impl Store {
    /// What all sales of the range come to, and how many devices there are now.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn summary(
        &self,
        presented: &Presented,
        now: UnixMs,
        online: OnlineSince,
        ask: DashboardAsk,
    ) -> Result<Summary, Refused> {
        let summed = self.over_days(presented, now, ask, move |view, days| {
            let mut turnover = Turnover::default();
            for (_, of_day) in days {
                turnover.join(of_day);
            }
            let (devices, online_devices) = devices::count(view, online)?;
            Ok(Summary { turnover, devices, online_devices })
        });
        summed.await
    }

    /// What the sales of each day come to, for every day that the range touches.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn sales_trend(
        &self,
        presented: &Presented,
        now: UnixMs,
        ask: DashboardAsk,
    ) -> Result<Vec<(Day, Turnover)>, Refused> {
        let (start, end) = (ask.start, ask.end);
        let filled = move |view: &View<'_>, sold: &[(Day, Turnover)]| {
            let mut sold = sold.iter().copied().peekable();
            let filled = range::days_touched(view.zone, start, end).into_iter().map(|day| {
                let found = sold.next_if(|(of_day, _)| *of_day == day);
                found.unwrap_or((day, Turnover::default()))
            });
            Ok(filled.collect())
        };
        self.over_days(presented, now, ask, filled).await
    }

    /// What each device sold, for those that sold something.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn sales_by_device(
        &self,
        presented: &Presented,
        now: UnixMs,
        ask: DashboardAsk,
    ) -> Result<Vec<DeviceSales>, Refused> {
        self.viewed(presented, now, ask, |view, ask| {
            let range = Range::read(view, ask.start, ask.end)?;
            let mut sold = std::collections::BTreeMap::<DeviceNo, Turnover>::new();
            range.each_device_day(view, |device, day, currency, totals| {
                let turnover = sold.entry(device).or_default();
                Ok(turnover.add(&range.rates, day, currency, totals)?)
            })?;
            let sold = sold.into_iter().filter(|(_, turnover)| turnover.orders != 0);
            let named = sold.map(|(device, turnover)| named(view.read, device, turnover));
            Ok(named.collect::<Result<_, Error>>()?)
        })
        .await
    }

    /// Sums by day, by whatever way is the shortest: kept sums in place, or on a thread for it
    /// when days have to be counted.
    async fn over_days<T: Send + 'static>(
        &self,
        presented: &Presented,
        now: UnixMs,
        ask: DashboardAsk,
        finish: impl Fn(&View<'_>, &[(Day, Turnover)]) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Refused> {
        let days = self.zone.day_of(ask.end).0 - self.zone.day_of(ask.start).0;
        if ask.devices.is_empty() && days < DAYS_IN_PLACE_MAX {
            let quick = self.scoped(presented, now, |read, scope| {
                let view = self.view(read, scope, now, &ask)?;
                let range = Range::read(&view, ask.start, ask.end)?;
                let days = range.kept_days()?;
                Ok(days.map(|days| finish(&view, &days)).transpose()?)
            })?;
            if let Some(done) = quick {
                return Ok(done);
            }
        }
        self.viewed(presented, now, ask, move |view, ask| {
            let range = Range::read(view, ask.start, ask.end)?;
            Ok(finish(view, &range.days(view)?)?)
        })
        .await
    }

    /// Reads with a view, on a thread for work that may take long.
    async fn viewed<T: Send + 'static>(
        &self,
        presented: &Presented,
        now: UnixMs,
        ask: DashboardAsk,
        tell: impl FnOnce(&View<'_>, &DashboardAsk) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        let store = self.clone();
        let long = move |read: &Read<'_>, scope: Scope| {
            let view = store.view(read, scope, now, &ask)?;
            tell(&view, &ask)
        };
        self.scoped_long(presented, now, long).await
    }

    fn view<'a>(
        &'a self,
        read: &'a Read<'a>,
        scope: Scope,
        now: UnixMs,
        ask: &DashboardAsk,
    ) -> Result<View<'a>, Refused> {
        let scope = filtered_scope(read, scope, ask.group.as_ref())?;
        let devices = match ask.devices.as_slice() {
            [] => None,
            codes => Some(devices_in_scope(read, scope, now, codes)?),
        };
        let (zone, shape, activity) = (&self.zone, &*self.shape, &*self.activity);
        Ok(View { read, scope, zone, shape, activity, now, devices })
    }
}

/// "`deviceCode` unknown, or of another group only, or any of `deviceCodes`: -1 scope."
fn devices_in_scope(
    read: &Read<'_>,
    scope: Scope,
    now: UnixMs,
    codes: &[CodeFilter],
) -> Result<Vec<DeviceNo>, Refused> {
    let mut devices = Vec::with_capacity(codes.len());
    for code in codes {
        let code = code.as_ref().map_err(|_| Refusal::OutOfScope)?;
        let params = [scope.group().0.into(), code.as_str().into(), now.0.into()];
        let device = read.one(&DEVICE_IN_SCOPE, &params, |row| Ok(DeviceNo(row.int(0)?)))?;
        devices.push(device.ok_or(Refusal::OutOfScope)?);
    }
    // A device that is named twice sold once.
    devices.sort_unstable();
    devices.dedup();
    Ok(devices)
}

fn named(read: &Read<'_>, device: DeviceNo, turnover: Turnover) -> Result<DeviceSales, Error> {
    let names = read.one(&DEVICE_NAME, &[device.0.into()], |row| {
        Ok((row.text(0)?.to_owned(), row.text(1)?.to_owned()))
    })?;
    let unknown = || Error::Data(format!("device {} sold and is not known", device.0));
    let (code, name) = names.ok_or_else(unknown)?;
    Ok(DeviceSales { code, name, turnover })
}

impl View<'_> {
    fn group(&self) -> crate::sql::Value<'static> {
        self.scope.group().0.into()
    }

    fn shows(&self, device: DeviceNo) -> bool {
        self.devices.as_ref().is_none_or(|devices| devices.binary_search(&device).is_ok())
    }

    /// The rates of `currencies` from one day to another.
    fn rates(&self, currencies: &[Currency], first: Day, last: Day) -> Result<Rates, Error> {
        let mut rates = Rates::default();
        for currency in currencies.iter().filter(|currency| **currency != Currency::USD) {
            crate::rates::read(self.read, *currency, first, last, &mut rates)?;
        }
        Ok(rates)
    }
}
