//! `kiosque restore FILE`: the data of a directory is replaced as a whole, or not at all.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use kiosque_testkit::{Ran, Sandbox, sql};

use crate::KIOSQUE;
use crate::fleet::{fleet, order_with, orders};

fn import(sandbox: &Sandbox, name: &str, count: usize) {
    sandbox.import(orders(name, 0..count));
}

/// Goes back to the data that was replaced, as the command says on stderr.
fn go_back(stderr: &str) {
    let way_back = stderr.lines().find_map(|line| line.split_once("and run: ")).unwrap().1;
    let mut shell = std::process::Command::new("sh");
    Ran::of(shell.args(["-ec", way_back])).success();
}

/// Data with 500 orders more than its backup `monday.db`, which has 120.
fn backed_up() -> Sandbox {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    import(&sandbox, "o", 120);
    sandbox.run(&["backup", "monday.db"]).success();
    import(&sandbox, "later", 500);
    sandbox
}

/// Returns the copy with a damaged page in its middle.
fn damaged(mut copy: Vec<u8>) -> Vec<u8> {
    let middle = copy.len() / 2 / 4096 * 4096;
    copy[middle..middle + 64].fill(0xa5);
    copy
}

/// Kills a server of the data, and returns the log that it leaves.
fn log_of_killed_server(sandbox: &Sandbox) -> Vec<u8> {
    let mut served = sandbox.serve();
    served.connect().log_in("walker", "secret");
    served.kill_9();
    let log = fs::read(sandbox.data().join("kiosque.db-wal")).unwrap();
    assert!(!log.is_empty());
    log
}

/// The directories, inside the data directory, to which data was moved.
fn moved_aside(sandbox: &Sandbox) -> Vec<PathBuf> {
    let entries = fs::read_dir(sandbox.data()).unwrap().map(|entry| entry.unwrap().path());
    let is_aside = |path: &PathBuf| path.to_str().unwrap().contains("/replaced-");
    entries.filter(is_aside).collect()
}

#[test]
fn a_backup_takes_the_place_of_data_and_the_way_back_is_open() {
    let sandbox = backed_up();
    // The server is killed: part of its data is in the log alone.
    drop(log_of_killed_server(&sandbox));
    let dry = sandbox.run(&["restore", "monday.db", "--dry-run"]).success();
    assert_eq!(dry.stdout, "verified monday.db: 120 orders, no difference\n");
    assert!(dry.stderr.starts_with("dry run: nothing was restored\n"), "{}", dry.stderr);
    assert_eq!(sandbox.verified(), 620);
    assert!(moved_aside(&sandbox).is_empty());

    drop(log_of_killed_server(&sandbox));
    let ran = sandbox.run(&["restore", "monday.db"]).success();
    let aside = moved_aside(&sandbox);
    let [aside] = aside.as_slice() else { panic!("{aside:?}") };
    let (data, shown) = (sandbox.data(), aside.display());
    let said = format!(
        "verified monday.db: 120 orders, no difference\nrestored 120 orders to {}\nmoved the data \
         that was there to {shown}\n",
        data.display()
    );
    assert_eq!(ran.stdout, said);
    assert!(ran.stderr.starts_with("next: start the server; "), "{}", ran.stderr);
    assert!(aside.join("kiosque.db-wal").exists());
    assert!(!data.join("kiosque.db-wal").exists() && !data.join("restoring").exists());
    assert_eq!(sandbox.verified(), 120);
    let served = sandbox.serve();
    served.connect().log_in("walker", "secret");
    drop(served);

    go_back(&ran.stderr);
    assert_eq!(sandbox.verified(), 620);
    let odd = sandbox.path("the operator's data");
    let restore = || {
        let mut restore = KIOSQUE.command();
        restore.arg("restore").arg(sandbox.path("monday.db")).arg("--data").arg(&odd);
        Ran::of(&mut restore).success().stderr
    };
    restore();
    for _ in 0..2 {
        go_back(&restore());
    }
}

