//! `kiosque backup FILE` writes a consistent copy while the server runs.

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use kiosque_testkit::{DEVICES_PATH, ORDERS_PATH, Ran, Rng, Sandbox, Served, WAIT_MAX, wait_until};

use crate::KIOSQUE;
use crate::fleet::{fleet, orders};

/// Makes the backup the data of another directory.
fn restored(backup: &Path) -> Sandbox {
    let sandbox = KIOSQUE.sandbox();
    std::fs::create_dir(sandbox.data()).unwrap();
    std::fs::copy(backup, sandbox.data().join("kiosque.db")).unwrap();
    sandbox
}

fn total(served: &Served, token: &str) -> i64 {
    let reply = served.connect().call(ORDERS_PATH, Some(token), r#"{"deviceCode":"D1"}"#);
    reply.success()["total"].as_i64().unwrap()
}

/// All orders acknowledged before the backup began are in it. Writers continue, and so does the
/// server, with the sessions from before.
#[test]
fn a_backup_during_writes_is_consistent() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    sandbox.import(orders("old", 0..3_000));
    let key = sandbox.create_key(&["till", "--may", "orders"]);
    let served = sandbox.serve();
    let token = served.connect().log_in("walker", "secret");
    let (acknowledged, is_over) = (AtomicUsize::new(3_000), AtomicBool::new(false));
    let (before, during) = thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                let some = orders(&format!("r{round}-"), 0..40);
                if round % 2 == 0 {
                    sandbox.import(some);
                } else {
                    let reply = served.post_orders(&key, &some);
                    assert_eq!(reply.json["accepted"], 40, "{reply:?}");
                }
                acknowledged.fetch_add(40, Ordering::SeqCst);
            }
        });
        wait_until("enough is posted", || acknowledged.load(Ordering::SeqCst) > 3_100);
        let before = acknowledged.load(Ordering::SeqCst);
        let ran = sandbox.run(&["backup", "copy.db"]).success();
        let during = acknowledged.load(Ordering::SeqCst);
        // Writers were not blocked for the duration.
        wait_until("posts go on", || acknowledged.load(Ordering::SeqCst) > during);
        is_over.store(true, Ordering::SeqCst);
        let bytes = std::fs::metadata(sandbox.path("copy.db")).unwrap().len();
        let said = format!(" orders in {bytes} bytes to copy.db\n");
        assert!(ran.stdout.ends_with(&said), "{ran:?}");
        assert_eq!(ran.stderr, "");
        (before, ran.stdout.split(' ').nth(2).unwrap().parse::<usize>().unwrap())
    });
    assert!(during >= before, "{during} in the copy, {before} acknowledged before");

    assert_eq!(sandbox.mode("copy.db"), 0o600);
    assert_eq!(left_in_directory(&sandbox), ["copy.db"]);
    let copy = restored(&sandbox.path("copy.db"));
    assert_eq!(copy.verified(), during);
    let restored = copy.serve();
    assert_eq!(total(&restored, &token), i64::try_from(during).unwrap(), "the session is kept");
    let code = served.connect().call(DEVICES_PATH, Some(&token), "{}").code();
    assert_eq!(code, 200, "the server goes on");
    let all = acknowledged.load(Ordering::SeqCst);
    assert_eq!(total(&served, &token), i64::try_from(all).unwrap());
}

/// Files in the directory whose name begins as the copy's does.
fn left_in_directory(sandbox: &Sandbox) -> Vec<String> {
    let mut names = sandbox.names("");
    names.retain(|name| name.starts_with("copy"));
    names
}

/// Starts a backup and sends it a signal while it copies; returns its exit status, unless it had
/// ended.
fn signalled(sandbox: &Sandbox, signal: &str) -> Option<ExitStatus> {
    let mut backup = sandbox.command(&["backup", "copy.db"]);
    let mut backup = backup.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let written =
        || std::fs::metadata(sandbox.path("copy.db.partial")).map_or(0, |file| file.len());
    while written() == 0 && backup.try_wait().unwrap().is_none() {
        std::hint::spin_loop();
    }
    let mut kill = Command::new("kill");
    // One that has ended already is no error.
    let _ = kill.arg(format!("-{signal}")).arg(backup.id().to_string()).status();
    let status = backup.wait().unwrap();
    (!sandbox.path("copy.db").exists()).then_some(status)
}

