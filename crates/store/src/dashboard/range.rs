//! A range of sales: which of its days are taken as they are kept, and which stretches are counted
//! from their orders.

use kiosque_model::sales::{Rates, Sale, Totals, Turnover};
use kiosque_model::{Currency, Day, DeviceNo, UnixMs, Zone};

use super::View;
use crate::Error;
use crate::sql::{Row, statements};

statements! {
    DAYS = "select orders, items, amount, refund, shipped, failed, currency, day
        from sales_by_day where group_no = $1 and day >= $2 and day <= $3 order by day";
    BOUNDS = "select min(first_sale_at_ms), max(last_sale_at_ms) from sales_by_day
        where group_no = $1 and day = $2";
    DEVICE_DAYS = "select orders, items, amount, refund, shipped, failed, currency, day, device_no
        from sales_by_device where group_no = $1 and day >= $2 and day <= $3";
    DAY_OF_DEVICE = "select orders, items, amount, refund, shipped, failed, currency, day, device_no
        from sales_by_device where group_no = $1 and day = $2 and device_no = $3";
    SALES = "select device_no, sale_at_ms, head, lines from orders
        where group_no = $1 and sale_at_ms >= $2 and sale_at_ms < $3";
}

/// The sums of a day in one currency, as they are kept.
struct KeptDay {
    day: Day,
    currency: Currency,
    totals: Totals,
}

/// Part of a day, to be counted from its orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) day: Day,
    start: UnixMs,
    end: UnixMs,
}

/// What a range of sales is made of.
pub(super) struct Range {
    kept: Vec<KeptDay>,
    /// At most its first and its last day.
    pub(super) stretches: Vec<Stretch>,
    /// Of every currency in it.
    pub(super) rates: Rates,
}

/// Every day that has an instant in the range. Some zones once left a whole day out.
pub(super) fn days_touched(zone: &Zone, start: UnixMs, end: UnixMs) -> Vec<Day> {
    if start >= end {
        return Vec::new();
    }
    let mut days = Vec::new();
    let (mut day, last) = (zone.day_of(start), zone.day_of(end.plus_ms(-1)));
    while day < last {
        if zone.start_of(day) < zone.start_of(day.next()) {
            days.push(day);
        }
        day = day.next();
    }
    days.push(last);
    days
}

impl Range {
    pub(super) fn read(view: &View<'_>, start: UnixMs, end: UnixMs) -> Result<Range, Error> {
        let mut range = Range { kept: Vec::new(), stretches: Vec::new(), rates: Rates::default() };
        if start >= end {
            return Ok(range);
        }
        let (first, last) = (view.zone.day_of(start), view.zone.day_of(end.plus_ms(-1)));
        let params = [view.group(), first.0.into(), last.0.into()];
        let mut currencies: Vec<Currency> = Vec::new();
        view.read.each(&DAYS, &params, |row| {
            let currency = known(&mut currencies, row.text(6)?)?;
            range.kept.push(KeptDay { day: Day(row.int(7)?), currency, totals: totals(row)? });
            Ok(())
        })?;
        range.cut(view, first, (start, end))?;
        if last > first {
            range.cut(view, last, (start, end))?;
        }
        range.rates = view.rates(&currencies, first, last)?;
        Ok(range)
    }

    /// A day whose sales do not all lie in the range is counted as far as they do.
    fn cut(
        &mut self,
        view: &View<'_>,
        day: Day,
        (start, end): (UnixMs, UnixMs),
    ) -> Result<(), Error> {
        let (begins, ends) = (view.zone.start_of(day), view.zone.start_of(day.next()));
        if start <= begins && ends <= end {
            return Ok(());
        }
        let bounds = view.read.one(&BOUNDS, &[view.group(), day.0.into()], |row| {
            Ok(row.maybe_int(0)?.zip(row.maybe_int(1)?))
        })?;
        let Some((first_sale, last_sale)) = bounds.flatten() else { return Ok(()) };
        if UnixMs(first_sale) < start || UnixMs(last_sale) >= end {
            let (start, end) = (start.max(begins), end.min(ends));
            self.stretches.push(Stretch { day, start, end });
        }
        Ok(())
    }

    fn is_whole(&self, day: Day) -> bool {
        self.stretches.iter().all(|stretch| stretch.day != day)
    }

    /// The days that are taken whole and have sums.
    pub(super) fn whole_days(&self) -> impl Iterator<Item = Day> {
        let mut last = None;
        let days = self.kept.iter().map(|kept| kept.day).filter(|day| self.is_whole(*day));
        days.filter(move |day| last.replace(*day) != Some(*day))
    }

