//! `kiosque verify` recounts every stored sum and count from the orders, and names each difference.

mod sums;

use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_model::{ActedBy, DeviceCode, UnixMs, Zone};
use kiosque_store::{Incoming, OrderOutcome, ProductNames};
use kiosque_testkit::entries::{
    aisle, bare_device, bare_order, device, group, moved, order, sale, sold,
};
use kiosque_testkit::{NOW, TestData, TestStore, open};

/// Statements that plant differences.
const PLANTED: [&str; 37] = [
    "delete from orders where order_id = 'o3'",
    "update ledger set last_seq = 6 where device_code = 'd1'",
    "update ledger set last_seq = 1 where device_code = 'd2'",
    "update ledger set first_seq = 0 where device_code = 'd1'",
    "update orders set seq = 9 where order_id = 'o5'",
    "update ledger set archived_seq = 6 where device_code = 'd1'",
    "update ledger set archived_seq = -1 where device_code = 'd1'",
    "update devices set total_curr_stock = 7 where device_code = 'd1'",
    "delete from aisles where aisle_code = '2'",
    "update products set goods_name = 'x' where goods_id = 'p'",
    "update orders set change_no = 99 where order_id = 'o1'",
    "update ledger set last_change_no = 4 where device_code = 'd1'",
    "update group_changes set last_change_no = 4 where last_change_no = 5",
    "delete from group_changes where last_change_no = 1",
    "delete from group_changes where last_change_no = 0",
    "delete from group_histories where group_no = 1",
    "update group_histories set first_change_no = 2 where group_no = 1",
    "delete from ledger where device_code = 'd1'",
    "delete from ledger where device_code = 'd2'",
    "update ledger set device_no = 99 where device_code = 'd2'",
    "update device_owners set device_no = 99 where device_code = 'd2'",
    "insert into ledger
        (group_no, device_code, device_no, since_ms, first_seq, archived_seq, last_seq)
    select group_no, 'd9', 9, 0, 1, 0, 0 from groups where group_id = 'b'",
    "update device_owners set since_ms = 5 where device_code = 'd2'",
    "update ledger set since_ms = 5 where device_code = 'd2'",
    "update devices set enabled = false where device_code = 'd2'",
    "update device_owners set listed = false where device_code = 'd2'",
    "update ledger set device_name = 'x' where device_code = 'd2'",
    "delete from device_owners where device_code = 'e1'",
    "update group_changes set devices = 9 where devices = 2",
    "update device_owners set until_ms = 500 where device_code = 'd2'",
    "update orders set device_no = 2 where order_id = 'o5'",
    "delete from arrivals where arrival_no = 2",
    "delete from arrivals where arrival_no = 3",
    "update counters set last = 2 where name = 'arrivals'",
    "update counters set last = 0 where name = 'audit'",
    "insert into refused_requests (number, share, request_id, at_ms, source, details)
    values (1, 's', 'r', 0, '127.0.0.1', '{}')",
    "delete from counters where name = 'audit'",
];

/// A device with five orders, two of them archived, and a stock of 5; a group without orders, whose
/// device is disabled; and three arrivals.
async fn fixture() -> TestStore {
    let fixture = TestStore::with_fleet().await;
    let aisles = Some(vec![aisle("1", "p", 2), aisle("2", "p", 3)]);
    let devices = vec![DeviceEntry { aisles, ..bare_device("d1") }];
    fixture.apply_devices(devices).await;
    let ids = ["o1", "o2", "o3", "o4", "o5"];
    fixture.receive_new((10..).zip(ids).map(|(at, id)| order(id, "d1", at)).collect()).await;
    fixture.receive_new(vec![order("f1", "e1", 10)]).await;
    fixture.store.upkeep().archive(UnixMs(12), NOW).await.unwrap();
    let devices = vec![DeviceEntry { enabled: Some(false), ..device("c1", "c") }];
    let groups = vec![group("c"), group("without devices")];
    fixture.apply(Fleet { groups, devices, ..Fleet::default() }).await.unwrap();
    for _ in 1..=3 {
        fixture.store.intake().begin_import(ActedBy::command(NOW)).await.unwrap();
    }
    fixture
}

