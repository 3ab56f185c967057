//! Archive boundaries: archiving moves the boundary of a device up to the first order that is not
//! older than the given time (ORD-5), and back with an earlier one (ORD-22).

use kiosque_model::UnixMs;
use kiosque_store::{ArchiveError, Archived, History, Incoming, OrderOutcome, Returning};
use kiosque_testkit::entries::{device, order};
use kiosque_testkit::{NOW, TestStore};

async fn fixture() -> TestStore {
    let fixture = TestStore::with_fleet().await;
    fixture
        .receive_new(vec![order("o1", "d1", 10), order("o2", "d1", 20), order("o3", "d1", 30)])
        .await;
    fixture.receive_new(vec![order("x1", "d2", 5), order("f1", "e1", 15)]).await;
    fixture
}

async fn current(fixture: &TestStore) -> Vec<String> {
    fixture.list("a", "d1", History::Left, NOW).await.unwrap()
}

async fn archive(fixture: &TestStore, before: i64) -> Archived {
    fixture.store.upkeep().archive(UnixMs(before), NOW).await.unwrap()
}

/// Archives as a command with `--yes` does.
async fn archive_exactly(fixture: &TestStore, before: i64) -> Archived {
    let archived =
        fixture.store.upkeep().archive_exactly(UnixMs(before), NOW, Returning::Allowed).await;
    archived.unwrap()
}

fn archived(before: i64, (orders, devices): (i64, usize)) -> Archived {
    let before = UnixMs(before);
    Archived { before, orders, devices, returned_orders: 0, returned_devices: 0 }
}

fn returned(before: i64, (orders, devices): (i64, usize)) -> Archived {
    Archived { returned_orders: orders, returned_devices: devices, ..archived(before, (0, 0)) }
}

async fn update(fixture: &TestStore, order: Incoming) {
    assert_eq!(fixture.receive(vec![order]).await, [OrderOutcome::Updated]);
}

/// ORD-5: the boundary advances up to the first order that is not older. ORD-4: current orders are
/// those above the boundary. ORD-22: a server moves boundaries forward only.
#[tokio::test]
async fn the_boundary_moves_up_to_the_first_order_that_is_not_older() {
    let fixture = fixture().await;
    let none = archived(10, (1, 1));
    assert_eq!(archive(&fixture, 10).await, none, "not older than itself");
    assert_eq!(current(&fixture).await, ["o3", "o2", "o1"]);
    assert_eq!(archive(&fixture, 21).await, archived(21, (3, 2)));
    assert_eq!(current(&fixture).await, ["o3"]);
    let all = fixture.list("a", "d1", History::Included, NOW).await.unwrap();
    assert_eq!(all, ["o3", "o2", "o1"]);
    for before in [21, 5, 0] {
        assert_eq!(archive(&fixture, before).await, archived(before, (0, 0)));
    }
    assert_eq!(current(&fixture).await, ["o3"]);
    assert_eq!(archive(&fixture, 1_000).await.orders, 1);
    assert_eq!(current(&fixture).await, [""; 0]);
    fixture.receive_new(vec![order("o4", "d1", 40)]).await;
    assert_eq!(current(&fixture).await, ["o4"]);
    fixture.check().await;
}

/// ORD-5: a late arrival stays current until all orders before it are archived.
#[tokio::test]
async fn a_late_arrival_stays_current_until_all_before_it_are_old() {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![order("o1", "d1", 10), order("o2", "d1", 30)]).await;
    fixture.receive_new(vec![order("late", "d1", 11)]).await;
    archive(&fixture, 20).await;
    assert_eq!(current(&fixture).await, ["late", "o2"]);
    archive(&fixture, 31).await;
    assert_eq!(current(&fixture).await, [""; 0]);
}

/// ORD-5: an order that is dated ahead does not stop the boundary. It stays current while no older
/// order has arrived after it, and archived when its time has come.
#[tokio::test]
async fn an_order_that_is_dated_ahead_does_not_stop_the_boundary() {
    let fixture = TestStore::with_fleet().await;
    let ahead = NOW.0 + 1;
    fixture.receive_new(vec![order("o1", "d1", 10), order("ahead", "d1", ahead)]).await;
    archive(&fixture, 100).await;
    assert_eq!(current(&fixture).await, ["ahead"]);
    fixture.receive_new(vec![order("o2", "d1", 20)]).await;
    fixture.receive_new(vec![order("new", "d1", NOW.0), order("later", "d1", 30)]).await;
    assert_eq!(archive(&fixture, 100).await, archived(100, (2, 1)));
    assert_eq!(current(&fixture).await, ["later", "new"]);
    // Its time has come. The same time and a later one return no order, with or without consent.
    let now = NOW.plus_ms(500);
    for before in [UnixMs(100), UnixMs(110)] {
        let again =
            fixture.store.upkeep().archive_exactly(before, now, Returning::Refused).await.unwrap();
        assert_eq!(again, archived(before.0, (0, 0)));
    }
    let archived_now = fixture.store.upkeep().archive(now, now).await.unwrap();
    assert_eq!(archived_now, archived(now.0, (2, 1)));
    assert_eq!(current(&fixture).await, [""; 0]);
    fixture.check().await;
}