    /// The first and the last of the days that are taken whole.
    pub(super) fn whole_span(&self) -> Option<(Day, Day)> {
        let mut days = self.whole_days();
        let first = days.next()?;
        Some((first, days.last().unwrap_or(first)))
    }

    /// Each day that has sales, when no order has to be looked at for it.
    pub(super) fn kept_days(&self) -> Result<Option<Vec<(Day, Turnover)>>, Error> {
        if !self.stretches.is_empty() {
            return Ok(None);
        }
        let mut days = Vec::new();
        for kept in &self.kept {
            self.add(&mut days, kept.day, kept.currency, kept.totals)?;
        }
        Ok(Some(days))
    }

    /// Each day that has sales, in order.
    pub(super) fn days(&self, view: &View<'_>) -> Result<Vec<(Day, Turnover)>, Error> {
        if view.devices.is_none()
            && let Some(days) = self.kept_days()?
        {
            return Ok(days);
        }
        let mut by_day = std::collections::BTreeMap::<Day, Turnover>::new();
        self.each_device_day(view, |_, day, currency, totals| {
            Ok(by_day.entry(day).or_default().add(&self.rates, day, currency, totals)?)
        })?;
        Ok(by_day.into_iter().collect())
    }

    fn add(
        &self,
        days: &mut Vec<(Day, Turnover)>,
        day: Day,
        currency: Currency,
        totals: Totals,
    ) -> Result<(), Error> {
        match days.last_mut() {
            Some((last, turnover)) if *last == day => {
                turnover.add(&self.rates, day, currency, totals)?;
            }
            _ => {
                let mut turnover = Turnover::default();
                turnover.add(&self.rates, day, currency, totals)?;
                days.push((day, turnover));
            }
        }
        Ok(())
    }

    /// What each device that is asked about sold on each day.
    pub(super) fn each_device_day(
        &self,
        view: &View<'_>,
        mut visit: impl FnMut(DeviceNo, Day, Currency, Totals) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut each = |row: &Row<'_>| {
            visit(DeviceNo(row.int(8)?), Day(row.int(7)?), currency(row.text(6)?)?, totals(row)?)
        };
        match (&view.devices, self.whole_span()) {
            (_, None) => {}
            (None, Some((first, last))) => {
                let params = [view.group(), first.0.into(), last.0.into()];
                view.read.each(&DEVICE_DAYS, &params, &mut each)?;
            }
            (Some(devices), Some(_)) => {
                for day in self.whole_days() {
                    for device in devices {
                        let params = [view.group(), day.0.into(), device.0.into()];
                        view.read.each(&DAY_OF_DEVICE, &params, &mut each)?;
                    }
                }
            }
        }
        self.each_sale(view, |device, day, sale| visit(device, day, sale.currency, sale.totals()))
    }

    /// The sales of the stretches, from their orders.
    pub(super) fn each_sale(
        &self,
        view: &View<'_>,
        mut visit: impl FnMut(DeviceNo, Day, &Sale) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for stretch in &self.stretches {
            let params = [view.group(), stretch.start.0.into(), stretch.end.0.into()];
            view.read.each(&SALES, &params, |row| {
                let device = DeviceNo(row.int(0)?);
                if !view.shows(device) {
                    return Ok(());
                }
                let sale = view.shape.sale(row.bytes(2)?, row.bytes(3)?, UnixMs(row.int(1)?))?;
                visit(device, stretch.day, &sale)
            })?;
        }
        Ok(())
    }
}

fn totals(row: &Row<'_>) -> Result<Totals, Error> {
    Ok(Totals {
        orders: row.int(0)?,
        items: row.int(1)?,
        amount: row.int(2)?,
        refund: row.int(3)?,
        shipped: row.int(4)?,
        failed: row.int(5)?,
    })
}

/// The currency of a code, looked up once: there are few, and most rows have the same.
fn known(currencies: &mut Vec<Currency>, code: &str) -> Result<Currency, Error> {
    if let Some(known) = currencies.iter().find(|known| known.code() == code) {
        return Ok(*known);
    }
    let new = currency(code)?;
    currencies.push(new);
    Ok(new)
}

pub(super) fn currency(code: &str) -> Result<Currency, Error> {
    Currency::parse(code).map_err(|fault| Error::Data(fault.to_string()))
}