/// Correct data has no differences.
#[tokio::test]
async fn data_that_is_whole_has_no_differences() {
    let verified = fixture().await.store.upkeep().verify().await.unwrap();
    assert_eq!((verified.orders, verified.ledgers), (6, 4));
    assert_eq!(verified.differences, [""; 0]);
}

/// Exactly the planted differences are named.
#[tokio::test]
async fn each_planted_difference_is_named() {
    let mut shown = String::new();
    for planted in PLANTED {
        let fixture = fixture().await;
        fixture.tamper(planted);
        shown += &format!("{planted}\n  {}\n", fixture.differences().await.join("\n  "));
    }
    insta::assert_snapshot!(shown);
}

/// Orders with the same id are a difference if they are of one device, which moved, and none if
/// they are of devices of different groups.
#[tokio::test]
async fn an_order_of_a_device_that_two_groups_have_is_named() {
    let fixture = fixture().await;
    fixture.apply_devices(vec![moved("d1", "b", None)]).await;
    let at = NOW.0 + 1;
    fixture.receive_new(vec![order("n1", "d1", at), order("n2", "d1", at)]).await;
    fixture.receive_new(vec![order("o3", "e1", at)]).await;
    fixture.check().await;
    fixture.tamper("update orders set order_id = 'o4' where order_id = 'n2'");
    let differences = [
        "device d1: order o4 is stored in group b and in group a",
        "group b, device d1, order o4: its checksum does not match its columns and its record",
    ];
    assert_eq!(fixture.differences().await, differences);
}

/// Orders whose columns have the device and the start of other records, with whole checksums.
#[tokio::test]
async fn an_order_with_the_record_of_another_is_named() {
    let fixture = TestStore::with_fleet().await;
    let moved = |order| Incoming { device_code: DeviceCode::parse("d2").unwrap(), ..order };
    let late = |order| Incoming { trade_start: UnixMs(1_000), ..order };
    let paid = |id| sold(order(id, "d1", 10), sale(10, "EUR", &[]));
    let orders = vec![
        moved(order("o1", "d1", 10)),
        late(order("o2", "d1", 10)),
        moved(paid("o3")),
        late(paid("o4")),
    ];
    fixture.receive_new(orders).await;
    let start = "its trade started at 1970-01-01 00:00:01, its record says 1970-01-01 00:00:00";
    let mut differences = fixture.differences().await;
    differences.sort();
    let named = [
        format!("group a, device d1, order o2: {start}"),
        format!("group a, device d1, order o4: {start}"),
        "group a, device d2, order o1: its record says device d1".to_owned(),
        "group a, device d2, order o3: its record says device d1".to_owned(),
    ];
    assert_eq!(differences, named);
}

/// A trade starts at another local time by other rules of the zone.
#[tokio::test]
async fn other_rules_of_the_zone_explain_starts_of_trades() {
    let data = TestData::new();
    let paris = Zone::named("Europe/Paris").unwrap();
    drop(open(&data, Some(&paris)).await.unwrap());
    let fixture = TestStore::with_fleet_on(data).await;
    // Rendered in UTC.
    let late = Incoming { trade_start: UnixMs(1_000), ..order("o2", "d1", 10) };
    fixture.receive_new(vec![order("o1", "d1", 10), late]).await;
    let verified = fixture.store.upkeep().verify().await.unwrap();
    let name = |id: &str, time: &str| {
        format!(
            "group a, device d1, order {id}: its trade started at 1970-01-01 {time}, its record \
             says 1970-01-01 00:00:00"
        )
    };
    assert_eq!(verified.differences, [name("o2", "01:00:01")]);
    assert_eq!(verified.by_other_rules, [name("o1", "01:00:00")]);
}