/// A backup that is killed leaves no FILE and does no harm, and one that is terminated cleans up.
#[test]
fn a_backup_that_ends_amid_leaves_no_file() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    // Records are stored compressed: a text of random digits stays long.
    let mut rng = Rng::seeded(1);
    let digits = (0..20_000).map(|_| char::from(b'0' + u8::try_from(rng.below(10)).unwrap()));
    let long = format!(r#""payChannelName":"{}","currency""#, digits.collect::<String>());
    let some = orders("o", 0..2_000).replace(r#""currency""#, &long);
    sandbox.import(some);
    let ((mut killed, mut stopped), begun) = ((0, 0), Instant::now());
    for signal in ["TERM", "INT", "KILL"].into_iter().cycle() {
        if let Some(status) = signalled(&sandbox, signal) {
            let left = left_in_directory(&sandbox);
            if signal == "KILL" {
                killed += 1;
                assert!(left == ["copy.db.partial"] || left.is_empty(), "{left:?}");
            } else {
                stopped += 1;
                assert_eq!((status.code(), left), (Some(1), Vec::new()));
            }
            if killed > 0 && stopped > 1 && signal == "KILL" {
                break;
            }
        }
        // Files that exist now would be taken for files of the next backup.
        for name in left_in_directory(&sandbox) {
            std::fs::remove_file(sandbox.path(&name)).unwrap();
        }
        assert!(begun.elapsed() < WAIT_MAX, "{killed}, {stopped} were met at work");
    }
    sandbox.run(&["backup", "copy.db"]).success();
    assert_eq!(left_in_directory(&sandbox), ["copy.db"]);
    assert_eq!(restored(&sandbox.path("copy.db")).verified(), 2_000);
    assert_eq!(sandbox.verified(), 2_000);
}

/// A backup that cannot be made is reported, and leaves no file.
#[test]
fn neither_a_file_nor_a_directory_is_overwritten() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    sandbox.file("mine.db", "mine");
    std::os::unix::fs::symlink("nowhere", sandbox.path("link.db")).unwrap();
    std::fs::create_dir(sandbox.path("backups")).unwrap();
    let before = sandbox.names("");
    insta::assert_snapshot!(sandbox.transcript(&[
        &["backup", "mine.db"],
        &["backup", "link.db"],
        &["backup", "no/such/copy.db"],
        // A directory needs the number to keep.
        &["backup", "backups"],
    ]));
    assert_eq!((sandbox.names(""), sandbox.names("backups")), (before, Vec::new()));
    assert_eq!(sandbox.read("mine.db"), "mine");
    let empty = KIOSQUE.sandbox();
    std::fs::create_dir(empty.data()).unwrap();
    let ran = empty.run(&["backup", "copy.db"]).failure();
    assert!(ran.stderr.contains("has no data"), "{}", ran.stderr);
    assert_eq!(left_in_directory(&empty), [""; 0]);
}

/// `--keep N` names the file by the time, and removes older backups only when it is complete.
#[test]
fn a_directory_keeps_the_newest_backups() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    sandbox.import(orders("o", 0..3));
    let directory = sandbox.path("backups");
    let keep = |keep: &str| sandbox.run(&["backup", "backups", "--keep", keep]);
    let said = keep("2").failure().stderr;
    assert!(said.contains("backups: the directory does not exist"), "{said}");
    std::fs::create_dir(&directory).unwrap();
    // Neither the operator's own files, nor a link, nor a backup of other data are backups of the
    // series.
    let others = ["kiosque-monday.db", "kiosque.db", "notes.txt"];
    for name in others {
        std::fs::write(directory.join(name), "mine").unwrap();
    }
    let link = "kiosque-20000101T000000.000Z.db";
    std::os::unix::fs::symlink("notes.txt", directory.join(link)).unwrap();
    let other_data = directory.join("kiosque-20020101T000000.000Z.db");
    let other = KIOSQUE.sandbox_with(fleet(), "UTC");
    other.run(&["backup", other_data.to_str().unwrap()]).success();
    // A crash left this one.
    let remains = "kiosque-20010101T000000.000Z.db.partial";
    std::fs::write(directory.join(remains), "part").unwrap();

    let first = keep("2").success();
    assert_eq!(first.stdout.lines().count(), 1, "{first:?}");
    assert!(!directory.join(remains).exists());
    let made = |ran: &Ran| {
        let name = ran.stdout.lines().next().unwrap().rsplit('/').next().unwrap();
        name.to_owned()
    };
    let second = keep("2").success();
    let third = keep("2").success();
    assert_eq!(third.stdout.lines().nth(1), Some(&*format!("removed backups/{}", made(&first))));
    // A failure removes nothing, and neither does a count of zero.
    let zero = sandbox.run(&["backup", "backups", "--keep", "0"]);
    assert!(zero.status == 2 && zero.stderr.contains("\"0\" is not a number from 1"), "{zero:?}");
    let file = sandbox.run(&["backup", "backups/notes.txt", "--keep", "1"]).failure().stderr;
    assert!(file.contains("backups/notes.txt is not a directory, which --keep needs"), "{file}");
    let elsewhere = KIOSQUE.sandbox();
    std::fs::create_dir(elsewhere.data()).unwrap();
    let absolute = directory.to_str().unwrap();
    elsewhere.run(&["backup", absolute, "--keep", "1"]).failure();
    let mut left = vec![made(&second), made(&third), link.to_owned()];
    left.extend(others.map(str::to_owned));
    left.push("kiosque-20020101T000000.000Z.db".to_owned());
    left.sort();
    assert_eq!(sandbox.names("backups"), left);

    // One that was made while the clock was ahead is not newer than those made since.
    let ahead = "kiosque-29990101T000000.000Z.db";
    std::fs::copy(directory.join(made(&third)), directory.join(ahead)).unwrap();
    let fourth = keep("3").success();
    assert_eq!(fourth.stdout.lines().nth(1), Some(&*format!("removed backups/{ahead}")));
    let last = keep("1").success();
    assert_eq!(last.stdout.lines().count(), 4, "{last:?}");
    let copy = restored(&directory.join(made(&last)));
    assert_eq!(copy.verified(), 3);
    assert_eq!(sandbox.names("backups").len(), 1 + 2 + others.len());
}
