//! Two versions of the program on the same data: in turn on SQLite, each with its commands, and at
//! the same time on PostgreSQL, as while nodes are replaced one by one. `KIOSQUE_OTHER_PROGRAM` is
//! the path of the earlier one; without it both are the program under test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::blocking::Client;
use kiosque_testkit::{ORDERS_CALL, Program, Sandbox, Served, runs, wait_until};

use super::{UNHURRIED, create_data, log_in, node, order, order_id, use_of};
use crate::KIOSQUE;
use crate::kill_9::copy_data;
use crate::pages::answers;

const OTHER: &str = "KIOSQUE_OTHER_PROGRAM";
/// Orders of a post and of an import.
const ORDERS: usize = 20;
const IMPORTED: usize = 200;

fn programs() -> [Program; 2] {
    [std::env::var(OTHER).map_or(KIOSQUE, |path| Program(path.leak())), KIOSQUE]
}

/// Orders that were sent, each with whether it was acknowledged.
type Sent = Mutex<BTreeMap<String, bool>>;

/// Data of both programs, with what clients know of it.
struct Shared {
    sandbox: Sandbox,
    key: String,
    guest: String,
    sent: Sent,
}

impl Shared {
    /// Creates the data with the earlier program, and logs `guest` in for the whole time.
    fn new(sandbox: Sandbox) -> Shared {
        let sandbox = sandbox.run_by(programs()[0]);
        let key = create_data(&sandbox);
        let guest = log_in(&mut sandbox.serve_with(&UNHURRIED).connect(), "guest");
        Shared { sandbox, key, guest, sent: Sent::default() }
    }

    /// Notes orders with these numbers as sent or, later, as acknowledged, and returns their lines.
    fn note(&self, name: &str, numbers: std::ops::Range<usize>, is_answered: bool) -> String {
        let ids = numbers.clone().map(|at| (order_id(name, at), is_answered));
        self.sent.lock().unwrap().extend(ids);
        numbers.map(|at| order(name, at)).collect()
    }

