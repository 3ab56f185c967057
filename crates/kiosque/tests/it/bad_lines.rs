//! Each kind of invalid line is reported with its number and reason, and rejected with masked
//! numbers; the valid lines around it are stored.

use kiosque_testkit::Sandbox;
use serde_json::Value;

use crate::KIOSQUE;
use crate::fleet::{CANARIES, CARD, CARD_KEPT, PHONE_KEPT, fields, fleet, order, order_with};
use crate::pages;

/// Changes of a valid order, and below each the reason of its rejection; a line indented further
/// continues the one above it.
const FAULTY: &str = r#"
totalAmount":250 -> totalAmount":"250"
    totalAmount: invalid type: string "250", expected a whole number
totalAmount":250 -> totalAmount":2.5
    totalAmount: invalid type: floating point `2.5`, expected a whole number
        (amounts are whole minor units)
totalAmount":250 -> totalAmount":-250
    totalAmount: -250 is not between 0 and 1000000000000
totalAmount":250 -> totalAmount":1000000000001
    totalAmount: 1000000000001 is not between 0 and 1000000000000
totalAmount":250 -> totalAmount":null
    totalAmount: is missing
totalAmount" -> totalamount"
    totalAmount: is missing
totalAmount":250 -> totalAmount":250,"payAmount":-1
    payAmount: -1 is not between 0 and 1000000000000
totalAmount":250 -> totalAmount":250,"refundAmount":-1
    refundAmount: -1 is not between 0 and 1000000000000
totalAmount":250 -> totalAmount":250,"payStatus":5
    payStatus: 5 is not a status (0 to 4)
totalAmount":250 -> totalAmount":250,"shipmentStatus":-1
    shipmentStatus: -1 is not a status (0 to 4)
totalAmount":250 -> totalAmount":250,"totalAmount":250
    duplicate field `totalAmount`
totalAmount":250 -> totalAmount":250,"detailVOList":{}
    detailVOList: invalid type: map, expected a sequence
totalAmount":250 -> totalAmount":250,"detailVOList":[{"goodsId":"a"},{}]
    detailVOList[1].goodsId: is missing
totalAmount":250 -> totalAmount":250,"detailVOList":[{"goodsId":"a","count":1.5}]
    detailVOList[0].count: invalid type: floating point `1.5`, expected a whole number
        (amounts are whole minor units)
totalAmount":250 -> totalAmount":250,"detailVOList":[{"goodsId":"a","count":-1}]
    detailVOList[0].count: -1 is not between 0 and 1000000
"deviceCode":"D1", ->
    deviceCode: is missing
D1 -> D9
    deviceCode: no device D9 is known
D1 -> D1\u0000
    deviceCode: must not contain a NUL character
EUR -> ZZZ
    currency: ZZZ is not an ISO 4217 code
EUR -> eur
    currency: eur is not an ISO 4217 code
EUR -> XAU
    currency: XAU has no minor unit
2026-01-02 03:04:05 -> 2026-02-30 03:04:05
    tradeStartTime: "2026-02-30 03:04:05" does not exist in the calendar
2026-01-02 03:04:05 -> 2026-10-25 02:30:00
    tradeStartTime: 2026-10-25 02:30:00 occurred twice when clocks of Europe/Paris were set back;
        give an offset
2026-01-02 03:04:05 -> 2026-03-29 02:30:00
    tradeStartTime: 2026-03-29 02:30:00 was skipped when clocks of Europe/Paris were set forward;
        give an offset
2026-01-02 03:04:05 -> 2026-01-02T03:04:05
    tradeStartTime: "2026-01-02T03:04:05" is not a time; give RFC 3339 with an offset,
        or yyyy-MM-dd HH:mm:ss in Europe/Paris
2026-01-02 03:04:05 -> 1969-12-31T23:59:59Z
    tradeStartTime: "1969-12-31T23:59:59Z" is outside the years 1970 to 9999
"4929000011112222" -> 4929000011112222
    cardNumber: is not a string
"4929000011112222" -> ["4929000011112222"]
    cardNumber: is not a string
"+33 6 98 76 54 32" -> 4929000011112222.5
    phone: is not a string
"+33 6 98 76 54 32" -> {"a":"+33 6 98 76 54 32"}
    phone: is not a string
"orderId":"F -> "orderId":" ","x":"F
    orderId: must not be blank
"#;

/// A line in bytes, and the beginning of the reason.
type Faulty = (Vec<u8>, String);

fn changed() -> Vec<Faulty> {
    let table = FAULTY.trim().replace("\n        ", " ");
    let lines: Vec<&str> = table.lines().collect();
    let faulty = |(at, case): (usize, &[&str])| {
        let (from, to) = case[0].split_once(" ->").unwrap();
        let order = order_with(&format!("F{at}"), from, to.trim_start());
        (order.into_bytes(), case[1].trim_start().to_owned())
    };
    lines.chunks(2).enumerate().map(faulty).collect()
}

