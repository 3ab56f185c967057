//! The database goes away under load, and comes back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kiosque_testdb::{Durability, Server};

use super::{Node, is_soak, log_in, order, until_good, use_of};
use crate::caller::{Caller, Reply, TOKEN_PATH};
use crate::program::Served;

const ORDERS_CALL: &str = "/operator/v1/orders";

/// How long a request waits for the database here.
const STORE_WAIT: Duration = Duration::from_secs(2);
/// What a busy machine may add to that.
const SLACK: Duration = Duration::from_millis(1_500);
const BACK_WITHIN: Duration = Duration::from_secs(2);
/// What the process may grow by while nothing can be answered.
const GROWS_BY_MAX_KIB: u64 = 24 * 1024;

/// Uses a token from several connections; every answer is 200 or, while it is away, 500.
fn use_under_load(served: &Served, token: &str, stop: &AtomicBool) -> (usize, usize, Duration) {
    let (mut good, mut failed, mut longest) = (0, 0, Duration::ZERO);
    let mut caller = served.caller();
    while !stop.load(Ordering::Relaxed) {
        let (code, took) = use_of(&mut caller, token);
        longest = longest.max(took);
        match code {
            200 => good += 1,
            500 => failed += 1,
            code => panic!("a good token was answered {code}"),
        }
        thread::sleep(Duration::from_millis(1));
    }
    (good, failed, longest)
}

/// What is done to a server, and undone.
#[derive(Clone, Copy, Debug)]
enum Away {
    Stopped,
    Frozen,
}

impl Away {
    fn begin(self, server: &mut Server) {
        match self {
            Away::Stopped => server.stop().unwrap(),
            Away::Frozen => server.freeze().unwrap(),
        }
    }

    fn end(self, server: &mut Server) {
        match self {
            Away::Stopped => server.start_again().unwrap(),
            Away::Frozen => server.thaw().unwrap(),
        }
    }
}

fn goes_away(away: Away) {
    let time = Duration::from_secs(if is_soak() { 30 } else { 6 });
    let mut server = Server::start(Durability::Full).unwrap();
    let node = Node::on(&[&server]);
    node.furnish();
    let served = node.serve(&["--store-wait", "2s"]);
    let token = log_in(&mut served.caller(), "guest");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let users = [(); 4].map(|()| scope.spawn(|| use_under_load(&served, &token, &stop)));
        thread::sleep(Duration::from_millis(500));
        let before = served.memory_kib();
        away.begin(&mut server);
        thread::sleep(time);
        let after = served.memory_kib();
        away.end(&mut server);
        let back = Instant::now();
        until_good(&mut served.caller(), &token);
        let back = back.elapsed();
        thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
        let seen = users.map(|user| user.join().unwrap());
        println!("{away:?}: {seen:?}, back after {back:?}, {before} KiB before, {after} KiB after");
        for (good, failed, longest) in seen {
            assert!(good > 0 && failed > 0);
            assert!(longest < STORE_WAIT + SLACK, "{longest:?}");
        }
        assert!(back < BACK_WITHIN, "{back:?}");
        assert!(after < before + GROWS_BY_MAX_KIB, "{before} KiB became {after} KiB");
    });
}

/// "PostgreSQL stopped for 30 s under load: only `code` 500, no request longer than the timeout,
/// memory flat, back within 2 s."
#[test]
fn a_database_that_is_stopped_is_told_as_500_and_is_back_by_itself() {
    goes_away(Away::Stopped);
}

/// The same of one that takes what is sent and says nothing.
#[test]
fn a_database_that_hangs_is_told_as_500_in_time() {
    goes_away(Away::Frozen);
}

/// What one who logs in, or posts an order, was told meanwhile; and the longest that it took.
#[derive(Debug, Default)]
struct Told {
    good: usize,
    failed: usize,
    longest: Duration,
}

impl Told {
    fn add(&mut self, is_good: bool, took: Duration) {
        let of_kind = if is_good { &mut self.good } else { &mut self.failed };
        *of_kind += 1;
        self.longest = self.longest.max(took);
    }
}

fn log_in_all_the_while(served: &Served, stop: &AtomicBool) -> Told {
    let (mut caller, mut told) = (served.caller(), Told::default());
    let body = r#"{"username":"walker","password":"secret"}"#;
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let reply = caller.call(TOKEN_PATH, None, body);
        assert!([200, 500].contains(&reply.code()), "{reply:?}");
        told.add(reply.code() == 200, begun.elapsed());
    }
    told
}

