//! Archive marks: archiving advances the mark of a device up to the first order that is not older
//! than the given time (ORD-5).

use kiosque_model::UnixMs;
use kiosque_store::{Archived, History};
use kiosque_testkit::entries::order;
use kiosque_testkit::{NOW, TestStore};

async fn current(fixture: &TestStore) -> Vec<String> {
    fixture.list("a", "d1", History::Left, NOW).await.unwrap()
}

/// ORD-5: the mark advances up to the first order that is not older. ORD-4: current orders are
/// those above the mark.
#[tokio::test]
async fn the_mark_moves_up_to_the_first_order_that_is_not_older() {
    let fixture = TestStore::with_fleet().await;
    fixture
        .receive_new(vec![order("o1", "d1", 10), order("o2", "d1", 20), order("o3", "d1", 30)])
        .await;
    fixture.receive_new(vec![order("x1", "d2", 5), order("f1", "e1", 15)]).await;
    let archived = fixture.store.archive(UnixMs(10), NOW).await.unwrap();
    assert_eq!(archived, Archived { run: Some(1), orders: 1, devices: 1 }, "not older than itself");
    assert_eq!(current(&fixture).await, ["o3", "o2", "o1"]);
    let archived = fixture.store.archive(UnixMs(21), NOW).await.unwrap();
    assert_eq!(archived, Archived { run: Some(2), orders: 3, devices: 2 });
    assert_eq!(current(&fixture).await, ["o3"]);
    let all = fixture.list("a", "d1", History::Included, NOW).await.unwrap();
    assert_eq!(all, ["o3", "o2", "o1"]);
    // An earlier time restores nothing.
    for before in [21, 5, 0] {
        let archived = fixture.store.archive(UnixMs(before), NOW).await.unwrap();
        assert_eq!(archived, Archived::default());
    }
    assert_eq!(current(&fixture).await, ["o3"]);
    assert_eq!(fixture.store.archive(UnixMs(1_000), NOW).await.unwrap().orders, 1);
    assert_eq!(current(&fixture).await, [""; 0]);
    fixture.receive_new(vec![order("o4", "d1", 40)]).await;
    assert_eq!(current(&fixture).await, ["o4"]);
    assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0]);
}

/// ORD-5: a late arrival stays current until all orders before it are archived.
#[tokio::test]
async fn a_late_arrival_stays_current_until_all_before_it_are_old() {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![order("o1", "d1", 10), order("o2", "d1", 30)]).await;
    fixture.receive_new(vec![order("late", "d1", 11)]).await;
    fixture.store.archive(UnixMs(20), NOW).await.unwrap();
    assert_eq!(current(&fixture).await, ["late", "o2"]);
    fixture.store.archive(UnixMs(31), NOW).await.unwrap();
    assert_eq!(current(&fixture).await, [""; 0]);
}

/// ORD-5: an order that is dated ahead does not stop the mark. It stays current while no older
/// order has arrived after it.
#[tokio::test]
async fn an_order_that_is_dated_ahead_does_not_stop_the_mark() {
    let fixture = TestStore::with_fleet().await;
    let ahead = NOW.0 + 1;
    fixture.receive_new(vec![order("o1", "d1", 10), order("ahead", "d1", ahead)]).await;
    fixture.store.archive(UnixMs(100), NOW).await.unwrap();
    assert_eq!(current(&fixture).await, ["ahead"]);
    fixture.receive_new(vec![order("o2", "d1", 20)]).await;
    fixture.receive_new(vec![order("new", "d1", NOW.0), order("later", "d1", 30)]).await;
    let archived = fixture.store.archive(UnixMs(100), NOW).await.unwrap();
    assert_eq!(archived, Archived { run: Some(2), orders: 2, devices: 1 });
    assert_eq!(current(&fixture).await, ["later", "new"]);
    // Its time has come, and it is history already.
    let now = NOW.plus_ms(500);
    let archived = fixture.store.archive(now, now).await.unwrap();
    assert_eq!(archived, Archived { run: Some(3), orders: 2, devices: 1 });
    assert_eq!(current(&fixture).await, [""; 0]);
    assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0]);
}

/// Every device is archived: here are more marks than one transaction advances.
#[tokio::test]
async fn every_device_is_archived_however_many_there_are() {
    let fixture = TestStore::with_fleet().await;
    let codes: Vec<String> = (0..450).map(|number| format!("m{number}")).collect();
    let devices = codes.iter().map(|code| kiosque_testkit::entries::device(code, "b")).collect();
    let fleet = kiosque_model::fleet::Fleet { devices, ..Default::default() };
    fixture.apply(fleet).await.unwrap();
    fixture
        .receive_new(codes.iter().map(|code| order(&format!("o-{code}"), code, 1)).collect())
        .await;
    let archived = fixture.store.archive(UnixMs(2), NOW).await.unwrap();
    assert_eq!(archived, Archived { run: Some(1), orders: 450, devices: 450 });
}
