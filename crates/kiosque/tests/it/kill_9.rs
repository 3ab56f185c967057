//! An import or a server that is killed at any moment loses no acknowledged order.

mod archive;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::Range;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kiosque_testkit::blocking::Client;
use kiosque_testkit::{
    BY_DEVICE_PATH, DEVICES_PATH, FleetToml, ORDERS_CALL, ORDERS_PATH, Rng, SUMMARY_PATH, Sandbox,
    Served, seed, size, wait_until,
};
use serde_json::{Value, json};

use crate::KIOSQUE;
use crate::pages;
use crate::shell::after;

/// Orders of the file that is imported.
const ORDERS: usize = 6_000;
const DEVICES: usize = 4;
/// Sizes in blocks of 512 bytes. A log that grows to one of them has some orders in it, and neither
/// it nor the data can hold half of them: all take more than two megabytes.
const LOG_BLOCKS: Range<i64> = 800..2_000;

fn fleet() -> FleetToml {
    let fleet = FleetToml::new().group("g", "Group").account("walker", &["g"]);
    let codes = (0..DEVICES).map(|number| format!("D{number}"));
    codes.fold(fleet, |fleet, code| fleet.device(&code, &code, "g"))
}

/// Orders in no order of time, some of them with a second, later version further down.
fn file() -> String {
    let mut file = String::new();
    for at in 0..ORDERS {
        let at = at * 2_531 % ORDERS;
        put_order(&mut file, at, 0);
    }
    for at in (0..ORDERS).step_by(50) {
        put_order(&mut file, at, 7);
    }
    file
}

fn put_order(file: &mut String, at: usize, refund: usize) {
    let start = jiff::Timestamp::from_second(1_767_225_600).unwrap();
    let start = start + jiff::SignedDuration::from_secs(60 * i64::try_from(at).unwrap());
    let (device, total) = (at % DEVICES, 100 + at);
    let order = json!({
        "orderId": format!("K{at}"), "deviceCode": format!("D{device}"), "currency": "USD",
        "totalAmount": total, "refundAmount": refund,
        "tradeStartTime": start.to_string(), "payEndTime": start.to_string(),
        "detailVOList": [
            {"goodsId": format!("g{device}"), "salePrice": total},
            {"goodsId": "x", "goodsName": format!("x{at}")},
        ],
    });
    writeln!(file, "{order}").unwrap();
}

type Pages = BTreeMap<String, Vec<Value>>;

fn walked(sandbox: &Sandbox) -> Pages {
    let served = sandbox.serve();
    let (mut caller, token) = served.log_in("walker");
    pages::all_orders(&mut caller, &token)
}

/// Returns the number of orders in the sums, and the answers of the dashboard.
fn summed(sandbox: &Sandbox) -> (usize, [Value; 2]) {
    let served = sandbox.serve();
    let (mut caller, token) = served.log_in("walker");
    let range =
        json!({"startTimestamp": 1_767_139_200_000_i64, "endTimestamp": 1_767_830_400_000_i64});
    let answers = [SUMMARY_PATH, BY_DEVICE_PATH]
        .map(|path| caller.call(path, Some(&token), &range.to_string()).success().clone());
    let devices = answers[1].as_array().unwrap().iter();
    let orders: u64 = devices.map(|device| device["orderCount"].as_u64().unwrap()).sum();
    (usize::try_from(orders).unwrap(), answers)
}

/// Checks that every order is stored once, each device's newest first, each as in the file.
fn check_against_the_file(pages: &Pages) {
    assert_eq!(pages.len(), DEVICES);
    for (device, orders) in (0..DEVICES).zip(pages.values()) {
        let expected = (0..ORDERS).rev().filter(|at| at % DEVICES == device);
        assert_eq!(orders.len(), ORDERS / DEVICES);
        for (at, order) in expected.zip(orders) {
            assert_eq!(order["orderId"], format!("K{at}"));
            assert_eq!(order["totalAmount"], 100 + at);
            assert_eq!(order["refundAmount"], if at % 50 == 0 { 7 } else { 0 }, "{at}");
            assert_eq!(order["detailVOList"][1]["goodsName"], format!("x{at}"));
        }
    }
}

/// Copies the files of a data directory, with its certificate.
pub(crate) fn copy_data(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copy = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_data(&path, &copy);
        } else {
            std::fs::copy(&path, copy).unwrap();
        }
    }
}

/// Returns a random duration of less than `most` microseconds.
fn below_us(rng: &mut Rng, most: usize) -> Duration {
    Duration::from_micros(rng.below(most) as u64)
}

