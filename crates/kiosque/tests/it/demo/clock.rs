//! A demo with its own clock: sessions, the present month and new orders follow it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kiosque_testkit::blocking::Client;
use kiosque_testkit::{Reply, SUMMARY_PATH, Sandbox, Served, TOKEN_PATH, wait_until};
use serde_json::Value;

use super::{FREE_PORTS, LOGIN};
use crate::KIOSQUE;

/// Ten seconds before a month begins.
const START: &str = "2026-03-31T23:59:50Z";
const START_MS: i64 = 1_775_001_590_000;

fn demo(sandbox: &Sandbox, more: &[&str]) -> Served {
    super::start(sandbox, &[&["--timezone", "UTC", "--clock", START], more].concat())
}

fn log_in(caller: &mut Client) -> (String, i64) {
    let reply = caller.call(TOKEN_PATH, None, LOGIN);
    let data = reply.success();
    (data["accessToken"].as_str().unwrap().to_owned(), data["expiresIn"].as_i64().unwrap())
}

fn summary(caller: &mut Client, token: &str) -> Reply {
    caller.call(SUMMARY_PATH, Some(token), "{}")
}

/// Returns the range of a summary, which ends now (DASH-2).
fn range(reply: &Reply) -> (i64, i64) {
    let end = |name: &str| reply.success()[name].as_i64().unwrap();
    (end("startTimestamp"), end("endTimestamp"))
}

/// AUTH-6: a token is valid until the demo's clock shows its end.
#[test]
fn sessions_expire_by_the_clock() {
    let sandbox = KIOSQUE.sandbox();
    let more = ["--quiet", "--clock-speed", "600x", "--token-validity", "10m"];
    let served = demo(&sandbox, &more);
    let mut caller = served.connect();
    let (token, end) = log_in(&mut caller);
    assert!(end >= START_MS + 600_000, "{end}");
    wait_until("the token has expired", || {
        let reply = summary(&mut caller, &token);
        let is_expired = reply.code() == -4;
        assert!(is_expired || range(&reply).1 < end, "{end}: {reply:?}");
        is_expired
    });
    let (_, later) = log_in(&mut caller);
    assert!(later >= end + 600_000, "{end} {later}");
}

/// DASH-2: the present month begins at midnight of the demo's clock.
#[test]
fn the_month_begins_by_the_clock() {
    let sandbox = KIOSQUE.sandbox();
    let served = demo(&sandbox, &["--quiet", "--clock-speed", "5x"]);
    let line = "\nclock      began at 2026-03-31T23:59:50.000Z, 5 times as fast\n";
    let said = served.stdout_until("\nkiosks ");
    assert!(said.contains(line), "{said}");
    // A link of a minute would end in seconds.
    let console =
        format!("console    https://{}/console/  (sign in with the key", served.operator());
    assert!(said.starts_with(&console), "{said}");
    let mut caller = served.connect();
    let (token, _) = log_in(&mut caller);
    let (march, april) = (1_772_323_200_000, START_MS + 10_000);
    wait_until("April has begun", || {
        let (start, now) = range(&summary(&mut caller, &token));
        assert!(now >= START_MS, "{now}");
        assert_eq!(start, if now < april { march } else { april }, "{now}");
        start == april
    });
}

/// Returns the orders that start in each second from the demo's start on.
fn orders_by_second(sandbox: &Sandbox) -> BTreeMap<String, usize> {
    let exported = sandbox.run(&["orders", "export"]).success().stdout;
    let starts = exported.lines().map(|line| {
        let order: Value = serde_json::from_str(line).unwrap();
        let start = order["tradeStartTime"].as_str().unwrap().replace(' ', "T");
        start[..19].to_owned()
    });
    let mut in_second = BTreeMap::new();
    for start in starts.filter(|start| start.as_str() >= &START[..19]) {
        *in_second.entry(start).or_default() += 1;
    }
    in_second
}

/// Five orders start in each second of the clock, whatever its speed and the machine's.
#[test]
fn new_orders_follow_the_clock() {
    let sandbox = KIOSQUE.sandbox();
    let served = demo(&sandbox, &["--clock-speed", "60x", "--stream", "5/s"]);
    let mut caller = served.connect();
    let (token, _) = log_in(&mut caller);
    let mut now = || range(&summary(&mut caller, &token)).1;
    wait_until("a minute of the clock has passed", || now() >= START_MS + 60_000);
    // Orders are stored in batches, one after the other. Each round sees a part of a batch that
    // began later than the round, so that the batches before it are complete.
    let mut orders = BTreeMap::new();
    for _ in 0..2 {
        let after = Timestamp::from_millisecond(now()).unwrap().to_string();
        wait_until("an order has started since then", || {
            orders = orders_by_second(&sandbox);
            orders.keys().next_back().is_some_and(|last| last.as_str() > &after[..19])
        });
    }
    let minute = orders.range(START[..19].to_owned().."2026-04-01T00:00:50".to_owned());
    let counts: Vec<usize> = minute.map(|(_, count)| *count).collect();
    assert_eq!(counts, [5; 60], "{orders:?}");
}

/// A clock, a speed or a rate that a demo cannot have is refused with the reason.
#[test]
fn clocks_and_rates_are_refused_with_a_reason() {
    let demo = |args: &[&'static str]| [&FREE_PORTS, args].concat();
    insta::assert_snapshot!(KIOSQUE.sandbox().transcript(&[
        &demo(&["--clock", "2026-03-31"]),
        &demo(&["--today", "31.3.2026"]),
        &demo(&["--clock", START, "--today", "2026-03-31"]),
        &demo(&["--clock-speed", "60"]),
        &demo(&["--stream", "5"]),
        &demo(&["--stream", "100/s", "--clock-speed", "60x"]),
    ]));
}
