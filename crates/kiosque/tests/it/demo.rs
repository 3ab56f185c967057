//! `kiosque demo`: the printed calls work as printed, and the data is the same each time.

mod clock;

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use kiosque_testkit::blocking::Client;
use kiosque_testkit::{Ran, SUMMARY_PATH, Sandbox, Served, TOKEN_PATH, wait_until};
use serde_json::Value;

use crate::KIOSQUE;
use crate::fleet::fleet;
use crate::pages;

const TODAY: &str = "2026-03-31";

pub(crate) const FREE_PORTS: [&str; 5] =
    ["demo", "--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0"];

/// The body of a login of the first account.
const LOGIN: &str = r#"{"username":"demo","password":"kiosque-demo"}"#;

/// Starts a demo on free ports.
pub(crate) fn start(sandbox: &Sandbox, more: &[&str]) -> Served {
    sandbox.start(&mut sandbox.command(&[&FREE_PORTS, more].concat()))
}

/// Starts a demo in its default directory, below the user's data in this one.
pub(crate) fn start_in_home(home: &Path, more: &[&str]) -> Served {
    let mut command = KIOSQUE.command();
    command.args(FREE_PORTS).args(more).env("XDG_DATA_HOME", home);
    Served::start(&mut command, &home.join("kiosque-demo/tls/cert.pem"))
}

/// Starts a demo of a day, without new orders.
pub(crate) fn start_quiet(sandbox: &Sandbox, today: &str) -> Served {
    start(sandbox, &["--quiet", "--today", today])
}

/// Returns the operator's key that a demo prints.
pub(crate) fn key(served: &Served) -> String {
    let printed = served.stdout_until("\n# Ctrl-C stops the demo\n");
    let (_, key) = printed.split_once("\nkey        ").unwrap();
    key.split_whitespace().next().unwrap().to_owned()
}

/// Logs the first account in. Returns the connection, the token, and the groups to select.
fn log_in(served: &Served) -> (Client, String, Vec<Value>) {
    let mut caller = served.connect();
    let reply = caller.call(TOKEN_PATH, None, LOGIN);
    let token = reply.success()["accessToken"].as_str().unwrap().to_owned();
    let groups = reply.success()["switchableGroups"].as_array().unwrap().clone();
    (caller, token, groups)
}

