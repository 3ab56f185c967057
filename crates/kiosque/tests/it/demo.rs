//! `kiosque demo`: the printed calls work as printed, and the data is the same each time.

use std::process::Command;
use std::time::Instant;

use kiosque_testkit::{Ran, SWITCH_PATH, Sandbox, Served};
use serde_json::Value;

use crate::KIOSQUE;
use crate::fleet::fleet;
use crate::pages;

const TODAY: &str = "2026-03-31";

fn demo(sandbox: &Sandbox, today: &str) -> Served {
    let args = ["demo", "--listen", "127.0.0.1:0", "--today", today];
    Served::start(&mut sandbox.command(&args), &sandbox.data().join("tls/cert.pem"))
}

/// Runs the printed lines after "paste these" in a shell, as they are.
fn paste(served: &Served) -> Vec<Value> {
    let said = served.stdout_until("call \"$API/kioskDashboard/summary\" '{}'\n");
    let (_, calls) = said.split_once("# paste these\n").unwrap();
    let output = Command::new("bash").args(["-c", calls]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let answers = String::from_utf8(output.stdout).unwrap();
    answers.lines().map(|answer| serde_json::from_str(answer).unwrap()).collect()
}

/// Returns every page of every group that the first account can select, as the server sends it.
fn whole(served: &Served) -> Vec<Value> {
    let mut caller = served.connect();
    let login = r#"{"username":"demo","password":"kiosque-demo"}"#;
    let reply = caller.call(kiosque_testkit::TOKEN_PATH, None, login);
    let mut token = reply.success()["accessToken"].as_str().unwrap().to_owned();
    let groups = reply.success()["switchableGroups"].as_array().unwrap().clone();
    let mut all = Vec::new();
    for group in &groups {
        let body = format!(r#"{{"groupId":{}}}"#, group["groupId"]);
        let reply = caller.call(SWITCH_PATH, Some(&token), &body);
        token = reply.success()["accessToken"].as_str().unwrap().to_owned();
        all.push(group.clone());
        all.extend(pages::devices(&mut caller, &token));
        all.extend(pages::all_orders(&mut caller, &token).into_values().flatten());
    }
    all
}

#[test]
fn the_printed_calls_work_and_two_demos_of_one_day_are_alike() {
    let sandbox = KIOSQUE.sandbox();
    let begun = Instant::now();
    let mut served = demo(&sandbox, TODAY);
    let made_in = begun.elapsed();
    let said = served.stdout_until("password kiosque-demo\n");
    let head = format!("base URL   {}\naccount    demo  password kiosque-demo\n", served.base);
    assert!(said.starts_with(&head), "{said}");
    served.stderr_until("made ");
    let answers = paste(&served);
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[2]["data"]["kpiList"].as_array().map(Vec::len), Some(9), "{}", answers[2]);
    for answer in &answers[..2] {
        assert_eq!(answer["code"], 200, "{answer}");
        assert!(!answer["data"]["records"].as_array().unwrap().is_empty(), "{answer}");
    }
    let first = whole(&served);
    assert!(first.len() > 10_000, "{}", first.len());
    check_dates(&first);

    // Again in the same directory: nothing is created, and all is as before.
    served.signal("TERM");
    assert_eq!(served.wait().code(), Some(0));
    let begun = Instant::now();
    let served = demo(&sandbox, TODAY);
    println!("made in {made_in:?}, found again in {:?}", begun.elapsed());
    assert!(!served.stderr().contains("made "), "{}", served.stderr());
    assert_eq!(paste(&served)[..2], answers[..2]);
    check_dollars(&served);
    drop(served);

    // A demo opens no operator's listener, even when one is configured.
    let mut command = sandbox.command(&["demo", "--listen", "127.0.0.1:0", "--today", TODAY]);
    command.env("KIOSQUE_OPERATOR_LISTEN", "127.0.0.1:0");
    let served = Served::start(&mut command, &sandbox.data().join("tls/cert.pem"));
    let warning = "warning: a demo has no operator listener; operator_listen is ignored\n";
    assert_eq!(served.stderr(), warning);
    drop(served);

    // In the default directory of demos, on the same day: the same pages.
    let elsewhere = KIOSQUE.sandbox();
    let directory = elsewhere.path("kiosque-demo");
    let mut command = KIOSQUE.command();
    command.args(["demo", "--listen", "127.0.0.1:0", "--today", TODAY]);
    command.env("XDG_DATA_HOME", elsewhere.directory.path());
    let served = Served::start(&mut command, &directory.join("tls/cert.pem"));
    assert!(whole(&served) == first, "two demos of one day differ");
    Ran::of(KIOSQUE.command().arg("verify").arg("--data").arg(&directory)).success();
}

/// The month that the demo ends with has sales in every currency, and a rate for each.
fn check_dollars(served: &Served) {
    let mut caller = served.connect();
    let login = r#"{"username":"demo","password":"kiosque-demo"}"#;
    let reply = caller.call(kiosque_testkit::TOKEN_PATH, None, login);
    let token = reply.success()["accessToken"].as_str().unwrap().to_owned();
    for group in reply.success()["switchableGroups"].as_array().unwrap() {
        // March 2026, UTC.
        let body = format!(
            r#"{{"groupId":{},"startTimestamp":1772323200000,"endTimestamp":1775001600000}}"#,
            group["groupId"]
        );
        let summary = caller.call(kiosque_testkit::SUMMARY_PATH, Some(&token), &body);
        assert_eq!(summary.success()["unconvertedOrders"], 0, "{summary:?}");
        let amount = summary.success()["kpiList"][0]["value"].as_str().unwrap();
        assert!(amount.replace(',', "").parse::<f64>().unwrap() > 1_000.0, "{amount}");
    }
}

/// A device exists before its first order, and the last order is of the last day.
fn check_dates(all: &[Value]) {
    let starts = all.iter().filter_map(|record| record["tradeStartTime"].as_str());
    let (first, last) = (starts.clone().min().unwrap(), starts.max().unwrap());
    assert!(first.starts_with("2026-01-31"), "{first}");
    assert!(last.starts_with(TODAY), "{last}");
    let made = all.iter().filter_map(|record| record["createTimestamp"].as_i64());
    // 2026-01-31 00:00 UTC.
    assert!(made.clone().count() > 20 && made.max() < Some(1_769_817_600_000));
}

#[test]
fn another_day_is_generated_again_and_other_data_is_refused() {
    let sandbox = KIOSQUE.sandbox();
    drop(demo(&sandbox, TODAY));
    let served = demo(&sandbox, "2026-04-02");
    served.stderr_until("the last on 2026-04-02");
    // A second demo there is refused, and the first one is served on.
    let ran = sandbox.run(&["demo", "--listen", "127.0.0.1:0", "--today", TODAY]).failure();
    let holder = format!("is used by `kiosque demo`, process {}; stop it", served.process());
    assert!(ran.stderr.contains(&holder), "{}", ran.stderr);
    let answers = paste(&served);
    let newest = &answers[1]["data"]["records"][0]["tradeStartTime"];
    assert!(newest.as_str().unwrap().starts_with("2026-04-02"), "{newest}");
    drop(served);

    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let before = std::fs::read(sandbox.data().join("kiosque.db")).unwrap();
    let ran = sandbox.run(&["demo", "--listen", "127.0.0.1:0", "--today", TODAY]).failure();
    let directory = sandbox.data();
    let said = format!(
        "kiosque: {} holds data that is not a demo's; choose another directory with --data DIR\n",
        directory.display()
    );
    assert_eq!((ran.stdout.as_str(), ran.stderr), ("", said));
    assert!(std::fs::read(directory.join("kiosque.db")).unwrap() == before);
    assert!(!directory.join("tls").exists());
}
