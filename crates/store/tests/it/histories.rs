//! The histories of a group: which cursors are good after the data went back, and after it did not
//! (ORD-28).

use std::fs;

use kiosque_model::refusal::ViolationKind;
use kiosque_model::{ChangeCursor, GroupId, Refusal, Violation};
use kiosque_store::{ChangeQuery, OrderChanges, Refused};
use kiosque_testkit::entries::order;
use kiosque_testkit::{TestData, TestStore};
use tempfile::TempDir;

/// Copies every table of the schema into another one.
const BACK_UP: &str = "do $$ declare t text; s text := current_schema(); begin
    execute format('create schema %I', s || '_copy');
    for t in select tablename from pg_tables where schemaname = s loop
        execute format('create table %I.%I as table %I.%I', s || '_copy', t, s, t);
    end loop;
end $$";
/// Replaces the rows of every table by the rows of the copy.
const RESTORE: &str = "do $$ declare t text; s text := current_schema(); begin
    for t in select tablename from pg_tables where schemaname = s || '_copy' loop
        execute format('truncate %I.%I', s, t);
        execute format('insert into %I.%I table %I.%I', s, t, s || '_copy', t);
    end loop;
end $$";

/// A copy of data that no process had open.
enum Backup {
    Directory(TempDir),
    Schema,
}

