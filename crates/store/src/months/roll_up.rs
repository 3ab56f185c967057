//! Makes the roll-up of a month, in short transactions, and closes the month.
//!
//! Several nodes may try at the same time. The number in the mark is a fencing token: each
//! transaction replaces it, and writes only if it is the number that was read or set before.

use std::time::Duration;

use kiosque_model::{Day, DeviceNo, GroupNo, UnixMs};
use tokio::try_join;

use super::month_sums::{DeviceMonth, DeviceRange, MonthBounds, MonthProducts, MonthSums};
use super::rows::usd_text;
use crate::db::{Deadline, Read, Write};
use crate::sql::{Value, row, statements};
use crate::{Error, Store, metadata};

row! {
    struct MarkedMonth { group_no: GroupNo, first_day: Day, roll_up_no: i64 }
}

statements! {
    SETTLED(until_ms, limit) -> MarkedMonth = "select group_no, first_day, roll_up_no
        from sales_months
        where not closed and since_ms <= $until_ms order by group_no, first_day limit $limit";
    RENEW(group_no, first_day, roll_up_no, new_no, now_ms) = "update sales_months
        set roll_up_no = $new_no, since_ms = $now_ms
        where group_no = $group_no and first_day = $first_day and roll_up_no = $roll_up_no
            and not closed";
    CLOSE(group_no, first_day, first_ms, last_ms) = "update sales_months
        set closed = true, first_sale_at_ms = $first_ms, last_sale_at_ms = $last_ms
        where group_no = $group_no and first_day = $first_day";
    DELETE_DEVICES(group_no, first_day, after, last) = "delete from monthly_devices
        where group_no = $group_no and first_day = $first_day
            and device_no > $after and device_no <= $last";
    DELETE_DEVICE_PRODUCTS(group_no, first_day, after, last) = "delete
        from monthly_device_products
        where group_no = $group_no and first_day = $first_day
            and device_no > $after and device_no <= $last";
    DELETE_PRODUCTS(group_no, first_day) = "delete from monthly_products
        where group_no = $group_no and first_day = $first_day";
    ADD_DEVICES(group_no, first_day) = "insert into monthly_devices (group_no, first_day,
            device_no, orders, items, amount, refund, unconverted_orders, converted_items, shipped,
            failed)
        select g.group_no, $first_day, r.device, r.orders, r.items, r.amount, r.refund,
            r.unconverted, r.converted, r.shipped, r.failed
        from {rows r: device bigint, orders bigint, items bigint, amount text, refund text,
            unconverted bigint, converted bigint, shipped bigint, failed bigint}
        cross join group_changes g where g.group_no = $group_no";
    ADD_DEVICE_PRODUCTS(group_no, first_day) = "insert into monthly_device_products (group_no,
            first_day, device_no, goods_id, items, converted_items, amount)
        select g.group_no, $first_day, r.device, r.goods, r.items, r.converted, r.amount
        from {rows r: device bigint, goods text, items bigint, converted bigint, amount text}
        cross join group_changes g where g.group_no = $group_no";
    ADD_PRODUCTS(group_no, first_day) = "insert into monthly_products (group_no, first_day,
            goods_id, items, converted_items, amount, devices, device_count)
        select g.group_no, $first_day, r.goods, r.items, r.converted, r.amount, r.devices,
            r.device_count
        from {rows r: goods text, items bigint, converted bigint, amount text, devices text,
            device_count bigint}
        cross join group_changes g where g.group_no = $group_no";
}

/// The time between the mark of a month and its roll-up. An import of old orders changes a month
/// again and again; its marks are deleted meanwhile.
const SETTLE_MS: i64 = 60_000;
/// Months that one call rolls up, so that its time is about the present one.
const MONTHS_PER_CALL: i64 = 100;
/// Rows of devices that one transaction writes. Other writers wait for it, some 10 ms.
const ROWS_PER_TRANSACTION: usize = 1_000;
/// The pause after each transaction, in which other writers run.
const PAUSE: Duration = Duration::from_millis(10);

/// The devices of a month that one transaction writes.
struct Slice {
    range: DeviceRange,
    devices: Vec<(DeviceNo, DeviceMonth)>,
    /// Those of the month, with the last devices.
    products: Option<MonthProducts>,
}

