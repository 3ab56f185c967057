//! Archive runs and how they are undone: the orders of a run are current again (ORD-22).

use kiosque_model::audit::AuditEvent;
use kiosque_model::{ActedBy, UnixMs};
use kiosque_store::{Archived, AuditQuery, History, RunBy, UndoError, Undone};
use kiosque_testkit::entries::order;
use kiosque_testkit::{NOW, TestStore};

const DAY_MS: i64 = 86_400_000;

async fn fixture() -> TestStore {
    let fixture = TestStore::with_fleet().await;
    fixture
        .receive_new(vec![order("o1", "d1", 10), order("o2", "d1", 20), order("o3", "d1", 30)])
        .await;
    fixture.receive_new(vec![order("x1", "d2", 5), order("f1", "e1", 15)]).await;
    fixture
}

async fn current(fixture: &TestStore, group: &str, device: &str) -> Vec<String> {
    fixture.list(group, device, History::Left, NOW).await.unwrap()
}

async fn archive(fixture: &TestStore, before: i64) -> Archived {
    fixture.store.archive(UnixMs(before), NOW).await.unwrap()
}

async fn undo(fixture: &TestStore, run: Option<i64>) -> Result<Undone, UndoError> {
    fixture.store.undo_archive(run, ActedBy::command(NOW)).await
}

async fn check(fixture: &TestStore) {
    assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0]);
}

#[tokio::test]
async fn the_last_run_is_undone_and_then_the_one_before() {
    let fixture = fixture().await;
    assert_eq!(archive(&fixture, 11).await, Archived { run: Some(1), orders: 2, devices: 2 });
    assert_eq!(archive(&fixture, 11).await, Archived::default(), "no run without orders");
    assert_eq!(archive(&fixture, 100).await, Archived { run: Some(2), orders: 3, devices: 2 });
    check(&fixture).await;
    assert_eq!(current(&fixture, "a", "d1").await, [""; 0]);
    let undone = undo(&fixture, None).await.unwrap();
    let expected = Undone { run: 2, at: NOW, orders: 3, devices: 2, before_of_servers: None };
    assert_eq!(undone, expected);
    assert_eq!(current(&fixture, "a", "d1").await, ["o3", "o2"]);
    assert_eq!(current(&fixture, "b", "e1").await, ["f1"]);
    check(&fixture).await;
    assert_eq!(undo(&fixture, None).await.unwrap().run, 1);
    assert_eq!(current(&fixture, "a", "d1").await, ["o3", "o2", "o1"]);
    assert_eq!(current(&fixture, "a", "d2").await, ["x1"]);
    check(&fixture).await;
    assert!(matches!(undo(&fixture, None).await, Err(UndoError::NoRun(None))));
    assert!(matches!(undo(&fixture, Some(2)).await, Err(UndoError::IsUndone(2))));
    assert!(matches!(undo(&fixture, Some(7)).await, Err(UndoError::NoRun(Some(7)))));
    // The orders can be archived again, with the next number.
    assert_eq!(archive(&fixture, 100).await, Archived { run: Some(3), orders: 5, devices: 3 });
    let events = fixture.store.audit(AuditQuery::latest(100)).await.unwrap().entries;
    let undone = events.iter().filter(|one| one.happened.event == AuditEvent::ArchiveUndone);
    let undone = undone.map(|one| one.details.as_ref().unwrap());
    let undone: Vec<_> = undone.map(|details| (details.run_id.clone(), details.orders)).collect();
    assert_eq!(undone, [(Some("1".to_owned()), Some(2)), (Some("2".to_owned()), Some(3))]);
}

/// The marks of a device are a prefix of its orders: a run can be undone if no later one archived
/// orders of its devices.
#[tokio::test]
async fn a_run_with_later_runs_of_its_devices_is_refused() {
    let fixture = fixture().await;
    for before in [11, 21, 31] {
        archive(&fixture, before).await;
    }
    let refused = undo(&fixture, Some(1)).await.unwrap_err();
    assert!(
        matches!(&refused, UndoError::Later { run: 1, later } if *later == [2, 3]),
        "{refused}"
    );
    assert!(
        refused.to_string().ends_with(
            "the last one first: `kiosque archive --undo 3`, `kiosque archive --undo 2`"
        )
    );
    assert_eq!(current(&fixture, "a", "d1").await, [""; 0]);
    // The second run has an order of e1, which no later one has.
    fixture.receive_new(vec![order("f2", "e1", 40)]).await;
    archive(&fixture, 41).await;
    for run in [4, 3, 2, 1] {
        undo(&fixture, Some(run)).await.unwrap();
        check(&fixture).await;
    }
    assert_eq!(current(&fixture, "b", "e1").await, ["f2", "f1"]);
}

