//! `kiosque fleet export` and `kiosque orders export`: read again, they change nothing, and on
//! empty data they make the same.

use kiosque_testkit::{FleetToml, Sandbox, sql};
use serde_json::Value;

use crate::fleet::{CARD, CARD_KEPT, fleet, order_with};
use crate::{KIOSQUE, demo};

/// Exports the data as each format, reads all of it again, and asserts that nothing changes.
/// Returns the fleet and the orders.
pub(crate) fn read_again(sandbox: &Sandbox) -> [String; 2] {
    let run = |args: &[&str]| sandbox.run(args).success();
    let fleet = ["toml", "json"].map(|format| {
        let exported = run(&["fleet", "export", "--output", format]);
        assert!(exported.stderr.starts_with("note: the fleet contains the hashes of passwords"));
        let file = sandbox.file(&format!("exported.{format}"), &exported.stdout);
        let applied = run(&["apply", &file]).stdout;
        assert_eq!(applied.lines().count(), 4, "{applied}");
        assert!(applied.lines().all(|line| line.contains(" 0 created, 0 changed, ")), "{applied}");
        exported.stdout
    });
    let orders = run(&["orders", "export"]).stdout;
    let count = orders.lines().count();
    let file = sandbox.file("exported.ndjson", &orders);
    let imported = run(&["import", "orders", &file]);
    assert_eq!((imported.counts(), imported.stderr.as_str()), ([0, 0, count, 0], ""));
    let csv = run(&["orders", "export", "--output", "csv"]);
    assert_eq!(csv.stderr, "");
    let csv = sandbox.file("exported.csv", csv.stdout);
    let mapping = run(&["orders", "export", "--print-mapping"]).stdout;
    let mapping = sandbox.file("exported-mapping.toml", mapping);
    let imported = run(&["import", "orders", &csv, "--map", &mapping]);
    assert_eq!((imported.counts(), imported.stderr.as_str()), ([0, 0, count, 0], ""));
    let [fleet, _] = fleet;
    [fleet, orders]
}

/// Makes data of exports, and asserts that its exports are the same.
fn made_again([fleet, orders]: [String; 2], zone: &str) {
    let other = KIOSQUE.sandbox_with(&fleet, zone);
    let counts = other.import(&orders).counts();
    assert_eq!(counts, [orders.lines().count(), 0, 0, 0]);
    assert_eq!(other.run(&["fleet", "export"]).success().stdout, fleet);
    assert_eq!(other.run(&["orders", "export"]).success().stdout, orders);
}

/// The demo's data: five groups, forty devices, orders of sixty days in three currencies.
#[test]
fn the_exports_of_the_demo_change_nothing() {
    let sandbox = KIOSQUE.sandbox();
    drop(demo::start_quiet(&sandbox, "2026-03-31"));
    let [_, orders] = read_again(&sandbox);
    assert!(orders.lines().count() > 5_000);
}

/// Orders that are hard to write down: an hour that clocks repeat, milliseconds, quotes, line
/// breaks, no lines, faults, refunds, numbers of their own, masked cards.
const ODD: [&str; 5] = [
    r#"{"orderId":"a","deviceCode":"D1","currency":"EUR","totalAmount":5,
        "tradeStartTime":"2022-10-30T00:30:00.123Z","payEndTime":"2022-10-30T01:30:00.987Z",
        "shipmentTime":"2022-10-30T01:31:00Z","detailVOList":[
        {"goodsId":"cola","salePrice":5},{"goodsId":"","goodsName":"say \"hi\",\r\nthen\n go"}]}"#,
    r#"{"orderId":"b, \"c\"","deviceCode":"D1","currency":"JPY","totalAmount":700,
        "tradeStartTime":"2026-01-02 03:04:05","payEndTime":"2026-01-02 03:05:05","payStatus":2,
        "refundAmount":7,"cardNumber":"4929000011112222","phone":"+33 6 98 76 54 32"}"#,
    r#"{"orderId":"d","deviceCode":"D2","currency":"EUR","totalAmount":5,"tradeNo":" 7",
        "tradeNoIn":"inner-1","tradeStartTime":"2026-01-02 03:04:05","payChannelName":"cash, coins",
        "detailVOList":[{"goodsId":"x","count":0,"payAmount":-5,"shipmentErrCode":-3,
        "shipmentFailDesc":"jammed; \"twice\"","shipmentStatus":3,"aisleCode":"1"}]}"#,
    r#"{"orderId":"e","deviceCode":"D2","currency":"EUR","totalAmount":0,
        "tradeStartTime":"2026-02-02 03:04:05","shipmentTime":"2026-02-02T02:31:00Z"}"#,
    r#"{"orderId":"f","deviceCode":"D1","currency":"EUR","totalAmount":5,
        "tradeStartTime":"2026-02-02 03:04:05","payEndTime":"2026-02-02 03:04:06","payStatus":4,
        "detailVOList":[]}"#,
];