impl Store {
    /// Rolls up some of the months that [`Store::mark_months`] marked at least a minute before.
    /// Returns the number of those that are closed now. If it is not zero, there may be more.
    ///
    /// # Errors
    /// The store failed, or the sums of a month are damaged. The other months are closed.
    pub async fn close_months(&self, now: UnixMs) -> Result<usize, Error> {
        let until = now.plus_ms(-SETTLE_MS);
        let settled = async move |read: &Read<'_>| {
            let params = [until.into(), MONTHS_PER_CALL.into()];
            read.all(&SETTLED, &params, |row| row.read::<MarkedMonth>()).await
        };
        let (mut closed, mut damage) = (0, None);
        for month in self.db.read(Deadline::None, settled).await? {
            match self.close_month(month, now).await {
                Ok(is_closed) => closed += usize::from(is_closed),
                Err(error) if error.is_damage() => damage = Some(error),
                Err(error) => return Err(error),
            }
        }
        damage.map_or(Ok(closed), Err)
    }

    /// Rolls a month up, and closes it. Returns whether it is closed: its mark may be gone.
    async fn close_month(&self, month: MarkedMonth, now: UnixMs) -> Result<bool, Error> {
        let MarkedMonth { group_no: group, first_day, roll_up_no } = month;
        let ranges = async move |read: &Read<'_>| DeviceRange::all_of(read, group).await;
        let mut ranges = self.db.read(Deadline::None, ranges).await?.into_iter().peekable();
        let (mut products, mut roll_up_no) = (MonthProducts::default(), roll_up_no);
        while let Some(range) = ranges.next() {
            let sums =
                async move |read: &Read<'_>| MonthSums::read(read, group, first_day, range).await;
            let sums = self.db.read(Deadline::None, sums).await?;
            products.add(&sums);
            let mut slices = slices(sums, range);
            if let Some(last) = slices.last_mut().filter(|_| ranges.peek().is_none()) {
                last.products = Some(std::mem::take(&mut products));
            }
            for slice in slices {
                let month = MarkedMonth { group_no: group, first_day, roll_up_no };
                let write =
                    async move |write: &Write<'_>| write_slice(write, &month, &slice, now).await;
                match self.db.write(Deadline::OfRequest, write).await? {
                    Some(number) => roll_up_no = number,
                    None => return Ok(false),
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        Ok(true)
    }
}

/// Divides sums, so that each part has about as many rows as a transaction writes. There is at
/// least one part, and together they contain all of `range`.
fn slices(sums: MonthSums, range: DeviceRange) -> Vec<Slice> {
    let (mut slices, mut rows) = (Vec::new(), 0);
    let mut slice = Slice { range, devices: Vec::new(), products: None };
    for (device, month) in sums.devices {
        if rows >= ROWS_PER_TRANSACTION
            && let Some((last, _)) = slice.devices.last()
        {
            let (before, after) = (slice.range.after, *last);
            slice.range = DeviceRange { after: before, last: after };
            let next = Slice {
                range: DeviceRange { after, last: range.last },
                devices: Vec::new(),
                products: None,
            };
            slices.push(std::mem::replace(&mut slice, next));
            rows = 0;
        }
        rows += 1 + month.products.len();
        slice.devices.push((device, month));
    }
    slices.push(slice);
    slices
}

/// Replaces rows of a month, and closes it with the last ones. Returns the number that the mark has
/// now; `None` if the mark is another or gone.
async fn write_slice(
    write: &Write<'_>,
    month: &MarkedMonth,
    slice: &Slice,
    now: UnixMs,
) -> Result<Option<i64>, Error> {
    let MarkedMonth { group_no, first_day, roll_up_no } = *month;
    let new_no = metadata::next_roll_up(write).await?;
    let of_month: [Value<'_>; 2] = [group_no.into(), first_day.into()];
    let [group, day] = of_month;
    let params = [group, day, roll_up_no.into(), new_no.into(), now.into()];
    if write.execute(&RENEW, &params).await? == 0 {
        return Ok(None);
    }
    let of_devices = [group, day, slice.range.after.into(), slice.range.last.into()];
    try_join!(
        biased;
        write.execute(&DELETE_DEVICES, &of_devices),
        write.execute(&DELETE_DEVICE_PRODUCTS, &of_devices),
    )?;
    write_devices(write, &slice.devices, &of_month).await?;
    if let Some(products) = &slice.products {
        write.execute(&DELETE_PRODUCTS, &of_month).await?;
        write_products(write, products, &of_month).await?;
        // The row of the mark is locked, so that the bounds are those of the sums that were read.
        let bounds = MonthBounds::read(write, group_no, first_day).await?;
        let (first, last) = (bounds.first_sale_at_ms.into(), bounds.last_sale_at_ms.into());
        write.execute(&CLOSE, &[group, day, first, last]).await?;
    }
    Ok(Some(new_no))
}

async fn write_devices(
    write: &Write<'_>,
    devices: &[(DeviceNo, DeviceMonth)],
    of_month: &[Value<'_>; 2],
) -> Result<(), Error> {
    let amounts: Vec<(String, String)> = devices
        .iter()
        .map(|(_, month)| (usd_text(month.turnover.amount), usd_text(month.turnover.refund)))
        .collect();
    let rows = devices.iter().zip(&amounts).map(|((device, month), (amount, refund))| {
        let sold = &month.turnover;
        let amounts = [amount.as_str().into(), refund.as_str().into()];
        let [orders, items, unconverted, converted, shipped, failed] = [
            sold.orders,
            sold.items,
            sold.unconverted_orders,
            sold.converted_items,
            sold.shipped,
            sold.failed,
        ]
        .map(Value::Int);
        let [amount, refund] = amounts;
        let device = (*device).into();
        [device, orders, items, amount, refund, unconverted, converted, shipped, failed]
    });
    write.execute_each(&ADD_DEVICES, rows, of_month).await?;
    let products = || {
        devices.iter().flat_map(|(device, month)| {
            month.products.iter().map(move |(goods_id, sold)| (*device, goods_id, sold))
        })
    };
    let amounts: Vec<String> = products().map(|(.., sold)| usd_text(sold.amount)).collect();
    let rows = products().zip(&amounts).map(|((device, goods_id, sold), amount)| {
        let (items, converted) = (sold.items.into(), sold.converted_items.into());
        [device.into(), goods_id.as_str().into(), items, converted, amount.as_str().into()]
    });
    write.execute_each(&ADD_DEVICE_PRODUCTS, rows, of_month).await
}

async fn write_products(
    write: &Write<'_>,
    products: &MonthProducts,
    of_month: &[Value<'_>; 2],
) -> Result<(), Error> {
    let texts: Vec<(String, String)> = products
        .0
        .values()
        .map(|(sold, devices)| (usd_text(sold.amount), devices.text()))
        .collect();
    let rows = products.0.iter().zip(&texts).map(|((goods_id, (sold, set)), (amount, devices))| {
        let (items, converted) = (sold.items.into(), sold.converted_items.into());
        let (amount, devices) = (amount.as_str().into(), devices.as_str().into());
        [goods_id.as_str().into(), items, converted, amount, devices, set.len().into()]
    });
    write.execute_each(&ADD_PRODUCTS, rows, of_month).await
}
