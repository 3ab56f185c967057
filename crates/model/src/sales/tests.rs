use super::*;
use proptest::prelude::*;

fn currency(code: &str) -> Currency {
    Currency::parse(code).expect("a currency")
}

fn usd(minor: i64, code: &str, rate: &str) -> Usd {
    Usd::of(Minor(minor), currency(code), Rate::parse(rate).expect("a rate"))
}

/// Currencies with 0, 2, 3 and 4 decimals; half a cent is rounded to even (DASH-13).
#[test]
fn dollars_are_rounded_half_even_and_once() {
    for (minor, code, rate, cents) in [
        (350, "USD", "1", 350),
        (1_000, "JPY", "0.0067", 670),
        (1, "JPY", "0.005", 0),
        (1, "JPY", "0.015", 2),
        (1, "JPY", "0.025", 2),
        (1, "JPY", "0.0250000001", 3),
        (1, "JPY", "0.024999999999", 2),
        (100, "EUR", "1.085", 108),
        (100, "EUR", "1.095", 110),
        (1, "EUR", "0.5", 0),
        (3, "EUR", "0.5", 2),
        (1_234, "KWD", "3.25", 401),
        (2, "KWD", "2.5", 0),
        (6, "KWD", "2.5", 2),
        (10_000, "CLF", "40.125", 4_012),
        (30_000, "CLF", "40.125", 12_038),
        (-1, "JPY", "0.015", -2),
        (-1, "JPY", "0.025", -2),
    ] {
        assert_eq!(usd(minor, code, rate).cents(), cents, "{minor} {code} at {rate}");
    }
    // A third of a cent, three times, is a cent: nothing is rounded in between.
    let thirds = usd(1, "EUR", "0.333333333333");
    assert_eq!(thirds.plus(thirds).plus(usd(1, "EUR", "0.333333333334")).cents(), 1);
}

#[test]
fn shares_are_rounded_half_even_from_the_exact_sum() {
    for (minor, count, cents) in
        [(100, 8, 12), (300, 8, 38), (100, 3, 33), (200, 3, 67), (5, 0, 0), (5, 10, 0), (15, 10, 2)]
    {
        let each = usd(minor, "USD", "1").cents_each(count);
        assert_eq!(each, cents, "{minor} cents for {count}");
    }
    for (part, whole, want) in
        [(39, 40, 975), (0, 0, 0), (0, 5, 0), (1, 16, 62), (3, 16, 188), (2, 3, 667), (5, 5, 1_000)]
    {
        assert_eq!(permille(part, whole), want, "{part} of {whole}");
    }
}

#[test]
fn rates_are_decimals_that_are_never_rounded() {
    for (text, parts) in [
        ("1", Some(1_000_000_000_000)),
        ("1.0837", Some(1_083_700_000_000)),
        ("0.000000000001", Some(1)),
        ("0.0000000000010", Some(1)),
        ("0.0000000000011", None),
        ("1000000", Some(RATE_MAX)),
        ("1000000.1", None),
        ("0", None),
        ("0.0", None),
        ("-1", None),
        ("+1", None),
        ("1e3", None),
        ("1,5", None),
        (".5", None),
        ("5.", None),
        ("", None),
        ("NaN", None),
    ] {
        let rate = Rate::parse(text).ok();
        assert_eq!(rate.map(Rate::parts), parts, "{text:?}");
        assert_eq!(rate.and_then(|rate| Rate::from_parts(rate.parts())), rate);
        assert_eq!(rate.and_then(|rate| Rate::parse(&rate.to_string()).ok()), rate);
    }
}

/// DASH-11, DASH-12: the latest rate on or before the day counts; before the first there is none.
#[test]
fn the_latest_rate_on_or_before_the_day_counts() {
    let (eur, one) = (currency("EUR"), Rate::ONE);
    let two = Rate::parse("2").expect("a rate");
    let mut rates = Rates::default();
    // Not by day.
    for (day, rate) in [(20, two), (10, one), (15, one)] {
        rates.add(eur, Day(day), rate);
    }
    for (day, rate) in
        [(9, None), (10, Some(one)), (19, Some(one)), (20, Some(two)), (99, Some(two))]
    {
        assert_eq!(rates.on(eur, Day(day)), rate, "day {day}");
    }
    assert_eq!(rates.on(currency("GBP"), Day(99)), None);
    assert_eq!(rates.on(currency("USD"), Day(0)), Some(one));

    let mut turnover = Turnover::default();
    let sale = Totals { orders: 1, items: 3, amount: 150, refund: 50, shipped: 1, failed: 0 };
    for day in [9, 10, 20] {
        turnover.add((eur, rates.on(eur, Day(day))), sale);
    }
    assert_eq!((turnover.orders, turnover.items, turnover.converted_items), (3, 9, 6));
    assert_eq!((turnover.unconverted_orders, turnover.shipped), (1, 3));
    assert_eq!((turnover.amount.cents(), turnover.refund.cents()), (450, 150));
    assert_eq!(turnover.average_order_cents(), 225);
}

#[test]
fn an_order_is_a_sale_once_it_is_paid_and_stays_one_when_refunded() {
    let paid = Some(UnixMs(7));
    for (pay_end, status, want) in [
        (paid, PayStatus::Paid, paid),
        (paid, PayStatus::Refunding, paid),
        (paid, PayStatus::Refunded, paid),
        (paid, PayStatus::Unpaid, None),
        (paid, PayStatus::Cancelled, None),
        (None, PayStatus::Paid, None),
    ] {
        assert_eq!(sale_at(pay_end, status), want, "{status:?}");
    }
}

