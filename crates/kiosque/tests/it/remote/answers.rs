//! Every command against the demonstration fleet, as people and programs see it.

use serde_json::Value;

use super::Place;
use crate::{KIOSQUE, demo};

const CALL: &str = "third-center-web/openapi/v1/kioskDevice/devicePage?size=2";
const MARCH: [&str; 4] = ["--since", "2026-03-01", "--until", "2026-04-01"];

/// Every command, by the name of its snapshot. A month of the past is complete, and no device of
/// the demo has been active since.
fn commands() -> Vec<(&'static str, Vec<&'static str>)> {
    let march = |args: &[&'static str]| [args, &MARCH].concat();
    vec![
        ("whoami", vec!["whoami", "--columns", "profile,username,groupId,groupName"]),
        ("profiles", vec!["profiles", "--columns", "profile,username"]),
        ("groups", vec!["groups"]),
        ("devices", vec!["devices", "--group", "tokyo-stations"]),
        ("offline", vec!["devices", "--all-groups", "--offline", "--name", "Gare"]),
        ("orders", {
            let span = ["--since", "2026-03-30 18:00:00", "--until", "2026-03-31 09:00:00"];
            [&["orders", "--device", "HBR-001", "HBR-002"][..], &span].concat()
        }),
        ("order", vec!["order", "oid:89ac43ba78f719e0", "--internal"]),
        ("changes", vec!["changes", "--group", "tokyo-stations", "--size", "1000"]),
        ("summary", march(&["summary"])),
        ("trend", march(&["trend"])),
        ("best-sellers", march(&["best-sellers", "--device", "HBR-001"])),
        ("by-device", march(&["by-device", "--group", "metropole-gares"])),
        ("aisles", vec!["aisles", "--device", "HBR-001"]),
        ("online", vec!["online"]),
        ("call", vec!["call", CALL, r#"{"isOnline":0}"#]),
    ]
}

/// Returns the first lines of a text and the number of all, which is enough of a long list.
fn beginning(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().take(12).copied().collect::<Vec<_>>().join("\n");
    format!("{first}\n({} lines)\n", lines.len())
}

/// FMT-1 to FMT-3, DASH-9, DASH-23, ORD-13, ORD-14: the tables of all commands, and the same as
/// JSON, NDJSON and CSV.
#[test]
fn every_command_answers_in_each_format() {
    let sandbox = KIOSQUE.sandbox();
    let server = demo::start_quiet(&sandbox, "2026-03-31");
    let place = Place { sandbox, server };
    let password = place.write_password("pw", "kiosque-demo");
    place.run(&place.login("demo", &password)).success();
    for (name, args) in commands() {
        let table = place.run(&args).success();
        insta::assert_snapshot!(format!("remote_{name}"), beginning(&table.stdout));
        let of = |format| place.run(&[&args[..], &["--output", format]].concat()).success();
        let json = of("json").stdout;
        assert_eq!(json.lines().count(), 1, "{name}");
        serde_json::from_str::<Value>(&json).unwrap();
        for line in of("ndjson").stdout.lines() {
            serde_json::from_str::<Value>(line).unwrap();
        }
        let csv = of("csv").stdout;
        let mut csv = csv::ReaderBuilder::new().from_reader(csv.as_bytes());
        assert!(csv.records().map(Result::unwrap).count() > 0, "{name}");
    }
}