/// A sale is taken from the day on which it was counted, whatever day it belongs to by new rules.
#[tokio::test]
async fn a_sale_is_corrected_on_its_day_by_the_rules_by_which_it_was_stored() {
    const HOUR: i64 = 3_600_000;
    let fixture = TestStore::with_fleet().await;
    let paid = |id: &str, hour| {
        let at = hour * HOUR;
        sold(order(id, "d1", at), sale(at, "EUR", &[("p", 1, 5)]))
    };
    fixture.receive_new(vec![paid("o1", 12), paid("o2", 23)]).await;
    fixture.tamper("update metadata set value = 'Europe/Paris' where name = 'time_zone'");
    let fixture = fixture.again().await;
    let paris = Zone::named("Europe/Paris").unwrap();
    let cancelled = bare_order("o2", "d1", 23 * HOUR);
    let cancelled = Incoming::of(cancelled, &paris, &ProductNames::new()).unwrap();
    assert_eq!(fixture.receive(vec![cancelled]).await, [OrderOutcome::Updated]);
    fixture.check().await;
    let days = "select day, orders from sales_by_day where orders <> 0";
    assert_eq!(fixture.query(days), ["0|1"]);
}

/// Every record that cannot be read is named, and the rest is checked.
#[tokio::test]
async fn each_damaged_record_is_named_and_the_rest_is_checked() {
    let damages = ["trade_no = 'other'", "trade_start_ms = 1", "arrival_no = 1", "sale = record"];
    for damage in damages {
        let fixture = fixture().await;
        fixture.tamper(&format!("update orders set {damage} where order_id in ('o2', 'o4', 'f1')"));
        fixture.tamper("update devices set total_curr_stock = 7 where device_code = 'd1'");
        fixture.tamper("update ledger set last_seq = 2 where device_code = 'e1'");
        let error = "its checksum does not match its columns and its record";
        let differences = [
            "device d1: stock 7 is stored, its aisles hold 5".to_owned(),
            format!("group a, device d1, order o2: {error}"),
            format!("group a, device d1, order o4: {error}"),
            "group b, device e1: the ledger has sequence 1 to 2, 1 orders are stored".to_owned(),
            format!("group b, device e1, order f1: {error}"),
        ];
        assert_eq!(fixture.differences().await, differences, "{damage}");
    }
}

/// Text that is not UTF-8, which SQLite stores without an error.
#[tokio::test]
async fn an_order_whose_columns_cannot_be_read_is_reported_and_the_rest_is_checked() {
    let fixture = TestStore::with_fleet_on(TestData::sqlite()).await;
    let orders = ["o1", "o2"].map(|id| order(id, "d1", 10)).into_iter().collect();
    fixture.receive_new(orders).await;
    fixture.tamper("update orders set order_id = cast(x'ff' as text) where order_id = 'o1'");
    fixture.tamper("update orders set record = x'00' where order_id = 'o2'");
    let differences = fixture.differences().await;
    let starts = ["group a: an order cannot be read: ", "group a, device d1, order o2: "];
    for start in starts {
        assert!(differences.iter().any(|it| it.starts_with(start)), "{start} {differences:#?}");
    }
    assert_eq!(differences.len(), 2, "{differences:#?}");
}

/// Two indexes, each with the rows of the other.
#[tokio::test]
async fn the_integrity_check_of_the_database_file_is_part_of_it() {
    let fixture = TestStore::with_fleet_on(TestData::sqlite()).await;
    fixture.receive_new(vec![order("o1", "d1", 10), order("o2", "d1", 11)]).await;
    let root = |index: &str| {
        let sql = format!("select rootpage from sqlite_schema where name = '{index}'");
        fixture.query(&sql).concat()
    };
    let (change, sale) = (root("orders_change"), root("orders_sale"));
    fixture.data.execute(&format!(
        "pragma writable_schema = on;
        update sqlite_schema
        set rootpage = case rootpage when {change} then {sale} else {change} end
        where name in ('orders_change', 'orders_sale');
        pragma schema_version = 1000"
    ));
    let differences = fixture.differences().await;
    let is_named =
        |it: &String| it.starts_with("the database file: ") && it.contains("orders_change");
    assert!(differences.iter().any(is_named), "{differences:#?}");
}
