//! Power that is lost at any moment: no acknowledged order is lost or doubled, no replaced token is
//! accepted, and the sums agree with the orders. Only writes that were synced are sure to be there.

use std::fs;
use std::thread;

use kiosque_testkit::{Rng, Sandbox, runs, seed, size, wait_until};

use super::crash::{Disk, Kept, records};
use super::known::{Change, Event, compare};
use super::load::{Kind, Load};
use super::preload::{EIO, Failing, Failures, SYNC, log, recorded};
use crate::KIOSQUE;

/// The changes of files and what clients knew, from an empty directory to the end of a server.
struct Recording {
    sandbox: Sandbox,
    log: Vec<u8>,
    events: Vec<Event>,
}

/// Records servers under load: each ends by a signal, at which it copies its log, or is killed. In
/// some recordings syncs fail at times.
fn record(seed: u64) -> Recording {
    let sandbox = KIOSQUE.sandbox();
    let recorded = recorded(&sandbox);
    let mut rng = Rng::seeded(seed);
    let failures = Failures::new(&sandbox, rng.below(1 << 32));
    let load = Load::new(&recorded);
    let key = load.set_up();
    let sometimes = Failing { kinds: SYNC, error: EIO, chance: 300, ..Failing::NONE };
    let fails = rng.one_in(3);
    // Enough for several checkpoints under load at the full size.
    let (servers, posts) = (size(2, 4), size(12, 100));
    for server in 0..servers {
        let mut served = failures.reach(&recorded).serve();
        let wanted = [(Kind::Orders, posts), (Kind::Sessions, posts), (Kind::Commands, posts / 20)]
            .map(|(kind, count)| (kind, load.succeeded(kind) + count + 1));
        thread::scope(|scope| {
            let _stopping = load.stopping();
            load.start(scope, &served, &key, seed << 8 | server as u64);
            if fails {
                failures.begin(sometimes);
            }
            wait_until("the clients have done their part", || {
                wanted.iter().all(|(kind, count)| load.succeeded(*kind) >= *count)
            });
            load.stop();
            if server + 1 == servers || rng.one_in(2) {
                served.kill_9();
            } else {
                failures.end();
                served.stop();
            }
        });
        failures.end();
    }
    assert_eq!(*load.unclear.lock().unwrap(), [""; 0]);
    let (log, events) = (fs::read(log(&sandbox)).unwrap(), load.known.events());
    Recording { sandbox, log, events }
}

/// The results of crashes.
#[derive(Debug, Default)]
struct Crashes {
    states: usize,
    pending: usize,
    orders: usize,
    tokens: usize,
    differences: Vec<String>,
}

/// Rebuilds crashes of a recording and compares each with what was known: after an answer, around a
/// sync, and anywhere.
fn crash(recording: &Recording, states: usize, seed: u64, crashes: &mut Crashes) {
    let mut rng = Rng::seeded(seed ^ 0x5707);
    let records = records(&recording.log);
    let ends = |kinds: &[u8]| {
        let wanted = records.iter().filter(|it| kinds.contains(&it.kind));
        wanted.map(|record| record.end).collect::<Vec<u64>>()
    };
    let answered = recording.events.iter().filter_map(|event| event.answered).collect();
    let places = [answered, ends(b"SEFTUCR"), ends(b"WSEFTUCR")];
    let mut cuts: Vec<(u64, Kept)> = (0..states)
        .map(|at| (rng.choose(&places[at % 3]), Kept::ALL[at / 3 % Kept::ALL.len()]))
        .collect();
    cuts.sort_by_key(|(at, _)| *at);
    let mut disk = Disk::default();
    let mut left = records.iter();
    for (at, kept) in cuts {
        while let Some(record) = left.as_slice().first().filter(|record| record.end <= at) {
            disk.apply(record, &mut rng);
            left.next();
        }
        let found = compare_after(&disk, &recording.events, (at, kept), &mut rng, crashes);
        let place = format!("seed {seed}, {kept:?} at {at}");
        crashes.differences.extend(found.iter().map(|found| format!("{place}: {found}")));
    }
    left.for_each(|record| disk.apply(record, &mut rng));
    disk.assert_matches(&recording.sandbox.data());
}

fn compare_after(
    disk: &Disk<'_>,
    events: &[Event],
    (at, kept): (u64, Kept),
    rng: &mut Rng,
    crashes: &mut Crashes,
) -> Vec<String> {
    let sandbox = KIOSQUE.sandbox();
    fs::create_dir(sandbox.data()).unwrap();
    disk.lose_power(kept, rng, &sandbox.data());
    let (found, counts) = compare(&sandbox, events, at);
    crashes.states += 1;
    crashes.pending += disk.pending();
    crashes.orders += counts.orders;
    crashes.tokens += counts.tokens;
    found
}

#[test]
fn power_loss_loses_and_doubles_nothing_that_was_acknowledged() {
    let (recordings, states) = (runs(1, 20), size(18, 100));
    let first = seed();
    println!("power loss: KIOSQUE_SEED={first}, {recordings} recordings of {states} states");
    let mut crashes = Crashes::default();
    for seed in (first..).take(recordings) {
        let recording = record(seed);
        crash(&recording, states, seed, &mut crashes);
        let Crashes { states, pending, orders, tokens, differences } = &crashes;
        println!(
            "power loss: {states} states to seed {seed}, {} changes not synced in each, {orders} \
             acknowledged orders and {tokens} replaced tokens looked for, {} differences; the last \
             log has {} bytes",
            pending / states,
            differences.len(),
            recording.log.len(),
        );
        for difference in differences {
            println!("{difference}");
        }
        assert!(differences.is_empty());
        assert!(*orders > 0 && *tokens > 0);
    }
}

/// Clients may trust the certificate as soon as the server has printed its address.
#[test]
fn power_loss_after_the_first_start_keeps_the_certificate() {
    let sandbox = KIOSQUE.sandbox();
    let recorded = recorded(&sandbox);
    let identity = ["tls/cert.pem", "tls/key.pem"];
    recorded.run(&["init", "--timezone", "UTC"]).success();
    recorded.serve().kill_9();
    let log = fs::read(log(&sandbox)).unwrap();
    let (mut disk, mut rng) = (Disk::default(), Rng::seeded(0));
    records(&log).iter().for_each(|record| disk.apply(record, &mut rng));
    let after = KIOSQUE.sandbox();
    disk.lose_power(Kept::None, &mut rng, &after.data());
    let read = |sandbox: &Sandbox| identity.map(|file| fs::read(sandbox.data().join(file)));
    let [before, after] = [&sandbox, &after].map(|sandbox| read(sandbox).map(Result::unwrap));
    assert!(before == after);
}

/// The test of the test: on a disk that ignores syncs, acknowledged orders are lost.
#[test]
fn power_loss_without_syncs_is_seen() {
    let seed = seed();
    let recording = record(seed);
    let is_order = |event: &&Event| matches!(event.change, Change::Orders(_));
    let mut answers = recording.events.iter().filter(is_order).filter_map(|event| event.answered);
    let mut rng = Rng::seeded(seed);
    let mut disk = Disk::ignoring_syncs_from(answers.next().unwrap());
    let all = records(&recording.log);
    all.iter().for_each(|record| disk.apply(record, &mut rng));
    let end = recording.log.len() as u64;
    let mut crashes = Crashes::default();
    let found = compare_after(&disk, &recording.events, (end, Kept::None), &mut rng, &mut crashes);
    let lost = found.iter().any(|found| found.contains(" acknowledged orders are lost, "));
    assert!(lost, "seed {seed}: {found:?}");
}
