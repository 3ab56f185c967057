//! Clients that change the data all the while, and note what was acknowledged.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Scope};
use std::time::Duration;

use kiosque_testkit::blocking::Client;
use kiosque_testkit::{
    LOGOUT_PATH, ORDERS_CALL, ORDERS_PATH, OrderLine, Reply, Rng, SUMMARY_PATH, SWITCH_PATH,
    Sandbox, Served, TOKEN_PATH,
};
use serde_json::json;

use super::known::{Change, Event, Known, total};
use super::preload::log;
use super::{DEVICES, fleet};

/// What changes the data; each counts its successes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Orders,
    Sessions,
    Commands,
    Reads,
}

/// The clients of one test, over all servers that it starts.
pub(crate) struct Load<'t> {
    sandbox: &'t Sandbox,
    pub(crate) known: Known,
    /// Answers to the clients by their kind, for a report.
    pub(crate) answers: Mutex<BTreeMap<String, usize>>,
    /// Answers and results that no client can act on.
    pub(crate) unclear: Mutex<Vec<String>>,
    succeeded: [AtomicUsize; 4],
    stop: AtomicBool,
    /// Numbers that make the ids of orders and the fleets unique.
    files: AtomicUsize,
    fleets: AtomicUsize,
}

impl<'t> Load<'t> {
    pub(crate) fn new(sandbox: &'t Sandbox) -> Load<'t> {
        Load {
            sandbox,
            known: Known::default(),
            answers: Mutex::default(),
            unclear: Mutex::default(),
            succeeded: Default::default(),
            stop: AtomicBool::new(false),
            files: AtomicUsize::new(0),
            fleets: AtomicUsize::new(0),
        }
    }

    /// Returns how often a kind of client has succeeded.
    pub(crate) fn succeeded(&self, kind: Kind) -> usize {
        self.succeeded[kind as usize].load(Ordering::SeqCst)
    }

    /// Returns the number of answers, but for those to reads, and of commands that ended.
    pub(super) fn answered(&self) -> usize {
        let answers = self.answers.lock().unwrap();
        let others = answers.iter().filter(|(answer, _)| !answer.starts_with("Reads"));
        others.map(|(_, count)| count).sum()
    }

    /// Starts two clients that post orders, one that replaces sessions, one that reads, and one
    /// that runs commands. They end at [`Load::stop`], and at the end of the server.
    pub(crate) fn start<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        served: &Served,
        key: &'s str,
        seed: u64,
    ) {
        for at in 1..=2 {
            self.start_posting(scope, served, key, seed ^ at);
        }
        let caller = served.connect();
        let rng = Rng::seeded(seed ^ 3);
        scope.spawn(move || self.until_stopped(self.replace_sessions(caller, rng)));
        let (caller, token) = served.log_in("guest");
        scope.spawn(move || self.until_stopped(self.read(caller, &token)));
        let rng = Rng::seeded(seed ^ 4);
        scope.spawn(move || self.run_commands(rng));
    }

