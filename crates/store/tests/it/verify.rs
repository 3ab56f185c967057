//! `kiosque verify` recounts every stored sum and count from the orders, and names each difference.

mod sums;

use kiosque_model::UnixMs;
use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_testkit::entries::{aisle, bare_device, order};
use kiosque_testkit::{NOW, TestStore};

/// A planted difference, and the report of it.
const PLANTED: &[(&str, &[&str])] = &[
    (
        "delete from orders where order_id = 'o3'",
        &["group a, device d1: the ledger has sequence 1 to 5, 4 orders are stored"],
    ),
    (
        "update ledger set last_seq = 6 where device_code = 'd1'",
        &["group a, device d1: the ledger has sequence 1 to 6, 5 orders are stored"],
    ),
    (
        "update ledger set last_seq = 1 where device_code = 'd2'",
        &["group a, device d2: the ledger has sequence 1 to 1, 0 orders are stored"],
    ),
    (
        "update ledger set first_seq = 0 where device_code = 'd1'",
        &["group a, device d1: the ledger has sequence 0 to 5, 5 orders are stored"],
    ),
    (
        "update orders set seq = 9 where order_id = 'o5'",
        &["group a, device d1: the ledger has sequence 1 to 5, orders 1 to 9"],
    ),
    (
        "update orders set seq = 2 where order_id = 'o3'",
        &["group a, device d1: 5 orders share 4 sequence numbers"],
    ),
    (
        "update ledger set archived_seq = 6 where device_code = 'd1'",
        &["group a, device d1: the archive mark 6 is outside of sequence 1 to 5"],
    ),
    (
        "update ledger set archived_seq = -1 where device_code = 'd1'",
        &["group a, device d1: the archive mark -1 is outside of sequence 1 to 5"],
    ),
    (
        "update devices set total_curr_stock = 7 where device_code = 'd1'",
        &["device d1: stock 7 is stored, its aisles hold 5"],
    ),
    (
        "delete from aisles where aisle_code = '2'",
        &["device d1: stock 5 is stored, its aisles hold 2"],
    ),
    (
        "update orders set change_no = 99 where order_id = 'o1'",
        &["group a: an order has change number 99, the counter is at 5"],
    ),
    (
        "update group_changes set last_change_no = 4 where last_change_no = 5",
        &["group a: an order has change number 5, the counter is at 4"],
    ),
    (
        "delete from group_changes where last_change_no = 1",
        &["group b: an order has change number 1, the counter is at 0"],
    ),
    (
        "delete from ledger where device_code = 'd1'",
        &["orders: 6 are stored, 1 belong to a ledger"],
    ),
    ("delete from device_owners where device_code = 'e1'", &["device e1: it has no owner"]),
    (
        "update orders set device_no = 2 where order_id = 'o5'",
        &[
            "group a, device d1: the ledger has sequence 1 to 5, 4 orders are stored",
            "group a, device d2: the ledger has sequence 1 to 0, 1 orders are stored",
        ],
    ),
];

/// A device with five orders, two of them archived, and a stock of 5.
async fn fixture() -> TestStore {
    let fixture = TestStore::with_fleet().await;
    let aisles = Some(vec![aisle("1", "p", 2), aisle("2", "p", 3)]);
    let devices = vec![DeviceEntry { aisles, ..bare_device("d1") }];
    fixture.apply(Fleet { devices, ..Fleet::default() }).await.unwrap();
    let ids = ["o1", "o2", "o3", "o4", "o5"];
    fixture.receive_new((10..).zip(ids).map(|(at, id)| order(id, "d1", at)).collect()).await;
    fixture.receive_new(vec![order("f1", "e1", 10)]).await;
    fixture.store.archive(UnixMs(12), NOW).await.unwrap();
    fixture
}

/// Correct data has no differences.
#[tokio::test]
async fn data_that_is_whole_has_no_differences() {
    let verified = fixture().await.store.verify().await.unwrap();
    assert_eq!((verified.orders, verified.ledgers), (6, 3));
    assert_eq!(verified.differences, [""; 0]);
}

/// Exactly the planted differences are named.
#[tokio::test]
async fn each_planted_difference_is_named() {
    for (planted, differences) in PLANTED {
        let fixture = fixture().await;
        fixture.tamper(planted);
        assert_eq!(fixture.store.verify().await.unwrap().differences, *differences, "{planted}");
    }
}