/// When a command is killed.
#[derive(Clone, Copy)]
enum When {
    /// Some time after its start, before or after its end perhaps.
    After(Duration),
    /// When a file would grow beyond this many blocks of 512 bytes.
    Grown(i64),
}

/// Runs a command and kills it; returns whether the growth of a file has killed it.
fn run_and_kill(sandbox: &Sandbox, args: &[&str], when: When) -> bool {
    let mut command = sandbox.command(args);
    match when {
        When::After(time) => {
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            thread::sleep(time);
            child.kill().unwrap();
            child.wait().unwrap();
            false
        }
        When::Grown(blocks) => {
            // The system kills a process that writes beyond the limit, as suddenly as kill -9.
            let mut limited = after(&format!("ulimit -c 0; ulimit -f {blocks}"), &command);
            limited.output().unwrap().status.signal().is_some()
        }
    }
}

#[test]
fn kill_9_of_an_import_loses_nothing_and_doubles_nothing() {
    let rounds = size(5, 200);
    let whole = KIOSQUE.sandbox_with(fleet(), "UTC");
    let fresh = KIOSQUE.sandbox();
    copy_data(&whole.data(), &fresh.data());
    let file = whole.file("orders.ndjson", file());
    let begun = Instant::now();
    let ran = whole.run(&["import", "orders", &file]).success();
    let takes = begun.elapsed();
    assert_eq!(ran.counts(), [ORDERS, ORDERS / 50, 0, 0]);
    let reference = (walked(&whole), summed(&whole));
    check_against_the_file(&reference.0);
    assert_eq!(reference.1.0, ORDERS);
    assert_eq!(reference.1.1[0]["kpiList"][4]["value"], "8.40", "refunds: 7 cents, 120 times");

    let seed = seed();
    println!("kill_9: KIOSQUE_SEED={seed}, an import takes {takes:?}");
    let mut rng = Rng::seeded(seed);
    let mut amid = 0;
    for round in 0..rounds {
        let sandbox = KIOSQUE.sandbox();
        copy_data(&fresh.data(), &sandbox.data());
        let mut must_be_amid = false;
        // Every third import is killed twice.
        let kills = 1 + usize::from(round % 3 == 2);
        for kill in 0..kills {
            let when = match (round + kill) % 2 {
                0 => When::After(below_us(&mut rng, usize::try_from(takes.as_micros()).unwrap())),
                _ => When::Grown(rng.range(LOG_BLOCKS)),
            };
            // At that size some orders, and not all, are stored if none were before.
            let surely = run_and_kill(&sandbox, &["import", "orders", &file], when);
            assert_eq!(surely, matches!(when, When::Grown(_)), "round {round}: it ended by itself");
            must_be_amid = surely && kills == 1;
        }
        let is_amid = check_after_kill(&sandbox, &file, &reference, round);
        assert!(is_amid || !must_be_amid, "round {round}: none or all of the orders are stored");
        amid += usize::from(is_amid);
    }
    println!("kill_9: {rounds} imports killed, {amid} of them with some orders stored");
}

/// Imports again; returns whether some orders, but not all, had been stored before.
fn check_after_kill(
    sandbox: &Sandbox,
    file: &str,
    reference: &(Pages, (usize, [Value; 2])),
    round: usize,
) -> bool {
    let kept = sandbox.verified();
    let sums = summed(sandbox).0;
    assert_eq!(sums, kept, "round {round}: what is stored is in the sums, and no more");
    let again = sandbox.run(&["import", "orders", file]).success();
    let [accepted, updated, unchanged, rejected] = again.counts();
    assert_eq!(accepted + kept, ORDERS, "round {round}: {}", again.stdout);
    assert_eq!(accepted + updated + unchanged + rejected, ORDERS + ORDERS / 50);
    assert_eq!(rejected, 0);
    assert_eq!(sandbox.verified(), ORDERS, "round {round}");
    assert!(walked(sandbox) == reference.0, "round {round}: other pages");
    assert_eq!(summed(sandbox), reference.1, "round {round}: other sums");
    0 < kept && kept < ORDERS
}

#[test]
fn a_session_survives_kill_9_of_the_server() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let mut served = sandbox.serve();
    let old = served.connect().log_in("walker", "secret");
    let token = served.connect().log_in("walker", "secret");
    served.kill_9();
    let mut served = sandbox.serve();
    let code = |served: &Served, token: &str| {
        served.connect().call(DEVICES_PATH, Some(token), "{}").code()
    };
    assert_eq!(code(&served, &token), 200);
    assert_eq!(code(&served, &old), -4);
    served.kill_9();
    let served = sandbox.serve();
    assert_eq!(code(&served, &token), 200);
}

