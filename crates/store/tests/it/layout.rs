//! The layout of the data: its statements, its migrations and its time zone.

use std::time::Duration;

use kiosque_model::Zone;
use kiosque_store::{Error, OpenOptions, Store, WhenAbsent};
use kiosque_testkit::{TestData, TestStore, open, open_options};

/// A migration that has run is not run again; its checksum identifies it.
#[tokio::test]
async fn data_that_is_opened_again_is_as_it_was() {
    let fixture = TestStore::with_fleet().await;
    let before = fixture.rows();
    open(&fixture.data, None).await.unwrap();
    assert_eq!(fixture.rows(), before);
    assert_eq!(fixture.query("select number, name from migrations"), ["1|first"]);
}

/// Data of another program or of a newer one is refused and not changed.
#[tokio::test]
async fn data_of_another_program_is_refused() {
    for (tampered, message) in [
        (
            "update migrations set checksum = 'other'",
            "this data has an earlier layout, which this program does not read; it is unchanged. \
             Export it with the program that wrote it (`kiosque fleet export`, `kiosque orders \
             export`), and import the files into new data with this one",
        ),
        (
            "insert into migrations values (1000, 'next', 'x', 0)",
            "this data was made by a newer program (migration 1000 is unknown here); use \
             that one",
        ),
    ] {
        let fixture = TestStore::with_fleet().await;
        fixture.tamper(tampered);
        let before = fixture.rows();
        assert_eq!(open(&fixture.data, None).await.unwrap_err().to_string(), message);
        assert_eq!(fixture.rows(), before);
    }
}

/// A program that opens data waits for the programs that open the same data, and for no others in
/// the database.
#[tokio::test]
async fn data_of_another_schema_is_opened_meanwhile() {
    let (data, other) = (TestData::postgres(), TestData::without_tables());
    open(&data, None).await.unwrap();
    let held = data.hold("lock table migrations in access exclusive mode").await;
    let meanwhile = async {
        let waiting = "select 1 from pg_locks
            where not granted and relation = cast('migrations' as regclass)";
        while data.query(waiting).is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let opened = open(&other, None).await.map(drop);
        held.release().await;
        opened
    };
    let (opened, of_other) = tokio::join!(open(&data, None), meanwhile);
    of_other.unwrap();
    opened.unwrap();
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
        assert!(data.is_empty());
    }
}
