//! Several nodes at the same data at once.

use std::sync::Arc;
use std::time::Instant;

use kiosque_model::fleet::{AccountEntry, DeviceEntry, Fleet};
use kiosque_model::{ActedBy, LoginName, UnixMs};
use kiosque_store::{
    ApplyError, NewHashes, OrderOutcome, ReceiveOptions, Refused, Returning, Store,
};
use kiosque_testkit::entries::{bare_account, bare_device, group_id};
use kiosque_testkit::{TestData, TestStore, clock_at, no_owners, open, origin, size};

use super::player::Player;
use super::steps::{ACCOUNTS, DEVICES, GROUPS, StepGenerator};

const TASKS: u64 = 6;
const BEGIN: i64 = 10_000;

/// Concurrent writes to the same groups have the same result as some serial order: nothing fails,
/// nothing is counted twice, and no number is assigned twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn histories_of_several_nodes_at_once_leave_whole_data() {
    let mut player = Player::new(TestStore::on(TestData::postgres()).await);
    player.play(StepGenerator::opening(), 500).await;
    let fixture = player.fixture;
    let stores = [fixture.store.clone(), open(&fixture.data, None).await.unwrap()];
    let (began, deadlocks) = (Instant::now(), deadlocks(&fixture));
    let rounds = i64::try_from(size(40, 1_000)).unwrap();
    let tasks = (0..TASKS).zip(stores.iter().cycle());
    let tasks: Vec<_> =
        tasks.map(|(seed, store)| tokio::spawn(work(store.clone(), seed, rounds))).collect();
    let mut accepted = 0;
    for task in tasks {
        accepted += task.await.unwrap();
    }
    for store in &stores {
        store.intake().write_activity().await.unwrap();
    }
    let verified = fixture.store.upkeep().verify().await.unwrap();
    println!(
        "{TASKS} tasks on 2 nodes: {accepted} new orders in {:?}, {} deadlocks on the server",
        began.elapsed(),
        self::deadlocks(&fixture) - deadlocks
    );
    assert_eq!(verified.differences, [""; 0]);
    assert_eq!(verified.orders, accepted);
    let gaps = "select group_no, device_no from orders group by group_no, device_no
        having count(*) <> max(seq) or min(seq) <> 1 or count(distinct seq) <> count(*)";
    assert_eq!(fixture.query(gaps), [""; 0]);
    let shared = "select group_no, change_no from orders group by group_no, change_no
        having count(*) > 1";
    assert_eq!(fixture.query(shared), [""; 0]);
    let trail = "select count(*) - max(entry_no) + min(entry_no) from audit";
    assert_eq!(fixture.query(trail), ["1"], "the trail has every number");
}

/// Of all the tests that share the server; each was retried, or a write would have failed.
fn deadlocks(fixture: &TestStore) -> i64 {
    let sql = "select deadlocks from pg_stat_database where datname = current_database()";
    fixture.query(sql)[0].parse().unwrap()
}

/// Runs one client; returns how many orders were new.
async fn work(store: Store, seed: u64, rounds: i64) -> i64 {
    let mut generator = StepGenerator::new(seed);
    let known = no_owners();
    let mut accepted = 0;
    for round in 0..rounds {
        let now = BEGIN + round;
        let at = UnixMs(now);
        match generator.rng.range(0..10) {
            0..=5 => {
                let batch = Arc::new(generator.batch(BEGIN));
                let received = store
                    .intake()
                    .receive(batch, Arc::clone(&known), ReceiveOptions::at(at))
                    .await
                    .unwrap();
                let new =
                    received.outcomes.iter().filter(|one| **one == OrderOutcome::Accepted).count();
                accepted += i64::try_from(new).unwrap();
            }
            6 => change_the_fleet(&store, &mut generator, at).await,
            7 => {
                store.intake().record_heartbeats(generator.beats(now)).await.unwrap();
                store.intake().write_activity().await.unwrap();
            }
            8 => {
                let before = UnixMs(generator.rng.range(0..BEGIN));
                store.upkeep().archive_exactly(before, at, Returning::Allowed).await.unwrap();
            }
            _ => log_in(&store, generator.rng.choose(&["ops", "Zed"]), seed, at).await,
        }
    }
    accepted
}

async fn change_the_fleet(store: &Store, generator: &mut StepGenerator, at: UnixMs) {
    let rng = &mut generator.rng;
    let codes = rng.subset(&DEVICES[..5]).into_iter();
    let devices = codes.map(|code| DeviceEntry {
        group: Some(group_id(rng.choose(&GROUPS[..3]))),
        ..bare_device(code)
    });
    let devices = devices.collect();
    // Those whose sessions end, in either order.
    let accounts = rng.subset(&ACCOUNTS[..2]).into_iter();
    let accounts =
        accounts.map(|name| AccountEntry { enabled: Some(!rng.one_in(2)), ..bare_account(name) });
    let fleet = Fleet { devices, accounts: accounts.collect(), ..Fleet::default() };
    match store.fleet().apply(fleet, NewHashes::new(), ActedBy::command(at), &clock_at(at)).await {
        Err(error @ (ApplyError::Store(_) | ApplyError::PasswordChanged)) => panic!("{error}"),
        // Two moves at the same time are refused.
        Err(ApplyError::Invalid(_)) | Ok(_) => {}
    }
}

async fn log_in(store: &Store, name: &str, seed: u64, at: UnixMs) {
    let name = LoginName::parse(name).unwrap();
    let credentials = store.sessions().credentials(&name).await.unwrap().unwrap();
    let random = [u8::try_from(seed).unwrap(); 32];
    let origin = origin(&format!("192.0.2.{seed}"), at);
    match store.sessions().log_in(credentials, random, at.plus_ms(1_000), origin).await {
        Err(Refused::Store(error)) => panic!("{error}"),
        // The account may be disabled just now.
        Err(Refused::Refusal(_)) | Ok(_) => {}
    }
}
