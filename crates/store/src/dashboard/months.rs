//! The sales of devices and of products: rows of the months of a range, with the figures of each
//! day, behind the rates that they are converted with.

use std::collections::{BTreeMap, HashMap};

use kiosque_model::sales::Turnover;
use kiosque_model::{Day, DeviceNo, Minor};

use super::figures::months::Months;
use super::figures::products::SalesOfProduct;
use super::filter::rows_of;
use super::range::Range;
use super::sums;
use crate::Error;
use crate::db::{Bound, Reading};
use crate::scoped::HintedGroup;
use crate::sql::{Row, Value, row, statements};

row! {
    struct DeviceRow<'r> { device_no: DeviceNo, month: Day, currency: &'r str, days: &'r [u8] }
    struct ProductRow<'r> { goods_id: &'r str, month: Day, currency: &'r str, days: &'r [u8] }
    struct ProductDayRow<'r> {
        device_no: DeviceNo,
        day: Day,
        goods_id: &'r str,
        currency: &'r str,
        items: i64,
        amount: i64,
    }
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
    PRODUCTS_OF(group_no, first_day, last_day) -> ProductDayRow<'_> = "select s.device_no, s.day,
            s.goods_id, s.currency, s.items, s.amount
        from {rows r: code text} cross join ledger l cross join sales_by_day d
        cross join sales_by_product s
        where l.group_no = $group_no and l.device_code = r.code
            and d.group_no = $group_no and d.day >= $first_day and d.day <= $last_day
            and s.group_no = $group_no and s.day = d.day and s.device_no = l.device_no
            and s.currency = d.currency";
    SELLERS(group_no) -> SellersRow<'_> = "select m.goods_id, m.month, m.device_block, m.devices
        from {each r: month bigint, goods text} cross join product_months m
        where m.group_no = $group_no and m.month = r.month and m.goods_id = r.goods";
}

/// Codes of devices; `None` for all devices.
type Codes<'c> = Option<&'c [&'c str]>;
/// The sales of products, by `goodsId`.
pub(super) type Products = HashMap<String, SalesOfProduct>;

/// Reads the sales of devices by day, except on partial days.
pub(super) fn by_day(
    codes: Codes<'_>,
    range: &Range,
    group: HintedGroup,
) -> Reading<Months<BTreeMap<Day, Turnover>>> {
    let add = |months: &mut Months<BTreeMap<Day, Turnover>>, row: &Row<'_>| {
        let DeviceRow { device_no: _, month, currency, days } = row.read()?;
        let currency = months.currencies.parse(currency)?;
        months.add_days((month, days), currency)
    };
    converted(range, group).then(bind_devices(codes, range, group), add)
}

/// Reads the sales of each device, except on partial days.
pub(super) fn by_device(
    codes: Codes<'_>,
    range: &Range,
    group: HintedGroup,
) -> Reading<Months<BTreeMap<DeviceNo, Turnover>>> {
    let add = |months: &mut Months<BTreeMap<DeviceNo, Turnover>>, row: &Row<'_>| {
        let DeviceRow { device_no, month, currency, days } = row.read()?;
        let currency = months.currencies.parse(currency)?;
        months.add_device(device_no, (month, days), currency)
    };
    converted(range, group).then(bind_devices(codes, range, group), add)
}

/// Reads the sales of each product, except on partial days.
pub(super) fn by_product(
    codes: Codes<'_>,
    range: &Range,
    group: HintedGroup,
) -> Reading<Months<Products>> {
    let months = converted(range, group);
    let Some(codes) = codes else {
        return months.then(Bound::new(&PRODUCTS, of_months(range, group)), add_product);
    };
    let days = [group.into(), range.first_day.into(), range.last_day.into()];
    let devices = Bound::new(&PRODUCTS_OF, days).with_rows(rows_of(codes.iter().copied()));
    months.then(devices, |months: &mut Months<Products>, row: &Row<'_>| {
        let ProductDayRow { device_no, day, goods_id, currency, items, amount } = row.read()?;
        let currency = months.currencies.parse(currency)?;
        let sales = (items, Minor(amount));
        months.add_product_of_device((device_no, goods_id), day, currency, sales)
    })
}

/// Reads the sales of each product of all devices, and which devices sold some goods, except on
/// partial days.
pub(super) fn by_product_with_sellers(
    goods: &[&str],
    range: &Range,
    group: HintedGroup,
) -> Reading<Months<Products>> {
    let goods = in_each_month(range, goods);
    let sellers = Bound::new(&SELLERS, [group.into()]).with_rows(goods);
    by_product(None, range, group).then(sellers, |months: &mut Months<Products>, row: &Row<'_>| {
        let SellersRow { goods_id, month, device_block, devices } = row.read()?;
        months.add_sellers(goods_id, month, (device_block, devices))
    })
}

/// Reads what sales of months are converted with.
fn converted<T: Default + Send + 'static>(range: &Range, group: HintedGroup) -> Reading<Months<T>> {
    let months = Reading::of(Months::new(range.clone()));
    let add_partial = |months: &mut Months<T>, row: &Row<'_>| {
        months.partial.push(row.read()?);
        Ok(())
    };
    let partial = range.partial_days.iter();
    let months = partial.fold(months, |months, part| {
        months.then(sums::bind_partial(part, range, group), add_partial)
    });
    months.then(sums::bind_rates(range, group), |months: &mut Months<T>, row: &Row<'_>| {
        sums::add_rate(&mut months.rates, &mut months.currencies, row)
    })
}

fn add_product(months: &mut Months<Products>, row: &Row<'_>) -> Result<(), Error> {
    let ProductRow { goods_id, month, currency, days } = row.read()?;
    let currency = months.currencies.parse(currency)?;
    months.add_product(goods_id, (month, days), currency)
}

fn bind_devices(codes: Codes<'_>, range: &Range, group: HintedGroup) -> Bound {
    match codes {
        None => Bound::new(&DEVICES, of_months(range, group)),
        Some(codes) => {
            Bound::new(&DEVICES_OF, [group.into()]).with_rows(in_each_month(range, codes))
        }
    }
}

fn of_months(range: &Range, group: HintedGroup) -> [Value<'static>; 3] {
    let (first, last) = (range.first_day.first_of_month(), range.last_day.first_of_month());
    [group.into(), first.into(), last.into()]
}

/// Returns the rows of a bulk statement: each text in each month of a range.
fn in_each_month<'a>(range: &Range, texts: &'a [&'a str]) -> Vec<Vec<Value<'a>>> {
    let months = range.first_day.months_to(range.last_day).into_iter();
    let of_month = |month: Day| texts.iter().map(move |text| vec![month.into(), (*text).into()]);
    months.flat_map(of_month).collect()
}
