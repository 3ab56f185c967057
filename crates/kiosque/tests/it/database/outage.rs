//! The database goes away under load, and comes back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kiosque_testdb::{Durability, Server};

use super::{Node, is_soak, log_in, until_good, use_of};
use crate::program::Served;

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

/// "Startup waits for the database with a clear message."
#[test]
fn a_server_that_starts_before_its_database_waits_for_it() {
    let mut server = Server::start(Durability::Full).unwrap();
    let node = Node::on(&[&server]);
    node.furnish();
    server.stop().unwrap();
    let mut command = node.house.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--operator-listen", "127.0.0.1:0", "--store", &node.store]);
    let cert = node.house.data().join("tls/cert.pem");
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
