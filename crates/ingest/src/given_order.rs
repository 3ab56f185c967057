//! Reads an order from a line of NDJSON, checks orders of every format, and derives the values of
//! absent fields.

use std::fmt;
use std::time::Duration;

use kiosque_clock::millis;
use kiosque_contract::{Object, OrderLine, OrderLineItem};
use kiosque_model::mask::masked;
use kiosque_model::money::MINOR_MAX;
use kiosque_model::order::{
    COUNT_MAX, Line, Order, PayStatus, ShipmentStatus, line_pay_amount_following,
    pay_amount_following,
};
use kiosque_model::setting;
use kiosque_model::{Currency, DeviceCode, Minor, OrderId, TradeNo, UnixMs, Zone, ids};

use crate::json_line;
use crate::masking::{NO_AMOUNT, NO_LINE_AMOUNT};
use crate::payment::Payment;
use crate::unknown_keys::UnknownKeys;

/// Reads an order from a line of NDJSON. Adds ignored keys to `unknown_keys`.
///
/// # Errors
/// All errors, each beginning with its field.
pub fn parse(
    text: &[u8],
    dates: &DateRules<'_>,
    unknown_keys: &mut UnknownKeys,
) -> Result<Order, String> {
    let mut of_line = Vec::new();
    let given: OrderLine = json_line::read(text, |key| of_line.push(key))?;
    match unknown_keys.add(of_line) {
        Ok(()) => check(given, dates),
        Err(errors) => Err(match check(given, dates) {
            Ok(_) => errors,
            Err(others) => format!("{errors}; {others}"),
        }),
    }
}

/// The rules for the dates of orders.
#[derive(Clone, Copy, Debug)]
pub struct DateRules<'a> {
    /// The zone of local times.
    pub zone: &'a Zone,
    /// The time of arrival.
    pub now: UnixMs,
    /// The maximum time by which a date may be later than `now`.
    pub lead_max: Duration,
}

impl DateRules<'_> {
    fn parse(&self, text: &str) -> Result<UnixMs, String> {
        let at = self.zone.parse(text).map_err(|error| error.to_string())?;
        if at <= self.now.plus_ms(millis(self.lead_max)) {
            return Ok(at);
        }
        let (at, now) = (self.zone.text(at), self.zone.text(self.now));
        let lead_max = setting::written(self.lead_max);
        Err(format!("{at} is more than {lead_max} (order_lead_max) ahead of now, {now}"))
    }
}

/// The errors of an order.
struct OrderErrors(Vec<String>);

impl OrderErrors {
    fn note<T>(&mut self, field: &str, error: impl fmt::Display) -> Option<T> {
        self.0.push(format!("{field}: {error}"));
        None
    }

    fn check<T, E: fmt::Display>(&mut self, field: &str, read: Result<T, E>) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(error) => self.note(field, error),
        }
    }

    fn needed<T>(&mut self, field: &str, given: Option<T>) -> Option<T> {
        given.or_else(|| self.note(field, "is missing"))
    }

    fn amount(&mut self, field: &str, given: i64) -> Option<Minor> {
        if (0..=MINOR_MAX).contains(&given) {
            return Some(Minor(given));
        }
        self.note(field, format_args!("{given}{NO_AMOUNT}"))
    }

    /// Checks an amount of a line, which may be negative: a discount can be a line.
    fn line_amount(&mut self, field: &str, given: i64) -> Minor {
        if !(-MINOR_MAX..=MINOR_MAX).contains(&given) {
            self.note::<()>(field, format_args!("{given}{NO_LINE_AMOUNT}"));
        }
        Minor(given)
    }

    /// Reads a text; an empty one counts as none.
    fn text(&mut self, field: &str, given: Option<String>) -> Option<String> {
        let given = given.filter(|text| !text.is_empty())?;
        if given.contains('\0') {
            return self.note(field, ids::IdError::Nul);
        }
        Some(given)
    }

    /// Reads a trade number; an empty text counts as none.
    fn trade_no(&mut self, field: &str, given: Option<String>) -> Option<TradeNo> {
        let given = given.filter(|number| !number.is_empty())?;
        self.check(field, TradeNo::parse(given))
    }

    fn time(&mut self, field: &str, given: Option<&str>, dates: &DateRules<'_>) -> Option<UnixMs> {
        self.check(field, dates.parse(given?))
    }

    fn status<T>(
        &mut self,
        field: &str,
        given: Option<i64>,
        of: impl Fn(i64) -> Option<T>,
    ) -> Option<T> {
        let given = given?;
        of(given).or_else(|| self.note(field, format_args!("{given} is not a status (0 to 4)")))
    }
}