proptest! {
    #[test]
    fn a_sum_is_rounded_like_the_exact_one(
        sales in proptest::collection::vec((-10_000_000_i64..10_000_000, 1_i64..4_000_000), 0..50),
    ) {
        let sum = sales.iter().fold(Usd::default(), |sum, (minor, micros)| {
            let rate = Rate::from_parts(micros * 1_000_000).expect("a rate");
            sum.plus(Usd::of(Minor(*minor), currency("EUR"), rate))
        });
        // Cents times millionths of a dollar, computed another way.
        let exact: i128 = sales.iter().map(|(minor, micros)| i128::from(minor * micros)).sum();
        let cents = i128::from(sum.cents());
        prop_assert!((cents * 1_000_000 - exact).abs() <= 500_000);
    }

    #[test]
    fn no_text_panics_as_a_rate(text in ".{0,40}") {
        let _ = Rate::parse(&text);
    }
}

/// DASH-13: the decimals of a sum can exceed 64 bits; dollars beyond 128 bits saturate.
#[test]
fn the_largest_amounts_are_converted() {
    let (most, least) = (Minor(i64::MAX), Minor(i64::MIN));
    assert_eq!(Usd::of(most, currency("EUR"), Rate::ONE).cents(), i64::MAX);
    let largest = Rate::from_parts(RATE_MAX).expect("a rate");
    for (code, amount, sum) in [
        ("JPY", most, i128::MAX),
        ("JPY", least, i128::MIN),
        ("CLF", most, i128::from(i64::MAX) * 10_i128.pow(18)),
    ] {
        assert_eq!(Usd::of(amount, currency(code), largest), Usd(sum), "{amount:?} {code}");
    }
}

#[test]
fn a_paid_order_is_a_sale_of_its_lines() {
    use crate::order::{Line, Order};
    use crate::{DeviceCode, OrderId};

    let id = OrderId::parse("o1").expect("an id");
    let device = DeviceCode::parse("d1").expect("a code");
    let unpaid = Order::unpaid(id, device, currency("EUR"), Minor(700), UnixMs(3));
    assert_eq!(Sale::of(&unpaid), None);
    let line = |goods_id: &str, count| Line {
        goods_id: goods_id.to_owned(),
        goods_name: None,
        aisle_code: "1".to_owned(),
        count,
        goods_price: Minor(100),
        sale_price: Minor(100),
        pay_amount: Minor(100 * count),
        shipment_status: ShipmentStatus::Success,
        shipment_err_code: 0,
        shipment_fail_desc: None,
    };
    let paid = Order {
        pay_amount: Minor(700),
        refund_amount: Minor(200),
        pay_status: PayStatus::Paid,
        pay_end: Some(UnixMs(5)),
        shipment_status: ShipmentStatus::Partial,
        lines: vec![line("p", 3), line("q", 4)],
        ..unpaid
    };
    let sale = Sale::of(&paid).expect("a sale");
    assert_eq!((sale.at, sale.goods.len()), (UnixMs(5), 2));
    let totals = Totals { orders: 1, items: 7, amount: 700, refund: 200, shipped: 0, failed: 1 };
    assert_eq!(sale.totals(), totals);
    let shipped = Sale { shipment: ShipmentStatus::Success, ..sale };
    assert_eq!(shipped.totals(), Totals { shipped: 1, failed: 0, ..totals });
}

#[test]
fn totals_are_added_and_subtracted() {
    let seven = Totals { orders: 7, items: 14, amount: 21, refund: 28, shipped: 35, failed: 42 };
    let mut sum = Totals { orders: 1, items: 2, amount: 3, refund: 4, shipped: 5, failed: 6 };
    sum.add(seven, 1);
    sum.add(seven, 1);
    let twice = Totals { orders: 15, items: 30, amount: 45, refund: 60, shipped: 75, failed: 90 };
    assert_eq!(sum, twice);
    sum.add(seven, -1);
    let once = Totals { orders: 8, items: 16, amount: 24, refund: 32, shipped: 40, failed: 48 };
    assert_eq!(sum, once);
    assert!(!sum.is_zero());
    sum.add(once, -1);
    assert!(sum.is_zero());
}

/// DASH-12: sales without a rate are counted, and are in no sum of dollars.
#[test]
fn a_turnover_has_dollars_of_sales_with_a_rate_only() {
    let totals = Totals { orders: 2, items: 5, amount: 1_000, refund: 300, shipped: 1, failed: 1 };
    let mut turnover = Turnover::default();
    turnover.add((currency("EUR"), Some(Rate::parse("2").expect("a rate"))), totals);
    turnover.add((currency("EUR"), None), totals);
    let expected = Turnover {
        orders: 4,
        items: 10,
        amount: usd(2_000, "USD", "1"),
        refund: usd(600, "USD", "1"),
        unconverted_orders: 2,
        converted_items: 5,
        shipped: 2,
        failed: 2,
    };
    assert_eq!((turnover, turnover.average_order_cents()), (expected, 1_000));
    turnover.join(&expected);
    turnover.join(&expected);
    let three_times = Turnover {
        orders: 12,
        items: 30,
        amount: usd(6_000, "USD", "1"),
        refund: usd(1_800, "USD", "1"),
        unconverted_orders: 6,
        converted_items: 15,
        shipped: 6,
        failed: 6,
    };
    assert_eq!(turnover, three_times);
}

#[test]
fn cents_beyond_the_largest_number_are_the_largest() {
    assert_eq!(Usd(i128::MAX).cents(), i64::MAX);
    assert_eq!(Usd(i128::MIN).cents(), i64::MIN);
}
