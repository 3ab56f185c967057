//! The layout of the data: its statements, its migrations and its time zone.

use std::sync::Arc;
use std::time::Duration;

use kiosque_model::Zone;
use kiosque_store::{Error, Opening, Store, WhenAbsent};
use tempfile::TempDir;

use crate::desk::{Desk, NOW, TestShape, open};

/// "Every statement is *prepared* on both engines by a test" (the one engine that there is).
#[test]
fn every_statement_compiles() {
    let count = Desk::new().store.prepare_all().unwrap();
    // Every module's list is in it: no list is shorter than this all together.
    assert!(count >= 84, "only {count} statements");
}

/// "migrations with checksums": what has run is not run again.
#[tokio::test]
async fn data_that_is_opened_again_is_as_it_was() {
    let desk = Desk::furnished().await;
    let before = desk.rows();
    let again = open(&desk.folder, None).unwrap();
    assert_eq!(desk.rows(), before);
    again.prepare_all().unwrap();
    assert_eq!(
        desk.ask("select number, name from migrations"),
        ["1|first", "2|sums", "3|operator"]
    );
}

/// "migrations with checksums": data of another program or of a newer one is refused, untouched.
#[tokio::test]
async fn data_of_another_program_is_refused() {
    for (tampered, said) in [
        (
            "update migrations set checksum = 'other'",
            "migration 1 (first) of this data is not the one of this program",
        ),
        (
            "insert into migrations values (9, 'next', 'x', 0)",
            "this data was made by a newer program (migration 9 is unknown here)",
        ),
    ] {
        let desk = Desk::furnished().await;
        desk.tamper(tampered);
        let before = desk.rows();
        assert_eq!(open(&desk.folder, None).unwrap_err().to_string(), said);
        assert_eq!(desk.rows(), before);
    }
}

/// "Whichever command makes the data records the time zone (UTC when none is given); later an
/// absent option means the recorded one, and a different one is refused with both named."
#[test]
fn the_time_zone_is_recorded_once() {
    let paris = Zone::named("Europe/Paris").unwrap();
    let utc = Zone::utc();
    let folder = TempDir::new().unwrap();
    assert_eq!(open(&folder, Some(&paris)).unwrap().zone().name(), "Europe/Paris");
    assert_eq!(open(&folder, None).unwrap().zone().name(), "Europe/Paris");
    assert_eq!(open(&folder, Some(&paris)).unwrap().zone().name(), "Europe/Paris");
    let said = open(&folder, Some(&utc)).unwrap_err().to_string();
    assert!(said.contains("Europe/Paris") && said.contains("UTC"), "{said}");
    assert_eq!(open(&folder, None).unwrap().zone().name(), "Europe/Paris");

    let folder = TempDir::new().unwrap();
    assert_eq!(open(&folder, None).unwrap().zone().name(), "UTC");
    let said = open(&folder, Some(&paris)).unwrap_err().to_string();
    assert!(said.contains("Europe/Paris") && said.contains("UTC"), "{said}");
    assert!(open(&folder, Some(&utc)).is_ok());
}

/// "`kiosque` writes nothing else into the folder": where data is expected, none is made.
#[test]
fn absent_data_can_be_refused() {
    let folder = TempDir::new().unwrap();
    let shape = Arc::new(TestShape { settle: |order, _| Ok(order.record.clone()) });
    let (folder_path, wait) = (folder.path(), Duration::from_secs(1));
    let when_absent = WhenAbsent::Refuse;
    let opening = Opening { folder: folder_path, when_absent, zone: None, shape, wait, now: NOW };
    let Err(Error::Data(said)) = Store::open(&opening) else { panic!("opened nothing") };
    assert!(said.contains("holds no data"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
