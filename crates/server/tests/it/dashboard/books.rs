//! The expected values of dashboards, computed order by order, with a calendar and arithmetic other
//! than the server's.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

/// A line: the product, the count, and the amount paid.
pub(super) type Line = (String, i64, i64);

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Order {
    pub(super) id: String,
    pub(super) device: usize,
    pub(super) currency: &'static str,
    pub(super) amount: i64,
    pub(super) refund: i64,
    pub(super) status: i64,
    pub(super) shipment: i64,
    pub(super) start: i64,
    pub(super) paid: Option<i64>,
    pub(super) lines: Vec<Line>,
}

pub(super) fn device_code(device: usize) -> String {
    format!("K{device}")
}

fn timestamp(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap()
}

impl Order {
    /// Returns it as a line of an order file.
    pub(super) fn json(&self) -> String {
        let lines = self.lines.iter().map(|(goods_id, count, amount)| {
            json!({"goodsId": goods_id, "count": count, "payAmount": amount})
        });
        let mut order = json!({
            "orderId": self.id, "deviceCode": device_code(self.device), "currency": self.currency,
            "totalAmount": self.amount, "payAmount": self.amount, "refundAmount": self.refund,
            "payStatus": self.status, "shipmentStatus": self.shipment,
            "tradeStartTime": timestamp(self.start).to_string(),
            "detailVOList": lines.collect::<Vec<_>>(),
        });
        if let Some(paid) = self.paid {
            order["payEndTime"] = json!(timestamp(paid).to_string());
        }
        order.to_string()
    }

    /// DASH-10: a sale is an order with a `payEndTime` and a `payStatus` of 1, 3 or 4 (ORD-13).
    pub(super) fn sold_at(&self) -> Option<i64> {
        self.paid.filter(|_| [1, 3, 4].contains(&self.status))
    }
}

/// The filters of a dashboard.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) group: usize,
    /// All when empty.
    pub(super) devices: Vec<usize>,
    pub(super) start: i64,
    pub(super) end: i64,
}

/// The orders that were imported, each with its group, and the rates.
pub(super) struct Books {
    pub(super) zone: TimeZone,
    pub(super) orders: BTreeMap<String, (usize, Order)>,
    /// By currency and date: dollars per unit, times 10^12.
    pub(super) rates: BTreeMap<(&'static str, String), i128>,
}

/// A sum of sales of one kind.
#[derive(Default)]
struct Sum {
    orders: i64,
    items: i64,
    /// Dollars, times 10^16.
    dollars: i128,
    refund: i128,
    unconverted: i64,
    converted_items: i64,
    shipped: i64,
    tried: i64,
    devices: BTreeSet<usize>,
}

/// Returns the cents of a share of dollars, rounded half to even.
fn cents(dollars: i128, among: i64) -> i64 {
    let unit = 100_000_000_000_000 * i128::from(among.max(1));
    let (size, sign) = (dollars.abs(), if dollars < 0 { -1 } else { 1 });
    let (whole, rest) = (size / unit, size % unit);
    let up = rest * 2 > unit || (rest * 2 == unit && whole % 2 == 1);
    i64::try_from(sign * (whole + i128::from(up))).unwrap()
}

fn dollars(cents: i64) -> Value {
    json!(cents as f64 / 100.0)
}

fn written(cents: i64) -> String {
    let whole = (cents / 100).to_string();
    let groups: Vec<&str> =
        whole.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).unwrap()).collect();
    format!("{}.{:02}", groups.join(","), cents % 100)
}

impl Books {
    pub(super) fn date(&self, at: i64) -> String {
        timestamp(at).to_zoned(self.zone.clone()).date().to_string()
    }

    fn dollars(&self, amount: i64, currency: &str, date: &str) -> Option<i128> {
        let decimals = match currency {
            "JPY" => 0,
            "KWD" => 3,
            _ => 2,
        };
        let mut dated =
            self.rates.iter().filter(|((of, from), _)| *of == currency && **from <= *date);
        let rate = match currency {
            "USD" => 1_000_000_000_000,
            _ => *dated.next_back()?.1,
        };
        Some(i128::from(amount) * rate * 10_i128.pow(4 - decimals))
    }

    fn sales(&self, ask: &Ask) -> impl Iterator<Item = (&Order, String)> {
        self.orders.values().filter_map(move |(group, order)| {
            let at = order.sold_at()?;
            let asked = ask.devices.is_empty() || ask.devices.contains(&order.device);
            let within = ask.start <= at && at < ask.end;
            (*group == ask.group && asked && within).then(|| (order, self.date(at)))
        })
    }

