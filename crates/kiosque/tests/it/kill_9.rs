//! An import or a server that is killed at any moment loses no acknowledged order.

pub(crate) mod archive;
mod dictionary;

use std::fmt::Write as _;
use std::ops::Range;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use kiosque_testkit::{DEVICES_PATH, FleetToml, Rng, Sandbox, Served, seed, size, wait_until};
use serde_json::json;

use crate::KIOSQUE;
use crate::disk::known::compare;
use crate::disk::load::{Kind, Load};
use crate::pages::{self, Answers};
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

/// Returns the answers of a server.
fn served(sandbox: &Sandbox) -> Answers {
    let served = sandbox.serve();
    let token = served.connect().log_in("walker", "secret");
    pages::answers(&served, &token)
}

/// Returns the number of orders in the sums.
fn summed((_, sums): &Answers) -> usize {
    let devices = sums[1].as_array().unwrap().iter();
    let orders: u64 = devices.map(|device| device["orderCount"].as_u64().unwrap()).sum();
    usize::try_from(orders).unwrap()
}

/// Checks that every order is stored once, each device's newest first, each as in the file.
fn check_against_the_file((pages, _): &Answers) {
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
    let reference = served(&whole);
    check_against_the_file(&reference);
    assert_eq!(summed(&reference), ORDERS);
    assert_eq!(reference.1[0]["kpiList"][4]["value"], "8.40", "refunds: 7 cents, 120 times");

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
fn check_after_kill(sandbox: &Sandbox, file: &str, reference: &Answers, round: usize) -> bool {
    let kept = sandbox.verified();
    assert_eq!(
        summed(&served(sandbox)),
        kept,
        "round {round}: what is stored is in the sums, and no more"
    );
    let again = sandbox.run(&["import", "orders", file]).success();
    let [accepted, updated, unchanged, rejected] = again.counts();
    assert_eq!(accepted + kept, ORDERS, "round {round}: {}", again.stdout);
    assert_eq!(accepted + updated + unchanged + rejected, ORDERS + ORDERS / 50);
    assert_eq!(rejected, 0);
    assert_eq!(sandbox.verified(), ORDERS, "round {round}");
    let answers = served(sandbox);
    assert!(answers.0 == reference.0, "round {round}: other pages");
    assert_eq!(answers.1, reference.1, "round {round}: other sums");
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

/// Orders are acknowledged after the durable commit: every acknowledged order exists when the
/// server is back, and none is stored in part or twice, also of a stream that was not answered. The
/// same holds for sessions and fleets. Imports that run meanwhile are not affected.
#[test]
fn kill_9_of_a_server_loses_nothing_that_was_answered() {
    let rounds = size(10, 200);
    let sandbox = KIOSQUE.sandbox();
    let load = Load::new(&sandbox);
    let (key, seed) = (load.set_up(), seed());
    println!("kill_9: KIOSQUE_SEED={seed}");
    let (mut rng, mut orders) = (Rng::seeded(seed), 0);
    for round in 0..rounds {
        let mut served = sandbox.serve();
        let wanted = load.succeeded(Kind::Orders) + 1 + rng.below(20);
        let (time, seed) = (below_us(&mut rng, 20_000), rng.below(1 << 32) as u64);
        thread::scope(|scope| {
            let _stopping = load.stopping();
            load.start(scope, &served, &key, seed);
            load.start_streaming(scope, &served, &key);
            wait_until("posts are answered", || load.succeeded(Kind::Orders) >= wanted);
            thread::sleep(time);
            load.stop();
            served.kill_9();
        });
        let (found, counts) = compare(&sandbox, &load.known.events(), u64::MAX);
        assert_eq!(found, [""; 0], "round {round}");
        orders = counts.orders;
    }
    let answers = load.answers.lock().unwrap();
    println!("{orders} orders were acknowledged before a kill; {answers:?}");
    assert_eq!(*load.unclear.lock().unwrap(), [""; 0]);
    assert!(orders > 0 && load.succeeded(Kind::Commands) > 0);
    assert!(!answers.contains_key("command 1"), "{answers:?}");
}
