//! A device whose stored rows contradict each other rejects its own orders, and no others.

use std::sync::Arc;

use kiosque_store::{Incoming, LockedGroups, OrderOutcome, ReceiveOptions};
use kiosque_testkit::entries::{device, moved, order};
use kiosque_testkit::{NOW, TestData, TestStore, no_owners};

const DAMAGES: [&str; 2] = [
    "delete from ledger where device_code = 'e1'",
    "update ledger set device_no = 99 where device_code = 'e1'",
];

/// Two orders of the device, one that is stored and one that is new, with orders of its group and
/// of another group.
#[tokio::test]
async fn the_orders_of_an_inconsistent_device_alone_are_rejected() {
    for damage in DAMAGES {
        let fixture = TestStore::with_fleet().await;
        fixture.apply_devices(vec![device("e2", "b")]).await;
        fixture.receive_new(vec![order("old", "e1", 5)]).await;
        fixture.tamper(damage);
        let orders = [("o1", "e2"), ("old", "e1"), ("o2", "d1"), ("new", "e1"), ("o3", "e2")];
        let orders = orders.map(|(id, device)| order(id, device, 7));
        let outcomes = fixture.receive(orders.into_iter().collect()).await;
        let reason = "deviceCode: device e1 has no ledger in its group b; run `kiosque verify`";
        let inconsistent = || OrderOutcome::Inconsistent(reason.to_owned());
        let accepted = || OrderOutcome::Accepted;
        let expected = [accepted(), inconsistent(), accepted(), inconsistent(), accepted()];
        assert_eq!(outcomes, expected, "{damage}");
        let stored = fixture.query("select order_id from orders order by 1");
        assert_eq!(stored, ["o1", "o2", "o3", "old"], "{damage}");
    }
}

/// A ledger without orders that another device left gets the number of the new one.
#[tokio::test]
async fn a_ledger_without_orders_gets_the_number_of_its_device() {
    let fixture = TestStore::with_fleet().await;
    fixture.tamper(
        "insert into ledger
            (group_no, device_code, device_no, since_ms, first_seq, archived_seq, last_seq)
        select group_no, 'd9', 99, 7, 1, 0, 0 from groups where group_id = 'a'",
    );
    fixture.apply_devices(vec![device("d9", "a")]).await;
    fixture.receive_new(vec![order("o", "d9", 7)]).await;
    fixture.check().await;
}

/// An order of a device that moved waits while another transaction has locked any of the device's
/// groups, which may be storing the order with another start. SQLite has one writer.
#[tokio::test]
async fn an_order_of_a_moved_device_waits_for_all_of_its_groups() {
    let fixture = TestStore::with_fleet_on(TestData::postgres()).await;
    fixture.apply_devices(vec![moved("d1", "b", None)]).await;
    let lock = fixture.data.lock_group("a").await;
    let orders = || vec![order("o2", "e1", NOW.0), order("o1", "d1", NOW.0)];
    let receive = async |orders: Vec<Incoming>| {
        let skip = LockedGroups::Skip;
        let options = ReceiveOptions { locked_groups: skip, ..ReceiveOptions::at(NOW) };
        let orders = Arc::new(orders);
        fixture.store.intake().receive(orders, no_owners(), options).await.unwrap().outcomes
    };
    let expected = [OrderOutcome::Accepted, OrderOutcome::GroupLocked];
    assert_eq!(receive(orders()).await, expected);
    lock.release().await;
    let expected = [OrderOutcome::Unchanged, OrderOutcome::Accepted];
    assert_eq!(receive(orders()).await, expected);
}
