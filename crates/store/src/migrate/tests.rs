//! The first upgrade, by a second migration that no program has yet.

use std::path::Path;
use std::time::Duration;

use kiosque_testdb::Schema;

use super::*;
use crate::Store;
use crate::db::{Changes, ClosedData, Db, Deadline, OpenOptions, SessionLease, StoreLocation};

const SECOND: Migration = Migration {
    number: 2,
    name: "second",
    text: "alter table groups add column colour text not null default 'blue';",
};

statements! {
    ADD_GROUP(group_no, group_id) = "insert into groups (group_no, group_id, group_name, active)
        values ($group_no, $group_id, '', true)";
    COLOURS() -> (&str, &str) = "select group_id, colour from groups order by group_no";
    NUMBERS() -> i64 = "select number from migrations order by number";
}

fn options(place: StoreLocation<'_>) -> OpenOptions<'_> {
    OpenOptions {
        place,
        when_absent: WhenAbsent::Create,
        changes: Changes::Stored,
        zone: None,
        wait: Duration::from_secs(300),
        lease: SessionLease::default(),
        now: UnixMs(0),
        random: [0; 16],
    }
}

/// Runs migrations on the data at a place.
async fn migrate(place: StoreLocation<'_>, migrations: &'static [Migration]) -> Result<(), Error> {
    let db = Db::open(&options(place), REGISTER)?;
    assert_eq!(all().len(), 3);
    db.write_to(ClosedData::Accepted, Deadline::None, async move |write| {
        run(write, migrations, WhenAbsent::Refuse, UnixMs(1)).await.map(drop)
    })
    .await
}

async fn upgrades(place: StoreLocation<'_>) {
    const BOTH: &[Migration] = &[FIRST, SECOND];
    const BROKEN: &[Migration] =
        &[FIRST, SECOND, Migration { number: 3, name: "third", text: "alter table absent add x" }];
    let opened = Store::open(&options(place)).await.expect("new data");
    opened
        .state
        .db
        .write(Deadline::None, async |write| {
            write.execute(&ADD_GROUP, &[1_i64.into(), "north".into()]).await
        })
        .await
        .expect("a group");
    drop(opened);

    migrate(place, BROKEN).await.expect_err("the third migration fails");
    let unchanged = Store::open(&options(place)).await.expect("all or none of them has run");
    drop(unchanged);
    migrate(place, BOTH).await.expect("an upgrade");
    migrate(place, BOTH).await.expect("nothing to do");

    let db = Db::open(&options(place), REGISTER).expect("opened");
    let read = async |read: &crate::db::Read<'_>| {
        let mut rows = Vec::new();
        read.each(&COLOURS, &[], |row| {
            let (group_id, colour): (&str, &str) = row.read()?;
            rows.push(format!("{group_id}: {colour}"));
            Ok(())
        })
        .await?;
        let numbers: Vec<i64> = read.all(&NUMBERS, &[]).await?;
        Ok::<_, Error>((rows, numbers))
    };
    let (rows, numbers) = db.read(Deadline::None, read).await.expect("rows");
    assert_eq!((rows, numbers), (vec!["north: blue".to_owned()], vec![1, 2]));
    drop(db);
    // The program before it.
    let refused = Store::open(&options(place)).await.expect_err("newer data").to_string();
    assert_eq!(
        refused,
        "this data was made by a newer program (migration 2 is unknown here); use that one"
    );
}

/// Data is upgraded with its rows, all or nothing, and a program that is older than the data
/// refuses it.
#[tokio::test]
async fn a_second_migration_keeps_the_rows_of_the_first() {
    let directory = tempfile::tempdir().expect("a directory");
    upgrades(StoreLocation::Directory(Path::new(directory.path()))).await;
    let schema = Schema::new();
    upgrades(StoreLocation::Postgres(schema.url())).await;
}
