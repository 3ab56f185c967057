//! A disk with errors while a server and commands run: reads, writes and syncs that fail, a full
//! file system, and a read-only one. Nothing acknowledged is lost, every answer says
//! what happened, and service resumes without a restart when the errors end.

use std::collections::BTreeMap;
use std::thread;

use kiosque_testkit::{Rng, Sandbox, runs, seed, wait_until};

use super::known::compare;
use super::load::{Kind, Load};
use super::preload::{
    CREATE, EIO, ENOSPC, EROFS, Failing, Failures, OPEN, READ, REMOVE, RESIZE, SYNC, WRITE, loaded,
};
use crate::kill_9::copy_data;
use crate::{KIOSQUE, shell};

/// What fails.
const DISKS: [(&str, Failing); 6] = [
    ("reads with errors", Failing { kinds: READ, error: EIO, ..Failing::NONE }),
    ("writes with errors", Failing { kinds: WRITE | RESIZE, error: EIO, ..Failing::NONE }),
    ("syncs with errors", Failing { kinds: SYNC, error: EIO, ..Failing::NONE }),
    ("writes without room", Failing { kinds: WRITE, error: ENOSPC, ..Failing::NONE }),
    (
        "a full file system",
        Failing {
            kinds: WRITE | RESIZE | CREATE,
            error: ENOSPC,
            is_growth_alone: true,
            ..Failing::NONE
        },
    ),
    (
        "a read-only file system",
        Failing { kinds: WRITE | RESIZE | CREATE | OPEN | REMOVE, error: EROFS, ..Failing::NONE },
    ),
];

/// When the calls of a disk fail.
#[derive(Clone, Copy, Debug)]
enum When {
    /// One call, after some that succeed.
    Once,
    /// Some calls in a row, after some that succeed.
    Some,
    /// Every call, until the error ends.
    All,
    /// A part of all calls.
    Random,
}

const WHEN: [When; 4] = [When::Once, When::Some, When::All, When::Random];

impl When {
    fn of(self, disk: Failing, rng: &mut Rng) -> Failing {
        let mut below = |end| u32::try_from(rng.below(end)).unwrap();
        let failing = Failing { skip: below(40), chance: 10_000, ..disk };
        match self {
            When::Once => Failing { limit: 1, ..failing },
            When::Some => Failing { limit: 2 + below(20), ..failing },
            When::All => failing,
            When::Random => Failing { chance: 100 + below(5_000), ..failing },
        }
    }
}

/// Data with a certificate and a key, from which each run starts.
struct Fresh {
    sandbox: Sandbox,
    key: String,
}

impl Fresh {
    fn new() -> Fresh {
        let sandbox = KIOSQUE.sandbox();
        let key = super::set_up(&sandbox);
        sandbox.serve().stop();
        Fresh { sandbox, key }
    }
}