#[test]
fn kill_9_of_the_server_does_not_affect_a_concurrent_import() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let file = file();
    let mut served = sandbox.serve();
    let token = served.connect().log_in("walker", "secret");
    let mut import = sandbox.command(&["import", "orders", "-"]);
    let import = import.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut import = import.spawn().unwrap();
    // It waits for the last line until a first server has been killed.
    let (most, last) = file.trim_end().rsplit_once('\n').unwrap();
    let mut input = import.stdin.take().unwrap();
    input.write_all(most.as_bytes()).unwrap();
    let mut rest = Some(input);
    let begun = Instant::now();
    // Each server is killed as soon as it has answered.
    while import.try_wait().unwrap().is_none() {
        let reply = served.connect().call(ORDERS_PATH, Some(&token), r#"{"deviceCode":"D0"}"#);
        println!("{} orders are shown after {:?}", reply.success()["total"], begun.elapsed());
        served.kill_9();
        if let Some(mut input) = rest.take() {
            writeln!(input, "\n{last}").unwrap();
        }
        served = sandbox.serve();
    }
    assert!(rest.is_none(), "no server was killed");
    assert!(import.wait().unwrap().success());
    drop(served);
    sandbox.run(&["verify"]).success();
    check_against_the_file(&walked(&sandbox));
}

/// Posts orders, a few at a time, until the server is gone; returns the acknowledged ones.
fn post_until_killed(
    mut caller: Client,
    key: &str,
    (name, seed): (&str, u64),
    answers: &AtomicUsize,
) -> String {
    let mut rng = Rng::seeded(seed);
    let (mut answered, mut posted) = (String::new(), 0);
    loop {
        let size = 1 + rng.below(30);
        let body: String = (posted..posted + size).map(|at| streamed(name, at)).collect();
        match caller.call_operator(ORDERS_CALL, key, &body) {
            Ok(reply) => {
                assert_eq!((reply.status, &reply.json["accepted"]), (200, &json!(size)));
                answered.push_str(&body);
                answers.fetch_add(1, Ordering::SeqCst);
                posted += size;
            }
            Err(_) => return answered,
        }
    }
}

fn streamed(name: &str, at: usize) -> String {
    let mut line = String::new();
    put_order(&mut line, at, 0);
    line.replace("\"K", &format!("\"{name}-"))
}

/// Orders are acknowledged after the durable commit: every acknowledged order exists when the
/// server is back, the others may be sent again, and none is stored in part or twice.
#[test]
fn kill_9_of_a_server_loses_no_order_that_was_answered() {
    let rounds = size(10, 200);
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let key = sandbox.create_key(&["tills"]);
    let key = key.as_str();
    let seed = seed();
    println!("kill_9: KIOSQUE_SEED={seed}");
    let mut rng = Rng::seeded(seed);
    let (mut answered, mut total) = (String::new(), 0);
    for round in 0..=rounds {
        let mut served = sandbox.serve();
        let sent = answered.lines().count();
        let again = served.connect_operator().call_operator(ORDERS_CALL, key, &answered).unwrap();
        assert_eq!(again.json["unchanged"], sent, "round {round}: {:?}", again.json);
        total += sent;
        if round == rounds {
            break;
        }
        let wanted = 1 + rng.below(20);
        let time = below_us(&mut rng, 20_000);
        let answers = AtomicUsize::new(0);
        let seeds = [(); 2].map(|()| rng.below(1 << 32) as u64);
        answered = thread::scope(|scope| {
            let posters = seeds.map(|seed| {
                let (caller, name) = (served.connect_operator(), format!("r{round}-{seed}"));
                let answers = &answers;
                scope.spawn(move || post_until_killed(caller, key, (&name, seed), answers))
            });
            let mut caller = served.connect_operator();
            scope.spawn(move || {
                let mut at = 0..;
                caller.stream_orders(key, || streamed(&format!("s{round}"), at.next().unwrap()))
            });
            wait_until("posts are answered", || answers.load(Ordering::SeqCst) >= wanted);
            thread::sleep(time);
            served.kill_9();
            posters.map(|poster| poster.join().unwrap()).concat()
        });
        sandbox.run(&["verify"]).success();
    }
    println!("{total} orders were answered before a kill");
    assert!(total > 0);
}