fn odd() -> Sandbox {
    let aisle = "[[device.aisle]]\ncode = \"1\"\nproduct = \"cola\"\nprice = 150\nlayer = 2\n";
    let sandbox = KIOSQUE.sandbox_with(fleet().with(aisle), "Europe/Paris");
    let lines: Vec<String> = ODD.iter().map(|line| line.replace('\n', " ")).collect();
    sandbox.import(lines.join("\n"));
    sandbox
}

#[test]
fn every_order_is_exported_as_it_is_stored() {
    let sandbox = odd();
    let exports = read_again(&sandbox);
    let orders: Vec<Value> =
        exports[1].lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<&str> = orders.iter().map(|order| order["orderId"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a", "b, \"c\"", "f", "d", "e"]);
    assert_eq!(orders[0]["tradeStartTime"], "2022-10-30T00:30:00.123Z");
    assert_eq!(orders[0]["payEndTime"], "2022-10-30T01:30:00.987Z");
    assert_eq!((&orders[1]["cardNumber"], orders[1].get("tradeNoIn")), (&CARD_KEPT.into(), None));
    assert!(!exports[1].contains(CARD), "{}", exports[1]);
    made_again(exports, "Europe/Paris");
}

/// A shipment, or the end of a payment, in an hour that clocks repeat is not before its trade.
#[test]
fn times_in_a_repeated_hour_are_exported_as_they_are() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    let orders = [
        r#""orderId":"a","tradeStartTime":"2025-10-26T02:59:50.500+02:00",
            "payEndTime":"2025-10-26T02:59:50+02:00","shipmentTime":"2025-10-26T02:00:10+01:00""#,
        r#""orderId":"b","tradeStartTime":"2025-10-26T02:30:00.500+01:00",
            "payEndTime":"2025-10-26T02:30:20+01:00","shipmentTime":"2025-10-26T02:30:25+01:00""#,
        r#""orderId":"c","tradeStartTime":"2025-10-26T02:40:00+01:00","payStatus":2,
            "payEndTime":"2025-10-26T02:40:20+01:00""#,
    ];
    let order = |fields: &str| {
        let order = r#"{"deviceCode":"D1","currency":"EUR","totalAmount":5,"#;
        format!("{order}{}}}\n", fields.replace('\n', " "))
    };
    assert_eq!(sandbox.import(orders.map(order).concat()).counts(), [3, 0, 0, 0]);
    made_again(read_again(&sandbox), "Europe/Paris");
}

/// A move that is planned is exported with its time; one that has taken effect needs none.
#[test]
fn moves_are_exported() {
    let sandbox = odd();
    let moves = "[[device]]\ncode = \"D1\"\ngroup = \"south\"\n\
                 [[device]]\ncode = \"D2\"\ngroup = \"south\"\nsince = \"2999-01-01 00:00:00\"\n";
    sandbox.apply(moves);
    let [fleet, _] = read_again(&sandbox);
    assert_eq!(fleet.matches("since = \"2998-12-31T23:00:00.000Z\"").count(), 1, "{fleet}");
    assert_eq!(fleet.matches("since = ").count(), 1, "{fleet}");
}

/// The recipe of *Upgrade* in docs/operating.md: groups that are applied before the fleet and the
/// orders get their orders back.
#[test]
fn earlier_groups_of_a_device_are_named_and_can_be_kept() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let note = "note: the fleet contains the hashes of passwords; only you should read it\n";
    assert_eq!(sandbox.run(&["fleet", "export"]).success().stderr, note);
    let (away, back) = ("2026-01-10T00:00:00.500Z", "2026-01-20T00:00:00.000Z");
    let moves = [("south", away), ("north", back)].map(|(group, since)| {
        format!("[[device]]\ncode = \"D1\"\ngroup = \"{group}\"\nsince = \"{since}\"\n")
    });
    for one in &moves {
        sandbox.apply(one);
    }
    let orders = ["01-05", "01-15", "01-25"];
    let orders = orders.map(|day| order_with(day, "2026-01-02", &format!("2026-{day}")));
    sandbox.import(orders.join("\n"));

    let exported = sandbox.run(&["fleet", "export"]).success();
    let warning = exported.stderr.strip_prefix(note).unwrap();
    assert!(warning.starts_with("warning: the fleet only has the last group of 1 device that"));
    let named = format!("\ndevice D1: north, south since {away}, north since {back}\n");
    assert!(warning.ends_with(&named), "{warning}");

    let first = FleetToml::new().group("north", "North").group("south", "South");
    let other = KIOSQUE.sandbox_with(first.device("D1", "First", "north"), "UTC");
    for one in moves.iter().chain([&exported.stdout]) {
        other.apply(one);
    }
    let orders =
        |of: &Sandbox, group| of.run(&["orders", "export", "--group", group]).success().stdout;
    let all = sandbox.run(&["orders", "export"]).success().stdout;
    assert_eq!(other.import(all).counts(), [3, 0, 0, 0]);
    for (group, count) in [("north", 2), ("south", 1)] {
        let stored = orders(&other, group);
        assert_eq!((stored.lines().count(), &stored), (count, &orders(&sandbox, group)));
    }
    assert_eq!(other.run(&["fleet", "export"]).success().stderr, exported.stderr);
}