/// More marks than one transaction has.
#[tokio::test]
async fn a_run_of_many_devices_is_undone() {
    use kiosque_model::fleet::Fleet;
    use kiosque_testkit::entries::device;
    let fixture = TestStore::with_fleet().await;
    let devices = (0..450).map(|at| device(&format!("m{at}"), ["a", "b"][at % 2])).collect();
    fixture.apply(Fleet { devices, ..Fleet::default() }).await.unwrap();
    let orders = (0..450).map(|at| order(&format!("o{at}"), &format!("m{at}"), 1)).collect();
    fixture.receive_new(orders).await;
    assert_eq!(archive(&fixture, 2).await, Archived { run: Some(1), orders: 450, devices: 450 });
    assert_eq!(undo(&fixture, None).await.unwrap().orders, 450);
    assert_eq!(fixture.query("select count(*) from ledger where archived_seq > 0"), ["0"]);
    check(&fixture).await;
}

/// A server archives every hour: its runs of a day are one. Runs are kept for 90 days.
#[tokio::test]
async fn the_runs_of_a_server_within_a_day_are_one() {
    let fixture = fixture().await;
    let by_server = async |before: i64, at: UnixMs| {
        fixture.store.archive_by(RunBy::Server, UnixMs(before), at).await.unwrap().run
    };
    assert_eq!(by_server(11, NOW).await, Some(1));
    assert_eq!(by_server(21, NOW.plus_ms(DAY_MS - 1)).await, Some(1));
    assert_eq!(by_server(31, NOW.plus_ms(DAY_MS)).await, Some(2));
    check(&fixture).await;
    let runs = fixture.store.archive_runs().await.unwrap();
    let runs: Vec<_> =
        runs.iter().map(|run| (run.run_id.as_str(), run.orders, run.before_timestamp)).collect();
    assert_eq!(runs, [("2", 1, 31), ("1", 4, 21)]);
    assert_eq!(undo(&fixture, None).await.unwrap().orders, 1);
    assert_eq!(undo(&fixture, None).await.unwrap().orders, 4);
    check(&fixture).await;
    // A run that was undone is not continued.
    assert_eq!(by_server(11, NOW.plus_ms(2 * DAY_MS)).await, Some(3));
    let later = NOW.plus_ms(91 * DAY_MS);
    assert_eq!(by_server(21, later).await, Some(4));
    let runs = fixture.store.archive_runs().await.unwrap();
    assert_eq!(runs.iter().map(|run| run.run_id.as_str()).collect::<Vec<_>>(), ["4", "3", "2"]);
    by_server(31, NOW.plus_ms(93 * DAY_MS)).await;
    assert_eq!(fixture.query("select count(*) from archive_marks where run_no = 3"), ["0"]);
    check(&fixture).await;
}

/// A server archives orders again that it archived before, or that are older than those. Orders of
/// a command's run that are younger stay current.
#[tokio::test]
async fn a_run_that_a_server_would_repeat_says_so() {
    let fixture = fixture().await;
    let of = async |run| undo(&fixture, Some(run)).await.unwrap().before_of_servers;
    assert_eq!(archive(&fixture, 11).await.run, Some(1));
    let by_server = fixture.store.archive_by(RunBy::Server, UnixMs(21), NOW).await.unwrap();
    assert_eq!(by_server.run, Some(2));
    assert_eq!(archive(&fixture, 31).await.run, Some(3));
    assert_eq!(of(3).await, None);
    assert_eq!(of(2).await, Some(UnixMs(21)));
    assert_eq!(of(1).await, Some(UnixMs(21)));
    check(&fixture).await;
}

/// A run that a crash interrupted is undone as far as it got, and an undoing that a failure
/// interrupted is completed by the next one.
#[tokio::test]
async fn what_a_failure_left_is_undone_by_a_repetition() {
    let fixture = fixture().await;
    archive(&fixture, 31).await;
    for statements in 0.. {
        fixture.store.arm_fault(statements, || kiosque_store::Error::Gone);
        match undo(&fixture, Some(1)).await {
            Ok(_) => break,
            Err(UndoError::Store(_)) => check(&fixture).await,
            Err(error) => panic!("{error}"),
        }
    }
    let _ = fixture.store.disarm_fault();
    assert_eq!(current(&fixture, "a", "d1").await, ["o3", "o2", "o1"]);
    check(&fixture).await;
}
