use kiosque_model::order::{Order, OrderStates, PayStatus, ShipmentStatus};
use kiosque_model::{Currency, DeviceCode, GroupNo, Minor, OrderId};

use super::*;
use crate::record::dictionaries::{Dictionaries, Dictionary};
use crate::record::stored::pack;
use crate::record::{Incoming, ProductNames};

/// Returns the problems of an order that was paid at 5 s, or is unpaid, and is stored as a sale at
/// `sale_at` of the amount `sold`: as a sale, and not as a sale.
fn errors(
    pay_end: Option<UnixMs>,
    (sale_at, sold): (UnixMs, i64),
) -> (Option<String>, Option<String>) {
    let order_id = OrderId::parse("o").expect("an id");
    let device = DeviceCode::parse("d").expect("a code");
    let currency = Currency::parse("EUR").expect("a currency");
    let order = Order::unpaid(order_id, device, currency, Minor(1), UnixMs(0));
    let pay_status = if pay_end.is_some() { PayStatus::Paid } else { PayStatus::Unpaid };
    let order = Order { pay_end, pay_status, ..order };
    let sold = Order { pay_amount: Minor(sold), pay_end: Some(sale_at), ..order.clone() };
    let sale = Sale::of(&Order { pay_status: PayStatus::Paid, ..sold }).expect("a sale");
    let states = OrderStates { payment: PayStatus::Paid, shipment: ShipmentStatus::None };
    let sale = sale_figures::packed(Some(&sale), states);
    let incoming = Incoming::of(order, &Zone::utc(), &ProductNames::new()).expect("renders");
    let columns = StoredOrder {
        group_no: GroupNo(1),
        device_no: DeviceNo(1),
        seq: 1,
        trade_start_ms: UnixMs(0),
        change_no: 1,
        sale_at_ms: Some(sale_at),
        sale: &sale,
        arrival_no: None,
        order_id: "o",
        trade_no: None,
        trade_no_in: None,
        record: &[],
    };
    let dictionary = Dictionary::built_in().expect("a dictionary");
    let record = pack(&incoming.record, columns, dictionary).expect("packs");
    let order = StoredOrder { record: &record, ..columns };
    let none = Dictionaries::default();
    let text = order.text(&none).expect("a text");
    let recorded = Recorded::read(&text).expect("reads");
    let sale = order.sale(&text).expect("a sale");
    let error = sale_error(&order, &sale, &recorded, &Zone::utc());
    (error.map(|(error, _)| error), unsold_error(&order, &recorded))
}

/// The time and the figures of a sale match its record.
#[test]
fn an_order_is_the_sale_that_its_record_says() {
    let paid = UnixMs(5_000);
    let unsold = "was paid at 1970-01-01 00:00:05 and counts as no sale";
    assert_eq!(errors(Some(paid), (paid, 0)), (None, Some(unsold.to_owned())));
    let other = "counts as a sale at 1970-01-01 00:00:04, its record says 1970-01-01 00:00:05";
    assert_eq!(errors(Some(paid), (UnixMs(4_000), 0)).0.as_deref(), Some(other));
    let none = "counts as a sale at 1970-01-01 00:00:05, its record says none";
    let states = "its states do not match its record";
    assert_eq!(errors(None, (paid, 0)), (Some(none.to_owned()), Some(states.to_owned())));
    let figures = "the figures of its sale do not match its record";
    assert_eq!(errors(Some(paid), (paid, 1)).0.as_deref(), Some(figures));
}

/// A local time is another one by other rules only if they can be those of a zone.
#[test]
fn other_rules_of_a_zone_explain_quarter_hours_up_to_a_day() {
    let (utc, paris) = (Zone::utc(), Zone::named("Europe/Paris").expect("a zone"));
    let expected = "2026-01-02 00:30:05";
    for (recorded, is_explained) in [
        ("2026-01-01 23:30:05", true),
        ("2026-01-02 00:45:05", true),
        ("2026-01-03 00:30:05", true),
        ("2026-01-03 00:45:05", false),
        ("2026-01-02 00:30:04", false),
        ("none", false),
    ] {
        let day = utc.parse(recorded).ok().filter(|_| is_explained).map(|at| utc.day_of(at));
        assert_eq!(day_by_other_rules(recorded, expected, &paris), day, "{recorded}");
        assert_eq!(day_by_other_rules(recorded, expected, &utc), None, "{recorded}");
    }
}