/// Posts an order, and says whether it was answered that it is there.
fn is_taken(posted: std::io::Result<Reply>) -> bool {
    let reply = posted.unwrap();
    if reply.status == 200 {
        assert_eq!(reply.json["rejectedCount"], 0, "{reply:?}");
        return true;
    }
    assert!([500, 503].contains(&reply.status), "{reply:?}");
    assert_eq!(reply.json["status"], reply.status, "{reply:?}");
    false
}

/// Posts orders one by one, each once; also returns how many there were.
fn post_all_the_while(mut caller: Caller, key: &str, stop: &AtomicBool) -> (Told, usize) {
    let (mut told, mut at) = (Told::default(), 0);
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let posted = caller.operate(ORDERS_CALL, key, &order("p", at));
        told.add(is_taken(posted), begun.elapsed());
        at += 1;
    }
    (told, at)
}

/// Whoever logs in or posts is looked up first and then written: both wait for a second here,
/// and a busy machine adds to that.
const ANSWERED_WITHIN: Duration = Duration::from_secs(4);
/// Longer than that, so that whoever waits for the database to come back is found.
const HANGS: Duration = Duration::from_secs(7);

/// Posts one order whose body comes when the database hangs: its key has been looked at by then.
fn post_late(server: &Server, mut caller: Caller, key: &str) -> Told {
    let freeze = || {
        thread::sleep(Duration::from_millis(200));
        server.freeze().unwrap();
    };
    let (begun, mut told) = (Instant::now(), Told::default());
    let posted = caller.operate_while(ORDERS_CALL, key, &order("late", 0), freeze);
    told.add(is_taken(posted), begun.elapsed());
    told
}

/// What logins, orders and a late order were told, and how many orders there were beside that one.
fn write_while_it_hangs(server: &Server, served: &Served, key: &str) -> ([Told; 3], usize) {
    let guest = log_in(&mut served.caller(), "guest");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let logins = scope.spawn(|| log_in_all_the_while(served, &stop));
        let posts = scope.spawn(|| post_all_the_while(served.operator_caller(), key, &stop));
        thread::sleep(Duration::from_millis(500));
        let late = scope.spawn(|| post_late(server, served.operator_caller(), key));
        thread::sleep(HANGS);
        server.thaw().unwrap();
        until_good(&mut served.caller(), &guest);
        log_in(&mut served.caller(), "walker");
        thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
        let (posted, count) = posts.join().unwrap();
        ([logins.join().unwrap(), posted, late.join().unwrap()], count)
    })
}

/// The same of what is written. An order whose post was answered with an error may be there or not;
/// posted again, it is there once.
#[test]
fn logins_and_orders_for_a_database_that_hangs_are_answered_in_time() {
    let server = Server::start(Durability::Full).unwrap();
    let node = Node::on(&[&server]);
    let key = node.furnish();
    let served = node.serve(&["--store-wait", "1s"]);
    let (told, count) = write_while_it_hangs(&server, &served, &key);
    println!("logins, orders, a late order: {told:?}");
    for told in &told {
        assert!(told.failed > 0 && told.longest < ANSWERED_WITHIN, "{told:?}");
    }
    let [logins, posted, _] = told;
    assert!(logins.good > 0 && posted.good > 0);
    let all: String = (0..count).map(|at| order("p", at)).chain([order("late", 0)]).collect();
    let mut operator = served.operator_caller();
    let mut again = || operator.operate(ORDERS_CALL, &key, &all).unwrap().json;
    let first = again();
    let number = |name: &str| usize::try_from(first[name].as_u64().unwrap()).unwrap();
    assert!(number("unchanged") >= posted.good, "an order that was answered is not there");
    assert_eq!(number("accepted") + number("unchanged"), count + 1, "{first:?}");
    assert_eq!(again()["unchanged"], count + 1);
    assert!(node.run(&["verify"]).good().stdout.contains("no difference"));
}

/// "Startup waits for the database with a clear message."
#[test]
fn a_server_that_starts_before_its_database_waits_for_it() {
    let mut server = Server::start(Durability::Full).unwrap();
    let node = Node::on(&[&server]);
    node.furnish();
    server.stop().unwrap();
    let mut command = node.sandbox.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--operator-listen", "127.0.0.1:0", "--store", &node.store]);
    let cert = node.sandbox.data().join("tls/cert.pem");
    thread::scope(|scope| {
        let starting = scope.spawn(move || Served::start(&mut command, &cert));
        thread::sleep(Duration::from_secs(2));
        assert!(!starting.is_finished());
        server.start_again().unwrap();
        let served = starting.join().unwrap();
        let said = served.stderr();
        let waits = "waiting for the database: 127.0.0.1:";
        assert!(said.contains(waits), "{said}");
        log_in(&mut served.caller(), "guest");
    });
}