/// Checks the order, and derives the values of absent fields.
///
/// # Errors
/// All errors, each beginning with its field.
pub fn check(mut given: OrderLine, dates: &DateRules<'_>) -> Result<Order, String> {
    let mut errors = OrderErrors(Vec::new());
    let order_id = errors.needed("orderId", given.order_id.take());
    let order_id = order_id.and_then(|id| errors.check("orderId", OrderId::parse(id)));
    let device = errors.needed("deviceCode", given.device_code.take());
    let device = device.and_then(|code| errors.check("deviceCode", DeviceCode::parse(code)));
    let currency = errors.needed("currency", given.currency.as_deref());
    let currency = currency.and_then(|code| errors.check("currency", Currency::parse(code)));
    let payment = Payment::read(&mut errors, &given, dates);
    let trade_no = errors.trade_no("tradeNo", given.trade_no);
    let trade_no_in = given_trade_no_in(&mut errors, given.trade_no_in, order_id.as_ref());
    let shipment_status =
        errors.status("shipmentStatus", given.shipment_status, ShipmentStatus::of);
    let shipment_status = shipment_status.unwrap_or(ShipmentStatus::following(payment.shipment));
    let card_number = errors.text("cardNumber", given.card_number);
    let phone = errors.text("phone", given.phone);
    let pay_channel_name = errors.text("payChannelName", given.pay_channel_name);
    let lines = given.detail_vo_list.unwrap_or_default();
    let lines = check_lines(&mut errors, lines, shipment_status);
    let (Some(order_id), Some(device_code), Some(currency), Some(trade_start), []) =
        (order_id, device, currency, payment.start, errors.0.as_slice())
    else {
        return Err(errors.0.join("; "));
    };
    let pay_end = payment.pay_end.flatten();
    Ok(Order {
        order_id,
        device_code,
        trade_no,
        trade_no_in,
        currency,
        total_amount: payment.total.unwrap_or_default(),
        pay_amount: payment.paid.unwrap_or_default(),
        refund_amount: payment.refunded.unwrap_or_default(),
        pay_status: payment.status.unwrap_or(PayStatus::following(pay_end)),
        shipment_status,
        pay_channel_name,
        trade_start,
        pay_end,
        shipment: payment.shipment,
        card_number: card_number.map(|number| masked(&number)),
        phone: phone.map(|number| masked(&number)),
        lines,
    })
}

impl Payment {
    /// Reads the amounts, the times and the payment state of an order, and adds their errors.
    fn read(errors: &mut OrderErrors, given: &OrderLine, dates: &DateRules<'_>) -> Payment {
        let total = errors.needed("totalAmount", given.total_amount);
        let total = total.and_then(|total| errors.amount("totalAmount", total));
        let started = errors.needed("tradeStartTime", given.trade_start_time.as_deref());
        let start = errors.time("tradeStartTime", started, dates);
        let pay_end = match given.pay_end_time.as_deref() {
            Some(text) => errors.time("payEndTime", Some(text), dates).map(Some),
            None => Some(None),
        };
        let shipment = errors.time("shipmentTime", given.shipment_time.as_deref(), dates);
        let status = errors.status("payStatus", given.pay_status, PayStatus::of);
        let paid = match given.pay_amount {
            Some(amount) => errors.amount("payAmount", amount),
            None => pay_end.zip(total).map(|(end, total)| pay_amount_following(end, total)),
        };
        let refunded = errors.amount("refundAmount", given.refund_amount.unwrap_or(0));
        let payment = Payment { total, paid, refunded, start, pay_end, shipment, status };
        errors.0.extend(payment.contradictions(dates.zone));
        payment
    }
}

/// Returns a given internal trade number; `None` if it equals the one derived from the order's id.
fn given_trade_no_in(
    errors: &mut OrderErrors,
    given: Option<String>,
    order_id: Option<&OrderId>,
) -> Option<TradeNo> {
    let is_derived =
        |number: &str, id: &OrderId| kiosque_store::derived_trade_no_in(id.as_str()) == number;
    let given = given.filter(|number| !order_id.is_some_and(|id| is_derived(number, id)));
    errors.trade_no("tradeNoIn", given)
}

