//! An order file: every line is numbered, and is either an order that is rendered according to the
//! contract or rejected with its secrets masked.
#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use kiosque_contract::OrderRecord;
use kiosque_ingest::UnknownKeys;
use kiosque_ingest::given_order::{self, DateRules};
use kiosque_ingest::ndjson::RawLines;
use kiosque_ingest::rejected::{Content, Rejected};
use kiosque_model::mask::masked;
use kiosque_model::order::Order;
use kiosque_model::{UnixMs, Zone};
use kiosque_store::{Incoming, ProductNames};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|file: &[u8]| {
    let mut last = 0;
    for raw in RawLines::new(file) {
        let raw = raw.expect("memory can be read");
        assert!(raw.number > last, "lines are numbered upwards");
        last = raw.number;
        assert_eq!(raw.too_long, None);
        assert!(!raw.text.contains(&b'\n'));
        let mut unknown = UnknownKeys::default();
        match given_order::parse(&raw.text, &dates(), &mut unknown) {
            Ok(order) => taken(order),
            Err(reason) => {
                assert!(!reason.is_empty());
                refused(&Rejected::line(&raw, &reason));
            }
        }
    }
    let lines = file.split(|byte| *byte == b'\n').count();
    assert!(last <= lines as u64);
});

static ZONE: LazyLock<Zone> = LazyLock::new(Zone::utc);

/// Every date is valid.
fn dates() -> DateRules<'static> {
    DateRules { zone: &ZONE, now: UnixMs::MAX, lead_max: Duration::ZERO }
}

fn rendered(order: Order) -> Incoming {
    let rendered = Incoming::of(order, &Zone::utc(), &ProductNames::new());
    rendered.expect("a checked order renders")
}

fn listed(incoming: &Incoming) -> String {
    let mut json = Vec::new();
    incoming.put_list_record(&mut json);
    String::from_utf8(json).expect("UTF-8")
}

fn taken(order: Order) {
    for secret in [&order.card_number, &order.phone].into_iter().flatten() {
        assert_eq!(&masked(secret), secret, "masked twice is masked once");
    }
    let incoming = rendered(order);
    let text = listed(&incoming);
    let read: OrderRecord = serde_json::from_str(&text).expect("the contract's order record");
    assert_eq!(serde_json::to_string(&read).expect("renders"), text);
    assert!(!any("", &serde_json::from_str(&text).expect("JSON"), holds_nul));
    assert!(read.head.total_amount >= 0 && read.head.pay_amount >= 0);
    assert!(!read.head.trade_no_in.is_empty());

    // A rendered order can be imported again, and is the same order.
    let again = given_order::parse(text.as_bytes(), &dates(), &mut UnknownKeys::default());
    let again = rendered(again.unwrap_or_else(|error| panic!("{error}: {text}")));
    assert_eq!(again.record, incoming.record);
    assert_eq!(*incoming.record_after(&again.record).expect("readable"), incoming.record);
}

fn refused(rejected: &Rejected) {
    let text = String::from_utf8(rejected.file_lines()).expect("UTF-8");
    assert!(serde_json::from_str::<Value>(&text).expect("JSON").is_object());
    if let Content::Order(order) = &rejected.content {
        assert!(!any("", order, is_open_secret), "{text}");
    }
}

/// Returns whether a value or one in it has a property, which depends on the name of its field too.
fn any(name: &str, value: &Value, has: fn(&str, &Value) -> bool) -> bool {
    let inside = match value {
        Value::Array(items) => items.iter().any(|item| any("", item, has)),
        Value::Object(fields) => fields.iter().any(|(name, field)| any(name, field, has)),
        _ => false,
    };
    inside || has(name, value)
}

fn is_open_secret(name: &str, value: &Value) -> bool {
    let is_masked = |text: &str| masked(text) == text;
    ["cardNumber", "phone"].contains(&name)
        && (value.is_number() || value.as_str().is_some_and(|text| !is_masked(text)))
}

fn holds_nul(_: &str, value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains('\0'))
}