/// A restore that was killed between its moves is repeated: the database and the log of the old
/// data come together again, and no other database gets the log.
#[test]
fn a_restore_that_was_killed_between_its_moves_does_not_split_the_old_data() {
    let sandbox = backed_up();
    let zone = sandbox.run(&["restore", "monday.db", "--timezone", "UTC"]).failure().stderr;
    assert!(zone.contains("the time zone of this data is Europe/Paris, not UTC"), "{zone}");
    let log = log_of_killed_server(&sandbox);
    let aside = ["02", "03"].map(|day| {
        let aside = sandbox.data().join(format!("replaced-202601{day}T030405.006Z"));
        fs::create_dir(&aside).unwrap();
        aside
    });
    let [begun, other] = &aside;
    fs::rename(sandbox.data().join("kiosque.db"), begun.join("kiosque.db")).unwrap();
    fs::copy(sandbox.path("monday.db"), other.join("kiosque.db")).unwrap();
    let ran = sandbox.run(&["restore", "monday.db"]).success();
    let moved = format!("moved the data that was there to {}\n", begun.display());
    assert!(ran.stdout.ends_with(&moved), "{}", ran.stdout);
    assert_eq!(moved_aside(&sandbox).len(), 2);
    assert_eq!(fs::read(begun.join("kiosque.db-wal")).unwrap(), log);
    assert!(!other.join("kiosque.db-wal").exists());
    assert_eq!(sandbox.verified(), 120);
    go_back(&ran.stderr);
    assert_eq!(sandbox.verified(), 620);
}

/// A restore that was killed after it had moved all old files is repeated: it names the directory
/// that they are in.
#[test]
fn a_restore_that_was_killed_before_its_last_move_names_the_old_data() {
    for has_log in [false, true] {
        let sandbox = backed_up();
        if has_log {
            drop(log_of_killed_server(&sandbox));
        }
        let aside = sandbox.data().join("replaced-20260102T030405.006Z");
        fs::create_dir(&aside).unwrap();
        for file in ["kiosque.db", "kiosque.db-shm", "kiosque.db-wal"] {
            let from = sandbox.data().join(file);
            if from.exists() {
                fs::rename(from, aside.join(file)).unwrap();
            }
        }
        let ran = sandbox.run(&["restore", "monday.db"]).success();
        let moved = format!("moved the data that was there to {}\n", aside.display());
        assert!(ran.stdout.ends_with(&moved), "{}", ran.stdout);
        assert_eq!(moved_aside(&sandbox), [aside]);
        assert_eq!(sandbox.verified(), 120);
        go_back(&ran.stderr);
        assert_eq!(sandbox.verified(), 620);
    }
}

/// Orders have local times, and sums have days, by the rules that the time zone had when they were
/// stored. Those of another zone take the place of later ones.
#[test]
fn a_backup_from_before_a_change_of_time_zone_rules_is_restored() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/London");
    let sold = |id: &str, time: &str| {
        let paid = format!("\"tradeStartTime\":\"{time}\",\"payEndTime\":\"{time}\"");
        order_with(id, "\"tradeStartTime\":\"2026-01-02 03:04:05\"", &paid)
    };
    let late = sold("late", "2026-01-02 23:30:05");
    let orders = [late, sold("noon", "2026-01-10 12:00:00")].join("\n");
    sandbox.import(orders);
    drop(sandbox.run_sql(&sql("other_zone_rules")));
    sandbox.run(&["backup", "monday.db"]).success();
    let ran = sandbox.run(&["restore", "monday.db"]).success();
    let verified = "verified monday.db: 2 orders, no difference but ";
    assert!(ran.stdout.starts_with(verified), "{}", ran.stdout);
    assert!(ran.stdout.contains(" by other rules of the time zone, "), "{}", ran.stdout);
    let listed = sandbox.run(&["verify"]).failure();
    let noon =
        "order noon: counts as a sale at 2026-01-10 13:00:00, its record says 2026-01-10 12:";
    assert!(listed.stdout.contains(noon), "{}", listed.stdout);
    assert!(listed.stdout.contains("group north, 2026-01-03: EUR: nothing is stored"));
    assert!(listed.stderr.contains("no damage"), "{}", listed.stderr);

    // The sums of a day with the same orders by both rules are still compared.
    drop(sandbox.run_sql(&sql("wrong_last_day")));
    sandbox.run(&["backup", "tuesday.db"]).success();
    let refused = sandbox.run(&["restore", "tuesday.db"]).failure();
    let difference = "group north, 2026-01-10: EUR: [9, ";
    assert!(refused.stdout.starts_with(difference), "{}", refused.stdout);
    assert_eq!(refused.stdout.lines().count(), 1, "{}", refused.stdout);
}

#[test]
fn a_directory_without_data_is_filled() {
    let sandbox = backed_up();
    let other = KIOSQUE.sandbox();
    let backup = sandbox.path("monday.db");
    let ran = other.run(&["restore", backup.to_str().unwrap()]).success();
    assert_eq!(ran.stdout.lines().count(), 2, "{}", ran.stdout);
    assert_eq!(other.verified(), 120);
    // The database of a server that was stopped is a backup as well.
    let stopped = other.data().join("kiosque.db");
    sandbox.run(&["restore", stopped.to_str().unwrap()]).success();
    assert_eq!(sandbox.verified(), 120);
}

