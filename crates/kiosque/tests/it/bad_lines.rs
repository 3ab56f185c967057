//! Each kind of invalid line is reported with its number and reason, and rejected with masked
//! numbers; the valid lines around it are stored.

use kiosque_testkit::Sandbox;

use crate::KIOSQUE;
use crate::fleet::{CANARIES, CARD, CARD_KEPT, PHONE_KEPT, fields, fleet, order, order_with};
use crate::pages;

/// Changes of a valid order, each of which makes it invalid.
const INVALID: &str = r#"
totalAmount":250 -> totalAmount":"250"
totalAmount":250 -> totalAmount":2.5
totalAmount":250 -> totalAmount":-250
totalAmount":250 -> totalAmount":1000000000001
totalAmount":250 -> totalAmount":null
totalAmount" -> totalamount"
totalAmount":250 -> totalAmount":250,"payAmount":-1
totalAmount":250 -> totalAmount":250,"refundAmount":-1
totalAmount":250 -> totalAmount":250,"payStatus":5
totalAmount":250 -> totalAmount":250,"shipmentStatus":-1
totalAmount":250 -> totalAmount":250,"totalAmount":250
totalAmount":250 -> totalAmount":250,"detailVOList":{}
totalAmount":250 -> totalAmount":250,"detailVOList":[{"goodsId":"a"},{}]
totalAmount":250 -> totalAmount":250,"detailVOList":[{"goodsId":"a","count":1.5}]
totalAmount":250 -> totalAmount":250,"detailVOList":[{"goodsId":"a","count":-1}]
"deviceCode":"D1", ->
D1 -> D9
D1 -> D1\u0000
EUR -> ZZZ
EUR -> eur
EUR -> XAU
2026-01-02 03:04:05 -> 2026-02-30 03:04:05
2026-01-02 03:04:05 -> 2026-10-25 02:30:00
2026-01-02 03:04:05 -> 2026-03-29 02:30:00
2026-01-02 03:04:05 -> 2026-01-02T03:04:05
2026-01-02 03:04:05 -> 1969-12-31T23:59:59Z
"4929000011112222" -> 4929000011112222
"4929000011112222" -> ["4929000011112222"]
"+33 6 98 76 54 32" -> 4929000011112222.5
"+33 6 98 76 54 32" -> {"a":"+33 6 98 76 54 32"}
"orderId":"F -> "orderId":" ","x":"F
"#;

fn changed() -> impl Iterator<Item = Vec<u8>> {
    INVALID.trim().lines().zip(0..).map(|(change, at)| {
        let (from, to) = change.split_once(" ->").unwrap();
        order_with(&format!("F{at}"), from, to.trim_start()).into_bytes()
    })
}

/// Lines that are not a JSON object.
fn broken() -> [Vec<u8>; 11] {
    let bytes = |from: &str, to: &[u8]| {
        let line = order("B");
        let (before, after) = line.split_once(from).unwrap();
        [before.as_bytes(), to, after.as_bytes()].concat()
    };
    [
        bytes("D1", b"D\xff"),
        bytes("D1", b"D\0"),
        format!("{{{},\"x\":\"{}\"}}", fields("B"), "x".repeat(10 << 20)).into_bytes(),
        bytes("}", b""),
        bytes("}", b"} {}"),
        format!("[{}]", order("B")).into_bytes(),
        format!("\"{CARD}\"").into_bytes(),
        CARD.into(),
        b"4929 0000 1111 2222; 4929-0000-1111-2222".into(),
        b"orderId;deviceCode".into(),
        b"null".into(),
    ]
}

#[test]
fn every_kind_of_invalid_line_is_reported_and_the_valid_ones_are_stored() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    let invalid: Vec<Vec<u8>> = changed().chain(broken()).collect();
    let mut file = Vec::new();
    for (at, line) in (0..).zip(&invalid) {
        // A valid line before each invalid one, and a blank one now and then: they count as lines.
        let blank = if at % 5 == 4 { "\n" } else { "" };
        file.extend_from_slice(format!("{}\n{blank}", order(&format!("G{at}"))).as_bytes());
        file.extend_from_slice(line);
        file.push(b'\n');
    }
    sandbox.file("orders.ndjson", &file);
    let said = sandbox.transcript(&[&["import", "orders", "orders.ndjson"]]);
    let set_aside = sandbox.read("orders.ndjson.rejected.ndjson");
    insta::assert_snapshot!(format!("{said}{set_aside}"));

    let served = sandbox.serve();
    let (mut caller, token) = served.log_in("walker");
    let kept = pages::orders(&mut caller, &token, "D1");
    assert_eq!(kept.len(), invalid.len());
    for order in &kept {
        assert!(order["orderId"].as_str().unwrap().starts_with('G'));
        assert_eq!(
            (&order["cardNumber"], &order["phone"]),
            (&CARD_KEPT.into(), &PHONE_KEPT.into())
        );
    }
    drop(served);
    check_nowhere(&sandbox, &said, "orders.ndjson");
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
