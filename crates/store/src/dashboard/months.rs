//! The sales of closed months. A month is read only if all of its sales lie in the range.

use kiosque_model::{Day, DeviceNo};

use super::spans::Spans;
use super::{ProductSum, Sales, SoldBy};
use crate::Error;
use crate::db::Bound;
use crate::devices::CodeFilter;
use crate::months::{DeviceMonthRow, ProductMonthRow, ProductTotalsRow};
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, Value, row, statements};

row! {
    struct DeviceProductMonthRow<'r> {
        device_no: DeviceNo,
        goods_id: &'r str,
        totals: ProductTotalsRow<'r>,
    }
}

statements! {
    /// No month counts after a change by an older program, which deletes no marks.
    PRODUCTS(group_no, start_ms, end_ms, first_month, last_month) -> ProductMonthRow<'_> = "select
            p.goods_id, p.items, p.converted_items, p.amount, p.device_count, p.devices
        from group_changes g cross join sales_months m cross join monthly_products p
        where g.group_no = $group_no and g.months_change_no = g.last_change_no
            and m.group_no = $group_no and m.first_day >= $first_month
            and m.first_day <= $last_month and m.closed
            and m.first_sale_at_ms >= $start_ms and m.last_sale_at_ms < $end_ms
            and p.group_no = $group_no and p.first_day = m.first_day";
    /// The same of one month, without the sets of devices: they grow with the devices of the group.
    PRODUCTS_OF_MONTH(group_no, start_ms, end_ms, month) -> ProductMonthRow<'_> = "select
            p.goods_id, p.items, p.converted_items, p.amount, p.device_count,
            case when p.device_count is null then p.devices end as devices
        from group_changes g cross join sales_months m cross join monthly_products p
        where g.group_no = $group_no and g.months_change_no = g.last_change_no
            and m.group_no = $group_no and m.first_day = $month and m.closed
            and m.first_sale_at_ms >= $start_ms and m.last_sale_at_ms < $end_ms
            and p.group_no = $group_no and p.first_day = m.first_day";
    PRODUCTS_OF_DEVICES(group_no, start_ms, end_ms) -> DeviceProductMonthRow<'_> = "select
            p.device_no, p.goods_id, p.items, p.converted_items, p.amount
        from {rows r: month bigint, code text} cross join group_changes g
        cross join sales_months m cross join ledger l cross join monthly_device_products p
        where g.group_no = $group_no and g.months_change_no = g.last_change_no
            and m.group_no = $group_no and m.first_day = r.month and m.closed
            and m.first_sale_at_ms >= $start_ms and m.last_sale_at_ms < $end_ms
            and l.group_no = $group_no and l.device_code = r.code
            and p.group_no = $group_no and p.first_day = r.month and p.device_no = l.device_no";
    DEVICES(group_no, start_ms, end_ms, first_month, last_month) -> DeviceMonthRow<'_> = "select
            p.device_no, p.orders, p.items, p.amount, p.refund, p.unconverted_orders,
            p.converted_items, p.shipped, p.failed
        from group_changes g cross join sales_months m cross join monthly_devices p
        where g.group_no = $group_no and g.months_change_no = g.last_change_no
            and m.group_no = $group_no and m.first_day >= $first_month
            and m.first_day <= $last_month and m.closed
            and m.first_sale_at_ms >= $start_ms and m.last_sale_at_ms < $end_ms
            and p.group_no = $group_no and p.first_day = m.first_day";
    DEVICES_OF(group_no, start_ms, end_ms) -> DeviceMonthRow<'_> = "select p.device_no,
            p.orders, p.items, p.amount, p.refund, p.unconverted_orders, p.converted_items,
            p.shipped, p.failed
        from {rows r: month bigint, code text} cross join group_changes g
        cross join sales_months m cross join ledger l cross join monthly_devices p
        where g.group_no = $group_no and g.months_change_no = g.last_change_no
            and m.group_no = $group_no and m.first_day = r.month and m.closed
            and m.first_sale_at_ms >= $start_ms and m.last_sale_at_ms < $end_ms
            and l.group_no = $group_no and l.device_code = r.code
            and p.group_no = $group_no and p.first_day = r.month and p.device_no = l.device_no";
}

/// Binds the sales of all products. A product of the only month of a range comes with the number of
/// its devices, others with their set.
pub(super) fn bind_products(
    spans: &Spans,
    months: (Day, Day),
    group: HintedGroup,
) -> Bound<'static> {
    match spans.only_month() {
        Some(month) => {
            let [group, start, end] = spans.params(group);
            Bound::new(&PRODUCTS_OF_MONTH, [group, start, end, month.into()])
        }
        None => Bound::new(&PRODUCTS, with_months(spans, months, group)),
    }
}

/// Binds the sales of all products of the devices of a filter.
pub(super) fn bind_products_of<'a>(
    codes: &'a [CodeFilter],
    spans: &Spans,
    group: HintedGroup,
) -> Bound<'a> {
    Bound::new(&PRODUCTS_OF_DEVICES, spans.params(group)).with_rows(spans.month_rows_of(codes))
}

/// Binds the sales of all devices.
pub(super) fn bind_devices(
    spans: &Spans,
    months: (Day, Day),
    group: HintedGroup,
) -> Bound<'static> {
    Bound::new(&DEVICES, with_months(spans, months, group))
}

/// Binds the sales of the devices of a filter.
pub(super) fn bind_devices_of<'a>(
    codes: &'a [CodeFilter],
    spans: &Spans,
    group: HintedGroup,
) -> Bound<'a> {
    Bound::new(&DEVICES_OF, spans.params(group)).with_rows(spans.month_rows_of(codes))
}

fn with_months(
    spans: &Spans,
    (first, last): (Day, Day),
    group: HintedGroup,
) -> [Value<'static>; 5] {
    let [group, start, end] = spans.params(group);
    [group, start, end, first.into(), last.into()]
}

/// Reads the sales of a product in a month.
pub(super) fn on_product(row: &Row<'_>, mut on_sales: impl FnMut(&Sales<'_>)) -> Result<(), Error> {
    let product: ProductMonthRow<'_> = row.read()?;
    let (goods_id, totals, devices) = (product.goods_id, product.totals()?, product.devices()?);
    let sold_by = match &devices {
        Some(devices) => SoldBy::Devices(devices),
        None => SoldBy::Count(product.device_count.unwrap_or_default()),
    };
    on_sales(&Sales::OfProduct(ProductSum { goods_id, totals, sold_by }));
    Ok(())
}

/// Reads the sales of a product of a device in a month.
pub(super) fn on_device_product(
    row: &Row<'_>,
    mut on_sales: impl FnMut(&Sales<'_>),
) -> Result<(), Error> {
    let DeviceProductMonthRow { device_no, goods_id, totals } = row.read()?;
    let (totals, sold_by) = (totals.totals()?, SoldBy::Device(device_no));
    on_sales(&Sales::OfProduct(ProductSum { goods_id, totals, sold_by }));
    Ok(())
}

/// Reads the sales of a device in a month.
pub(super) fn on_device(row: &Row<'_>, mut on_sales: impl FnMut(&Sales<'_>)) -> Result<(), Error> {
    let month: DeviceMonthRow<'_> = row.read()?;
    let (device, turnover) = (month.device_no, month.turnover()?);
    on_sales(&Sales::OfDevice { device, day: None, turnover });
    Ok(())
}
