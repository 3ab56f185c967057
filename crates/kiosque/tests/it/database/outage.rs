//! The database goes away under load, and comes back.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::blocking::Client;
use kiosque_testkit::{ORDERS_CALL, Reply, SERVE, Served, TOKEN_PATH, is_soak, wait_until};

use super::{create_data, log_in, node, order, until_good, use_of};

/// How much the process may grow while nothing can be answered.
const GROWS_BY_MAX_KIB: u64 = 24 * 1024;

/// The answers that one caller has had so far.
#[derive(Debug, Default)]
struct Answers {
    good: AtomicUsize,
    failed: AtomicUsize,
}

impl Answers {
    /// Repeats a call, which returns whether it was served, until `stop`. Returns how often.
    fn repeat(&self, stop: &AtomicBool, mut call: impl FnMut(usize) -> bool) -> usize {
        let mut at = 0;
        while !stop.load(Ordering::Relaxed) {
            let of_kind = if call(at) { &self.good } else { &self.failed };
            of_kind.fetch_add(1, Ordering::SeqCst);
            at += 1;
        }
        at
    }

    fn good(&self) -> usize {
        self.good.load(Ordering::SeqCst)
    }

    fn failed(&self) -> usize {
        self.failed.load(Ordering::SeqCst)
    }
}

/// Waits until a count of each caller's has risen by three.
fn wait_for_more(condition: &str, callers: &[&Answers], count: fn(&Answers) -> usize) {
    let before: Vec<usize> = callers.iter().map(|answers| count(answers)).collect();
    let has_risen = |(answers, before): (&&Answers, &usize)| count(answers) >= before + 3;
    wait_until(condition, || callers.iter().zip(&before).all(has_risen));
}

/// Uses a token; the answer is 200 or, while the database is away, 500.
fn is_used(caller: &mut Client, token: &str) -> bool {
    thread::sleep(Duration::from_millis(1));
    match use_of(caller, token) {
        200 => true,
        500 => false,
        code => panic!("a good token was answered {code}"),
    }
}

/// A way to take a server away, and to bring it back.
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
    let mut server = Server::start(Durability::Full).unwrap();
    let node = node(&[&server]);
    create_data(&node);
    let served = node.serve_with(&["--store-wait", "2s"]);
    let token = log_in(&mut served.connect(), "guest");
    let stop = AtomicBool::new(false);
    let answers = [(); 4].map(|()| Answers::default());
    let all = answers.each_ref();
    thread::scope(|scope| {
        for answers in all {
            let mut caller = served.connect();
            let (token, stop) = (&token, &stop);
            scope.spawn(move || answers.repeat(stop, |_| is_used(&mut caller, token)));
        }
        wait_for_more("every caller is served", &all, Answers::good);
        let before = served.memory_kib();
        away.begin(&mut server);
        // Nothing but the limit can end these requests: the database is still away.
        wait_for_more("every caller is answered while it is away", &all, Answers::failed);
        if is_soak() {
            thread::sleep(Duration::from_secs(30));
        }
        let after = served.memory_kib();
        away.end(&mut server);
        let back = until_good(&mut served.connect(), &token);
        wait_for_more("every caller is served again", &all, Answers::good);
        stop.store(true, Ordering::Relaxed);
        println!("{away:?}: {all:?}, back after {back:?}, {before} KiB before, {after} KiB after");
        assert!(after < before + GROWS_BY_MAX_KIB, "{before} KiB grew to {after} KiB");
    });
}

/// LIM-12, ENV-11: PostgreSQL is stopped for 30 s under load. Every other answer is `code` 500, no
/// request takes longer than the timeout, memory does not grow, and the service is back within 2 s.
#[test]
fn a_stopped_database_is_answered_with_500_until_it_is_back() {
    goes_away(Away::Stopped);
}

/// The same for a database that accepts connections and does not answer.
#[test]
fn a_hanging_database_is_answered_with_500_in_time() {
    goes_away(Away::Frozen);
}