/// ORD-22: an earlier time makes current again what it does not archive, in its place, and says
/// first how many orders that are.
#[tokio::test]
async fn an_earlier_time_moves_boundaries_back_if_that_is_allowed() {
    let fixture = fixture().await;
    assert_eq!(archive_exactly(&fixture, 100).await, archived(100, (5, 3)));
    for (before, orders, devices) in [(20, 2, 1), (11, 3, 2), (0, 5, 3)] {
        let refused =
            fixture.store.upkeep().archive_exactly(UnixMs(before), NOW, Returning::Refused).await;
        let Err(ArchiveError::WouldReturn { orders: found, devices: of, archived_before }) =
            refused
        else {
            panic!("{refused:?}");
        };
        assert_eq!((found, of, archived_before), (orders, devices, UnixMs(100)));
        assert_eq!(current(&fixture).await, [""; 0]);
    }
    assert_eq!(archive_exactly(&fixture, 20).await, returned(20, (2, 1)));
    assert_eq!(current(&fixture).await, ["o3", "o2"]);
    fixture.check().await;
    // An earlier time that returns no order needs no consent. It is the last one from then on.
    let earlier =
        fixture.store.upkeep().archive_exactly(UnixMs(16), NOW, Returning::Refused).await.unwrap();
    assert_eq!(earlier, archived(16, (0, 0)));
    assert_eq!(archive_exactly(&fixture, 0).await, returned(0, (3, 3)));
    assert_eq!(current(&fixture).await, ["o3", "o2", "o1"]);
    assert_eq!(archive_exactly(&fixture, 100).await, archived(100, (5, 3)));
    fixture.check().await;
}

/// ORD-22, ORD-5: moved back to a time and on again, a boundary is where that time alone puts it,
/// also with orders that arrived late or whose trade start has changed meanwhile.
#[tokio::test]
async fn a_boundary_that_moves_back_is_placed_among_the_orders_as_they_are() {
    let fixture = fixture().await;
    archive_exactly(&fixture, 25).await;
    fixture.receive_new(vec![order("late", "d1", 12)]).await;
    assert_eq!(current(&fixture).await, ["late", "o3"]);
    // The orders before the late one are old enough; the boundary moves forward.
    archive_exactly(&fixture, 31).await;
    assert_eq!(current(&fixture).await, [""; 0]);
    assert_eq!(archive_exactly(&fixture, 25).await, returned(25, (2, 1)));
    assert_eq!(current(&fixture).await, ["late", "o3"]);
    // The third order started earlier than it seemed: an earlier time than the last one archives it
    // and the late one.
    update(&fixture, order("o3", "d1", 14)).await;
    assert_eq!(archive_exactly(&fixture, 24).await, archived(24, (2, 1)));
    // The first one started later than it seemed: it is archived until an earlier time asks again.
    update(&fixture, order("o1", "d1", 24)).await;
    assert_eq!(archive_exactly(&fixture, 24).await, archived(24, (0, 0)));
    assert_eq!(current(&fixture).await, [""; 0]);
    assert_eq!(archive_exactly(&fixture, 23).await, returned(23, (4, 1)));
    assert_eq!(current(&fixture).await, ["late", "o3", "o2", "o1"]);
    fixture.check().await;
}

/// Every device is archived and returned: here are more boundaries than one transaction moves.
#[tokio::test]
async fn every_device_is_archived_however_many_there_are() {
    let fixture = TestStore::with_fleet().await;
    let devices = (0..450).map(|at| device(&format!("m{at}"), ["a", "b"][at % 2])).collect();
    fixture.apply_devices(devices).await;
    let orders = (0..450).map(|at| order(&format!("o{at}"), &format!("m{at}"), 1)).collect();
    fixture.receive_new(orders).await;
    assert_eq!(archive(&fixture, 2).await, archived(2, (450, 450)));
    assert_eq!(archive_exactly(&fixture, 1).await, returned(1, (450, 450)));
    assert_eq!(fixture.query("select count(*) from ledger where archived_seq > 0"), ["0"]);
    fixture.check().await;
}

/// ORD-22: what a failure left is moved back by a repetition, which needs consent as before.
#[tokio::test]
async fn what_a_failure_left_is_moved_back_by_a_repetition() {
    let fixture = fixture().await;
    archive(&fixture, 31).await;
    let mut failures = 0;
    for statements in 0.. {
        fixture.store.engine().faults().arm(Some((statements, || kiosque_store::Error::Gone)));
        match fixture.store.upkeep().archive_exactly(UnixMs(11), NOW, Returning::Allowed).await {
            Ok(_) => break,
            Err(ArchiveError::Store(_) | ArchiveError::Interrupted { .. }) => fixture.check().await,
            Err(error) => panic!("{error}"),
        }
        failures += 1;
    }
    let _ = fixture.store.engine().faults().arm(None);
    assert!(failures > 5, "{failures}");
    assert_eq!(current(&fixture).await, ["o3", "o2"]);
    // A later time than the last one moves boundaries forward only: the repetition has ended.
    assert_eq!(archive_exactly(&fixture, 12).await, archived(12, (0, 0)));
    fixture.check().await;
}
