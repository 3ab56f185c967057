//! A database file that another program has written over, at the same path and in the same inode,
//! as `cp` does: while a server has it open, and after a server was killed.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use kiosque_testkit::{DEVICES_PATH, SERVE, Sandbox, Served, wait_until};

use crate::KIOSQUE;
use crate::fleet::{fleet, order, orders};
use crate::shell;

const PAGE_BYTES: usize = 4096;
const LOG_HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;

fn database(sandbox: &Sandbox) -> PathBuf {
    sandbox.data().join("kiosque.db")
}

/// Data with 700 orders, a backup of it in `monday.db`, and a key for orders.
fn backed_up() -> (Sandbox, String) {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let key = sandbox.create_key(&["tills"]);
    sandbox.import(orders("old", 0..700));
    sandbox.run(&["backup", "monday.db"]).success();
    (sandbox, key)
}

/// Sends orders, and returns the status of the answer.
fn send(served: &Served, key: &str, orders: &str) -> u16 {
    served.post_orders(key, orders).status
}

/// A database next to a log of other data is refused.
fn assert_refused(sandbox: &Sandbox, reason: &str) {
    let (data, shown) = (sandbox.data(), database(sandbox));
    let said = format!(
        "kiosque: {} {reason}, and {}-wal belongs to other data: move the log away, or restore a \
         backup with `kiosque restore FILE --data {}`, which moves away the files that are there\n",
        shown.display(),
        shown.display(),
        data.display()
    );
    assert_refused_with(sandbox, &said);
}

/// The database is refused by servers and commands alike, and stays as it is.
fn assert_refused_with(sandbox: &Sandbox, said: &str) {
    let before = fs::read(database(sandbox)).unwrap();
    let commands: [&[&str]; 5] =
        [&["status"], &["verify"], &["backup", "x.db"], &["operator-key", "list"], &SERVE];
    for args in commands {
        assert_eq!(sandbox.run(args).failure().stderr, said, "{args:?}");
    }
    assert!(fs::read(database(sandbox)).unwrap() == before, "the file was changed");
}

