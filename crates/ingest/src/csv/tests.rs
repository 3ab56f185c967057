//! Whole reports through whole mappings.

mod errors;
mod examples;
mod features;
mod mappings;
mod rejected;

use std::io::Read;
use std::time::Duration;

use kiosque_model::UnixMs;
use serde_json::{Map, Value};

use super::*;
use crate::given_order::{self, DateRules};
use crate::unknown_keys::UnknownKeys;

/// A mapping of four columns, without `order.key`.
const SIMPLE: &str = r#"
[amount]
unit = "major"

[order]
orderId = "{Id}"
deviceCode = "{Machine}"
currency = "USD"
totalAmount = "{Total}"
tradeStartTime = "{Time}"
"#;

/// Rows with the same `No` are one order.
const KEYED: &str = r#"
[amount]
unit = "major"

[order]
key = "No"
deviceCode = "m1"
currency = "USD"
totalAmount = "{#sum}"
tradeStartTime = "{Time}"

[line]
goodsId = "{Goods}"
salePrice = "{Price}"
"#;

fn mapping(text: &str) -> Mapping {
    Mapping::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the lines where rows begin.
fn lines(rows: &[Row]) -> Vec<u64> {
    rows.iter().map(|row| row.line).collect()
}

/// A mapped order as a line of an order file.
struct JsonOrder {
    first_line: u64,
    lines: Vec<u64>,
    order: Map<String, Value>,
    device: Option<Result<DeviceEntry, String>>,
    products: Vec<ProductEntry>,
}

impl JsonOrder {
    /// Also checks that the line of an order file gives the same order.
    fn of(mapped: MappedOrder, zone: &Zone) -> JsonOrder {
        let lines = lines(&mapped.rows);
        let MappedOrder { first_line, order, device, products, .. } = mapped;
        let json = serde_json::to_value(&order).expect("JSON");
        let line = json.to_string();
        let dates = DateRules { zone, now: UnixMs::MAX, lead_max: Duration::ZERO };
        let parsed = given_order::parse(line.as_bytes(), &dates, &mut UnknownKeys::default());
        assert_eq!(given_order::check(order, &dates), parsed, "{line}");
        let Value::Object(order) = json else { panic!("no object: {line}") };
        JsonOrder { first_line, lines, order, device, products }
    }
}

/// The orders of a report, in its order, and the number of rows that each filter left out.
struct ReadResult {
    orders: Vec<JsonOrder>,
    rejected: Vec<RejectedRows>,
    left_out: Vec<(String, u64)>,
    rows: u64,
}

impl ReadResult {
    fn reasons(&self) -> Vec<&str> {
        self.rejected.iter().map(|rejected| rejected.reason.as_str()).collect()
    }

    fn ids(&self) -> Vec<&str> {
        self.orders.iter().filter_map(|order| order.order["orderId"].as_str()).collect()
    }

    /// The one order of a report that has no other rows.
    fn only(&self) -> &Map<String, Value> {
        assert_eq!(self.reasons(), Vec::<&str>::new());
        assert_eq!(self.orders.len(), 1);
        &self.orders[0].order
    }
}

fn outcome(text: &str, report: impl AsRef<[u8]>) -> ReadResult {
    outcome_in(&Zone::utc(), &mapping(text), report.as_ref())
}

fn outcome_in(zone: &Zone, mapping: &Mapping, report: impl Read) -> ReadResult {
    let mut reading = read(report, mapping, zone).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let (mut orders, mut rejected) = (Vec::new(), Vec::new());
    for item in &mut reading {
        match item {
            Ok(order) => orders.push(JsonOrder::of(order, zone)),
            Err(rows) => rejected.push(rows),
        }
    }
    assert!(reading.next().is_none(), "an ended report stays ended");
    ReadResult { orders, rejected, left_out: reading.left_out(), rows: reading.rows() }
}

/// Returns the error that prevents the report from being read at all.
fn refused(text: &str, report: impl AsRef<[u8]>) -> Vec<String> {
    match read(report.as_ref(), &mapping(text), &Zone::utc()) {
        Ok(_) => panic!("the report was read"),
        Err(errors) => errors,
    }
}
