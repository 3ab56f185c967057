//! `kiosque session`, `kiosque audit` and `kiosque rates`.

use std::os::unix::fs::MetadataExt;

use kiosque_testkit::DEVICES_PATH;
use serde_json::json;

use crate::KIOSQUE;
use crate::fleet::{fleet, order, order_with};

/// A session that the operator ends is refused from the next request on, and the account may log in
/// again (AUTH-26).
#[test]
fn a_session_is_listed_and_ended() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let served = sandbox.serve();
    let (mut caller, token) = served.log_in("walker");
    let listed = sandbox.run(&["session", "list"]).success().stdout;
    let (header, row) = listed.split_once('\n').unwrap();
    let header: Vec<&str> = header.split_whitespace().collect();
    assert_eq!(header, ["LOGIN", "NAME", "GROUP", "OPENED", "EXPIRES", "SOURCE"]);
    let row: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((row[..2].to_vec(), row[6]), (vec!["walker", "north"], "127.0.0.1"));
    assert_eq!(sandbox.json(&["session", "list"])[0]["account"], "walker");

    let ended = sandbox.run(&["session", "end", "walker"]).success().stdout;
    assert!(ended.starts_with("ended the session of walker, opened at 20"), "{ended}");
    assert!(ended.contains(" from 127.0.0.1\n"), "{ended}");
    assert_eq!(caller.call(DEVICES_PATH, Some(&token), "{}").code(), -4);
    assert_eq!(sandbox.json(&["session", "list"]), json!([]));
    let again = sandbox.run(&["session", "end", "walker"]).success().stdout;
    assert_eq!(again, "walker has no session; nothing changed\n");
    let unknown = sandbox.run(&["session", "end", "stranger"]).failure().stderr;
    let message = "kiosque: no account stranger is known; `kiosque account list` prints all\n";
    assert_eq!(unknown, message);
    caller.log_in("walker", "secret");

    let trail = sandbox.json(&["audit", "--event", "sessionEnded"]);
    let entry = &trail[0];
    assert_eq!(trail.as_array().unwrap().len(), 1, "{trail}");
    assert_eq!((&entry["account"], &entry["actor"]), (&json!("walker"), &json!("command")));
    assert_eq!((&entry["detail"], &entry["groupId"]), (&json!("endedByOperator"), &json!("north")));
    assert_eq!(entry["replaced"]["source"], "127.0.0.1");
}

#[test]
fn the_audit_trail_is_filtered() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let served = sandbox.serve();
    served.connect().log_in("walker", "secret");
    served.connect().log_in("guest", "secret");
    let events = |args: &[&str]| {
        let trail = sandbox.json(&[&["audit"], args].concat());
        let events = trail.as_array().unwrap().iter().map(|one| one["event"].as_str().unwrap());
        events.map(str::to_owned).collect::<Vec<_>>()
    };
    let [login, applied] = ["login", "fleetApplied"];
    for (args, expected) in [
        (&[][..], &[login, login, applied][..]),
        (&["--limit", "1"], &[login]),
        (&["--limit", "0"], &[]),
        (&["--event", "fleetApplied"], &[applied]),
        (&["--account", "guest"], &[login]),
        (&["--account", "stranger"], &[]),
        (&["--source", "127.0.0.1"], &[login, login]),
        (&["--source", "127.0.0.1", "--account", "walker", "--event", "logout"], &[]),
        (&["--since", "2999-01-01"], &[]),
        (&["--since", "2020-01-01 00:00:00"], &[login, login, applied]),
    ] {
        assert_eq!(events(args), expected, "{args:?}");
    }
    let table = sandbox.run(&["audit", "--event", "fleetApplied"]).success().stdout;
    let (header, row) = table.split_once('\n').unwrap();
    let columns: Vec<&str> = header.split_whitespace().collect();
    assert_eq!(columns, ["TIME", "EVENT", "ACCOUNT", "ACTOR", "SOURCE", "COUNT", "DETAIL"]);
    assert!(row.contains("  fleetApplied  -        command ("), "{row}");
    assert!(row.contains(")  -           1  groups: 2 created"), "{row}");
    insta::assert_snapshot!(sandbox.transcript(&[
        &["audit", "--event", "logins"],
        &["audit", "--source", "here"],
        &["audit", "--since", "now"],
    ]));
}

#[test]
fn exchange_rates_are_listed() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let rates = "date,currency,usd_per_unit\n2026-02-01,EUR,1.1\n2026-01-01,EUR,1.0837\n\
                 2026-01-01,JPY,0.0067\n";
    let rates = sandbox.file("rates.csv", rates);
    sandbox.run(&["import", "rates", &rates]).success();
    insta::assert_snapshot!(
        sandbox.transcript(&[&["rates", "list"], &["rates", "list", "--output", "json"],])
    );
}

/// Commands record their changes in the trail, also when there were none. The details of entries
/// are fields: the user, the command, the file, and the changed entries.
#[test]
fn commands_are_recorded_with_details_as_fields() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let moved = "[[device]]\ncode = \"D2\"\ngroup = \"south\"\nsince = \"2026-02-01\"\n\
                 [[device]]\ncode = \"D1\"\nname = \"Other\"\n";
    sandbox.apply(moved);
    let orders = [order("o1"), order("o2"), order_with("o3", "D1", "D2"), "nonsense".to_owned()];
    let orders = sandbox.file("orders.ndjson", orders.join("\n"));
    sandbox.run(&["import", "orders", &orders]).failure();
    let rates = sandbox.file("rates.csv", "date,currency,usd_per_unit\n2026-01-01,EUR,1.1\n");
    sandbox.run(&["import", "rates", &rates]).success();
    for _ in 0..2 {
        sandbox.run(&["archive", "--before", "2026-02-01"]).success();
    }
    sandbox.create_key(&["till", "--may", "read"]);
    let uid = std::fs::metadata("/proc/self").unwrap().uid();
    let mut trail = sandbox.json(&["audit"]);
    let trail = trail.as_array_mut().unwrap();
    // Of the first fleet, the kinds of its entries are compared below.
    let first = trail.pop().unwrap()["details"].take();
    for entry in trail.iter_mut() {
        let entry = entry.as_object_mut().unwrap();
        entry.retain(|key, _| ["event", "actor", "detail", "details"].contains(&key.as_str()));
        let details = entry["details"].as_object_mut().unwrap();
        assert_eq!(details["uid"], uid);
        details.retain(|key, _| !["uid", "user"].contains(&key.as_str()));
    }
    let directory = sandbox.directory.path().to_str().unwrap();
    insta::assert_snapshot!(
        serde_json::to_string_pretty(&trail).unwrap().replace(directory, "DIR")
    );
    let created = first["entries"].as_array().unwrap();
    let kinds: Vec<&str> = created.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["group", "group", "account", "account", "product", "device", "device"]);
    assert!(created.iter().all(|one| one["change"] == "created"), "{first}");
    assert_eq!(created[6]["groupId"], "north");
}
