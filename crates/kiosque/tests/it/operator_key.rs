//! `kiosque operator-key`: the key is printed once, alone on one line of stdout; a revoked key is
//! refused from the next request. `console_link` searches the data and the log for a key.

use kiosque_model::{UnixMs, Zone};
use kiosque_testkit::{ORDERS_CALL, Ran, Sandbox, Served};
use serde_json::Value;

use crate::KIOSQUE;
use crate::fleet::{fleet, order};

const FLEETS: &str = "/operator/v1/fleet";

fn create(sandbox: &Sandbox, args: &[&str]) -> String {
    let ran = sandbox.run(&[&["operator-key", "create"], args].concat()).success();
    assert_eq!(ran.stderr, "");
    let key = ran.stdout.strip_suffix('\n').unwrap().to_owned();
    let in_alphabet = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    assert!(key.starts_with("kqo_") && key.len() == 47 && key.bytes().all(in_alphabet), "{key}");
    key
}

fn status(served: &Served, path: &str, key: &str, body: &str) -> u16 {
    served.connect_operator().call_operator(path, key, body).unwrap().status
}

#[test]
fn a_key_is_created_and_revoked_while_the_server_runs() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let served = sandbox.serve();
    let (till, all) = (create(&sandbox, &["till", "--may", "orders"]), create(&sandbox, &["all"]));
    assert_ne!(till, all);
    assert_eq!(status(&served, ORDERS_CALL, &till, &order("o1")), 200);
    assert_eq!(status(&served, FLEETS, &till, "{}"), 403);
    assert_eq!(status(&served, FLEETS, &all, "{}"), 200);
    // On a connection that was accepted a moment ago, too.
    let mut caller = served.connect_operator();
    assert_eq!(caller.call_operator(ORDERS_CALL, &till, "").unwrap().status, 200);
    assert_eq!(sandbox.run(&["operator-key", "revoke", "till"]).success().stdout, "revoked till\n");
    let revoked = caller.call_operator(ORDERS_CALL, &till, "").unwrap();
    let never = caller.call_operator(ORDERS_CALL, "kqo_none", "").unwrap();
    assert_eq!((revoked.status, &revoked.json["detail"]), (401, &never.json["detail"]));
    assert_eq!(status(&served, ORDERS_CALL, &all, ""), 200);
    let again = create(&sandbox, &["till", "--may", "fleet"]);
    assert_eq!(status(&served, ORDERS_CALL, &again, ""), 403);
    assert_eq!(status(&served, ORDERS_CALL, &till, ""), 401);
}

#[test]
fn impossible_commands_on_keys_are_reported() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    create(&sandbox, &["till"]);
    let Ran { stdout, stderr: taken, .. } =
        sandbox.run(&["operator-key", "create", "till"]).failure();
    assert_eq!(stdout, "");
    assert!(taken.starts_with("kiosque: a key named till has existed since 20"), "{taken}");
    assert!(taken.ends_with(" UTC; revoke it, or choose another name\n"), "{taken}");
    let shown = sandbox.transcript(&[
        &["operator-key", "revoke", "safe"],
        &["operator-key", "create", "safe", "--may", "orders,everything"],
        &["operator-key", "create", &"x".repeat(65)],
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn keys_are_listed_for_people_and_for_programs() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Asia/Tokyo");
    create(&sandbox, &["till", "--may", "activity,orders"]);
    sandbox.run(&["operator-key", "revoke", "till"]).success();
    create(&sandbox, &["till"]);
    let Ran { stdout, .. } = sandbox.run(&["operator-key", "list"]).success();
    let rows: Vec<Vec<&str>> = stdout.lines().map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "RIGHTS", "CREATED", "REVOKED"]);
    assert_eq!(rows[1][..2], ["till", "orders,activity"]);
    assert_eq!(
        (&rows[2][..2], rows[2][4]),
        (&["till", "orders,activity,fleet,audit,read,keys"][..], "-")
    );

    let json = sandbox.run(&["operator-key", "list", "--json"]).success().stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["may"], serde_json::json!(["orders", "activity"]));
    let [created, revoked] = ["createdTimestamp", "revokedTimestamp"].map(|name| &json[0][name]);
    assert!(revoked.as_i64() >= created.as_i64());
    // Times are local, as in other lists.
    let zone = Zone::named("Asia/Tokyo").unwrap();
    let shown = [created, revoked].map(|at| zone.text(UnixMs(at.as_i64().unwrap())));
    assert_eq!(rows[1][2..].join(" "), shown.join(" "));
    assert_eq!((&json[1]["name"], &json[1]["revokedTimestamp"]), (&"till".into(), &Value::Null));
}