/// Differences that quote damaged texts cannot control the terminal, in `verify` and `restore`.
#[test]
fn differences_are_printed_without_control_characters() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    drop(sandbox.run_sql(&sql("clear_screen")));
    let verified = sandbox.run(&["verify"]).failure().stdout;
    let file = sandbox.data().join("kiosque.db");
    let restored = KIOSQUE.sandbox().run(&["restore", file.to_str().unwrap()]).failure().stdout;
    for said in [verified, restored] {
        let line = "device D1\u{fffd}[2J: stock 1 is stored, its aisles hold 0";
        assert!(said.lines().any(|it| it == line) && !said.contains('\u{1b}'), "{said:?}");
    }
}

/// A dry run into a directory without data creates nothing, neither the directory nor a lock.
#[test]
fn a_dry_run_creates_nothing() {
    let sandbox = backed_up();
    let whole = fs::read(sandbox.path("monday.db")).unwrap();
    let other = KIOSQUE.sandbox();
    let backup = other.file("monday.db", &whole);
    let damaged = other.file("damaged.db", damaged(whole));
    fs::create_dir(other.path("empty")).unwrap();
    let before = other.names("");
    for directory in ["new", "new/below", "empty"] {
        let directory = other.path(directory);
        let args = ["restore", "--dry-run", "--data", directory.to_str().unwrap()];
        let ran = Ran::of(KIOSQUE.command().args(args).arg(&backup)).success();
        let said = format!("verified {backup}: 120 orders, no difference\n");
        assert_eq!(ran.stdout, said);
        assert!(ran.stderr.starts_with("dry run: nothing was restored\n"), "{}", ran.stderr);
        Ran::of(KIOSQUE.command().args(args).arg(&damaged)).failure();
    }
    assert_eq!((other.names(""), other.names("empty")), (before, Vec::new()));
}

/// A file that is refused leaves the data as it is.
#[test]
fn what_is_no_backup_is_not_restored() {
    let sandbox = backed_up();
    let whole = fs::read(sandbox.path("monday.db")).unwrap();
    sandbox.file("short.db", whole.get(..whole.len() / 2).unwrap());
    sandbox.file("damaged.db", damaged(whole));
    sandbox.file("notes.txt", "no database, but longer than the header of one ".repeat(20));
    sandbox.file("empty.db", "");
    let photos = KIOSQUE.sandbox();
    fs::create_dir(photos.data()).unwrap();
    drop(photos.run_sql(&sql("photos")));
    fs::copy(photos.data().join("kiosque.db"), sandbox.path("photos.db")).unwrap();
    let before = fs::read(sandbox.data().join("kiosque.db")).unwrap();
    for (file, reason) in [
        ("absent.db", "absent.db: No such file"),
        ("notes.txt", "notes.txt is not a backup of Kiosque: it is not a database"),
        ("empty.db", "empty.db is not a backup of Kiosque: it is not a database"),
        (
            "photos.db",
            "photos.db is not a backup of Kiosque: it is the database of another program",
        ),
        ("short.db", "short.db is cut off: it lacks pages that it had"),
        ("damaged.db", "the backup "),
        (".", ". is not a file; specify a backup"),
    ] {
        let ran = sandbox.run(&["restore", file]).failure();
        assert!(ran.stderr.starts_with(&format!("kiosque: {reason}")), "{file}: {}", ran.stderr);
        assert!(fs::read(sandbox.data().join("kiosque.db")).unwrap() == before, "{file}");
        assert!(moved_aside(&sandbox).is_empty(), "{file}");
        assert!(!sandbox.data().join("restoring").exists(), "{file}");
        if file != "damaged.db" {
            let elsewhere = sandbox.path("elsewhere");
            let args = ["restore", file, "--data", elsewhere.to_str().unwrap()];
            Ran::of(KIOSQUE.command().args(args).current_dir(sandbox.path(""))).failure();
            assert!(!elsewhere.exists(), "{file}");
        }
    }
    assert_eq!(sandbox.verified(), 620);
}

/// What a command changed before the data is replaced would be moved aside with it, or would
/// prevent that.
#[test]
fn no_command_opens_data_that_is_being_restored() {
    let sandbox = backed_up();
    let mut lock = fs::File::create(sandbox.data().join("kiosque.lock")).unwrap();
    lock.write_all(b"7 restore\n").unwrap();
    lock.lock().unwrap();
    let fleet = sandbox.file("fleet.toml", fleet());
    for args in [&["apply", &fleet][..], &["operator-key", "create", "tills"], &["verify"]] {
        let ran = sandbox.run(args).failure();
        let said = format!(
            "kiosque: {} is used by `kiosque restore`, process 7; wait until it has ended, and \
             repeat this command\n",
            sandbox.data().display()
        );
        assert_eq!(ran.stderr, said);
    }
    drop(lock);
    assert_eq!(sandbox.verified(), 620);
}

