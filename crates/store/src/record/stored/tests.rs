use kiosque_contract::{OrderDetail, OrderRecord};
use kiosque_model::order::{Line, Order, ShipmentStatus};
use kiosque_model::{Currency, DeviceCode, Minor, OrderId, Zone};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;
use crate::record::ProductNames;

fn incoming(goods_name: &str, errors: &[Option<&str>], pay_end: Option<UnixMs>) -> Incoming {
    let order_id = OrderId::parse("o").expect("an id");
    let device = DeviceCode::parse(r#""},"detailVOList":[]"#).expect("a code");
    let currency = Currency::parse("EUR").expect("a currency");
    let line = |error: &Option<&str>| Line {
        goods_id: "g".to_owned(),
        goods_name: Some(goods_name.to_owned()),
        aisle_code: "1".to_owned(),
        count: 1,
        goods_price: Minor(2),
        sale_price: Minor(3),
        pay_amount: Minor(4),
        shipment_status: ShipmentStatus::None,
        shipment_err_code: 0,
        shipment_fail_desc: error.map(str::to_owned),
    };
    let order = Order::unpaid(order_id, device, currency, Minor(1), UnixMs(0));
    let order = Order { lines: errors.iter().map(line).collect(), pay_end, ..order };
    Incoming::of(order, &Zone::utc(), &ProductNames::new()).expect("renders")
}

/// An order with different values in all columns.
fn columns<'r>() -> StoredOrder<'r> {
    StoredOrder {
        group_no: GroupNo(1),
        device_no: DeviceNo(2),
        seq: 3,
        trade_start_ms: UnixMs(4),
        change_no: 5,
        sale_at_ms: Some(UnixMs(6)),
        sale: b"s",
        arrival_no: Some(7),
        order_id: "o",
        trade_no: Some("T"),
        trade_no_in: Some("I"),
        record: &[],
    }
}

fn packed(incoming: &Incoming, order: StoredOrder<'_>) -> Vec<u8> {
    let dictionary = Dictionary::built_in().expect("a dictionary");
    pack(&incoming.record, order, dictionary).expect("packs")
}

fn error(order: &StoredOrder<'_>) -> RecordError {
    let listed = order.put_list_record(&Dictionaries::default(), &mut Vec::new());
    let shown = order.put_detail(&Dictionaries::default(), &mut Vec::new());
    let errors =
        [listed.expect_err("listed"), shown.expect_err("shown")].map(|error| match error {
            Error::UnreadableOrder(order) => order.error,
            other => panic!("{other}"),
        });
    assert_eq!(errors[0], errors[1]);
    errors[0].clone()
}

/// Asserts that a text is a `T` with exactly its fields, in order.
fn assert_is<T: Serialize + DeserializeOwned>(text: &[u8]) {
    let value: T = serde_json::from_slice(text).expect("a T");
    let again = serde_json::to_string(&value).expect("renders");
    assert_eq!(again, String::from_utf8_lossy(text));
}

/// ORD-7, ORD-8, ORD-16, ORD-17: the texts have the fields of the interface's types.
#[test]
fn records_and_details_have_the_fields_of_their_types() {
    for errors in [&[][..], &[None], &[None, Some("jammed")]] {
        let incoming = incoming(r#"a",\u0000"detailVOList":["#, errors, None);
        let order = StoredOrder { trade_no: None, trade_no_in: None, ..columns() };
        let record = packed(&incoming, order);
        let order = StoredOrder { record: &record, ..order };
        let (mut listed, mut shown, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        order.put_list_record(&Dictionaries::default(), &mut listed).expect("listed");
        order.put_detail(&Dictionaries::default(), &mut shown).expect("shown");
        incoming.put_list_record(&mut expected);
        assert_is::<OrderRecord>(&listed);
        assert_is::<OrderDetail>(&shown);
        assert_eq!(listed, expected);
    }
}

/// ORD-8: the end of the payment; the start of the trade while unpaid.
#[test]
fn pay_end_date_follows_from_the_times() {
    for (pay_end, date) in [(None, "1970-01-01 00:00:00"), (Some(1_000), "1970-01-01 00:00:01")] {
        let incoming = incoming("a", &[], pay_end.map(UnixMs));
        let fields: super::super::Fields<'_> =
            parsed(incoming.record.text().as_bytes()).expect("fields");
        assert_eq!(fields.pay_end_date, date);
    }
}

/// Each bit of a record and each column is part of the checksum.
#[test]
fn a_changed_bit_or_column_is_found() {
    let record = packed(&incoming("Tea", &[None], None), columns());
    let order = StoredOrder { record: &record, ..columns() };
    assert!(order.text(&Dictionaries::default()).is_ok());
    for bit in 0..record.len() * 8 {
        let mut damaged = record.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(error(&StoredOrder { record: &damaged, ..order }), RecordError::Checksum);
    }
    for length in 0..record.len() {
        let cut = StoredOrder { record: &record[..length], ..order };
        assert_eq!(error(&cut), RecordError::Checksum, "{length}");
    }
    let others = [
        StoredOrder { group_no: GroupNo(8), ..order },
        StoredOrder { device_no: DeviceNo(8), ..order },
        StoredOrder { seq: 8, ..order },
        StoredOrder { trade_start_ms: UnixMs(8), ..order },
        StoredOrder { change_no: 8, ..order },
        StoredOrder { sale_at_ms: Some(UnixMs(8)), ..order },
        StoredOrder { sale_at_ms: None, ..order },
        StoredOrder { sale: b"t", ..order },
        StoredOrder { sale: b"", order_id: "so", ..order },
        StoredOrder { arrival_no: Some(8), ..order },
        StoredOrder { arrival_no: None, ..order },
        StoredOrder { order_id: "p", ..order },
        StoredOrder { trade_no: None, ..order },
        StoredOrder { trade_no: Some("TI"), trade_no_in: Some(""), ..order },
        StoredOrder { trade_no_in: None, ..order },
    ];
    for other in others {
        assert_eq!(error(&other), RecordError::Checksum, "{other:?}");
    }
}

/// A record with a correct checksum, written by a faulty program.
fn with_checksum(frame: &[u8]) -> RecordError {
    let mut record = frame.to_vec();
    let checksum = StoredOrder { record: &record, ..columns() }.checksum().to_le_bytes();
    record[..CHECKSUM_BYTES].copy_from_slice(&checksum);
    error(&StoredOrder { record: &record, ..columns() })
}

#[test]
fn the_length_is_checked_before_a_record_is_unpacked() {
    // A frame header with a single segment, and its length in eight bytes.
    let header = |length: u64| [&[0; 4], &[0xe0][..], &length.to_le_bytes()].concat();
    let bound = dictionaries::RECORD_BYTES_MAX as u64;
    assert_eq!(with_checksum(&header(bound + 1)), RecordError::Length(bound + 1));
    assert_eq!(with_checksum(&header(u64::MAX >> 2)), RecordError::Length(u64::MAX >> 2));
    assert_eq!(with_checksum(&header(bound)), RecordError::Text);
    assert_eq!(with_checksum(&[0; 4]), RecordError::Text);
}

#[test]
fn a_dictionary_that_is_not_stored_is_named() {
    let mut frame = packed(&incoming("Tea", &[None], None), columns());
    // The header's flag of a number of one byte, and the number after it.
    frame[4] |= 1;
    frame.insert(5, 77);
    assert_eq!(with_checksum(&frame), RecordError::Dictionary(77));
}

/// Old records remain readable: dictionary 0 never changes, nor does what it unpacks.
#[test]
fn the_built_in_dictionary_is_never_changed() {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(dictionaries::BUILT_IN);
    assert_eq!(checksum.finalize(), 3_590_585_097);
}

/// A dictionary is identified by a number that only its content has.
#[test]
fn a_content_with_another_number_is_no_dictionary() {
    let sample = |at: usize| incoming(&format!("Tea {}", at * 7_919), &[None], None).record.0;
    let samples: Vec<String> = (0..500).map(sample).collect();
    let (number, content) = dictionaries::train(&samples).expect("a dictionary");
    let knows = |number, content: &[u8]| {
        let known = Dictionaries::default();
        known.add(number, content);
        known.get(number).is_some()
    };
    assert!(knows(number, &content) && !knows(number ^ 1, &content));
    for at in (0..16).chain((16..content.len()).step_by(97)) {
        let mut changed = content.clone();
        changed[at] ^= 1;
        assert!(!knows(number, &changed), "{at}");
    }
}
