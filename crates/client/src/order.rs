//! Orders, as any server of the interface sends them.

use kiosque_contract::OrderRecord;
use kiosque_model::Currency;
use kiosque_model::money::MoneyError;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::money::Money;
use crate::wall_time::WallTime;

/// An order of a list.
///
/// It has the fields that every server sends, with their proper types. [`Order::json`] has all
/// fields as received, and [`Order::record`] the fields of Kiosque.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub struct Order {
    head: Head,
    json: Value,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    order_id: String,
    trade_no: String,
    currency: String,
    total_amount: i64,
    pay_amount: i64,
    trade_start_time: String,
    pay_end_time: Option<String>,
}

impl TryFrom<Value> for Order {
    type Error = serde_json::Error;

    fn try_from(json: Value) -> Result<Order, serde_json::Error> {
        Ok(Order { head: Head::deserialize(&json)?, json })
    }
}

impl Serialize for Order {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

impl Order {
    /// Returns the `orderId`: its identity in its group, not a trade number.
    pub fn id(&self) -> &str {
        &self.head.order_id
    }

    /// Returns the trade number of the payment side; empty if there is none (ORD-10).
    pub fn trade_no(&self) -> &str {
        &self.head.trade_no
    }

    /// Returns the price of the order.
    ///
    /// # Errors
    /// Its currency is not in ISO 4217.
    pub fn total(&self) -> Result<Money, MoneyError> {
        self.money(self.head.total_amount)
    }

    /// Returns the amount paid.
    ///
    /// # Errors
    /// As [`Order::total`].
    pub fn paid(&self) -> Result<Money, MoneyError> {
        self.money(self.head.pay_amount)
    }

    /// Returns when the trade started; `None` if the text is not a time.
    pub fn trade_start(&self) -> Option<WallTime> {
        WallTime::parse(&self.head.trade_start_time)
    }

    /// Returns when the order was paid; `None` before that.
    pub fn paid_at(&self) -> Option<WallTime> {
        WallTime::parse(self.head.pay_end_time.as_ref()?)
    }

    /// Returns all fields as received.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// Returns the record with all fields that Kiosque sends (ORD-7).
    ///
    /// # Errors
    /// The server is another implementation, and does not send one of them.
    pub fn record(&self) -> Result<OrderRecord, serde_json::Error> {
        OrderRecord::deserialize(&self.json)
    }

    fn money(&self, minor: i64) -> Result<Money, MoneyError> {
        Ok(Money::new(minor, Currency::parse(&self.head.currency)?))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// ORD-7: the contract's fields are sufficient, and others are kept.
    #[test]
    fn an_order_needs_only_the_fields_of_the_contract() {
        let json = json!({
            "orderId": "o1", "tradeNo": "", "currency": "EUR", "totalAmount": 250,
            "payAmount": 200, "tradeStartTime": "2026-03-02 10:00:00", "payEndTime": null,
            "extra": 7
        });
        let order: Order = serde_json::from_value(json.clone()).expect("an order");
        assert_eq!(order.id(), "o1");
        assert_eq!(order.total().map(|total| total.to_string()), Ok("2.50 EUR".to_owned()));
        assert_eq!(order.paid().map(Money::minor), Ok(200));
        assert_eq!(order.trade_start(), WallTime::parse("2026-03-02 10:00:00"));
        assert_eq!(order.paid_at(), None);
        assert_eq!(serde_json::to_value(&order).expect("JSON"), json);
        assert!(order.record().is_err());
        assert!(serde_json::from_value::<Order>(json!({"orderId": "o1"})).is_err());
    }
}