#[test]
fn data_in_use_is_not_replaced() {
    let sandbox = backed_up();
    let mut served = sandbox.serve();
    let ran = sandbox.run(&["restore", "monday.db"]).failure();
    let said = format!(
        "kiosque: {} is used by `kiosque serve`, process {}; stop it first, or choose another \
         directory with --data\n",
        sandbox.data().display(),
        served.process()
    );
    assert_eq!(ran.stderr, said);
    // A live database is not a backup.
    let live = sandbox.data().join("kiosque.db");
    served.connect().log_in("walker", "secret");
    let other = KIOSQUE.sandbox();
    let ran = other.run(&["restore", live.to_str().unwrap()]).failure();
    assert!(ran.stderr.contains("is a database with a write-ahead log, not a backup"));
    served.stop();
    // Another command has it open.
    let open = sandbox.run_sql("begin; select count(*) from orders");
    let ran = sandbox.run(&["restore", "monday.db"]).failure();
    assert!(ran.stderr.contains("kiosque.db is open in another command"), "{}", ran.stderr);
    drop(open);
    assert!(moved_aside(&sandbox).is_empty());
    assert_eq!(sandbox.verified(), 620);
    let store = ["restore", "monday.db", "--store", "postgres://kiosque@127.0.0.1:1/kiosque"];
    let ran = KIOSQUE.command().args(store).output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(said.contains("restore a PostgreSQL database with its own tools"), "{said}");
    assert!(said.contains("docs/scale-out.md"), "{said}");
}

/// A crash of the machine can undo the move of the old log alone. The restored file is refused next
/// to it, as the backup is.
#[test]
fn the_log_of_the_replaced_data_is_not_read_into_the_backup() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    import(&sandbox, "o", 120);
    let log = sandbox.data().join("kiosque.db-wal");
    let of_killed = log_of_killed_server(&sandbox);
    import(&sandbox, "later", 500);
    sandbox.run(&["backup", "tuesday.db"]).success();
    sandbox.run(&["restore", "tuesday.db"]).success();
    fs::write(&log, of_killed).unwrap();
    let refused = sandbox.run(&["verify"]).failure();
    assert!(refused.stderr.contains("kiosque.db is a backup, and "), "{}", refused.stderr);
    fs::remove_file(&log).unwrap();
    assert_eq!(sandbox.verified(), 620);
}

/// Data that all commands refuse, a backup next to the log of a killed server, is moved aside with
/// that log.
#[test]
fn a_backup_next_to_another_log_is_replaced() {
    let sandbox = backed_up();
    let log = log_of_killed_server(&sandbox);
    fs::copy(sandbox.path("monday.db"), sandbox.data().join("kiosque.db")).unwrap();
    let dry = sandbox.run(&["restore", "monday.db", "--dry-run"]).success();
    assert_eq!(dry.stdout, "verified monday.db: 120 orders, no difference\n");
    let refused = sandbox.run(&["status"]).failure();
    assert!(refused.stderr.contains("kiosque.db is a backup, and "), "{}", refused.stderr);
    sandbox.run(&["restore", "monday.db"]).success();
    let aside = moved_aside(&sandbox);
    let [aside] = aside.as_slice() else { panic!("{aside:?}") };
    assert_eq!(fs::read(aside.join("kiosque.db-wal")).unwrap(), log);
    assert_eq!(sandbox.verified(), 120);
}

/// A link in the place of the database is left alone, and so is what it leads to.
#[test]
fn a_link_is_not_replaced() {
    let sandbox = backed_up();
    let (database, elsewhere) = (sandbox.data().join("kiosque.db"), sandbox.path("elsewhere.db"));
    fs::rename(&database, &elsewhere).unwrap();
    symlink(&elsewhere, &database).unwrap();
    let before = fs::read(&elsewhere).unwrap();
    let refused = sandbox.run(&["restore", "monday.db"]).failure();
    let said = format!(
        "kiosque: {} is a link; restore into the directory that it leads to\n",
        database.display()
    );
    assert_eq!(refused.stderr, said);
    assert!(moved_aside(&sandbox).is_empty());
    assert!(!sandbox.data().join("restoring").exists());
    assert!(fs::read(&elsewhere).unwrap() == before && database.is_symlink());
}
