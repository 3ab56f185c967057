//! The fields of an order and of its lines that a mapping may fill, and how their texts are read.

use std::collections::BTreeMap;

use kiosque_model::money::Currency;
use kiosque_model::order::{PayStatus, ShipmentStatus};
use kiosque_model::time::Zone;

use super::numbers::NumberFormat;
use super::template::{ColumnNo, Template};
use super::times::TimeFormats;
use kiosque_contract::{OrderLine, OrderLineItem};

/// How the text of a field is interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The text itself.
    Plain,
    /// An ISO 4217 code.
    Currency,
    /// A time.
    Time,
    /// An amount in the order's currency.
    Amount,
    /// A whole number.
    Whole,
    /// A payment status, by number or name.
    PayStatus,
    /// A shipment status, by number or name.
    ShipmentStatus,
}

/// The value of a field.
#[derive(Debug, PartialEq)]
pub(super) enum FieldValue {
    Text(String),
    Number(i64),
}

impl FieldValue {
    /// Returns the text, if it is one.
    pub(super) fn text(self) -> Option<String> {
        match self {
            FieldValue::Text(text) => Some(text),
            FieldValue::Number(_) => None,
        }
    }

    /// Returns the number, if it is one.
    pub(super) fn number(self) -> Option<i64> {
        match self {
            FieldValue::Number(number) => Some(number),
            FieldValue::Text(_) => None,
        }
    }
}

/// A field of a `T` that a mapping may fill.
#[derive(Debug)]
pub(super) struct Spec<T: 'static> {
    /// Its name in an order file, which is also the mapping's key.
    pub(super) name: &'static str,
    /// How its text is read.
    pub(super) kind: Kind,
    /// Sets the field of a `T`.
    pub(super) set: fn(&mut T, FieldValue),
    /// An example of the key, for a mapping that lacks it; empty for an optional field.
    pub(super) needed: &'static str,
}

macro_rules! specs {
    ($(#[$doc:meta])* $list:ident: $of:ident {
        $($value:ident $kind:ident $name:literal $field:ident $($needed:literal)?;)*
    }) => {
        $(#[$doc])*
        pub(super) static $list: &[Spec<$of>] = &[$(Spec {
            name: $name,
            kind: Kind::$kind,
            set: |of, value| of.$field = value.$value(),
            needed: concat!($($needed)?),
        }),*];
    };
}

specs! {
    /// The fields of an order, except its lines. `currency` comes first, since amounts need it.
    ORDER: OrderLine {
        text Currency "currency" currency "currency = \"USD\", or \"{Column}\"";
        text Plain "orderId" order_id
            "orderId = \"{Column}\": a text that identifies the order";
        text Plain "deviceCode" device_code "deviceCode = \"{Column}\", or one machine's code";
        number Amount "totalAmount" total_amount
            "totalAmount = \"{Column}\", or \"{#sum}\" of the lines";
        text Time "tradeStartTime" trade_start_time "tradeStartTime = \"{Column}\"";
        text Plain "tradeNo" trade_no;
        text Plain "tradeNoIn" trade_no_in;
        number Amount "payAmount" pay_amount;
        number Amount "refundAmount" refund_amount;
        text Time "payEndTime" pay_end_time;
        text Time "shipmentTime" shipment_time;
        text Plain "cardNumber" card_number;
        text Plain "phone" phone;
        number PayStatus "payStatus" pay_status;
        number ShipmentStatus "shipmentStatus" shipment_status;
        text Plain "payChannelName" pay_channel_name;
    }
}

specs! {
    /// The fields of a line.
    LINE: OrderLineItem {
        text Plain "goodsId" goods_id "goodsId = \"{Column}\"";
        text Plain "goodsName" goods_name;
        text Plain "aisleCode" aisle_code;
        number Whole "count" count;
        number Amount "salePrice" sale_price;
        number Amount "goodsPrice" goods_price;
        number Amount "payAmount" pay_amount;
        number ShipmentStatus "shipmentStatus" shipment_status;
        number Whole "shipmentErrCode" shipment_err_code;
        text Plain "shipmentFailDesc" shipment_fail_desc;
    }
}

/// A field with its source.
#[derive(Clone, Debug)]
pub(super) struct Field<T: 'static> {
    /// The field.
    pub(super) spec: &'static Spec<T>,
    /// Where its text comes from.
    pub(super) source: Source,
}

/// Where a value comes from.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// The mapping's key, for messages.
    pub(super) path: String,
    /// Templates; the first that yields a value is used.
    pub(super) templates: Vec<Template>,
    /// Replacements of whole texts; other texts are unchanged.
    pub(super) map: BTreeMap<String, String>,
    /// The formats of its times, if they differ from the report's other times.
    pub(super) times: Option<TimeFormats>,
}

impl Source {
    /// Returns a source that only has templates.
    pub(super) fn new(path: &str, templates: Vec<Template>) -> Source {
        Source { path: path.to_owned(), templates, map: BTreeMap::new(), times: None }
    }

