//! A steady mix of everything that a server does: once warm, it needs no more memory, descriptors,
//! threads and room for the database's log than before, and answers as fast.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kiosque_clock::Clock;
use kiosque_testkit::blocking::Client;
use kiosque_testkit::{
    CHANGES_PATH, DETAIL_PATH, DEVICES_PATH, FleetToml, LOGOUT_PATH, ONLINE_PATH, ORDERS_CALL,
    ORDERS_PATH, OrderLine, Ran, Reply, SWITCH_PATH, Sandbox, Served, WAIT_MAX, dashboard_paths,
    runs, wait_until,
};
use serde_json::{Value, json};

use crate::KIOSQUE;
use crate::disk::load::Stopping;
use crate::disk::preload::compiled;

const DEVICES: i64 = 8;
/// The time from the start of a trade to the post of its order, longer than any step of the clock.
const LATE_MS: i64 = 1_200_000;
/// The age at which orders are archived.
const CURRENT_MS: i64 = 120_000;
/// The number of orders that are stored before the mix, and the time between two of them.
const STOCK: usize = 300_000;
const STOCK_APART_MS: i64 = 100_000;
/// The steps of the clock.
const STEPS_MS: [i64; 6] = [0, 60_000, -60_000, 600_000, 0, -600_000];
/// Pages of the console.
const PAGES: [&str; 7] = ["", "devices", "orders", "intake", "refill", "service", "audit"];

static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| compiled("clock"));

/// Between two samples of what the server uses.
const BETWEEN_SAMPLES: Duration = Duration::from_secs(5);

/// Enough for a leak to exceed the allowed growth in a short run on a slow machine.
const SAMPLES_MIN: usize = 40;

/// How long the mix runs, and the divisor of all pauses and steps.
#[derive(Clone, Copy)]
struct Size {
    length: Duration,
    speed: u32,
}

const SMALL: Size = Size { length: Duration::from_secs(10), speed: 30 };

/// What a server uses.
const USES: [&str; 4] = ["memory, KiB", "descriptors", "threads", "log, bytes"];

fn uses(sandbox: &Sandbox, served: &Served) -> [u64; 4] {
    let entries =
        |of| fs::read_dir(format!("/proc/{}/{of}", served.process())).unwrap().count() as u64;
    let log = fs::metadata(sandbox.data().join("kiosque.db-wal")).map_or(0, |log| log.len());
    [served.memory_kib(), entries("fd"), entries("task"), log]
}

/// The percent, and the absolute amount, by which each may be higher in the last third of the time
/// than in the first. The descriptors alone are compared in a run that is too short for the others.
fn growth_max(size: Size) -> [Option<(u64, u64)>; 4] {
    match size.speed {
        1 => [Some((10, 0)), Some((0, 4)), Some((0, 2)), Some((25, 0))],
        _ => [None, Some((0, 40)), None, None],
    }
}

/// When something was measured, and what was.
type Sample = (Instant, [u64; 4]);

fn quantile<T: Ord + Copy>(mut all: Vec<T>, of_100: usize) -> T {
    all.sort_unstable();
    all[(all.len() * of_100 / 100).min(all.len() - 1)]
}

/// Turns of a kind of client: when each was over, and how long it took.
type Turns = BTreeMap<&'static str, Vec<(Instant, Duration)>>;

/// The clients of one server.
struct Mix<'t> {
    sandbox: &'t Sandbox,
    served: &'t Served,
    key: &'t str,
    size: Size,
    turns: Mutex<Turns>,
    /// Orders that were acknowledged.
    posted: AtomicI64,
    /// Sessions that were opened again.
    ended: AtomicUsize,
    stop: AtomicBool,
}

