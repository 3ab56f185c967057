//! The fields of an order and of its lines: what each is called, and what its text must be.

use std::collections::BTreeMap;

use kiosque_model::money::Currency;
use kiosque_model::order::{PayStatus, ShipmentStatus};
use kiosque_model::time::Zone;
use serde_json::Value;

use super::amount::Numbers;
use super::moment::{Moments, rfc3339};
use super::template::{ColumnNo, Template};

/// What the text of a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Any text.
    Text,
    /// An amount in the order's currency.
    Amount,
    /// A whole number.
    Whole,
    /// An ISO 4217 code.
    Currency,
    /// A time.
    Time,
    /// Payment's state, by number or word.
    PayStatus,
    /// Shipment's state, by number or word.
    ShipmentStatus,
}

/// A field that a mapping may fill.
pub(super) struct Spec {
    /// Its wire name, which is the mapping's key too.
    pub(super) name: &'static str,
    /// What its text must be.
    pub(super) kind: Kind,
    /// Why a mapping cannot be without it, by example; empty for a field that may be left out.
    pub(super) needed: &'static str,
}

const fn spec(name: &'static str, kind: Kind, needed: &'static str) -> Spec {
    Spec { name, kind, needed }
}

/// The fields of an order, as an order file has them; `currency` leads, since amounts need it.
pub(super) const ORDER: &[Spec] = &[
    spec("currency", Kind::Currency, "currency = \"USD\", or \"{Column}\""),
    spec("orderId", Kind::Text, "orderId = \"{Column}\": what tells each order from all others"),
    spec("deviceCode", Kind::Text, "deviceCode = \"{Column}\", or one machine's code"),
    spec("totalAmount", Kind::Amount, "totalAmount = \"{Column}\", or \"{#sum}\" of the lines"),
    spec("tradeStartTime", Kind::Time, "tradeStartTime = \"{Column}\""),
    spec("tradeNo", Kind::Text, ""),
    spec("tradeNoIn", Kind::Text, ""),
    spec("payAmount", Kind::Amount, ""),
    spec("refundAmount", Kind::Amount, ""),
    spec("payEndTime", Kind::Time, ""),
    spec("shipmentTime", Kind::Time, ""),
    spec("cardNumber", Kind::Text, ""),
    spec("phone", Kind::Text, ""),
    spec("payStatus", Kind::PayStatus, ""),
    spec("shipmentStatus", Kind::ShipmentStatus, ""),
    spec("payChannelName", Kind::Text, ""),
];

/// The fields of a line.
pub(super) const LINE: &[Spec] = &[
    spec("goodsId", Kind::Text, "goodsId = \"{Column}\""),
    spec("goodsName", Kind::Text, ""),
    spec("aisleCode", Kind::Text, ""),
    spec("count", Kind::Whole, ""),
    spec("salePrice", Kind::Amount, ""),
    spec("goodsPrice", Kind::Amount, ""),
    spec("payAmount", Kind::Amount, ""),
    spec("shipmentStatus", Kind::ShipmentStatus, ""),
    spec("shipmentErrCode", Kind::Whole, ""),
    spec("shipmentFailDesc", Kind::Text, ""),
];

/// A field with what fills it.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// Its wire name.
    pub(super) name: &'static str,
    /// What its text must be.
    pub(super) kind: Kind,
    /// Whether a row that gives it no value is rejected.
    pub(super) required: bool,
    /// Where its text comes from.
    pub(super) source: Source,
}

/// Where a value comes from.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// The mapping's key, to name it by.
    pub(super) path: String,
    /// The first that gives a value counts.
    pub(super) ways: Vec<Template>,
    /// Texts that stand for other texts; those not named stay as they are.
    pub(super) map: BTreeMap<String, String>,
    /// How its times are written, where that differs from the report's others.
    pub(super) moments: Option<Moments>,
}

impl Source {
    /// A source of one template.
    pub(super) fn one(path: &str, way: Template) -> Source {
        Source { path: path.to_owned(), ways: vec![way], map: BTreeMap::new(), moments: None }
    }

    /// Every column that it may take a cell from.
    pub(super) fn columns(&self) -> impl Iterator<Item = ColumnNo> {
        self.ways.iter().flat_map(Template::columns)
    }

    /// What the map makes of a text.
    pub(super) fn mapped(&self, text: String) -> String {
        self.map.get(text.trim()).cloned().unwrap_or(text)
    }

