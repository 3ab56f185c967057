//! The orders that the bench imports: each is determined by the seed and its number, so that a
//! trade number can be requested without storing a million of them.

use std::io::Write;

use anyhow::Context;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use kiosque_clock::Clock;
use kiosque_contract::{Object, OrderLine, OrderLineItem};
use kiosque_testkit::Rng;
use serde_json::json;

use crate::catalog::{CHANNELS, FAULTS};
use crate::fleet;
use crate::options::{Goods, Size};

/// When the last trade has started: 2026-11-01 00:00:00 UTC. A fixed time, so that the file is
/// always the same.
pub(crate) const LAST_TRADE: i64 = 1_793_491_200;
/// Seconds of a year.
const YEAR: u64 = 365 * 86_400;
/// The start of the time in an order's id, so that it has as many digits as on real platforms.
const ID_EPOCH: i64 = 1_288_834_974;

/// One order.
pub(crate) struct Order {
    /// The device, counted from 0.
    pub(crate) device: usize,
    /// Its line of the import file. A few trades have no number: no payment platform saw them.
    pub(crate) line: OrderLine,
}

/// How a trade went.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Course {
    Sold,
    Unpaid,
    Failed,
    Partial,
    Refunded,
}

impl Course {
    fn draw(rng: &mut Rng) -> Course {
        match rng.below(100) {
            0..=2 => Course::Unpaid,
            3..=4 => Course::Failed,
            5 => Course::Partial,
            6 => Course::Refunded,
            _ => Course::Sold,
        }
    }

    /// Returns `payStatus` and `shipmentStatus`.
    const fn statuses(self) -> (i64, i64) {
        match self {
            Course::Unpaid => (0, 0),
            Course::Sold => (1, 1),
            Course::Failed => (4, 3),
            Course::Partial => (1, 4),
            Course::Refunded => (4, 1),
        }
    }
}

/// Returns whether the `number`-th order belongs to the big device: spread evenly, and exactly as
/// many as requested.
fn is_big(number: u64, size: &Size) -> bool {
    let upto =
        |n: u64| u128::from(n) * u128::from(size.big_device_orders) / u128::from(size.orders);
    upto(number + 1) > upto(number)
}

/// Returns the `number`-th order, counted from 0; later ones start later.
///
/// # Errors
/// Its time is invalid, which happens for no size that can be generated.
pub(crate) fn order(number: u64, size: &Size) -> anyhow::Result<Order> {
    let mut rng = Rng::of(size.seed, number);
    let device = if is_big(number, size) { 0 } else { 1 + rng.below(size.devices - 1) };
    let years = YEAR * u64::from(size.years);
    let step = i64::try_from(years * 1_000 / size.orders.max(1))?;
    let first_trade = LAST_TRADE - i64::try_from(years)?;
    let start_ms = first_trade * 1_000 + step * i64::try_from(number)? + rng.range(0..step);
    let start = start_ms / 1_000;
    let pay = start + rng.range(4..44);
    let ship = pay + rng.range(3..23);
    let course = Course::draw(&mut rng);
    let (pay_status, shipment_status) = course.statuses();
    let lines = lines(&mut rng, device, size, course);
    let total: i64 = lines.iter().filter_map(|line| Some(line.sale_price? * line.count?)).sum();
    let paid = course != Course::Unpaid;
    let id = ((start_ms - ID_EPOCH * 1_000) << 22) | i64::try_from(number & 0x3F_FFFF)?;
    let line = OrderLine {
        order_id: Some(id.to_string()),
        trade_no: (!rng.one_in(100)).then(|| trade_no(start, number)).transpose()?,
        device_code: Some(fleet::device_code(device)),
        currency: Some(fleet::group_currency(fleet::group_of(device, size), size).to_owned()),
        total_amount: Some(total),
        pay_amount: Some(if paid { total } else { 0 }),
        refund_amount: refund(course, total, &lines),
        pay_status: Some(pay_status),
        shipment_status: Some(shipment_status),
        pay_channel_name: paid.then(|| rng.choose(&CHANNELS).to_owned()),
        trade_start_time: Some(date_time(start)?),
        pay_end_time: paid.then(|| date_time(pay)).transpose()?,
        shipment_time: (paid && course != Course::Failed).then(|| date_time(ship)).transpose()?,
        card_number: rng.one_in(5).then(|| card_number(&mut rng)),
        phone: (rng.below(10) < 3).then(|| phone(&mut rng)),
        detail_vo_list: Some(lines.into_iter().map(Object).collect()),
        ..OrderLine::default()
    };
    Ok(Order { device, line })
}

fn lines(rng: &mut Rng, device: usize, size: &Size, course: Course) -> Vec<OrderLineItem> {
    let wanted = if course == Course::Partial { 2 } else { 1 + rng.below(3) };
    (0..wanted)
        .map(|index| {
            let aisle = rng.below(fleet::AISLES);
            let product = match size.goods {
                Goods::Aisles => fleet::product_in(device, aisle, size),
                Goods::Any => rng.below(fleet::products(size)),
            };
            let price = fleet::goods_price(product);
            let sale_price = if rng.one_in(10) { price * 9 / 10 } else { price };
            let count = if rng.below(100) < 85 { 1 } else { 2 };
            let failed = course == Course::Failed || (course == Course::Partial && index == 1);
            let (fault, words) = rng.choose(&FAULTS);
            OrderLineItem {
                goods_id: Some(fleet::goods_id(product)),
                goods_name: Some(fleet::goods_name(product)),
                aisle_code: Some(fleet::aisle_code(aisle)),
                count: Some(count),
                goods_price: Some(price),
                sale_price: Some(sale_price),
                pay_amount: Some(if course == Course::Unpaid { 0 } else { sale_price * count }),
                shipment_status: Some(match course {
                    Course::Unpaid => 0,
                    _ if failed => 3,
                    _ => 1,
                }),
                shipment_err_code: failed.then_some(fault),
                shipment_fail_desc: failed.then(|| words.to_owned()),
            }
        })
        .collect()
}

