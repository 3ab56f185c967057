//! The layout of the data: its statements, its migrations and its time zone.

use kiosque_model::{ActedBy, UnixMs, Zone};
use kiosque_store::{Error, OpenOptions, Store, WhenAbsent, citus_statements};
use kiosque_testkit::entries::order;
use kiosque_testkit::{NOW, TestData, TestStore, is_citus, open, open_options, sql};

/// Every statement can be prepared on both engines.
#[tokio::test]
async fn every_statement_compiles() {
    for data in [TestData::sqlite(), TestData::postgres()] {
        let count = TestStore::on(data).await.store.prepare_all().await.unwrap();
        // The list of every module is included: together they are at least as long.
        assert!(count >= 84, "only {count} statements");
    }
}

/// A migration that has run is not run again; its checksum identifies it.
#[tokio::test]
async fn data_that_is_opened_again_is_as_it_was() {
    let fixture = TestStore::with_fleet().await;
    let before = fixture.rows();
    let again = open(&fixture.data, None).await.unwrap();
    assert_eq!(fixture.rows(), before);
    again.prepare_all().await.unwrap();
    assert_eq!(
        fixture.query("select number, name from migrations"),
        [
            "1|first",
            "2|sums",
            "3|operator",
            "4|nodes",
            "5|remembered",
            "6|names",
            "7|device_lists",
            "8|order_blocks",
            "9|months",
            "10|audit_details",
            "11|runs",
            "12|free_products",
            "13|device_counts",
            "14|aisle_texts",
            "15|devices_version",
            "16|console",
            "17|active_imports",
            "18|list_versions",
            "19|refused",
            "20|arrivals",
            "21|ledgers_of_devices",
            "22|histories"
        ]
    );
}

/// Data of an older layout is upgraded. On Citus its tables are distributed, and the new ones are
/// on the coordinator until the script has run again.
#[tokio::test]
async fn data_of_an_older_layout_is_upgraded() {
    let old = TestStore::with_fleet().await;
    old.receive_new(vec![order("o1", "d1", 10), order("o2", "e1", 20)]).await;
    let (data, elements) = (old.data.clone(), "select element from aisle_texts order by device_no");
    let before = old.query(elements);
    drop(old);
    data.execute(sql::EIGHTH_LAYOUT);
    let upgraded = TestStore::on(data).await;
    assert_eq!(upgraded.query(elements), before);
    upgraded.receive_new(vec![order("o3", "d1", 30)]).await;
    assert_eq!(upgraded.store.archive(UnixMs(15), NOW).await.unwrap().run, Some(1));
    assert_eq!(upgraded.store.verify().await.unwrap().differences, [""; 0]);
    if is_citus() {
        let tables = upgraded.store.undistributed_tables().await.unwrap();
        assert_eq!((tables.len(), tables[0].as_str()), (8, "aisle_texts"));
        upgraded.data.distribute();
        let tables = "select count(*) from pg_dist_partition where logicalrelid in (
            select oid from pg_class where relnamespace = current_schema()::regnamespace)";
        let count = citus_statements().matches("select create_").count();
        assert_eq!(upgraded.query(tables), [count.to_string()]);
    }
    assert_eq!(upgraded.store.undistributed_tables().await.unwrap(), [""; 0]);
    assert_eq!(upgraded.store.undo_archive(None, ActedBy::command(NOW)).await.unwrap().orders, 1);
    assert_eq!(upgraded.store.verify().await.unwrap().differences, [""; 0]);
}

/// Data of another program or of a newer one is refused and not changed.
#[tokio::test]
async fn data_of_another_program_is_refused() {
    for (tampered, message) in [
        (
            "update migrations set checksum = 'other'",
            "migration 1 (first) of this data is not the one of this program",
        ),
        (
            "insert into migrations values (1000, 'next', 'x', 0)",
            "this data was made by a newer program (migration 1000 is unknown here)",
        ),
    ] {
        let fixture = TestStore::with_fleet().await;
        fixture.tamper(tampered);
        let before = fixture.rows();
        assert_eq!(open(&fixture.data, None).await.unwrap_err().to_string(), message);
        assert_eq!(fixture.rows(), before);
    }
}

/// FMT-2: the command that creates the data records the time zone, UTC without one. Later an absent
/// option means the recorded zone, and a different one is refused with both named.
#[tokio::test]
async fn the_time_zone_is_recorded_once() {
    let paris = Zone::named("Europe/Paris").unwrap();
    let utc = Zone::utc();
    let data = TestData::new();
    assert_eq!(open(&data, Some(&paris)).await.unwrap().zone().name(), "Europe/Paris");
    assert_eq!(open(&data, None).await.unwrap().zone().name(), "Europe/Paris");
    assert_eq!(open(&data, Some(&paris)).await.unwrap().zone().name(), "Europe/Paris");
    let message = open(&data, Some(&utc)).await.unwrap_err().to_string();
    assert!(message.contains("Europe/Paris") && message.contains("UTC"), "{message}");
    assert_eq!(open(&data, None).await.unwrap().zone().name(), "Europe/Paris");

    let data = TestData::new();
    assert_eq!(open(&data, None).await.unwrap().zone().name(), "UTC");
    let message = open(&data, Some(&paris)).await.unwrap_err().to_string();
    assert!(message.contains("Europe/Paris") && message.contains("UTC"), "{message}");
    assert!(open(&data, Some(&utc)).await.is_ok());
}

/// Where data is expected, none is created.
#[tokio::test]
async fn absent_data_can_be_refused() {
    for data in [TestData::sqlite(), TestData::without_tables()] {
        let opening = OpenOptions { when_absent: WhenAbsent::Refuse, ..open_options(&data) };
        let refused = Store::open(&opening).await.err();
        assert!(matches!(refused, Some(Error::NoData)), "{refused:?}");
        match &data {
            TestData::Directory(directory) => {
                assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
            }
            TestData::Postgres(_) => {
                let tables = "select count(*) from pg_tables where schemaname = current_schema";
                assert_eq!(data.query(tables), ["0"]);
            }
        }
    }
}