/// Runs clients of a server whose disk fails, then works again. Returns what was wrong.
fn run(
    fresh: &Fresh,
    failing: Failing,
    seed: u64,
    answers: &mut BTreeMap<String, usize>,
) -> Vec<String> {
    let sandbox = KIOSQUE.sandbox();
    copy_data(&fresh.sandbox.data(), &sandbox.data());
    let failures = Failures::new(&sandbox, usize::try_from(seed & 0xffff_ffff).unwrap());
    let failing_at_times = failures.reach(&loaded(&sandbox));
    let load = Load::new(&failing_at_times);
    load.note_set_up(0);
    let mut served = failing_at_times.serve();
    let mut found = Vec::new();
    let goes_on = |load: &Load<'_>, count| {
        let kinds = [Kind::Orders, Kind::Sessions, Kind::Reads, Kind::Commands];
        let wanted = kinds.map(|kind| (kind, load.succeeded(kind) + count));
        move |load: &Load<'_>| wanted.iter().all(|(kind, count)| load.succeeded(*kind) >= *count)
    };
    thread::scope(|scope| {
        let _stopping = load.stopping();
        load.start(scope, &served, &fresh.key, seed);
        let is_warm = goes_on(&load, 1);
        wait_until("the clients are served", || is_warm(&load));
        failures.begin(failing);
        let answered = load.answered();
        // The failure may come late, or on a disk of this kind not at all.
        wait_until("the clients are answered", || {
            let answers = load.answered() - answered;
            answers >= 300 || answers >= 60 && failures.failed() > 0
        });
        for path in ["/livez", "/readyz", "/readyz/orders"] {
            let (status, body) = shell::get(&served, path);
            if !(status == 200 || status == 503 && !body.trim().is_empty()) {
                found.push(format!("{path}: {status} {body}"));
            }
        }
        failures.end();
        let is_back = goes_on(&load, 2);
        wait_until("the clients are served again", || is_back(&load));
        for path in ["/readyz", "/readyz/orders"] {
            wait_until(path, || shell::get(&served, path).0 == 200);
        }
        load.stop();
    });
    let ended = served.stop();
    if !ended.success() {
        found.push(format!("the server ended with {ended}"));
    }
    found.extend(served.stderr().lines().filter(|line| line.contains("panick")).map(str::to_owned));
    found.append(&mut load.unclear.lock().unwrap());
    for (answer, count) in load.answers.lock().unwrap().iter() {
        *answers.entry(answer.clone()).or_default() += count;
    }
    *answers.entry("failed calls".to_owned()).or_default() += failures.failed() as usize;
    let (differences, counts) = compare(&sandbox, &load.known.events(), u64::MAX);
    found.extend(differences);
    *answers.entry("acknowledged orders".to_owned()).or_default() += counts.orders;
    found
}

#[test]
fn bad_disk_loses_nothing_and_service_resumes_when_the_errors_end() {
    let runs = runs(DISKS.len() * 2, 500);
    let first = seed();
    println!("bad disk: KIOSQUE_SEED={first}, {runs} runs");
    let fresh = Fresh::new();
    let mut answers = BTreeMap::new();
    for (at, seed) in (first..).take(runs).enumerate() {
        let mut rng = Rng::seeded(seed);
        let (name, disk) = DISKS[at % DISKS.len()];
        let when = WHEN[(at / DISKS.len() + at) % WHEN.len()];
        let failing = when.of(disk, &mut rng);
        let found = run(&fresh, failing, seed, &mut answers);
        assert!(
            found.is_empty(),
            "run {at}, seed {seed}, {name}, {when:?}: {failing:?}\n{found:#?}"
        );
        if at % 50 == 49 {
            println!("bad disk: {} runs to seed {seed}, {answers:?}", at + 1);
        }
    }
    println!("bad disk: {runs} runs from seed {first}, 0 differences, {answers:?}");
    assert!(answers["failed calls"] > 0 && answers["acknowledged orders"] > 0);
}

/// The test of the test: orders are lost on a disk that reports writes as done and drops them.
#[test]
fn bad_disk_that_drops_writes_is_seen() {
    let fresh = Fresh::new();
    let (sandbox, seed) = (KIOSQUE.sandbox(), seed());
    copy_data(&fresh.sandbox.data(), &sandbox.data());
    let failures = Failures::new(&sandbox, 0);
    let load = Load::new(&sandbox);
    load.note_set_up(0);
    let mut served = failures.reach(&loaded(&sandbox)).serve();
    thread::scope(|scope| {
        let _stopping = load.stopping();
        load.start_posting(scope, &served, &fresh.key, seed);
        wait_until("orders are stored", || load.succeeded(Kind::Orders) > 0);
        failures.begin(Failing { kinds: WRITE, chance: 10_000, ..Failing::NONE });
        let (stored, answered) = (load.succeeded(Kind::Orders), load.answered());
        // Those that were being stored may have been written. Pages that were not make later
        // orders fail.
        wait_until("orders are answered", || {
            load.succeeded(Kind::Orders) > stored + 1 || load.answered() > answered + 20
        });
        load.stop();
        served.kill_9();
    });
    failures.end();
    let (found, _) = compare(&sandbox, &load.known.events(), u64::MAX);
    assert!(!found.is_empty(), "seed {seed}");
}