impl Mix<'_> {
    /// Repeats a turn, with pauses, until the mix ends.
    fn repeat(&self, kind: &'static str, pause_ms: u64, mut turn: impl FnMut(usize)) {
        for at in 0.. {
            let begun = Instant::now();
            turn(at);
            let over = Instant::now();
            self.turns.lock().unwrap().entry(kind).or_default().push((over, over - begun));
            let pause = Duration::from_millis(pause_ms) / self.size.speed;
            while over.elapsed() < pause && !self.stop.load(Ordering::SeqCst) {
                thread::sleep(pause.saturating_sub(over.elapsed()).min(Duration::from_millis(200)));
            }
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
        }
    }

    /// Starts all clients but the follower.
    fn start<'s>(&'s self, scope: &'s Scope<'s, '_>) -> Vec<ScopedJoinHandle<'s, ()>> {
        vec![
            scope.spawn(|| self.post()),
            scope.spawn(|| self.read()),
            scope.spawn(|| self.log_in()),
            scope.spawn(|| self.open_pages()),
            scope.spawn(|| self.run_commands()),
            scope.spawn(|| self.step_the_clock()),
        ]
    }

    /// Calls with a session. One that a step of the clock has ended is opened again.
    fn call(
        &self,
        caller: &mut Client,
        (account, token): (&str, &mut String),
        path: &str,
        body: &Value,
    ) -> Reply {
        loop {
            let reply = caller.call(path, Some(token), &body.to_string());
            if reply.code() != -4 {
                reply.success();
                return reply;
            }
            self.ended.fetch_add(1, Ordering::SeqCst);
            *token = caller.log_in(account, "secret");
        }
    }

    /// Returns the lines of new orders, whose trades began this much apart, the latest first.
    fn lines(&self, name: &str, numbers: Range<usize>, apart_ms: i64) -> String {
        let order = |at: usize| {
            let number = i64::try_from(at).unwrap();
            let start_ms = now_ms() - LATE_MS - apart_ms * number;
            let start = Timestamp::from_millisecond(start_ms).unwrap();
            OrderLine::new(format!("{name}{at}"), format!("D{}", number % DEVICES), start)
                .amount("EUR", 100 + number % 900)
                .paid(start)
                .with("tradeNo", format!("T{name}{at}"))
                .with("detailVOList", json!([{"goodsId": "cola", "aisleCode": "1"}]))
        };
        numbers.map(|at| order(at).to_string()).collect()
    }

    /// Stores orders of a year, which are more than the caches of the database hold.
    fn store_stock(&self) {
        let stock = if self.size.speed == 1 { STOCK } else { 0 };
        self.sandbox.import(self.lines("S", 0..stock, STOCK_APART_MS));
        self.posted.store(i64::try_from(stock).unwrap(), Ordering::SeqCst);
    }

    fn post(&self) {
        let mut caller = self.served.connect_operator();
        self.repeat("posts", 500, |at| {
            let lines = self.lines("P", at * 5..at * 5 + 5, 0);
            // Some are sent again.
            let again = if at % 4 == 3 { lines.clone() } else { String::new() };
            let sent = lines + &again;
            let reply = caller.call_operator(ORDERS_CALL, self.key, &sent).unwrap();
            assert_eq!((reply.status, &reply.json["accepted"]), (200, &json!(5)), "{reply:?}");
            self.posted.fetch_add(5, Ordering::SeqCst);
        });
    }

    fn read(&self) {
        let (mut caller, mut token) = self.served.log_in("guest");
        let is_posted = || self.turns.lock().unwrap().contains_key("posts");
        wait_until("an order is posted", is_posted);
        let dashboards: Vec<&str> = dashboard_paths().collect();
        self.repeat("reads", 250, |at| {
            if at % 50 == 49 {
                caller = self.served.connect();
            }
            let device = format!("D{}", i64::try_from(at).unwrap() % DEVICES);
            let page = json!({"deviceCode": device, "includeHistory": at % 2 == 0});
            let (path, body) = match at % 10 {
                0 => (DEVICES_PATH, json!({})),
                1 => (ONLINE_PATH, json!({})),
                2 => (DETAIL_PATH, json!({"tradeNoOut": "TP0"})),
                3..6 => (ORDERS_PATH, page),
                other => (dashboards[(at / 10 + other) % dashboards.len()], json!({})),
            };
            self.call(&mut caller, ("guest", &mut token), path, &body);
        });
    }

    fn log_in(&self) {
        self.repeat("logins", 3_000, |at| {
            let (mut caller, mut token) = self.served.log_in("walker");
            let south = json!({"groupId": "south"});
            let reply = self.call(&mut caller, ("walker", &mut token), SWITCH_PATH, &south);
            if at % 3 == 0 {
                caller.call(LOGOUT_PATH, reply.data()["accessToken"].as_str(), "");
            }
        });
    }

    fn open_pages(&self) {
        let curl = |args: &[&str], path: &str| {
            let mut curl = Command::new("curl");
            curl.args(["--silent", "--include", "--cacert"]);
            curl.arg(self.sandbox.certificate()).args(args);
            curl.arg(format!("https://{}/console/{path}", self.served.operator()));
            Ran::of(&mut curl).success().stdout
        };
        let form = ["--header", "Sec-Fetch-Site: same-origin", "--data"];
        let key = format!("key={}", self.key);
        let mut cookie = String::new();
        self.repeat("console pages", 2_000, |at| {
            let page = PAGES[at % PAGES.len()];
            // A step of the clock may end a session at once.
            for _ in 0..5 {
                let shown = curl(&["--cookie", &cookie], page);
                if shown.lines().next().unwrap().contains(" 200") {
                    return;
                }
                self.ended.fetch_add(1, Ordering::SeqCst);
                let signed_in = curl(&[&form[..], &[&key]].concat(), "login");
                let (_, rest) = signed_in.split_once("__Host-kiosque=").unwrap();
                cookie = format!("__Host-kiosque={}", rest.split(';').next().unwrap());
            }
            panic!("{page} is not shown");
        });
    }

    /// Follows the changes until the end, when all acknowledged orders must have been seen.
    fn follow(&self, all_posted: &AtomicBool) {
        let (mut caller, mut token) = self.served.log_in("follower");
        let (mut seen, mut after) = (BTreeSet::new(), Value::Null);
        loop {
            let is_end = all_posted.load(Ordering::SeqCst);
            let body = json!({"after": after, "waitSeconds": if is_end { 0 } else { 5 }});
            let reply = self.call(&mut caller, ("follower", &mut token), CHANGES_PATH, &body);
            let records = reply.success()["records"].as_array().unwrap().iter();
            let before = seen.len();
            seen.extend(records.map(|it| it["order"]["orderId"].as_str().unwrap().to_owned()));
            if is_end && seen.len() == before {
                assert_eq!(i64::try_from(before).unwrap(), self.posted.load(Ordering::SeqCst));
                return;
            }
            after = reply.data()["next"].clone();
        }
    }

    fn run_commands(&self) {
        let run = |args: &[&str]| self.sandbox.run(args).success().stdout;
        self.repeat("commands", 15_000, |at| match at % 4 {
            0 => {
                self.sandbox.apply(fleet(at));
            }
            1 => {
                let lines = self.lines("I", at * 100..at * 100 + 100, 0);
                let said = run(&["import", "orders", &self.sandbox.file("orders.ndjson", lines)]);
                assert!(said.contains("100 accepted"), "{said}");
                self.posted.fetch_add(100, Ordering::SeqCst);
            }
            2 => {
                run(&["backup", "backup.db"]);
                fs::remove_file(self.sandbox.path("backup.db")).unwrap();
            }
            _ => {
                let late = LATE_MS + CURRENT_MS / i64::from(self.size.speed);
                let before = Timestamp::from_millisecond(now_ms() - late).unwrap();
                run(&["archive", "--before", &before.to_string()]);
            }
        });
    }

    fn step_the_clock(&self) {
        let step = File::options().write(true).open(self.sandbox.path("step")).unwrap();
        self.repeat("clock steps", 40_000, |at| {
            let ms = STEPS_MS[at % STEPS_MS.len()] / i64::from(self.size.speed);
            step.write_all_at(&ms.to_ne_bytes(), 0).unwrap();
        });
    }

    /// Returns a line for each use that has grown, and prints the others.
    fn growth(&self, samples: &[Sample]) -> Vec<String> {
        // Of the first quarter, in which caches are filled, nothing is compared.
        let third = samples.len() / 4;
        let [first, last] = [&samples[third..2 * third], &samples[samples.len() - third..]];
        let mut found = Vec::new();
        for ((at, name), growth_max) in USES.iter().enumerate().zip(growth_max(self.size)) {
            let median =
                |of: &[Sample]| quantile(of.iter().map(|(_, uses)| uses[at]).collect(), 50);
            let (first, last) = (median(first), median(last));
            let text = format!("{name}: {first} in the first third, {last} in the last");
            println!("steady: {text}");
            let is_grown = |(percent, more)| last > first + first * percent / 100 + more;
            found.extend(growth_max.filter(|&max| is_grown(max)).map(|_| text));
        }
        let turns = self.turns.lock().unwrap();
        for (kind, turns) in turns.iter() {
            let p99 = |of: &[Sample]| {
                let times = of[0].0..of[of.len() - 1].0;
                let turns = turns.iter().filter(|(over, _)| times.contains(over));
                let took: Vec<_> = turns.map(|(_, took)| *took).collect();
                (!took.is_empty()).then(|| quantile(took, 99))
            };
            let p99 = [first, last].map(p99);
            println!("steady: {kind}: {} turns, p99 in these thirds {p99:?}", turns.len());
        }
        let (ended, steps) = (self.ended.load(Ordering::SeqCst), turns["clock steps"].len());
        println!(
            "steady: {} orders, {ended} sessions opened again",
            self.posted.load(Ordering::SeqCst)
        );
        if ended > 4 * steps {
            found.push(format!("{ended} sessions ended by {steps} steps"));
        }
        found
    }
}

