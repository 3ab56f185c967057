//! A consistent copy while the server runs: a snapshot that no writer blocks or restarts.

use std::iter::repeat_with;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use kiosque_store::{BackedUp, BackupError, Copied, Error};
use kiosque_testkit::entries::{order, titled};
use kiosque_testkit::{TestData, TestStore};
use rusqlite::Connection;

/// A store with data for several steps of a copy.
async fn laden() -> TestStore {
    let fixture = TestStore::with_fleet_on(TestData::sqlite()).await;
    // Texts that cannot be compressed much.
    let mut number = 1_u64;
    let batch = (0..200).map(|at| {
        let next = || {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'a' + (number >> 60) as u8)
        };
        let text: String = repeat_with(next).take(50_000).collect();
        titled(order(&format!("o{at}"), "d1", at), &text)
    });
    fixture.receive_new(batch.collect()).await;
    fixture
}

fn file(fixture: &TestStore) -> PathBuf {
    fixture.data.files().join("copy")
}

fn orders_in(file: &Path) -> i64 {
    let copy = Connection::open(file).unwrap();
    let message: String = copy.query_row("pragma integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(message, "ok");
    copy.query_row("select count(*) from orders", [], |row| row.get(0)).unwrap()
}

/// Files next to the data, except SQLite's own.
fn files(fixture: &TestStore) -> Vec<String> {
    let entries = std::fs::read_dir(fixture.data.files()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("copy")).collect()
}

/// Orders, of another process, too, that are written between any two steps are not in the copy, do
/// not wait for it, and do not restart it.
#[tokio::test]
async fn writes_amid_a_copy_neither_show_nor_disturb() {
    let fixture = laden().await;
    let (step, mut steps) = tokio::sync::mpsc::unbounded_channel::<Copied>();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let (store, path) = (fixture.store.clone(), file(&fixture));
    let on_progress = move |copied| {
        step.send(copied).unwrap();
        may_go_on.recv().unwrap();
        ControlFlow::Continue(())
    };
    let copying = tokio::spawn(async move { store.upkeep().backup(path, on_progress).await });
    let (mut seen, mut at) = (Vec::new(), 0);
    while let Some(copied) = steps.recv().await {
        seen.push(copied);
        // A copy that each write restarts would never end.
        assert!(seen.len() < 100, "{seen:?}");
        fixture.receive_new(vec![order(&format!("new{at}"), "d2", at)]).await;
        fixture.tamper("update ledger set last_active_ms = coalesce(last_active_ms, 0) + 1");
        at += 1;
        go_on.send(()).unwrap();
    }
    let made = copying.await.unwrap().unwrap();
    assert!(seen.len() >= 3, "{seen:?}");
    assert!(seen.is_sorted_by(|one, next| one.pages < next.pages && one.of == next.of));
    let bytes = std::fs::metadata(file(&fixture)).unwrap().len();
    assert_eq!(made, BackedUp { bytes, orders: 200 });
    assert_eq!(orders_in(&file(&fixture)), 200);
    assert_eq!(fixture.query("select count(*) from orders"), [(200 + at).to_string()]);
    fixture.check().await;
}

/// PostgreSQL has its own tools: the command refuses and names them before it creates a file.
#[tokio::test]
async fn postgresql_has_no_backup_command() {
    let fixture = TestStore::on(TestData::postgres()).await;
    let directory = tempfile::tempdir().unwrap();
    let refused = fixture
        .store
        .upkeep()
        .backup(directory.path().join("copy"), |_| ControlFlow::Continue(()))
        .await;
    let Err(BackupError::Store(Error::Data(message))) = refused else { panic!("{refused:?}") };
    assert!(message.contains("pg_basebackup"), "{message}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// Two backups at a time do not write into one file; a file left by a crash is written again,
/// readable for its owner alone.
#[tokio::test]
async fn one_backup_at_a_time_writes_a_file() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = laden().await;
    let partial = fixture.data.files().join("copy.partial");
    std::fs::write(&partial, "x".repeat(50_000_000)).unwrap();
    std::fs::set_permissions(&partial, PermissionsExt::from_mode(0o644)).unwrap();
    let held = std::fs::File::open(&partial).unwrap();
    held.lock().unwrap();
    let refused =
        fixture.store.upkeep().backup(file(&fixture), |_| ControlFlow::Continue(())).await;
    assert!(matches!(refused, Err(BackupError::UnderWay(_))), "{refused:?}");
    assert_eq!(std::fs::metadata(&partial).unwrap().len(), 50_000_000);
    drop(held);
    fixture.store.upkeep().backup(file(&fixture), |_| ControlFlow::Continue(())).await.unwrap();
    assert_eq!(files(&fixture), ["copy"]);
    assert_eq!(orders_in(&file(&fixture)), 200);
    let mode = std::fs::metadata(file(&fixture)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(std::fs::metadata(file(&fixture)).unwrap().len() < 50_000_000);
}

/// A symbolic link at the path of the copy is not followed.
#[tokio::test]
async fn a_link_in_its_place_is_not_followed() {
    let fixture = TestStore::with_fleet_on(TestData::sqlite()).await;
    let precious = fixture.data.files().join("precious");
    std::fs::write(&precious, "kept").unwrap();
    std::os::unix::fs::symlink(&precious, fixture.data.files().join("copy.partial")).unwrap();
    fixture.store.upkeep().backup(file(&fixture), |_| ControlFlow::Continue(())).await.unwrap_err();
    assert_eq!(std::fs::read(&precious).unwrap(), b"kept");
}