/// Lines that are not a JSON object.
fn broken() -> Vec<Faulty> {
    let bytes = |from: &str, to: &[u8]| {
        let line = order("B");
        let (before, after) = line.split_once(from).unwrap();
        [before.as_bytes(), to, after.as_bytes()].concat()
    };
    let huge = format!("{{{},\"x\":\"{}\"}}", fields("B"), "x".repeat(10 << 20));
    let size = huge.len();
    [
        (bytes("D1", b"D\xff"), "invalid UTF-8 at byte 31".to_owned()),
        (bytes("D1", b"D\0"), "not JSON: control character".to_owned()),
        (huge.into_bytes(), format!("the line has {size} bytes, more than 1048576")),
        (bytes("}", b""), "not JSON: EOF while parsing an object".to_owned()),
        (bytes("}", b"} {}"), "not JSON: trailing characters".to_owned()),
        (format!("[{}]", order("B")).into_bytes(), "not a JSON object".to_owned()),
        (format!("\"{CARD}\"").into_bytes(), "not a JSON object".to_owned()),
        (CARD.into(), "not a JSON object".to_owned()),
        (b"4929 0000 1111 2222; 4929-0000-1111-2222".into(), "not a JSON object".to_owned()),
        (b"orderId;deviceCode".into(), "not a JSON object".to_owned()),
        (b"null".into(), "not a JSON object".to_owned()),
    ]
    .into()
}

#[test]
fn every_kind_of_invalid_line_is_reported_and_the_valid_ones_are_stored() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    let faulty: Vec<Faulty> = changed().into_iter().chain(broken()).collect();
    let mut file = Vec::new();
    for (at, (line, _)) in (0..).zip(&faulty) {
        // A valid line before each invalid one, and a blank one now and then: they count as lines.
        let blank = if at % 5 == 4 { "\n" } else { "" };
        file.extend_from_slice(format!("{}\n{blank}", order(&format!("G{at}"))).as_bytes());
        file.extend_from_slice(line);
        file.push(b'\n');
    }
    let path = sandbox.file("orders.ndjson", &file);
    let ran = sandbox.run(&["import", "orders", &path]).failure();
    let good = faulty.len();
    assert_eq!(
        ran.stdout,
        format!("{good} accepted, 0 updated, 0 unchanged, {good} rejected\nimport 1\n")
    );

    let set_aside = sandbox.read("orders.ndjson.rejected.ndjson");
    let set_aside: Vec<Value> =
        set_aside.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(set_aside.len(), faulty.len());
    let mut named = ran.stderr.lines();
    for (at, ((line, reason), rejected)) in (0..).zip(faulty.iter().zip(&set_aside)) {
        let number = 2 * (at + 1) + (at + 1) / 5;
        let said = rejected["reason"].as_str().unwrap();
        assert!(said.starts_with(reason), "{said}\n{reason}");
        assert_eq!(rejected["line"], number, "{said}");
        assert_eq!(named.next(), Some(format!("line {number}: {said}").as_str()));
        check_content(line, rejected);
    }
    assert_eq!(
        named.next(),
        Some(format!("rejected lines are in {path}.rejected.ndjson").as_str())
    );

    let served = sandbox.serve();
    let (mut caller, token) = served.log_in("walker");
    let kept = pages::orders(&mut caller, &token, "D1");
    assert_eq!(kept.len(), good);
    for order in &kept {
        assert!(order["orderId"].as_str().unwrap().starts_with('G'));
        assert_eq!(
            (&order["cardNumber"], &order["phone"]),
            (&CARD_KEPT.into(), &PHONE_KEPT.into())
        );
    }
    drop(served);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    check_nowhere(&sandbox, &said, "orders.ndjson");
}

/// A rejected line is the line from the file, except for masked values.
fn check_content(given: &[u8], rejected: &Value) {
    let text = || rejected["text"].as_str().unwrap();
    match serde_json::from_slice::<Value>(given) {
        Ok(Value::Object(fields)) if given.len() < 1 << 20 => {
            let order = &rejected["order"];
            for (name, value) in &fields {
                match name.as_str() {
                    "cardNumber" | "phone" => assert!(order[name].to_string().contains("**")),
                    _ => assert_eq!(&order[name], value, "{rejected}"),
                }
            }
            assert_eq!(rejected["orderId"], order["orderId"]);
        }
        _ => {
            let given = String::from_utf8_lossy(given);
            assert_eq!(text().len().min(30), given.len().min(30), "{rejected}");
            if given.contains("orderId") {
                assert!(text().starts_with(&given[..18]), "{rejected}");
            }
        }
    }
}

/// No canary is in the output, nor in any file but the input.
pub(crate) fn check_nowhere(sandbox: &Sandbox, said: &str, given: &str) {
    assert!(sandbox.data().join("kiosque.db").exists());
    for canary in CANARIES {
        let mut found = sandbox.files_with(canary);
        found.retain(|path| path.file_name().unwrap() != given);
        assert!(found.is_empty(), "{canary} is in {found:?}");
        assert!(!said.contains(canary), "{said}");
    }
}