/// The time without the steps.
fn now_ms() -> i64 {
    Clock::System.now().0
}

/// The name of the first device has the number of the fleet.
fn fleet(number: usize) -> FleetToml {
    let fleet = FleetToml::new()
        .group("north", "North")
        .group("south", "South")
        .account("walker", &["north", "south"])
        .account("guest", &["north"])
        .account("follower", &["north"])
        .product("cola", "Cola", "EUR")
        .device("D0", &format!("Device {number}"), "north");
    (1..DEVICES).fold(fleet, |fleet, at| {
        let aisle = "[[device.aisle]]\ncode = \"1\"\nproduct = \"cola\"\nprice = 150\nstock = 8";
        fleet.device(&format!("D{at}"), "Device", "north").with(aisle)
    })
}

/// Runs the mix; `before_sample` is called before each sample. Returns a line for each use that has
/// grown.
fn run(size: Size, more: &[&str], mut before_sample: impl FnMut(&Served)) -> Vec<String> {
    let sandbox = KIOSQUE.sandbox_with(fleet(0), "UTC");
    let key = sandbox.create_key(&["tills"]);
    let step = sandbox.file("step", [0; 8]);
    // Its commands have the clock that is stepped.
    let sandbox = sandbox.with_variable("LD_PRELOAD", &*LIBRARY).with_variable("CLOCK_STEP", step);
    // A login for the whole time.
    let served = sandbox.serve_with(&[&["--token-validity", "1d"], more].concat());
    let mix = Mix {
        sandbox: &sandbox,
        served: &served,
        key: &key,
        size,
        turns: Mutex::default(),
        posted: AtomicI64::new(0),
        ended: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
    };
    mix.store_stock();
    let (mut samples, all_posted) = (Vec::new(), AtomicBool::new(false));
    thread::scope(|scope| {
        let _stopping = Stopping(&all_posted);
        let follower = scope.spawn(|| mix.follow(&all_posted));
        thread::scope(|scope| {
            let _stopping = Stopping(&mix.stop);
            let clients = mix.start(scope);
            let begun = Instant::now();
            let has_turned = || {
                let turns = mix.turns.lock().unwrap();
                turns.len() == clients.len() && turns.values().all(|turns| turns.len() > 4)
            };
            while begun.elapsed() < size.length || samples.len() < SAMPLES_MIN || !has_turned() {
                let failed = clients.iter().any(|it| it.is_finished()) || follower.is_finished();
                assert!(!failed && begun.elapsed() < size.length + WAIT_MAX, "{}", served.stderr());
                before_sample(&served);
                let uses = uses(&sandbox, &served);
                samples.push((Instant::now(), uses));
                if samples.len() % 120 == 0 {
                    println!("steady: {:?}, {USES:?} {uses:?}", begun.elapsed());
                }
                thread::sleep(BETWEEN_SAMPLES / size.speed);
            }
        });
    });
    sandbox.run(&["verify"]).success();
    mix.growth(&samples)
}

#[test]
fn steady_mix_needs_no_more_over_time() {
    let minutes = u64::try_from(runs(0, 120)).unwrap();
    let size = match minutes {
        0 => SMALL,
        minutes => Size { length: Duration::from_secs(60 * minutes), speed: 1 },
    };
    println!("steady: {:?}", size.length);
    assert_eq!(run(size, &[], |_| ()), [""; 0]);
}

/// The test of the test: a client that opens connections and closes none.
#[test]
fn steady_mix_with_a_leak_is_seen() {
    let mut leaked: Vec<Client> = Vec::new();
    let found = run(SMALL, &["--idle-deadline", "1h"], |served| {
        for _ in 0..4 {
            let mut caller = served.connect();
            assert_eq!(caller.call(DEVICES_PATH, None, "{}").code(), -4);
            leaked.push(caller);
        }
    });
    assert!(matches!(&found[..], [grown] if grown.starts_with("descriptors: ")), "{found:?}");
}