    /// Returns every column that it may take a cell from.
    pub(super) fn columns(&self) -> impl Iterator<Item = ColumnNo> {
        self.templates.iter().flat_map(Template::columns)
    }

    /// Returns the replacement of a text, or the text.
    pub(super) fn mapped(&self, text: String) -> String {
        self.map.get(text.trim()).cloned().unwrap_or(text)
    }

    /// Returns the text of every row, if it is always the same.
    pub(super) fn as_constant(&self) -> Option<String> {
        let text = self.templates.first()?.as_constant()?;
        Some(self.mapped(text.to_owned()))
    }
}

/// How texts are read.
pub(super) struct ReadOptions<'a> {
    /// How numbers are written.
    pub(super) numbers: &'a NumberFormat,
    /// How times are written.
    pub(super) times: &'a TimeFormats,
    /// The platform's time zone.
    pub(super) zone: &'a Zone,
    /// The currency of amounts.
    pub(super) currency: Option<Currency>,
}

impl Kind {
    /// Returns the value of a text; `None` for an amount of unknown currency.
    ///
    /// # Errors
    /// A message that quotes the text.
    pub(super) fn read(
        self,
        text: &str,
        options: &ReadOptions<'_>,
    ) -> Result<Option<FieldValue>, String> {
        let quoted = |error: String| format!("{text:?} {error}");
        let number = match self {
            Kind::Plain => return Ok(Some(FieldValue::Text(text.to_owned()))),
            Kind::Currency => {
                let currency = Currency::parse(text.trim()).map_err(|error| error.to_string())?;
                return Ok(Some(FieldValue::Text(currency.code().to_owned())));
            }
            Kind::Time => {
                let time = options.times.read(text, options.zone)?;
                return Ok(Some(FieldValue::Text(time.rfc3339())));
            }
            Kind::Amount => match options.currency {
                Some(currency) => options.numbers.amount(text, currency).map_err(quoted)?.0,
                None => return Ok(None),
            },
            Kind::Whole => options.numbers.whole(text).map_err(quoted)?,
            Kind::PayStatus => status(text, PayStatus::WORDS)?,
            Kind::ShipmentStatus => status(text, ShipmentStatus::WORDS)?,
        };
        Ok(Some(FieldValue::Number(number)))
    }
}

fn status(text: &str, names: &[&str]) -> Result<i64, String> {
    let given = text.trim();
    let known = (0..).zip(names).find(|(number, name)| {
        name.eq_ignore_ascii_case(given) || given.parse::<i64>() == Ok(*number)
    });
    known.map(|(number, _)| number).ok_or_else(|| {
        format!(
            "{text:?} is not a status; known are {}, or 0 to {}; map = {{ … }} translates others",
            names.join(", "),
            names.len().saturating_sub(1)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::numbers::Unit;
    use super::*;

    fn options<'a>(
        numbers: &'a NumberFormat,
        times: &'a TimeFormats,
        zone: &'a Zone,
    ) -> ReadOptions<'a> {
        ReadOptions { numbers, times, zone, currency: Currency::parse("USD").ok() }
    }

    #[test]
    fn each_kind_reads_its_texts_and_names_the_others() {
        let numbers =
            NumberFormat { unit: Unit::Major, decimal: '.', thousands: None, symbol: None };
        let times = TimeFormats::default();
        let zone = Zone::utc();
        let options = options(&numbers, &times, &zone);
        for (kind, text, want) in [
            (Kind::Plain, " x ", " x "),
            (Kind::Currency, " EUR ", "EUR"),
            (Kind::Time, "2022-01-01 00:00:00", "2022-01-01T00:00:00.000Z"),
        ] {
            let want = Some(FieldValue::Text(want.to_owned()));
            assert_eq!(kind.read(text, &options), Ok(want), "{kind:?} {text:?}");
        }
        for (kind, text, want) in [
            (Kind::Amount, "3.5", 350),
            (Kind::Whole, " 2", 2),
            (Kind::PayStatus, "Refunded", 4),
            (Kind::ShipmentStatus, "3", 3),
        ] {
            assert_eq!(
                kind.read(text, &options),
                Ok(Some(FieldValue::Number(want))),
                "{kind:?} {text:?}"
            );
        }
        for (kind, text, want) in [
            (Kind::Amount, "1.255", "\"1.255\" is a fraction of a minor unit of USD"),
            (Kind::Whole, "two", "\"two\" is not a decimal number"),
            (Kind::Currency, "ZZZ", "ZZZ is not an ISO 4217 code"),
            (Kind::PayStatus, "5", "\"5\" is not a status; known are unpaid, paid"),
            (Kind::ShipmentStatus, "ok", "\"ok\" is not a status; known are none, success"),
        ] {
            let error = kind.read(text, &options).expect_err(text);
            assert!(error.starts_with(want), "{error}");
        }
    }
}
