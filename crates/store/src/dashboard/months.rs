//! The sales of devices and of products: rows of the months of the range, with the figures of each
//! day, which are converted with the rate of that day.

use kiosque_model::sales::{Rate, Turnover};
use kiosque_model::{Currency, Day, DeviceNo, Minor};

use super::product_totals::ProductTotals;
use super::range::Range;
use super::sums::SumRows;
use super::{ProductSum, Request, Sales, SalesBy};
use crate::Error;
use crate::db::Bound;
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, Value, row, statements};
use crate::sums::{bits_of, each_day, each_seller, totals_of};

row! {
    struct DeviceRow<'r> { device_no: DeviceNo, month: Day, currency: &'r str, days: &'r [u8] }
    struct ProductRow<'r> { goods_id: &'r str, month: Day, currency: &'r str, days: &'r [u8] }
    struct SellersRow<'r> {
        goods_id: &'r str,
        month: Day,
        device_block: i64,
        devices: &'r [u8],
    }
}

statements! {
    DEVICES(group_no, first_month, last_month) -> DeviceRow<'_> = "select device_no, month,
            currency, days
        from device_months
        where group_no = $group_no and month >= $first_month and month <= $last_month";
    DEVICES_OF(group_no) -> DeviceRow<'_> = "select m.device_no, m.month, m.currency, m.days
        from {rows r: month bigint, code text} cross join ledger l cross join device_months m
        where l.group_no = $group_no and l.device_code = r.code
            and m.group_no = $group_no and m.month = r.month and m.device_no = l.device_no";
    PRODUCTS(group_no, first_month, last_month) -> ProductRow<'_> = "select goods_id, month,
            currency, days
        from product_months
        where group_no = $group_no and month >= $first_month and month <= $last_month";
    SELLERS(group_no) -> SellersRow<'_> = "select m.goods_id, m.month, m.device_block, m.devices
        from {each r: month bigint, goods text} cross join product_months m
        where m.group_no = $group_no and m.month = r.month and m.goods_id = r.goods";
}

/// Binds the sales of the devices of a request.
pub(super) fn bind_devices<'a>(
    request: &'a Request,
    range: &Range,
    group: HintedGroup,
) -> Bound<'a> {
    match request.codes() {
        None => Bound::new(&DEVICES, of_months(range, group)),
        Some(codes) => {
            Bound::new(&DEVICES_OF, [group.into()]).with_rows(in_each_month(range, &codes))
        }
    }
}

/// Binds the sales of all products.
pub(super) fn bind_products(range: &Range, group: HintedGroup) -> Bound<'static> {
    Bound::new(&PRODUCTS, of_months(range, group))
}

/// Binds the devices that sold some products.
pub(super) fn bind_sellers<'a>(
    goods: &[Vec<Value<'a>>],
    range: &Range,
    group: HintedGroup,
) -> Bound<'a> {
    Bound::new(&SELLERS, [group.into()]).with_rows(in_each_month(range, goods))
}

fn of_months(range: &Range, group: HintedGroup) -> [Value<'static>; 3] {
    let (first, last) = (range.first_day.first_of_month(), range.last_day.first_of_month());
    [group.into(), first.into(), last.into()]
}

/// Returns the rows of a bulk statement with each month of a range in front.
fn in_each_month<'a>(range: &Range, rows: &[Vec<Value<'a>>]) -> Vec<Vec<Value<'a>>> {
    let months = range.first_day.months_to(range.last_day).into_iter();
    let of_month =
        |month: Day| rows.iter().map(move |row| [&[month.into()], row.as_slice()].concat());
    months.flat_map(of_month).collect()
}

impl SumRows {
    /// Reads the sales of a device in a month: a sum of each day, or of days with the same rate.
    pub(super) fn on_device(
        &mut self,
        (row, sales_by): (&Row<'_>, SalesBy),
        range: &Range,
        selects: impl Fn(DeviceNo) -> bool,
        mut on_sales: impl FnMut(&Sales<'_>),
    ) -> Result<(), Error> {
        let DeviceRow { device_no: device, month, currency, days } = row.read()?;
        if !selects(device) {
            return Ok(());
        }
        let currency = self.currency(currency)?;
        let of_days = |day, rate, figures| {
            let mut turnover = Turnover::default();
            turnover.add((currency, rate), totals_of(figures))?;
            on_sales(&Sales::OfDevice { device, day, turnover });
            Ok(())
        };
        self.convert((month, days), currency, (range, sales_by == SalesBy::Day), of_days)
    }

    /// Reads the sales of a product in a month.
    pub(super) fn on_product(
        &mut self,
        row: &Row<'_>,
        range: &Range,
        mut on_sales: impl FnMut(&Sales<'_>),
    ) -> Result<(), Error> {
        let ProductRow { goods_id, month, currency, days } = row.read()?;
        let currency = self.currency(currency)?;
        let mut totals = ProductTotals::default();
        self.convert((month, days), currency, (range, false), |_, rate, [items, amount]| {
            totals.join(ProductTotals::of((items, Minor(amount)), (currency, rate))?);
            Ok(())
        })?;
        on_sales(&Sales::OfProduct(ProductSum { goods_id, totals, sold_by: None }));
        Ok(())
    }

    /// Visits the figures of the whole days of the range in a month: of each day, or the sums of
    /// days in a row with the same rate.
    fn convert<const N: usize>(
        &self,
        (month, days): (Day, &[u8]),
        currency: Currency,
        (range, is_by_day): (&Range, bool),
        mut visit: impl FnMut(Option<Day>, Option<Rate>, [i64; N]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let rates = self.rates().of(currency);
        let mut sum: Option<(Option<Rate>, [i64; N])> = None;
        each_day(days, month, |day, figures| {
            if !self.is_whole(day, range) {
                return Ok(());
            }
            let rate = rates.on(day);
            match &mut sum {
                _ if is_by_day => visit(Some(day), rate, figures)?,
                Some((of, sums)) if *of == rate => {
                    sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
                }
                sum => {
                    if let Some((rate, sums)) = sum.replace((rate, figures)) {
                        visit(None, rate, sums)?;
                    }
                }
            }
            Ok(())
        })?;
        sum.map_or(Ok(()), |(rate, sums)| visit(None, rate, sums))
    }

    /// Visits the devices of a row of [`bind_sellers`] that sold its product on a whole day of the
    /// range.
    pub(super) fn each_seller(
        &self,
        row: &Row<'_>,
        range: &Range,
        mut visit: impl FnMut(&str, DeviceNo),
    ) -> Result<(), Error> {
        let SellersRow { goods_id, month, device_block, devices } = row.read()?;
        let whole = bits_of(month, |day| self.is_whole(day, range));
        each_seller(devices, device_block, |device, days| {
            if days & whole != 0 {
                visit(goods_id, device);
            }
        })
    }
}