    fn count(&self, sum: &mut Sum, order: &Order, date: &str) {
        sum.orders += 1;
        sum.items += order.lines.iter().map(|line| line.1).sum::<i64>();
        sum.shipped += i64::from(order.shipment == 1);
        sum.tried += i64::from([1, 3, 4].contains(&order.shipment));
        match self.dollars(order.amount, order.currency, date) {
            Some(worth) => {
                sum.dollars += worth;
                sum.refund += self.dollars(order.refund, order.currency, date).unwrap();
            }
            None => sum.unconverted += 1,
        }
    }

    /// Returns the KPIs of a summary that depend on sales, by their codes.
    pub(super) fn summary(&self, ask: &Ask) -> BTreeMap<&'static str, String> {
        let mut sum = Sum::default();
        for (order, date) in self.sales(ask) {
            self.count(&mut sum, order, &date);
        }
        let converted = sum.orders - sum.unconverted;
        let average = if converted > 0 { cents(sum.dollars, converted) } else { 0 };
        // DASH-16: tenths of a percent, rounded half to even.
        let shipped = match sum.tried {
            0 => "–".to_owned(),
            tried => {
                let tenths = cents(i128::from(sum.shipped) * 100_000_000_000_000_000, tried);
                format!("{}.{}%", tenths / 10, tenths % 10)
            }
        };
        BTreeMap::from([
            ("salesAmount", written(cents(sum.dollars, 1))),
            ("orderCount", sum.orders.to_string()),
            ("itemCount", sum.items.to_string()),
            ("averageOrderAmount", written(average)),
            ("refundAmount", written(cents(sum.refund, 1))),
            ("shipmentSuccessRate", shipped),
            ("unconvertedOrders", sum.unconverted.to_string()),
        ])
    }

    pub(super) fn trend(&self, ask: &Ask) -> Value {
        let mut days: BTreeMap<String, Sum> = BTreeMap::new();
        let mut at = ask.start;
        while at < ask.end {
            days.entry(self.date(at)).or_default();
            at += 3_600_000;
        }
        if ask.start < ask.end {
            days.entry(self.date(ask.end - 1)).or_default();
        }
        for (order, date) in self.sales(ask) {
            self.count(days.get_mut(&date).unwrap(), order, &date);
        }
        let row = |(label, sum): (String, Sum)| {
            let amount = dollars(cents(sum.dollars, 1));
            json!({"label": label, "amount": amount, "orderCount": sum.orders})
        };
        days.into_iter().map(row).collect()
    }

    pub(super) fn by_device(&self, ask: &Ask) -> Value {
        let mut devices: BTreeMap<usize, Sum> = BTreeMap::new();
        for (order, date) in self.sales(ask) {
            self.count(devices.entry(order.device).or_default(), order, &date);
        }
        let mut devices: Vec<_> = devices.into_iter().collect();
        devices.sort_by_key(|(device, sum)| (-cents(sum.dollars, 1), *device));
        let row = |(device, sum): (usize, Sum)| {
            json!({
                "deviceCode": device_code(device), "deviceName": "Kiosk", "orderCount": sum.orders,
                "salesCount": sum.items, "salesAmount": dollars(cents(sum.dollars, 1)),
            })
        };
        devices.into_iter().map(row).collect()
    }

    /// Returns the ranking, without names and prices.
    pub(super) fn best(&self, ask: &Ask) -> Value {
        let mut products: BTreeMap<&str, Sum> = BTreeMap::new();
        for (order, date) in self.sales(ask) {
            for (goods_id, count, amount) in &order.lines {
                let sum = products.entry(goods_id).or_default();
                sum.items += count;
                if *count > 0 {
                    sum.devices.insert(order.device);
                }
                if let Some(worth) = self.dollars(*amount, order.currency, &date) {
                    sum.dollars += worth;
                    sum.converted_items += count;
                }
            }
        }
        let mut products: Vec<_> = products.into_iter().filter(|(_, sum)| sum.items > 0).collect();
        products.sort_by_key(|(id, sum)| (-sum.items, -cents(sum.dollars, 1), *id));
        products.truncate(10);
        let row = |(id, sum): (&str, Sum)| {
            let average = match sum.converted_items {
                0 => Value::Null,
                items => dollars(cents(sum.dollars, items)),
            };
            json!({
                "goodsId": id, "averagePrice": average, "salesCount": sum.items,
                "salesAmount": dollars(cents(sum.dollars, 1)), "deviceCount": sum.devices.len(),
            })
        };
        products.into_iter().map(row).collect()
    }
}
