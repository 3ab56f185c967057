//! Orders in the format of `kiosque import orders`.

use std::fmt::{self, Display};

use serde_json::{Map, Value};

/// An order as one line of NDJSON, which [`Display`] ends with a line feed.
#[derive(Clone, Debug)]
#[must_use]
pub struct OrderLine(Map<String, Value>);

impl OrderLine {
    /// Returns an unpaid order of one euro whose trade starts at this time.
    pub fn new(id: impl Display, device: impl Display, start: impl Display) -> OrderLine {
        OrderLine(Map::new())
            .with("orderId", id.to_string())
            .with("deviceCode", device.to_string())
            .with("tradeStartTime", start.to_string())
            .amount("EUR", 100)
    }

    /// Replaces the currency and the amount, in minor units.
    pub fn amount(self, currency: &str, amount: i64) -> OrderLine {
        self.with("currency", currency).with("totalAmount", amount)
    }

    /// Sets the time of payment.
    pub fn paid(self, time: impl Display) -> OrderLine {
        self.with("payEndTime", time.to_string())
    }

    /// Sets a field.
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> OrderLine {
        self.0.insert(field.to_owned(), value.into());
        self
    }
}

impl Display for OrderLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", Value::Object(self.0.clone()))
    }
}
