//! Two tenants: A with a large group, a group with years of sales and a device with many orders; B
//! with a small group.

use std::io::Write;

use kiosque_contract::endpoint::QueryOrderList;
use kiosque_contract::{DashboardFilter, Endpoint, OrderFilter};
use serde_json::{Value, json};

use crate::calls::{log_in, paged};
use crate::client::{Call, Client};
use crate::fleet::account;
use crate::load::Workload;
use crate::options::FairnessSize;
use crate::orders::{LAST_TRADE, date_time};

/// Tenant A's groups: the large one, which its session selects, and the one with years of sales.
pub(super) const LARGE: &str = "large";
pub(super) const YEARS: &str = "years";
/// The group of devices that are applied meanwhile; tenant A's, too.
pub(super) const APPLIED: &str = "applied";
const SMALL: &str = "small";
/// Devices of the group with years of sales, and of tenant B's.
pub(super) const DEVICES: usize = 50;
/// Products; each order of the group with years of sales has ten.
pub(crate) const PRODUCTS: usize = 50;
const AISLES: usize = 10;
const ORDERS_OF_B: usize = 40;
pub(crate) const DAY: i64 = 86_400;
/// Seconds between two orders of a device with many.
const STEP: i64 = 120;

/// The tokens of both tenants, and the cookie of an operator in the console.
pub(super) struct Tokens {
    pub(super) a: String,
    pub(super) b: String,
    pub(super) console: String,
}

impl Tokens {
    /// Logs in both tenants.
    ///
    /// # Errors
    /// When a login is refused.
    pub(super) async fn new(client: &Client, console: String) -> anyhow::Result<Tokens> {
        let mut connection = client.connect().await?;
        let a = log_in(&mut connection, "a", LARGE).await?;
        Ok(Tokens { a, b: log_in(&mut connection, "b", SMALL).await?, console })
    }
}

impl FairnessSize {
    pub(super) fn devices(&self) -> usize {
        self.large_group + 2 * DEVICES
    }

    pub(super) fn orders(&self) -> usize {
        self.sales_days() * DEVICES + self.large_device_orders + DEVICES * ORDERS_OF_B
    }

    fn sales_days(&self) -> usize {
        self.sales_years * 365
    }
}

pub(crate) fn device_code(group: &str, index: usize) -> String {
    format!("{group}-{index:05}")
}

/// Devices of a group, each with the aisles of a small kiosk.
pub(crate) fn devices(group: &str, count: usize, name: &str) -> Vec<Value> {
    let aisles: Vec<Value> = (0..AISLES)
        .map(|aisle| {
            json!({ "code": format!("A{aisle}"), "product": format!("p{aisle}"), "price": 100,
                "stock": 3, "capacity": 12, "layer": aisle / 5 + 1 })
        })
        .collect();
    let device = |index| {
        json!({ "code": device_code(group, index), "name": format!("{name} {index}"),
            "group": group, "aisle": aisles })
    };
    (0..count).map(device).collect()
}

/// The products in the aisles.
pub(crate) fn products() -> Vec<Value> {
    let product = |at| {
        json!({ "id": format!("p{at}"), "name": format!("Product {at}"), "currency": "USD",
            "default_price": 100 })
    };
    (0..PRODUCTS).map(product).collect()
}

/// The fleet of both tenants.
pub(super) fn fleet(size: &FairnessSize) -> Value {
    let groups = [LARGE, YEARS, APPLIED, SMALL];
    let groups: Vec<Value> = groups.iter().map(|id| json!({ "id": id, "name": id })).collect();
    let all = [(LARGE, size.large_group), (YEARS, DEVICES), (SMALL, DEVICES)];
    let devices: Vec<Value> =
        all.iter().flat_map(|(group, count)| devices(group, *count, "Kiosk")).collect();
    json!({ "group": groups, "product": products(), "device": devices,
        "account": [account("a", &[LARGE, YEARS, APPLIED]), account("b", &[SMALL])] })
}