    /// The one text of every row, when there is one.
    pub(super) fn as_constant(&self) -> Option<String> {
        let text = self.ways.first()?.as_constant()?;
        Some(self.mapped(text.to_owned()))
    }
}

/// What is needed to read a field's text.
pub(super) struct Reading<'a> {
    /// How numbers are written.
    pub(super) numbers: &'a Numbers,
    /// How times are written.
    pub(super) moments: &'a Moments,
    /// The platform's zone.
    pub(super) zone: &'a Zone,
    /// Of the amounts.
    pub(super) currency: Option<Currency>,
}

impl Kind {
    /// The value that travels in an order file; `None` for an amount of unknown currency.
    ///
    /// # Errors
    /// What is wrong with the text, the text named.
    pub(super) fn read(self, text: &str, by: &Reading<'_>) -> Result<Option<Value>, String> {
        let named = |fault: String| format!("{text:?} {fault}");
        Ok(Some(match self {
            Kind::Text => Value::from(text),
            Kind::Amount => match by.currency {
                Some(currency) => Value::from(by.numbers.amount(text, currency).map_err(named)?.0),
                None => return Ok(None),
            },
            Kind::Whole => Value::from(by.numbers.whole(text).map_err(named)?),
            Kind::Currency => {
                Value::from(Currency::parse(text.trim()).map_err(|fault| fault.to_string())?.code())
            }
            Kind::Time => Value::from(rfc3339(by.moments.read(text, by.zone)?)),
            Kind::PayStatus => Value::from(state(text, PAY_WORDS, |number| {
                PayStatus::of(number).map(PayStatus::number)
            })?),
            Kind::ShipmentStatus => Value::from(state(text, SHIPMENT_WORDS, |number| {
                ShipmentStatus::of(number).map(ShipmentStatus::number)
            })?),
        }))
    }
}

/// In the order of their numbers.
const PAY_WORDS: &[&str] = &["unpaid", "paid", "cancelled", "refunding", "refunded"];
const SHIPMENT_WORDS: &[&str] = &["none", "success", "in progress", "failed", "partial"];

fn state(text: &str, words: &[&str], known: fn(i64) -> Option<i64>) -> Result<i64, String> {
    let asked = text.trim();
    let by_word = (0..).zip(words).find(|(_, word)| word.eq_ignore_ascii_case(asked));
    let number = by_word.map(|(number, _)| number).or_else(|| asked.parse().ok());
    number.and_then(known).ok_or_else(|| {
        format!(
            "{text:?} is no state; known are {}, or 0 to {}; map = {{ … }} translates others",
            words.join(", "),
            words.len().saturating_sub(1)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::amount::Unit;
    use super::*;

    #[test]
    fn each_kind_reads_its_texts_and_names_the_others() {
        let by = Reading {
            numbers: &Numbers::of(Unit::Major),
            moments: &Moments::default(),
            zone: &Zone::utc(),
            currency: Currency::parse("USD").ok(),
        };
        let read = |kind: Kind, text: &str| kind.read(text, &by).map(|value| value.expect("one"));
        for (kind, text, want) in [
            (Kind::Text, " x ", Value::from(" x ")),
            (Kind::Amount, "3.5", Value::from(350)),
            (Kind::Whole, " 2", Value::from(2)),
            (Kind::Currency, " EUR ", Value::from("EUR")),
            (Kind::Time, "2022-01-01 00:00:00", Value::from("2022-01-01T00:00:00.000Z")),
            (Kind::PayStatus, "Refunded", Value::from(4)),
            (Kind::ShipmentStatus, "3", Value::from(3)),
        ] {
            assert_eq!(read(kind, text), Ok(want), "{kind:?} {text:?}");
        }
        for (kind, text, want) in [
            (Kind::Amount, "1.255", "\"1.255\" is a fraction of a minor unit of USD"),
            (Kind::Whole, "two", "\"two\" is not a decimal number"),
            (Kind::Currency, "ZZZ", "ZZZ is not an ISO 4217 code"),
            (Kind::PayStatus, "5", "\"5\" is no state; known are unpaid, paid"),
            (Kind::ShipmentStatus, "ok", "\"ok\" is no state; known are none, success"),
        ] {
            let fault = read(kind, text).expect_err(text);
            assert!(fault.starts_with(want), "{fault}");
        }
    }
}