#[test]
fn an_export_may_be_of_a_group_a_device_or_a_time() {
    let sandbox = odd();
    sandbox.apply("[[device]]\ncode = \"D1\"\ngroup = \"south\"\n");
    let count = |args: &[&str]| {
        let ran = sandbox.run(&[&["orders", "export"], args].concat()).success();
        ran.stdout.lines().count()
    };
    for (args, orders) in [
        (&["--group", "north"][..], 5),
        (&["--group", "south"], 0),
        (&["--device", "D1"], 3),
        (&["--device", "D1", "--group", "south"], 0),
        (&["--since", "2026-02-02"], 2),
        (&["--until", "2026-02-02 03:04:05", "--device", "D2"], 1),
        (&["--payment", "refunded"], 1),
        (&["--payment", "unpaid,cancelled", "--device", "D1"], 1),
        (&["--shipment", "success"], 2),
        (&["--shipment", "success", "--payment", "unpaid", "--since", "2026-02-02"], 1),
        (&["--shipment", "in progress"], 0),
    ] {
        assert_eq!(count(args), orders, "{args:?}");
    }
    insta::assert_snapshot!(sandbox.transcript(&[
        &["orders", "export", "--group", "nowhere"],
        &["orders", "export", "--device", "D9"],
        &["orders", "export", "--group", "nowhere", "--output", "csv"],
        &["orders", "export", "--device", "D9", "--output", "csv"],
        &["orders", "export", "--payment", "lost"],
        &["orders", "export", "--since", "2026-02-02", "--until", "2026-02-01"],
        &["orders", "export", "--since", "yesterday"],
    ]));
}

/// An export continues past a damaged order, names it, and fails at its end. What it wrote can be
/// imported again, also into the damaged data, which rejects the damaged order alone.
#[test]
fn a_damaged_order_is_left_out_of_the_export_and_named() {
    let sandbox = odd();
    let whole = sandbox.run(&["orders", "export"]).success().stdout;
    let csv = sandbox.run(&["orders", "export", "--output", "csv"]).success().stdout;
    drop(sandbox.run_sql(&sql("damage_order").replace("ORDER", "f").replace("BY", "1")));
    let named = "kiosque: not exported: group north, device D1, order f: its checksum does \
                 not match its columns and its record\n\
                 kiosque: 1 order is damaged and is not in the export; the last backup may have \
                 it\n";
    let is_other = |line: &&str| !line.contains("\"f\"") && !line.contains(",f,");
    for (format, whole) in [("ndjson", &whole), ("csv", &csv)] {
        let others: String = whole.split_inclusive('\n').filter(is_other).collect();
        assert_ne!(others, *whole);
        let ran = sandbox.run(&["orders", "export", "--output", format]).failure();
        assert_eq!((ran.stdout, ran.stderr.as_str()), (others, named), "{format}");
    }
    let ran = sandbox.run(&["orders", "export", "--device", "D2"]).success();
    assert_eq!(ran.stderr, "");

    let file = sandbox.file("whole.ndjson", whole);
    let ran = sandbox.run(&["import", "orders", &file]).failure();
    assert_eq!(ran.counts(), [0, 0, 4, 1]);
    assert!(ran.stderr.contains("orderId: the stored order f is damaged and cannot be updated: "));
}

/// A text that CSV cannot represent is counted.
#[test]
fn blank_texts_are_reported_by_the_csv_export() {
    let sandbox = odd();
    let line = r#"{"orderId":"g","deviceCode":"D1","currency":"EUR","totalAmount":5,
        "tradeStartTime":"2026-02-02 03:04:05","payChannelName":"  "}"#;
    sandbox.import(line.replace('\n', " "));
    let ran = sandbox.run(&["orders", "export", "--output", "csv"]).success();
    let warning = "warning: 1 order has blank texts, which CSV cannot represent; an import changes \
                   them. Use --output ndjson\n";
    assert_eq!(ran.stderr, warning);
}