/// Writes the orders of both tenants.
///
/// # Errors
/// When they cannot be written.
pub(super) fn write_orders(size: &FairnessSize, out: &mut impl Write) -> anyhow::Result<()> {
    let ten = |from: usize| -> Vec<Value> {
        let goods = (from..from + 10).map(|at| format!("p{}", at % PRODUCTS));
        goods.map(|id| json!({ "goodsId": id, "count": 1, "payAmount": 100 })).collect()
    };
    for day in 0..size.sales_days() {
        let start = LAST_TRADE - DAY * i64::try_from(size.sales_days() - day)? + DAY / 2;
        for device in 0..DEVICES {
            let code = device_code(YEARS, device);
            let id = format!("y{day}-{device}");
            write_order(out, &id, &code, start + i64::try_from(device)?, &ten(device + day))?;
        }
    }
    write_many(out, "l", LARGE, size)?;
    let one = one_product();
    for number in 0..ORDERS_OF_B {
        let start = LAST_TRADE - 28 * DAY + DAY / 2 * i64::try_from(number)?;
        for device in 0..DEVICES {
            let code = device_code(SMALL, device);
            write_order(out, &format!("b{number}-{device}"), &code, start, &one)?;
        }
    }
    Ok(())
}

/// Writes the orders of the device with many: the first one of a group.
pub(crate) fn write_many(
    out: &mut impl Write,
    id: &str,
    group: &str,
    size: &FairnessSize,
) -> anyhow::Result<()> {
    let device = device_code(group, 0);
    let one = one_product();
    let many = i64::try_from(size.large_device_orders)?;
    for number in 0..many {
        let start = LAST_TRADE - STEP * (many - number);
        write_order(out, &format!("{id}{number}"), &device, start, &one)?;
    }
    Ok(())
}

/// The goods of an order of one product.
fn one_product() -> [Value; 1] {
    [json!({ "goodsId": "p0", "count": 1, "payAmount": 1_000 })]
}

pub(crate) fn write_order(
    out: &mut impl Write,
    id: &str,
    device: &str,
    start: i64,
    goods: &[Value],
) -> anyhow::Result<()> {
    let time = date_time(start)?;
    let order = json!({ "orderId": id, "deviceCode": device, "currency": "USD",
        "totalAmount": 1_000, "payAmount": 1_000, "payStatus": 1, "shipmentStatus": 1,
        "tradeStartTime": time, "payEndTime": time, "detailVOList": goods });
    serde_json::to_writer(&mut *out, &order)?;
    out.write_all(b"\n")?;
    Ok(())
}

/// One new order of tenant B, as a line for the operator's listener.
pub(super) fn new_order(number: usize) -> anyhow::Result<Vec<u8>> {
    let mut line = Vec::new();
    let code = device_code(SMALL, number % DEVICES);
    write_order(&mut line, &format!("n{number}"), &code, LAST_TRADE - 60, &one_product())?;
    Ok(line)
}

/// A heartbeat of a device of tenant B.
pub(super) fn heartbeat(device: usize) -> Vec<u8> {
    let code = device_code(SMALL, device % DEVICES);
    format!("{}\n", json!({ "deviceCode": code })).into_bytes()
}

/// Page 1 of each device of tenant B.
///
/// # Errors
/// When a call cannot travel.
pub(super) fn order_pages_b(tokens: &Tokens, workers: usize) -> anyhow::Result<Workload> {
    let page = |device| order_list(&tokens.b, &device_code(SMALL, device), None);
    let pages = (0..DEVICES).map(page).collect::<anyhow::Result<_>>()?;
    Ok(Workload::shared(workers, pages))
}

/// A page of a device's orders, or of those that started in the last ten minutes of the data.
///
/// # Errors
/// When it cannot travel.
pub(crate) fn order_list(token: &str, device: &str, since: Option<i64>) -> anyhow::Result<Call> {
    let filter = OrderFilter {
        device_code: device.to_owned(),
        start_timestamp: since,
        ..OrderFilter::default()
    };
    Call::new(&paged(QueryOrderList::PATH, 1), Some(token), &filter)
}

/// The filter of a dashboard: the last days of the data.
pub(crate) fn last_days(days: i64) -> DashboardFilter {
    DashboardFilter {
        start_timestamp: Some((LAST_TRADE - DAY * days) * 1_000),
        end_timestamp: Some(LAST_TRADE * 1_000),
        ..DashboardFilter::default()
    }
}