fn check_lines(
    errors: &mut OrderErrors,
    given: Vec<Object<OrderLineItem>>,
    shipment_of_order: ShipmentStatus,
) -> Vec<Line> {
    let lines = (0..).zip(given);
    let lines = lines.map(|(at, line)| check_line(errors, at, line, shipment_of_order));
    let lines: Vec<Line> = lines.collect();
    let paid = |line: &Line| line.pay_amount.0.unsigned_abs();
    let most = MINOR_MAX.unsigned_abs();
    // Also bounds the sum, so that the daily totals of a product cannot overflow.
    if lines.iter().map(|line| u128::from(paid(line))).sum::<u128>() > u128::from(most)
        && lines.iter().all(|line| paid(line) <= most)
    {
        let error = format_args!("the lines add up to more than {MINOR_MAX} minor units");
        errors.note::<()>("detailVOList", error);
    }
    lines
}

fn check_line(
    errors: &mut OrderErrors,
    at: usize,
    Object(given): Object<OrderLineItem>,
    shipment_of_order: ShipmentStatus,
) -> Line {
    let field = |name: &str| format!("detailVOList[{at}].{name}");
    let goods_id = errors.needed(&field("goodsId"), given.goods_id);
    let goods_id = errors.text(&field("goodsId"), goods_id).unwrap_or_default();
    if goods_id.chars().count() > ids::ID_CHARS_MAX {
        errors.note::<()>(&field("goodsId"), ids::IdError::TooLong);
    }
    let count = given.count.unwrap_or(1);
    if !(0..=COUNT_MAX).contains(&count) {
        errors
            .note::<()>(&field("count"), format_args!("{count} is not between 0 and {COUNT_MAX}"));
    }
    let sale_price = errors.line_amount(&field("salePrice"), given.sale_price.unwrap_or(0));
    let goods_price = match given.goods_price {
        Some(price) => errors.line_amount(&field("goodsPrice"), price),
        None => sale_price,
    };
    let pay_amount = match given.pay_amount {
        Some(amount) => errors.line_amount(&field("payAmount"), amount),
        None => line_pay_amount_following(sale_price, count).unwrap_or_else(|| {
            let error = format_args!("{count} × {} exceeds {MINOR_MAX} minor units", sale_price.0);
            errors.note::<()>(&field("payAmount"), error);
            Minor(0)
        }),
    };
    let status = errors.status(&field("shipmentStatus"), given.shipment_status, ShipmentStatus::of);
    Line {
        goods_id,
        goods_name: errors.text(&field("goodsName"), given.goods_name),
        aisle_code: errors.text(&field("aisleCode"), given.aisle_code).unwrap_or_default(),
        count,
        goods_price,
        sale_price,
        pay_amount,
        shipment_status: status.unwrap_or(shipment_of_order),
        shipment_err_code: given.shipment_err_code.unwrap_or(0),
        shipment_fail_desc: errors.text(&field("shipmentFailDesc"), given.shipment_fail_desc),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn read(line: &str) -> Result<Order, String> {
        let zone = Zone::named("Europe/Paris").expect("zone");
        let now = zone.parse("2026-01-02 12:00:00").expect("a time");
        let dates = DateRules { zone: &zone, now, lead_max: DAY };
        parse(line.as_bytes(), &dates, &mut UnknownKeys::default())
    }

    const GOOD: &str = r#"{"orderId":"1","deviceCode":"D","currency":"EUR","totalAmount":5,
        "tradeStartTime":"2026-01-02 03:04:05"}"#;

    #[test]
    fn fields_left_out_follow_from_the_others() {
        let unpaid = read(GOOD).expect("good");
        assert_eq!((unpaid.pay_amount, unpaid.pay_status), (Minor(0), PayStatus::Unpaid));
        let paid = GOOD.replace(
            "\"totalAmount\":5",
            "\"totalAmount\":5,
            \"payEndTime\":\"2026-01-02T03:04:06Z\",\"shipmentTime\":\"2026-01-02T03:04:07Z\",
            \"detailVOList\":[{\"goodsId\":\"g\",\"salePrice\":3,\"count\":2}]",
        );
        let paid = read(&paid).expect("good");
        assert_eq!((paid.pay_amount, paid.pay_status), (Minor(5), PayStatus::Paid));
        let line = &paid.lines[0];
        assert_eq!((line.goods_price, line.pay_amount), (Minor(3), Minor(6)));
        assert_eq!(line.shipment_status, ShipmentStatus::Success);
    }

    /// ORD-7, ORD-8: senders that write "no text" as an empty one report none.
    #[test]
    fn an_empty_text_is_none() {
        let given = GOOD.replace(
            "\"totalAmount\":5",
            "\"totalAmount\":5,\"payChannelName\":\"\",\"cardNumber\":\"\",\"phone\":\"\",
            \"detailVOList\":[{\"goodsId\":\"\",\"goodsName\":\"\",\"aisleCode\":\"\",
            \"salePrice\":5,\"shipmentFailDesc\":\"\"}]",
        );
        let order = read(&given).expect("good");
        let line = &order.lines[0];
        assert_eq!([&order.pay_channel_name, &order.card_number, &order.phone], [&None; 3]);
        assert_eq!([&line.goods_name, &line.shipment_fail_desc], [&None; 2]);
        assert_eq!([&line.goods_id, &line.aisle_code], ["", ""]);
    }

    #[test]
    fn every_error_names_its_field() {
        let with = |from: &str, to: &str| read(&GOOD.replace(from, to)).expect_err(to);
        assert_eq!(
            with("\"totalAmount\":5", "\"totalAmount\":\"5\""),
            "totalAmount: invalid type: string \"5\", expected a whole number"
        );
        assert_eq!(
            with("\"totalAmount\":5", "\"totalAmount\":12.5"),
            "totalAmount: invalid type: floating point `12.5`, expected a whole number \
             (amounts are whole minor units)"
        );
        assert_eq!(with("EUR", "ZZZ"), "currency: ZZZ is not an ISO 4217 code");
        assert_eq!(
            with("2026-01-02 03:04:05", "2026-02-30 03:04:05"),
            "tradeStartTime: \"2026-02-30 03:04:05\" does not exist in the calendar"
        );
        assert_eq!(with("\"1\"", "\"a\\u0000b\""), "orderId: must not contain a NUL character");
        assert_eq!(
            with("\"totalAmount\":5", "\"cardNumber\":4111111111111234"),
            "cardNumber: is not a string"
        );
        let line = "{\"goodsId\":\"\",\"payAmount\":-600000000000}";
        let lines = format!("\"totalAmount\":5,\"detailVOList\":[{line},{line}]");
        assert_eq!(
            with("\"totalAmount\":5", &lines),
            "detailVOList: the lines add up to more than 1000000000000 minor units"
        );
        assert_eq!(with("{", ""), "not a JSON object");
        assert_eq!(read("[1]").expect_err("a list"), "not a JSON object");
        assert_eq!(
            with("\"totalAmount\":5", "\"totalAmount\":5,\"detailVOList\":[[\"cola\",\"Cola\"]]"),
            "detailVOList[0]: invalid type: sequence, expected an object"
        );
        assert!(with("\"orderId\"", "orderId").starts_with("not JSON: "));
        assert!(with("}", "} x").starts_with("not JSON: trailing"));
        assert_eq!(
            read("{}").expect_err("empty"),
            "orderId: is missing; deviceCode: is missing; currency: is missing; \
             totalAmount: is missing; tradeStartTime: is missing"
        );
        assert!(
            read(&GOOD.replace('}', ",\"orderId\":\"2\"}"))
                .expect_err("twice")
                .contains("duplicate field")
        );
    }

    /// A start, a payment or a shipment that is further ahead than the limit rejects the order; the
    /// limit itself does not.
    #[test]
    fn dates_may_not_be_far_ahead() {
        let dated = |field: &str, time: &str| {
            let start = "\"tradeStartTime\":\"2026-01-02 03:04:05\"";
            match field {
                "tradeStartTime" => read(&GOOD.replace("2026-01-02 03:04:05", time)),
                _ => read(&GOOD.replace(start, &format!("{start},\"{field}\":\"{time}\""))),
            }
        };
        for field in ["tradeStartTime", "payEndTime", "shipmentTime"] {
            assert!(dated(field, "2026-01-03 12:00:00").is_ok(), "{field}");
            for ahead in ["2026-01-03 12:00:01", "2026-01-03T11:00:01Z"] {
                let reason = format!(
                    "{field}: 2026-01-03 12:00:01 is more than 24h (order_lead_max) ahead of now, \
                     2026-01-02 12:00:00"
                );
                assert_eq!(dated(field, ahead).expect_err(ahead), reason);
            }
        }
    }

    #[test]
    fn an_unknown_key_is_ignored_and_reported_once_or_rejects_the_order() {
        let (zone, mut unknown) = (Zone::utc(), UnknownKeys::default());
        let dates = DateRules { zone: &zone, now: UnixMs::MAX, lead_max: DAY };
        let line = GOOD.replace(
            "\"currency\"",
            "\"colour\":1,\"detailVOList\":[{\"goodsId\":\"\",\"x\":1},{\"goodsId\":\"\",\"x\":2}],
             \"\\u001b\":1,\"currency\"",
        );
        parse(line.as_bytes(), &dates, &mut unknown).expect("good");
        let ignored: Vec<String> = unknown.into_ignored().into_iter().collect();
        assert_eq!(ignored, ["\u{1b}", "colour", "detailVOList.x"]);
        let mut strict = UnknownKeys::Rejected;
        assert_eq!(parse(GOOD.as_bytes(), &dates, &mut strict).map(|_| ()), Ok(()));
        let line = line.replace("\"totalAmount\":5", "\"totalAmount\":-5");
        assert_eq!(
            parse(line.as_bytes(), &dates, &mut strict).expect_err("unknown keys"),
            "\\u{1b}: unknown key; colour: unknown key; detailVOList.x: unknown key; \
             totalAmount: -5 is not between 0 and 1000000000000"
        );
    }

    /// ORD-21. Times are compared to the second.
    #[test]
    fn an_order_that_contradicts_itself_is_rejected() {
        let with = |fields: &str| read(&GOOD.replace("\"totalAmount\":5", fields));
        let paid = "\"payEndTime\":\"2026-01-02 03:04:05\"";
        for (fields, reason) in [
            ("\"totalAmount\":5,\"payAmount\":6", "payAmount: 6 is more than totalAmount, 5"),
            ("\"totalAmount\":5,\"refundAmount\":1", "refundAmount: 1 is more than payAmount, 0"),
            (
                "\"totalAmount\":5,\"payEndTime\":\"2026-01-02 03:04:04\"",
                "payEndTime: 2026-01-02 03:04:04 is before tradeStartTime, 2026-01-02 03:04:05",
            ),
            (
                "\"totalAmount\":5,\"shipmentTime\":\"2026-01-01 03:04:05\"",
                "shipmentTime: 2026-01-01 03:04:05 is before tradeStartTime, 2026-01-02 03:04:05",
            ),
            (
                "\"totalAmount\":5,\"payStatus\":1",
                "payStatus: 1 (paid) requires payEndTime, which is missing",
            ),
            (
                "\"totalAmount\":5,\"payStatus\":3",
                "payStatus: 3 (refunding) requires payEndTime, which is missing",
            ),
            (
                "\"totalAmount\":5,\"payStatus\":4",
                "payStatus: 4 (refunded) requires payEndTime, which is missing",
            ),
            // An invalid field contradicts nothing.
            (
                "\"totalAmount\":-5,\"payAmount\":6",
                "totalAmount: -5 is not between 0 and 1000000000000",
            ),
        ] {
            assert_eq!(with(fields).expect_err(fields), reason);
        }
        let unpaid = format!("\"totalAmount\":5,{paid},\"payStatus\":0,\"refundAmount\":6");
        assert_eq!(
            with(&unpaid).expect_err("two"),
            "refundAmount: 6 is more than payAmount, 5; \
             payStatus: 0 (unpaid) contradicts payEndTime, 2026-01-02 03:04:05"
        );
        let unreadable =
            "\"totalAmount\":5,\"payEndTime\":\"x\",\"payStatus\":1,\"refundAmount\":5";
        let reason = with(unreadable).expect_err("a time");
        assert!(reason.starts_with("payEndTime: ") && !reason.contains("more than"), "{reason}");

        for status in [1, 2, 3, 4] {
            let fields =
                format!("\"totalAmount\":5,{paid},\"payStatus\":{status},\"refundAmount\":5");
            assert!(with(&fields).is_ok(), "{fields}");
        }
        for status in [0, 2] {
            assert!(with(&format!("\"totalAmount\":5,\"payStatus\":{status}")).is_ok());
        }
        let truncated = GOOD.replace("2026-01-02 03:04:05", "2026-01-02T02:04:05.900Z");
        let truncated = truncated.replace('}', &format!(",{paid}}}"));
        assert!(read(&truncated).is_ok(), "{truncated}");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(line in proptest::collection::vec(any::<u8>(), 0..300)) {
            let dates = DateRules { zone: &Zone::utc(), now: UnixMs(0), lead_max: DAY };
            let _ = parse(&line, &dates, &mut UnknownKeys::default());
        }
    }
}