fn is_logged_in(caller: &mut Client) -> bool {
    let reply = caller.call(TOKEN_PATH, None, r#"{"username":"walker","password":"secret"}"#);
    assert!([200, 500].contains(&reply.code()), "{reply:?}");
    reply.code() == 200
}

/// Posts an order, and returns whether the answer says that it is stored.
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

/// The answers to logins and orders, and how many orders there were. One more is late.
fn write_while_it_hangs(server: &Server, served: &Served, key: &str) -> ([Answers; 2], usize) {
    let guest = log_in(&mut served.connect(), "guest");
    let stop = AtomicBool::new(false);
    let all = [(); 2].map(|()| Answers::default());
    let [logins, posts] = &all;
    let count = thread::scope(|scope| {
        let (mut caller, mut operator) = (served.connect(), served.connect_operator());
        let stop = &stop;
        scope.spawn(move || logins.repeat(stop, |_| is_logged_in(&mut caller)));
        let mut post =
            move |at| is_taken(operator.call_operator(ORDERS_CALL, key, &order("p", at)));
        let posting = scope.spawn(move || posts.repeat(stop, &mut post));
        wait_for_more("logins and orders are taken", &[logins, posts], Answers::good);
        // The body of this one comes when the database hangs: its key has been checked by then.
        let freeze = || server.freeze().unwrap();
        let mut operator = served.connect_operator();
        let late = operator.call_operator_while(ORDERS_CALL, key, &order("late", 0), freeze);
        assert!(!is_taken(late), "it is stored while the database hangs");
        // Nothing but the limit can end these requests: the database hangs.
        wait_for_more("all are answered while it hangs", &[logins, posts], Answers::failed);
        server.thaw().unwrap();
        until_good(&mut served.connect(), &guest);
        log_in(&mut served.connect(), "walker");
        wait_for_more("logins and orders are taken again", &[logins, posts], Answers::good);
        stop.store(true, Ordering::Relaxed);
        posting.join().unwrap()
    });
    (all, count)
}

/// The same for writes. An order whose POST was answered with an error may be stored or not; sent
/// again, it is stored once.
#[test]
fn logins_and_orders_for_a_database_that_hangs_are_answered_in_time() {
    let server = Server::start(Durability::Full).unwrap();
    let node = node(&[&server]);
    let key = create_data(&node);
    let served = node.serve_with(&["--store-wait", "1s"]);
    let (answers, count) = write_while_it_hangs(&server, &served, &key);
    println!("logins, orders: {answers:?}");
    let [_, posted] = answers;
    let all: String = (0..count).map(|at| order("p", at)).chain([order("late", 0)]).collect();
    let mut operator = served.connect_operator();
    let mut again = || operator.call_operator(ORDERS_CALL, &key, &all).unwrap().json;
    let first = again();
    let number = |name: &str| usize::try_from(first[name].as_u64().unwrap()).unwrap();
    assert!(number("unchanged") >= posted.good(), "an order that was answered is not there");
    assert_eq!(number("accepted") + number("unchanged"), count + 1, "{first:?}");
    assert_eq!(again()["unchanged"], count + 1);
    node.verified();
}

/// A server that starts before its database waits for it, with a clear message.
#[test]
fn a_server_that_starts_before_its_database_waits_for_it() {
    let mut server = Server::start(Durability::Full).unwrap();
    let node = node(&[&server]);
    create_data(&node);
    server.stop().unwrap();
    let mut served = node.spawn(&SERVE);
    served.stderr_until("waiting for the database: 127.0.0.1:");
    assert!(!served.stderr().contains("/v8"), "it listens: {}", served.stderr());
    // It means to read the certificate again, which the server has not read yet.
    served.signal("HUP");
    server.start_again().unwrap();
    served.wait_for_address();
    log_in(&mut served.connect(), "guest");
}