/// Runs the printed lines after "paste these" in a shell, as they are.
fn paste(served: &Served) -> Vec<Value> {
    let said = served.stdout_until("\n# Ctrl-C stops the demo\n");
    let (_, calls) = said.split_once("# paste these\n").unwrap();
    let output = Command::new("bash").args(["-c", calls]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let answers = String::from_utf8(output.stdout).unwrap();
    answers.lines().map(|answer| serde_json::from_str(answer).unwrap()).collect()
}

/// Returns every page of every group that the first account can select, as the server sends it.
fn whole(served: &Served) -> Vec<Value> {
    let (mut caller, mut token, groups) = log_in(served);
    let mut all = Vec::new();
    for group in groups {
        token = caller.switch(&token, group["groupId"].as_str().unwrap());
        all.push(group);
        all.extend(pages::devices(&mut caller, &token));
        all.extend(pages::all_orders(&mut caller, &token).into_values().flatten());
    }
    all
}

#[test]
fn the_printed_calls_work_and_two_demos_of_one_day_are_alike() {
    let sandbox = KIOSQUE.sandbox();
    let begun = Instant::now();
    let mut served = start_quiet(&sandbox, TODAY);
    let made_in = begun.elapsed();
    let said = served.stdout_until("password kiosque-demo\n");
    let console = format!("console    https://{}/console/login?link=", served.operator());
    assert!(said.starts_with(&console), "{said}");
    let head = format!("\nbase URL   {}\naccount    demo  password kiosque-demo\n", served.base);
    assert!(said.contains(&head), "{said}");
    served.stderr_until("made ");
    let answers = paste(&served);
    assert_eq!(answers.len(), 4);
    assert_eq!(answers[3]["deviceCount"], 40, "{}", answers[3]);
    introduces_all(&served);
    assert_eq!(answers[2]["data"]["kpiList"].as_array().map(Vec::len), Some(9), "{}", answers[2]);
    for answer in &answers[..2] {
        assert_eq!(answer["code"], 200, "{answer}");
        assert!(!answer["data"]["records"].as_array().unwrap().is_empty(), "{answer}");
    }
    let first = whole(&served);
    assert!(first.len() > 10_000, "{}", first.len());
    check_dates(&first);

    // Again in the same directory: nothing is created, and all is as before.
    assert!(served.stop().success());
    let begun = Instant::now();
    let served = start_quiet(&sandbox, TODAY);
    println!("made in {made_in:?}, found again in {:?}", begun.elapsed());
    assert!(!served.stderr().contains("made "), "{}", served.stderr());
    assert_eq!(paste(&served)[..2], answers[..2]);
    check_dollars(&served);
    drop(served);

    // In the default directory of demos, on the same day: the same pages.
    let elsewhere = KIOSQUE.sandbox();
    let directory = elsewhere.path("kiosque-demo");
    let served = start_in_home(elsewhere.directory.path(), &["--quiet", "--today", TODAY]);
    assert!(whole(&served) == first, "two demos of one day differ");
    Ran::of(KIOSQUE.command().arg("verify").arg("--data").arg(&directory)).success();
}

/// Every account is printed with its password, and every group.
fn introduces_all(served: &Served) {
    let said = served.stdout();
    for account in ["demo", "campus", "office", "former", "newcomer"] {
        assert!(said.contains(&format!(" {account}  password kiosque-demo")), "{said}");
    }
    for group in ["harbor-offices", "metropole-gares", "tokyo-stations", "lakeside-campus"] {
        assert!(said.contains(&format!("\ngroup      {group} ")), "{said}");
    }
    assert!(said.contains("AIR-001 to AIR-003, EUR, deactivated\n"), "{said}");
}

/// The days of the demo have sales in every currency, and a rate for each.
fn check_dollars(served: &Served) {
    let (mut caller, token, groups) = log_in(served);
    for group in groups {
        // From the end of January to the end of March 2026.
        let body = format!(
            r#"{{"groupId":{},"startTimestamp":1769731200000,"endTimestamp":1775088000000}}"#,
            group["groupId"]
        );
        let summary = caller.call(SUMMARY_PATH, Some(&token), &body);
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
    drop(start_quiet(&sandbox, TODAY));
    let served = start_quiet(&sandbox, "2026-04-02");
    served.stderr_until("the last on 2026-04-02");
    // A second demo there is refused, and the first one is served on.
    let ran = sandbox.run(&FREE_PORTS).failure();
    let holder = format!("is used by `kiosque demo`, process {}; stop it", served.process());
    assert!(ran.stderr.contains(&holder), "{}", ran.stderr);
    let answers = paste(&served);
    let newest = &answers[1]["data"]["records"][0]["tradeStartTime"];
    assert!(newest.as_str().unwrap().starts_with("2026-04-02"), "{newest}");
    drop(served);

    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let before = sandbox.files();
    let ran = sandbox.run(&FREE_PORTS).failure();
    let said = format!(
        "kiosque: {} contains data that is not a demo's; choose another directory with --data \
         DIR\n",
        sandbox.data().display()
    );
    assert_eq!((ran.stdout.as_str(), ran.stderr), ("", said));
    assert!(sandbox.files() == before, "data that is not a demo's has changed");
}

/// Returns the answer to a dashboard call of the first account.
fn dashboard(served: &Served, function: &str) -> Value {
    let (mut caller, token, _) = log_in(served);
    let path = format!("{}{function}", SUMMARY_PATH.trim_end_matches("summary"));
    caller.call(&path, Some(&token), "{}").success().clone()
}

/// While a demo serves, most kiosks are online and orders arrive; the operator's calls take the
/// printed key, which changes with each demo.
#[test]
fn a_demo_is_alive_unless_it_is_quiet() {
    let sandbox = KIOSQUE.sandbox();
    let status = |served: &Served, key: &str| {
        let url = format!("https://{}/operator/v1/status", served.operator());
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--cacert"]).arg(sandbox.certificate()).arg(&url);
        curl.arg("-H").arg(format!("Authorization: Bearer {key}"));
        serde_json::from_str::<Value>(&Ran::of(&mut curl).success().stdout).unwrap()
    };
    let served = start(&sandbox, &[]);
    let first_key = key(&served);
    wait_until("ten of eleven kiosks of the default group are online", || {
        let online = dashboard(&served, "onlineDevices");
        (&online["totalCount"], &online["onlineCount"]) == (&11.into(), &10.into())
    });
    let orders = || status(&served, &first_key)["orderCount"].as_u64().unwrap();
    let before = orders();
    wait_until("two orders arrive", || orders() >= before + 2);
    drop(served);

    let served = start(&sandbox, &["--quiet"]);
    assert_eq!(status(&served, &first_key)["status"], 401);
    assert_eq!(status(&served, &key(&served))["deviceCount"], 40);
    assert!(served.stdout().contains("\nkiosks     silent: "), "{}", served.stdout());
}

/// A signal that arrives when the data has just been made ends the demo like any other, also if its
/// directory is deleted.
#[test]
fn a_demo_ends_by_a_signal_before_it_serves() {
    for directory in ["stays", "is deleted"] {
        let sandbox = KIOSQUE.sandbox();
        let mut command = sandbox.command(&FREE_PORTS);
        let mut served = Served::spawn(&mut command, &sandbox.certificate());
        served.stderr_until("made ");
        if directory == "is deleted" {
            std::fs::remove_dir_all(sandbox.data()).unwrap();
        }
        served.stop();
    }
}

/// The printed calls name an address that can be called, and quote any directory.
#[test]
fn the_printed_calls_work_on_every_address_and_in_any_directory() {
    let sandbox = KIOSQUE.sandbox();
    let home = sandbox.path("the operator's home");
    let mut command = KIOSQUE.command();
    command.args(["demo", "--quiet", "--listen", "0.0.0.0:0", "--operator-listen", "0.0.0.0:0"]);
    let certificate = home.join("kiosque-demo/tls/cert.pem");
    let served = Served::start(command.env("XDG_DATA_HOME", &home), &certificate);
    let answers = paste(&served);
    assert!(answers.len() > 3 && answers[0]["code"] == 200, "{answers:?}");
}

/// Default ports that are in use are replaced by free ones, and an address that was given is not.
#[test]
fn a_demo_takes_free_ports_unless_its_addresses_are_given() {
    // Another process may have them already.
    let _held = ["127.0.0.1:8443", "127.0.0.1:8444"].map(TcpListener::bind);
    let sandbox = KIOSQUE.sandbox();
    let served = sandbox.start(&mut sandbox.command(&["demo", "--quiet"]));
    let ports = [served.address().port(), served.operator().port()];
    assert!(!ports.contains(&8443) && !ports.contains(&8444), "{ports:?}");
    let held = served.address().to_string();
    for (flag, other) in [("--listen", "--operator-listen"), ("--operator-listen", "--listen")] {
        let another = KIOSQUE.sandbox();
        let ran = another.run(&["demo", flag, &held, other, "127.0.0.1:0"]).failure();
        let said = format!("(see {flag}): Address already in use");
        assert!(ran.stderr.contains(&held) && ran.stderr.contains(&said), "{}", ran.stderr);
    }
}
