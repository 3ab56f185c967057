//! Other writers continue during a dry run.

use std::sync::Arc;

use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_model::{ActedBy, UnixMs};
use kiosque_store::{EntryIndexes, Incoming, NeededEntries, OrderOutcome, ReceiveOptions};
use kiosque_testkit::entries::{bare_device, device, group, order};
use kiosque_testkit::{NOW, TestData, TestStore, is_citus, open, origin, receive_at};

use super::{apply, dry_run, fleet, results};

/// A dry run that is held in the middle stops no login, switch, log out, order, apply or archiving
/// on the same data, and does not see them.
#[tokio::test]
async fn a_dry_run_stops_no_writer() {
    if is_citus() {
        return eprintln!("skipped: a dry run on Citus holds the locks of its changes");
    }
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![order("o0", "d1", 5)]).await;
    let store = dry_run(&fixture.data).await;
    let tried = results(&store).await;
    let token = fixture.log_in("ops").await.unwrap();
    let token = fixture.switch(token, "b").await;
    fixture
        .store
        .sessions()
        .log_out(fixture.claim(&token), origin("127.0.0.1", NOW))
        .await
        .unwrap();
    // In other places than in the dry run.
    let orders = vec![order("o2", "d1", 7), order("o1", "d1", 8), order("n1", "e1", 9)];
    fixture.receive_new(orders).await;
    let renamed = DeviceEntry { name: Some("Elsewhere".to_owned()), ..bare_device("d1") };
    fixture.apply_devices(vec![renamed]).await;
    fixture.apply(Fleet { groups: vec![group("c")], ..Fleet::default() }).await.unwrap();
    assert_eq!(fixture.store.upkeep().archive(UnixMs(8), NOW).await.unwrap().orders, 2);
    assert_eq!(
        open(&fixture.data, None).await.unwrap().upkeep().verify().await.unwrap().differences,
        [""; 0]
    );
    // The dry run continues in the state that it began with.
    let orders = vec![order("o1", "d1", 10), order("o2", "d1", 21), order("n1", "e1", 9)];
    let received = receive_at(&store, orders, NOW).await;
    let (unchanged, updated) = (OrderOutcome::Unchanged, OrderOutcome::Updated);
    assert_eq!(received, [unchanged, updated, OrderOutcome::Accepted]);
    let again = apply(&store, fleet()).await.unwrap();
    assert_eq!((again.counts.groups.unchanged, again.differences), (1, Vec::new()));
    drop(store);
    assert_eq!(tried.received[0], [OrderOutcome::Accepted, OrderOutcome::Accepted]);
    let ids = "select order_id from orders order by order_id";
    assert_eq!(fixture.query(ids), ["n1", "o0", "o1", "o2"]);
    fixture.check().await;
}

/// The log of a dry run begins as the database's log is: full, copied to the file, or begun again.
/// What others write, and copy to the file, changes nothing in it.
#[tokio::test]
async fn checkpoints_do_not_reach_a_dry_run() {
    let fixture = TestStore::with_fleet_on(TestData::sqlite()).await;
    let batch = |name: &str, from: i64| {
        let order = |at| order(&format!("{name}{at}"), "d1", at);
        (from..from + 400).map(order).collect::<Vec<Incoming>>()
    };
    let checkpoint = |kind: &str| fixture.query(&format!("pragma wal_checkpoint({kind})"));
    let last_seq = "select last_seq from ledger where device_code = 'd1'";
    for (round, kind) in ["passive", "truncate", "restart", ""].into_iter().enumerate() {
        let from = i64::try_from(round).unwrap() * 10_000;
        fixture.receive_new(batch("before", from)).await;
        if !kind.is_empty() {
            checkpoint(kind);
        }
        let store = dry_run(&fixture.data).await;
        for part in 0..4 {
            let from = from + 1_000 * (part + 1);
            fixture.receive_new(batch("live", from)).await;
            checkpoint("passive");
            let received = receive_at(&store, batch("tried", from + 500), NOW).await;
            assert!(received.iter().all(|one| *one == OrderOutcome::Accepted), "{received:?}");
        }
        assert_eq!(store.upkeep().verify().await.unwrap().differences, [""; 0], "{kind}");
        drop(store);
        let stored = 2_000 * (round + 1);
        assert_eq!(fixture.query(last_seq), [stored.to_string()], "{kind}");
        assert_eq!(fixture.differences().await, [""; 0], "{kind}");
    }
}

/// Nothing is left behind by a dry run whose process is killed: its log has no name.
#[tokio::test]
async fn the_log_of_a_dry_run_has_no_name() {
    let fixture = TestStore::with_fleet_on(TestData::sqlite()).await;
    let names = || {
        let entries = std::fs::read_dir(fixture.data.files()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let store = dry_run(&fixture.data).await;
    receive_at(&store, vec![order("o1", "d1", 10)], NOW).await;
    assert_eq!(names(), before);
}

/// On a database server, a dry run changes temporary tables only: it holds no lock for which a
/// writer would wait.
#[tokio::test]
async fn a_dry_run_on_a_database_server_holds_no_lock() {
    if is_citus() {
        return eprintln!("skipped: a dry run on Citus holds the locks of its changes");
    }
    let fixture = TestStore::with_fleet_on(TestData::postgres()).await;
    fixture.receive_new(vec![order("o1", "d1", 10)]).await;
    let store = dry_run(&fixture.data).await;
    results(&store).await;
    let needed = NeededEntries {
        fleet: Arc::new(Fleet { devices: vec![device("a9", "a")], ..Fleet::default() }),
        of_orders: vec![EntryIndexes { device: Some(0), products: Vec::new() }],
    };
    let orders = Arc::new(vec![order("o9", "a9", 10)]);
    let (options, by) = (ReceiveOptions::at(NOW), ActedBy::command(NOW));
    let received = store.intake().receive_creating(orders, needed, options, by).await.unwrap();
    assert_eq!(received.outcomes, [OrderOutcome::Accepted]);
    let locks = "select c.relname, l.mode from pg_locks l join pg_class c on c.oid = l.relation
        join pg_namespace n on n.oid = c.relnamespace
        join pg_stat_activity a on a.pid = l.pid and a.backend_type = 'client backend'
        where n.nspname = current_schema and l.mode <> 'AccessShareLock' order by 1, 2";
    assert_eq!(fixture.query(locks), [""; 0]);
    assert_eq!(fixture.query("select order_id from orders"), ["o1"]);
}