fn copy_files(from: &std::path::Path, to: &std::path::Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// Returns a copy of the data. Nothing has the data open.
fn back_up(data: &TestData) -> Backup {
    match data {
        TestData::Directory(directory) => {
            let copy = TempDir::new().unwrap();
            copy_files(directory.path(), copy.path());
            Backup::Directory(copy)
        }
        TestData::Postgres(_) => {
            data.execute(BACK_UP);
            Backup::Schema
        }
    }
}

/// Replaces the data by a copy. Nothing has the data open, but the connections of a store that was
/// dropped: they end while this waits for them.
async fn restore(data: &TestData, backup: &Backup) {
    match backup {
        Backup::Directory(copy) => {
            for entry in fs::read_dir(data.files()).unwrap() {
                fs::remove_file(entry.unwrap().path()).unwrap();
            }
            copy_files(copy.path(), data.files());
        }
        Backup::Schema => {
            let data = data.clone();
            tokio::task::spawn_blocking(move || data.execute(RESTORE)).await.unwrap();
        }
    }
}

/// Opens the data again, as another process.
async fn again(fixture: TestStore) -> TestStore {
    let data = fixture.data.clone();
    drop(fixture);
    opened(data).await
}

async fn opened(data: TestData) -> TestStore {
    TestStore::on(data).await
}

/// Stores orders of group `a` in separate transactions.
async fn store(fixture: &TestStore, ids: &[&str]) {
    for (at, id) in ids.iter().enumerate() {
        let device = if at % 2 == 0 { "d1" } else { "d2" };
        fixture.receive_new(vec![order(id, device, 10)]).await;
    }
}

async fn try_read(
    fixture: &TestStore,
    after: Option<ChangeCursor>,
    size: i64,
) -> Result<OrderChanges, Refused> {
    let group = GroupId::parse("a").unwrap();
    let changes = fixture.store.orders().changes_of_group(group, ChangeQuery { after, size }).await;
    changes.map(|changes| changes.expect("the group"))
}

/// Returns the cursor behind the changes of group `a` after another one, and their numbers.
async fn read(
    fixture: &TestStore,
    after: Option<ChangeCursor>,
    size: i64,
) -> (ChangeCursor, Vec<i64>) {
    let changes = try_read(fixture, after, size).await.unwrap();
    (changes.next(), changes.iter().map(|(change_no, _)| change_no).collect())
}

#[track_caller]
fn refused(read: Result<OrderChanges, Refused>) {
    let Err(Refused::Refusal(Refusal::Invalid(violations))) = read else { panic!("{read:?}") };
    assert_eq!(violations, [Violation { field: "after", kind: ViolationKind::ForeignCursor }]);
}

fn histories(fixture: &TestStore) -> Vec<String> {
    fixture.query("select first_change_no from group_histories where group_no = 1 order by 1")
}

/// ORD-28: openings that follow each other, and those that alternate, keep all cursors. Each adds
/// one history at most.
#[tokio::test]
async fn cursors_outlive_restarts() {
    let first = TestStore::with_fleet().await;
    let (empty, _) = read(&first, None, 10).await;
    store(&first, &["o1", "o2", "o3"]).await;
    let (middle, seen) = read(&first, None, 2).await;
    assert_eq!(seen, [1, 2]);
    let (end, _) = read(&first, None, 10).await;
    let second = opened(first.data.clone()).await;
    for ids in [["a1", "b1"], ["a2", "b2"], ["a3", "b3"]] {
        store(&first, &ids[..1]).await;
        store(&second, &ids[1..]).await;
    }
    assert_eq!(histories(&first), ["1", "5"]);
    let (later, _) = read(&second, None, 10).await;
    drop(first);
    let third = again(second).await;
    assert_eq!(read(&third, Some(later), 10).await, (later, Vec::new()));
    store(&third, &["c1"]).await;
    assert_eq!(histories(&third), ["1", "5", "10"]);
    for (after, rest) in [(empty, 1), (middle, 3), (end, 4), (later, 10)] {
        let seen: Vec<i64> = (rest..=10).collect();
        assert_eq!(read(&third, Some(after), 10).await.1, seen, "{after:?}");
    }
}

/// ORD-28: a cursor of changes that were lost is refused while the data has fewer changes, as many,
/// and more; one from before the backup is good.
#[tokio::test]
async fn cursors_of_lost_changes_are_refused() {
    let fixture = TestStore::with_fleet().await;
    store(&fixture, &["o1", "o2", "o3", "o4"]).await;
    let (before, _) = read(&fixture, None, 10).await;
    let fixture = again(fixture).await;
    store(&fixture, &["o5"]).await;
    let (at_backup, _) = read(&fixture, Some(before), 10).await;
    let data = fixture.data.clone();
    drop(fixture);
    let backup = back_up(&data);
    // The changes that are lost belong to the history of the backup, and to a later one.
    let fixture = opened(data.clone()).await;
    store(&fixture, &["lost1", "lost2"]).await;
    let (lost, _) = read(&fixture, Some(at_backup), 10).await;
    drop(fixture);

    for round in 0..2 {
        restore(&data, &backup).await;
        let fixture = opened(data.clone()).await;
        for at in 0..4 {
            refused(try_read(&fixture, Some(lost), 10).await);
            let seen: Vec<i64> = (6..6 + at).collect();
            assert_eq!(read(&fixture, Some(at_backup), 10).await.1, seen);
            let seen: Vec<i64> = (5..6 + at).collect();
            assert_eq!(read(&fixture, Some(before), 10).await.1, seen);
            store(&fixture, &[&format!("new{round}{at}")]).await;
        }
    }
}

/// ORD-28: a history that the backup has is closed by the restore, also for the process that had
/// begun it and continues with other numbers.
#[tokio::test]
async fn the_history_of_a_backup_ends_with_it() {
    let fixture = TestStore::with_fleet().await;
    store(&fixture, &["o1", "o2"]).await;
    let data = fixture.data.clone();
    let fixture = again(fixture).await;
    store(&fixture, &["o3"]).await;
    let (third, _) = read(&fixture, None, 10).await;
    drop(fixture);
    let backup = back_up(&data);
    restore(&data, &backup).await;
    let fixture = opened(data.clone()).await;
    store(&fixture, &["lost4", "lost5", "lost6"]).await;
    let (sixth, _) = read(&fixture, Some(third), 10).await;
    drop(fixture);
    restore(&data, &backup).await;
    let fixture = opened(data).await;
    store(&fixture, &["new4", "new5", "new6", "new7"]).await;
    refused(try_read(&fixture, Some(sixth), 10).await);
    assert_eq!(read(&fixture, Some(third), 10).await.1, [4, 5, 6, 7]);
}

/// ORD-28: the cursor of a walk that has not reached the lost changes. An order that it had not
/// read yet, because it changed meanwhile, is back at its earlier place after the restore.
#[tokio::test]
async fn a_cursor_in_the_middle_of_a_walk_is_refused() {
    let fixture = TestStore::with_fleet().await;
    store(&fixture, &["o1", "o2", "o3", "o4", "moves", "o6", "o7", "o8", "o9"]).await;
    // The walk began before the backup.
    let (early, _) = read(&fixture, None, 3).await;
    let data = fixture.data.clone();
    drop(fixture);
    let backup = back_up(&data);
    let fixture = opened(data.clone()).await;
    fixture.tamper("update orders set change_no = 10 where order_id = 'moves'");
    fixture.tamper("update group_changes set last_change_no = 10 where group_no = 1");
    let (late, seen) = read(&fixture, Some(early), 4).await;
    assert_eq!(seen, [4, 6, 7, 8]);
    drop(fixture);

    restore(&data, &backup).await;
    let fixture = opened(data).await;
    refused(try_read(&fixture, Some(late), 10).await);
    assert_eq!(read(&fixture, Some(early), 10).await.1, [4, 5, 6, 7, 8, 9]);
    store(&fixture, &["new10", "new11"]).await;
    refused(try_read(&fixture, Some(late), 10).await);
    assert_eq!(read(&fixture, Some(early), 10).await.1, [4, 5, 6, 7, 8, 9, 10, 11]);
}