/// What was written over the file is neither answered nor mixed with the log, and no order is
/// acknowledged that is not in the data.
#[test]
fn a_server_whose_database_was_overwritten_acknowledges_and_answers_nothing() {
    let (sandbox, key) = backed_up();
    let backup = fs::read(sandbox.path("monday.db")).unwrap();
    let half = backup.len() / 2;
    let overwrite = |content: &[u8]| fs::write(database(&sandbox), content).unwrap();
    for (round, content) in [&*backup, backup.get(..half).unwrap(), b""].into_iter().enumerate() {
        let mut served = sandbox.serve();
        let token = served.connect().log_in("walker", "secret");
        let (acknowledged, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let late = thread::scope(|scope| {
            scope.spawn(|| {
                for at in 0.. {
                    if is_over.load(Ordering::SeqCst) {
                        break;
                    }
                    if send(&served, &key, &orders(&format!("r{round}-{at}-"), 0..30)) != 200 {
                        break;
                    }
                    acknowledged.fetch_add(30, Ordering::SeqCst);
                }
            });
            wait_until("orders are stored", || acknowledged.load(Ordering::SeqCst) > 200);
            overwrite(content);
            // Long before the server looks by itself.
            let late = send(&served, &key, &order("late"));
            is_over.store(true, Ordering::SeqCst);
            late
        });
        assert_eq!(late, 503);
        let (status, body) = shell::get(&served, "/readyz");
        assert_eq!(status, 503, "{body}");
        assert!(body.contains("was overwritten while this program had it open: it "), "{body}");
        assert!(body.contains("restore a backup with `kiosque restore FILE --data "), "{body}");
        let reply = served.connect().call(DEVICES_PATH, Some(&token), "{}");
        assert_eq!((reply.status, reply.code()), (500, 500));
        served.stop();
        assert!(fs::read(database(&sandbox)).unwrap() == content, "the log was written into it");
        // The log remains, and what is restored is what was written.
        if !content.is_empty() {
            assert_refused(&sandbox, "is a backup");
        }
        fs::remove_file(sandbox.data().join("kiosque.db-wal")).unwrap();
        overwrite(&backup);
        assert_eq!(sandbox.verified(), 700);
    }
}

/// A server that does nothing notices it as well, within a second.
#[test]
fn a_server_without_work_notices_that_its_database_was_overwritten() {
    let (sandbox, _) = backed_up();
    let mut served = sandbox.serve();
    let token = served.connect().log_in("walker", "secret");
    fs::copy(sandbox.path("monday.db"), database(&sandbox)).unwrap();
    served.stderr_until("requests with a session are not answered");
    assert_eq!(shell::get(&served, "/readyz").0, 503);
    let reply = served.connect().call(DEVICES_PATH, Some(&token), "{}");
    assert_eq!((reply.status, reply.code()), (500, 500));
    served.stop();
    assert_refused(&sandbox, "is a backup");
}

/// After a crash the log has what the file lacks. Next to another file it is refused, whether that
/// is a backup, an older copy of the same data, or the file of other data.
#[test]
fn a_file_that_was_copied_next_to_the_log_of_a_killed_server_is_refused() {
    let (sandbox, key) = backed_up();
    fs::copy(database(&sandbox), sandbox.path("older.db")).unwrap();
    let mut served = sandbox.serve();
    assert_eq!(send(&served, &key, &orders("more", 0..300)), 200);
    served.stop();
    let mut served = sandbox.serve();
    assert_eq!(send(&served, &key, &orders("last", 0..400)), 200);
    served.kill_9();
    fs::copy(database(&sandbox), sandbox.path("own.db")).unwrap();
    let log = fs::read(sandbox.data().join("kiosque.db-wal")).unwrap();
    assert!(!log.is_empty());
    let other = KIOSQUE.sandbox_with(fleet(), "UTC");
    other.import(orders("x", 0..900));
    // By its counter of changes it is newer than the log.
    let mut newer = fs::read(database(&other)).unwrap();
    newer[24..28].fill(0x7f);
    fs::write(sandbox.path("newer.db"), newer).unwrap();
    let cases = [
        (sandbox.path("monday.db"), "is a backup"),
        (sandbox.path("older.db"), "is other or older data"),
        (database(&other), "is other or older data"),
        (sandbox.path("newer.db"), "is other or older data"),
    ];
    for (file, reason) in cases {
        fs::copy(file, database(&sandbox)).unwrap();
        assert_refused(&sandbox, reason);
        assert!(fs::read(sandbox.data().join("kiosque.db-wal")).unwrap() == log);
    }
    // An absent or empty file is no reason to throw the log away.
    fs::remove_file(database(&sandbox)).unwrap();
    for _ in 0..2 {
        let ran = sandbox.run(&["init", "--timezone", "UTC"]).failure();
        assert!(ran.stderr.contains("kiosque.db is not a database, and "), "{}", ran.stderr);
        assert!(fs::read(sandbox.data().join("kiosque.db-wal")).unwrap() == log);
        drop(OpenOptions::new().create(true).append(true).open(database(&sandbox)).unwrap());
    }
    // Its own file has all orders.
    fs::copy(sandbox.path("own.db"), database(&sandbox)).unwrap();
    assert_eq!(sandbox.verified(), 1_400);
}

/// A copy of a backup in an empty directory is its data. Each copy has its own identity.
#[test]
fn a_backup_alone_in_a_directory_is_opened() {
    let (sandbox, _) = backed_up();
    let versions = |path: PathBuf| fs::read(path).unwrap().get(18..20).unwrap().to_owned();
    assert_eq!(versions(sandbox.path("monday.db")), [1, 1]);
    let copy = KIOSQUE.sandbox();
    fs::create_dir(copy.data()).unwrap();
    fs::copy(sandbox.path("monday.db"), database(&copy)).unwrap();
    assert_eq!(copy.verified(), 700);
    assert_eq!(versions(database(&copy)), [2, 2]);
    let identity = |sandbox: &Sandbox| fs::read(database(sandbox)).unwrap()[68..72].to_owned();
    assert_ne!(identity(&copy), identity(&sandbox));
}

/// A file that lost its end is refused, with the log of its data and without one. The end may be
/// missing because a crash ended the copying of the log: then the log has it.
#[test]
fn a_file_that_lost_its_end_is_refused() {
    let (sandbox, key) = backed_up();
    let said = format!(
        "kiosque: {} is cut off: it lacks pages that it had; restore a backup with `kiosque \
         restore FILE --data {}`\n",
        database(&sandbox).display(),
        sandbox.data().display()
    );
    let shorten = |whole: &[u8], bytes: usize| {
        fs::write(database(&sandbox), whole.get(..whole.len() - bytes).unwrap()).unwrap();
        assert_refused_with(&sandbox, &said);
        fs::write(database(&sandbox), whole).unwrap();
    };
    let whole = fs::read(database(&sandbox)).unwrap();
    for bytes in [1, PAGE_BYTES, whole.len() / 2] {
        shorten(&whole, bytes);
    }
    let mut served = sandbox.serve();
    assert_eq!(send(&served, &key, &orders("more", 0..600)), 200);
    served.kill_9();
    let log = fs::read(sandbox.data().join("kiosque.db-wal")).unwrap();
    // The log has the last pages, and not all of them.
    shorten(&whole, whole.len() / 2);
    assert!(fs::read(sandbox.data().join("kiosque.db-wal")).unwrap() == log);
    // Its last version of the first page counts the pages that only the log has.
    let mut frames = log[LOG_HEADER_BYTES..].chunks_exact(FRAME_HEADER_BYTES + PAGE_BYTES);
    let first = frames.rfind(|frame| frame.starts_with(&1_u32.to_be_bytes())).unwrap();
    let copied = [&first[FRAME_HEADER_BYTES..], &whole[PAGE_BYTES..]].concat();
    let pages = u32::from_be_bytes(copied[28..32].try_into().unwrap());
    assert!(copied.len() < pages as usize * PAGE_BYTES);
    shorten(&copied, whole.len() / 2);
    fs::write(database(&sandbox), copied).unwrap();
    assert_eq!(sandbox.verified(), 1_300);
}