    /// Starts a client that posts orders.
    pub(super) fn start_posting<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        served: &Served,
        key: &'s str,
        seed: u64,
    ) {
        self.stop.store(false, Ordering::SeqCst);
        let caller = served.connect_operator();
        scope.spawn(move || self.until_stopped(self.post(caller, key, Rng::seeded(seed))));
    }

    /// Starts a client that sends orders in one request until the server ends.
    pub(crate) fn start_streaming<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        served: &Served,
        key: &'s str,
    ) {
        let (mut caller, mut rng) = (served.connect_operator(), Rng::seeded(0));
        scope.spawn(move || {
            caller.stream_orders(key, || {
                thread::sleep(Duration::from_millis(1));
                let (orders, lines) = self.new_orders(1, &mut rng);
                self.note(self.position(), false, Change::Orders(orders));
                lines
            })
        });
    }

    /// Ends all clients after what they are doing.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    /// Ends the clients when the test fails, too.
    pub(crate) fn stopping(&self) -> Stopping<'_> {
        Stopping(&self.stop)
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::SeqCst)
    }

    /// Notes a connection that was closed while the clients had not been stopped.
    fn until_stopped(&self, ended: io::Result<()>) {
        if let Err(error) = ended
            && self.goes_on()
        {
            self.unclear.lock().unwrap().push(format!("a connection was closed: {error}"));
        }
    }

    /// Counts an answer. Notes it if it is neither a success nor a failure with its reason.
    fn count(&self, kind: Kind, reply: &Reply, is_success: bool, is_clear: bool) {
        let code = &reply.json["code"];
        let answer = format!("{kind:?} {} {code}", reply.status);
        *self.answers.lock().unwrap().entry(answer).or_default() += 1;
        if is_success {
            self.succeeded[kind as usize].fetch_add(1, Ordering::SeqCst);
        } else if !is_clear {
            self.unclear.lock().unwrap().push(format!("{kind:?}: {} {}", reply.status, reply.text));
        }
    }

    /// Counts the answer of an integrator's call. A refusal of a token, -4, is the subject of
    /// other tests, and may follow a login whose answer was a failure.
    fn count_call(&self, kind: Kind, reply: &Reply) -> bool {
        let code = reply.json["code"].as_i64();
        let is_success = (reply.status, code) == (200, Some(200));
        let is_failure = (reply.status, code) == (500, Some(500)) && reply.json["msg"].is_string();
        let is_refused = matches!(kind, Kind::Sessions) && code == Some(-4);
        self.count(kind, reply, is_success, is_failure || is_refused);
        is_success
    }

    /// Returns the length of the log of changes: whatever happened before is in it up to there.
    fn position(&self) -> u64 {
        log(self.sandbox).metadata().map_or(0, |log| log.len())
    }

    fn note(&self, asked: u64, is_answered: bool, change: Change) {
        let answered = is_answered.then(|| self.position());
        self.known.add(Event { asked, answered, change });
    }

    /// Runs the commands that make the data, and returns the operator's key.
    pub(crate) fn set_up(&self) -> String {
        let asked = self.position();
        let key = super::set_up(self.sandbox);
        self.note_set_up(asked);
        key
    }

    /// Notes that the data has been made.
    pub(super) fn note_set_up(&self, asked: u64) {
        self.note(asked, true, Change::SetUp);
    }

    /// Returns new orders, and a line of each.
    fn new_orders(&self, count: usize, rng: &mut Rng) -> (Vec<(String, u64)>, String) {
        let name = self.files.fetch_add(1, Ordering::SeqCst);
        let orders: Vec<_> = (0..count).map(|at| (format!("{name}-{at}"), 0)).collect();
        let lines = orders.iter().map(|(id, _)| line(id, 0, rng)).collect();
        (orders, lines)
    }

    fn post(&self, mut caller: Client, key: &str, mut rng: Rng) -> io::Result<()> {
        let mut earlier: Vec<(String, u64)> = Vec::new();
        while self.goes_on() {
            let (mut orders, mut lines) = self.new_orders(1 + rng.below(30), &mut rng);
            let new = orders.clone();
            if rng.one_in(2) && !earlier.is_empty() {
                let at = rng.below(earlier.len());
                earlier[at].1 += 1;
                lines.push_str(&line(&earlier[at].0, earlier[at].1, &mut rng));
                orders.push(earlier[at].clone());
            }
            let asked = self.position();
            let change = Change::Orders(orders.clone());
            let reply = match caller.call_operator(ORDERS_CALL, key, &lines) {
                Ok(reply) => reply,
                Err(error) => {
                    self.note(asked, false, change);
                    return Err(error);
                }
            };
            let stored = ["accepted", "updated", "unchanged"]
                .map(|count| reply.json[count].as_u64().unwrap_or(0))
                .iter()
                .sum::<u64>();
            let is_success = reply.status == 200 && stored == orders.len() as u64;
            let has_reason = reply.json["detail"].as_str().is_some_and(|text| !text.is_empty());
            self.note(asked, is_success, change);
            self.count(Kind::Orders, &reply, is_success, reply.status == 503 && has_reason);
            // An order is listed once, so that its versions are sent in their order.
            if is_success {
                earlier.extend(new);
            }
        }
        Ok(())
    }

    fn replace_sessions(&self, mut caller: Client, mut rng: Rng) -> io::Result<()> {
        let mut token: Option<String> = None;
        while self.goes_on() {
            let (path, body) = match (&token, rng.below(6)) {
                (Some(_), 0) => (LOGOUT_PATH, String::new()),
                (Some(_), 1 | 2) => {
                    let group = rng.choose(&["north", "south"]);
                    (SWITCH_PATH, json!({"groupId": group}).to_string())
                }
                _ => {
                    token = None;
                    (TOKEN_PATH, json!({"username": "walker", "password": "secret"}).to_string())
                }
            };
            let asked = self.position();
            let reply = match caller.try_call(path, token.as_deref(), &body) {
                Ok(reply) => reply,
                Err(error) => {
                    self.note(asked, false, Change::Session(None));
                    return Err(error);
                }
            };
            let is_success = self.count_call(Kind::Sessions, &reply);
            token = reply.json["data"]["accessToken"].as_str().map(str::to_owned);
            self.note(asked, is_success, Change::Session(token.clone()));
        }
        Ok(())
    }

    fn read(&self, mut caller: Client, token: &str) -> io::Result<()> {
        let range = json!({
            "startTimestamp": 1_767_139_200_000_i64, "endTimestamp": 1_769_830_400_000_i64,
        });
        while self.goes_on() {
            let page = json!({"deviceCode": "D0", "includeHistory": true});
            for (path, body) in [(ORDERS_PATH, page), (SUMMARY_PATH, range.clone())] {
                let reply = caller.try_call(path, Some(token), &body.to_string())?;
                self.count_call(Kind::Reads, &reply);
            }
            // One reader is enough to see what readers are answered.
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn run_commands(&self, mut rng: Rng) {
        while self.goes_on() {
            let asked = self.position();
            let (ran, change) = if rng.one_in(2) {
                let number = self.fleets.fetch_add(1, Ordering::SeqCst) + 1;
                let file = self.sandbox.file("fleet.toml", fleet(number));
                let ran = self.sandbox.run(&["apply", &file]);
                (ran, Change::Fleet(number as u64))
            } else {
                let (orders, lines) = self.new_orders(1 + rng.below(400), &mut rng);
                let file = self.sandbox.file("orders.ndjson", lines);
                let ran = self.sandbox.run(&["import", "orders", &file]);
                (ran, Change::Orders(orders))
            };
            self.note(asked, ran.status == 0, change);
            *self.answers.lock().unwrap().entry(format!("command {}", ran.status)).or_default() +=
                1;
            let is_clear = ran.status == 1 && ran.stderr.contains("kiosque: ");
            if ran.status == 0 {
                self.succeeded[Kind::Commands as usize].fetch_add(1, Ordering::SeqCst);
            } else if !is_clear {
                self.unclear.lock().unwrap().push(format!("{ran:?}"));
            }
        }
    }
}

/// Ends clients when it is dropped, also when the test fails.
pub(crate) struct Stopping<'t>(pub(crate) &'t AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Returns an order of a device, the same for the same id but for its version.
fn line(id: &str, version: u64, rng: &mut Rng) -> String {
    let hash = usize::try_from(total(id)).unwrap();
    let start = jiff::Timestamp::from_second(1_767_225_600).unwrap();
    let start = start + jiff::SignedDuration::from_secs(i64::try_from(hash * 97).unwrap());
    let order = OrderLine::new(id, format!("D{}", hash % DEVICES), start)
        .amount("EUR", i64::try_from(total(id)).unwrap())
        .paid(start)
        .with("refundAmount", version)
        .with("detailVOList", json!([{"goodsId": "cola"}]));
    // Larger and smaller records.
    match rng.below(4) {
        0 => order.with("payChannelName", "x".repeat(rng.below(200))).to_string(),
        _ => order.to_string(),
    }
}