    /// Posts orders until it is stopped or the server ends.
    fn post(&self, mut caller: Client, name: &str, (posts, stop): (&AtomicUsize, &AtomicBool)) {
        let mut numbers = 0..ORDERS;
        while !stop.load(Ordering::SeqCst) {
            let lines = self.note(name, numbers.clone(), false);
            let Ok(reply) = caller.call_operator(ORDERS_CALL, &self.key, &lines) else {
                return;
            };
            assert_eq!((reply.status, &reply.json["accepted"]), (200, &ORDERS.into()), "{reply:?}");
            self.note(name, numbers.clone(), true);
            numbers = numbers.end..numbers.end + ORDERS;
            posts.fetch_add(1, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Serves the data with each of these programs under load, until the first server is killed or
    /// the clients have done their part.
    fn load(&self, programs: &[Program], round: usize, is_killed: bool) {
        let sandboxes: Vec<Sandbox> =
            programs.iter().map(|&program| self.sandbox.run_by(program)).collect();
        let mut served: Vec<Served> =
            sandboxes.iter().map(|sandbox| sandbox.serve_with(&UNHURRIED)).collect();
        let (posts, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            for (at, server) in served.iter().enumerate() {
                let (caller, name) = (server.connect_operator(), format!("r{round}s{at}"));
                let progress = (&posts, &stop);
                scope.spawn(move || self.post(caller, &name, progress));
            }
            for (at, sandbox) in sandboxes.iter().enumerate() {
                scope.spawn(move || {
                    let name = format!("r{round}i{at}");
                    sandbox.import(self.note(&name, 0..IMPORTED, false));
                    self.note(&name, 0..IMPORTED, true);
                });
            }
            let mut callers: Vec<Client> = served.iter().map(Served::connect).collect();
            let (mut replaced, mut at) = (None, 0);
            wait_until("orders were posted and sessions replaced", || {
                at += 1;
                let last = at % callers.len();
                let token = log_in(&mut callers[last], "walker");
                for caller in &mut callers {
                    assert_eq!(use_of(caller, &token), 200, "a live token");
                    assert_eq!(use_of(caller, &self.guest), 200, "the token of guest");
                    let code = replaced.as_deref().map(|token| use_of(caller, token));
                    assert!(code.is_none_or(|code| code == -4), "a replaced token: {code:?}");
                }
                replaced = Some(token);
                at >= 4 && posts.load(Ordering::SeqCst) >= 10
            });
            if is_killed {
                served[0].kill_9();
            }
            stop.store(true, Ordering::SeqCst);
        });
    }

    /// Serves the data with each program, and compares the answers with each other and with what
    /// was sent. Returns a line for each difference.
    fn compare(&self) -> Vec<String> {
        let [one, other] = programs().map(|program| {
            let sandbox = self.sandbox.run_by(program);
            (sandbox.verified(), answers(&sandbox.serve_with(&UNHURRIED), &self.guest))
        });
        let mut found = Vec::new();
        if one != other {
            found.push(format!("the programs differ: {:?}, {:?}", one.1.1, other.1.1));
        }
        let (pages, sums) = other.1;
        let (mut seen, sent) = (BTreeSet::new(), self.sent.lock().unwrap());
        for (device, orders) in &pages {
            for order in orders {
                let id = order["orderId"].as_str().unwrap().to_owned();
                let at: usize = id.split_once('-').unwrap().1.parse().unwrap();
                let is_as_sent =
                    order["totalAmount"] == 100 + at && *device == format!("D{}", at % 2);
                if !is_as_sent || !sent.contains_key(&id) || !seen.insert(id) {
                    found.push(format!("an order that was not sent, or is there twice: {order}"));
                }
            }
            let sum = sums[1].as_array().unwrap().iter().find(|sum| sum["deviceCode"] == **device);
            if sum.is_none_or(|sum| sum["orderCount"] != orders.len()) {
                found.push(format!("{device}: {} orders, and in the sums {sum:?}", orders.len()));
            }
        }
        let lost = sent.iter().filter(|(id, is_answered)| **is_answered && !seen.contains(*id));
        let lost: Vec<_> = lost.map(|(id, _)| id).collect();
        if let Some(first) = lost.first() {
            found.push(format!("{} acknowledged orders are lost, {first} first", lost.len()));
        }
        found
    }
}

/// Loads the data and compares the answers, in rounds.
fn run(shared: &Shared, programs_of: impl Fn(usize) -> Vec<Program>) {
    let rounds = runs(4, 60);
    for round in 0..rounds {
        shared.load(&programs_of(round), round, round % 4 > 1);
        assert_eq!(shared.compare(), [""; 0], "round {round}");
    }
    let sent = shared.sent.lock().unwrap();
    let answered = sent.values().filter(|is_answered| **is_answered).count();
    let other = std::env::var_os(OTHER);
    println!("two versions: {rounds} rounds, other {other:?}, {answered} orders acknowledged");
}

#[test]
fn two_versions_take_turns_on_a_directory() {
    run(&Shared::new(KIOSQUE.sandbox()), |round| vec![programs()[round % 2]]);
}

#[test]
fn two_versions_serve_one_database_at_once() {
    let server = Server::start(Durability::Full).unwrap();
    run(&Shared::new(node(&[&server])), |_| programs().to_vec());
}

/// The test of the test: orders that one program has stored are lost.
#[test]
fn two_versions_that_lose_orders_are_seen() {
    let shared = Shared::new(KIOSQUE.sandbox());
    let copy = shared.sandbox.path("copy");
    copy_data(&shared.sandbox.data(), &copy);
    shared.load(&programs()[1..], 0, false);
    std::fs::remove_dir_all(shared.sandbox.data()).unwrap();
    copy_data(&copy, &shared.sandbox.data());
    let found = shared.compare();
    assert!(found.iter().any(|it| it.contains(" acknowledged orders are lost")), "{found:?}");
}