fn refund(course: Course, total: i64, lines: &[OrderLineItem]) -> Option<i64> {
    match course {
        Course::Sold | Course::Unpaid => None,
        Course::Failed | Course::Refunded => Some(total),
        Course::Partial => {
            let failed = lines.iter().filter(|line| line.shipment_status == Some(3));
            Some(failed.filter_map(|line| line.pay_amount).sum())
        }
    }
}

/// Begins with the time, as on real platforms; the number keeps it unique.
fn trade_no(start: i64, number: u64) -> anyhow::Result<String> {
    Ok(format!("{}{number:010}", civil(start)?.strftime("%Y%m%d%H%M%S")))
}

/// `yyyy-MM-dd HH:mm:ss` in UTC.
pub(crate) fn date_time(second: i64) -> anyhow::Result<String> {
    Ok(civil(second)?.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

fn civil(second: i64) -> anyhow::Result<jiff::civil::DateTime> {
    let time = Timestamp::from_second(second).context("a trade outside of all time")?;
    Ok(TimeZone::UTC.to_datetime(time))
}

fn card_number(rng: &mut Rng) -> String {
    format!("6222 02{:02} {:04} {:04}", rng.below(100), rng.below(10_000), rng.below(10_000))
}

fn phone(rng: &mut Rng) -> String {
    format!("+86 138 {:04} {:04}", rng.below(10_000), rng.below(10_000))
}

/// Returns a line with a paid order of a device, whose trade starts now.
pub(crate) fn order_of_now(id: &str, device: usize, size: &Size) -> Vec<u8> {
    let now = Clock::System.now().rfc3339();
    let currency = fleet::group_currency(fleet::group_of(device, size), size);
    let line = json!({
        "orderId": id, "deviceCode": fleet::device_code(device),
        "currency": currency, "totalAmount": 1_000, "payAmount": 1_000, "payStatus": 1,
        "tradeStartTime": now, "payEndTime": now,
        "detailVOList": [{"goodsId": "88000001", "count": 1, "payAmount": 1_000}],
    });
    format!("{line}\n").into_bytes()
}

/// Writes all orders, one JSON object per line, oldest first; reports the number written to
/// `progress`.
///
/// # Errors
/// When they cannot be written.
pub(crate) fn write(
    size: &Size,
    mut out: impl Write,
    progress: impl Fn(u64),
) -> anyhow::Result<()> {
    for number in 0..size.orders {
        serde_json::to_writer(&mut out, &order(number, size)?.line)?;
        out.write_all(b"\n")?;
        if number % 100_000 == 99_999 {
            progress(number + 1);
        }
    }
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::Value;

    use super::*;

    fn file(size: &Size) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(size, &mut bytes, |_| {}).unwrap();
        bytes
    }

    fn parsed(size: &Size) -> Vec<Value> {
        let text = String::from_utf8(file(size)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_seed_determines_the_file() {
        let size = Size::small();
        assert_eq!(file(&size), file(&size));
        assert_ne!(file(&size), file(&Size { seed: 2, ..size.clone() }));
    }

    #[test]
    fn ids_and_trade_numbers_are_unique_and_the_big_device_has_its_orders() {
        let size = Size::small();
        let orders = parsed(&size);
        let unique = |key: &str| {
            let all: Vec<_> = orders.iter().filter_map(|o| o[key].as_str()).collect();
            (all.len(), all.iter().collect::<HashSet<_>>().len())
        };
        assert_eq!(unique("orderId"), (2_000, 2_000));
        let (given, distinct) = unique("tradeNo");
        assert!(given == distinct && (1_900..2_000).contains(&given), "{given}");
        let big = fleet::device_code(0);
        assert_eq!(orders.iter().filter(|o| o["deviceCode"] == big.as_str()).count(), 500);
    }

    #[test]
    fn every_line_can_be_imported() {
        let required = ["orderId", "deviceCode", "currency", "totalAmount", "tradeStartTime"];
        let mut last = String::new();
        for order in parsed(&Size::small()) {
            assert!(required.iter().all(|key| !order[key].is_null()), "{order}");
            for key in ["tradeStartTime", "payEndTime", "shipmentTime"] {
                let text = order[key].as_str().unwrap_or("2026-01-01 00:00:00");
                let time = jiff::civil::DateTime::strptime("%Y-%m-%d %H:%M:%S", text);
                assert!(time.is_ok() && text.len() == 19, "{key}: {text}");
            }
            assert_eq!(order["payStatus"] == 0, order["payEndTime"].is_null());
            assert!(order["payAmount"].as_i64() >= order["refundAmount"].as_i64());
            let lines = order["detailVOList"].as_array().unwrap();
            assert!((1..=3).contains(&lines.len()));
            assert!(lines.iter().all(|l| l["goodsId"].is_string() && l["salePrice"].is_i64()));
            let start = order["tradeStartTime"].as_str().unwrap().to_owned();
            assert!(start >= last && start.as_str() < "2026-11-01", "{start}");
            last = start;
        }
    }
}
