//! Files that cannot be written: a limit of the operating system takes the place of a full disk,
//! and another user the place of a wrong owner.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use kiosque_testkit::{Ran, SERVE, Served, wait_until};

use crate::KIOSQUE;
use crate::fleet::{fleet, order, orders};
use crate::shell;

/// Without this, the signal of the limit ends the process.
const IGNORE_SIGNAL: &str = "trap '' XFSZ";

/// Sets the largest file that a server may write.
fn limit_files(served: &Served, limit: &str) {
    let process = served.process().to_string();
    let mut prlimit = Command::new("prlimit");
    prlimit.args(["--pid", &process, &format!("--fsize={limit}:unlimited")]);
    Ran::of(&mut prlimit).success();
}

/// `/readyz` is for integrators, who are answered all the while, and `/readyz/orders` for tills.
#[test]
fn a_server_that_cannot_write_says_so_until_it_can() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let key = sandbox.create_key(&["tills"]);
    let served = sandbox.start(&mut shell::after(IGNORE_SIGNAL, &sandbox.command(&SERVE)));
    let send = |id: &str| served.post_orders(&key, &order(id));
    let store = |id: &str| send(id).status;
    let has = |series: &str| shell::get(&served, "/metrics").1.contains(&format!("\n{series}\n"));
    let [all, orders] = ["/readyz", "/readyz/orders"];
    assert_eq!((store("o1"), shell::get(&served, orders).0), (200, 200));
    assert!(has(r#"kiosque_ready{path="/readyz/orders"} 1"#));

    limit_files(&served, "4096");
    let file = sandbox.data().join("kiosque.db");
    let refused = send("o2");
    let detail = refused.json["detail"].as_str().unwrap();
    let reason = format!("orders cannot be stored ({}: disk I/O error (", file.display());
    assert_eq!(refused.status, 503);
    assert!(detail.starts_with(&reason) && detail.contains(" bytes free on its file "), "{detail}");
    let (status, body) = shell::get(&served, orders);
    assert_eq!(status, 503, "{body}");
    let reason = format!("\"orders cannot be stored: {}: disk I/O error (", file.display());
    let limit = " bytes free on its file system; files are limited to 4096 bytes, see ulimit -f)";
    assert!(body.contains(&reason) && body.contains(limit), "{body}");
    assert_eq!(shell::get(&served, all).0, 200);
    wait_until("the gauge shows it", || has(r#"kiosque_ready{path="/readyz/orders"} 0"#));
    assert!(has(r#"kiosque_ready{path="/readyz"} 1"#));
    let free = shell::get(&served, "/metrics").1;
    let free = free.lines().find_map(|line| line.strip_prefix("kiosque_store_free_bytes "));
    assert!(free.unwrap().parse::<u64>().unwrap() > 0);

    limit_files(&served, "unlimited");
    wait_until("it can write again", || shell::get(&served, orders).0 == 200);
    assert_eq!(store("o2"), 200);
    let said = served.stderr_until("orders are stored again");
    // The refused stream has its own line, with its request.
    assert_eq!(said.matches("orders cannot be stored cause=").count(), 1, "{said}");
    assert_eq!(sandbox.verified(), 2);
}

#[test]
fn an_import_that_cannot_write_says_how_much_is_stored() {
    const COUNT: usize = 6_000;
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let orders = sandbox.file("orders.ndjson", orders("o", 0..COUNT));
    let import = sandbox.command(&["import", "orders", &orders]);
    // In blocks of 512 bytes.
    let limited = |blocks| format!("{IGNORE_SIGNAL}; ulimit -f {blocks}");
    let ran = Ran::of(&mut shell::after(&limited(1_600), &import)).failure();
    assert_eq!(ran.stdout, "");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    let [stored, error] = lines[..] else { panic!("{ran:?}") };
    let (stored, rest) = stored.split_once(' ').unwrap();
    let stored: usize = stored.parse().unwrap();
    let wanted = format!("orders of {orders} are stored; repeat the command to store the others");
    assert_eq!(rest, wanted);
    assert!(stored > 0 && stored < COUNT, "{stored}");
    let file = sandbox.data().join("kiosque.db");
    let wanted = format!("kiosque: {orders}: {}: disk I/O error (", file.display());
    assert!(error.starts_with(&wanted) && error.matches("disk I/O").count() == 1, "{error}");
    let ran = sandbox.run(&["import", "orders", &orders]).success();
    assert_eq!(ran.counts(), [COUNT - stored, 0, stored, 0]);
    sandbox.run(&["verify"]).success();

    let copy = sandbox.path("copy.db");
    let backup = sandbox.command(&["backup", copy.to_str().unwrap()]);
    let ran = Ran::of(&mut shell::after(&limited(160), &backup)).failure();
    let wanted = format!("kiosque: {}.partial: disk I/O error (", copy.display());
    assert!(ran.stderr.starts_with(&wanted) && ran.stderr.lines().count() == 1, "{ran:?}");
    assert!(!sandbox.path("copy.db.partial").exists());
}

/// The message contains the file, its owner, the mode and the user.
#[test]
fn data_of_another_user_is_refused_with_both_named() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let data = sandbox.data();
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let program = sandbox.path("kiosque");
    fs::hard_link(KIOSQUE.0, &program)
        .or_else(|_| fs::copy(KIOSQUE.0, &program).map(drop))
        .unwrap();
    fs::set_permissions(sandbox.directory.path(), Permissions::from_mode(0o755)).unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(&program);
        command.args(args).arg("--data").arg(&data).env_clear();
        if is_root {
            // As any user but root, who may do everything.
            command.uid(65_534).gid(65_534);
        }
        Ran::of(&mut command).failure().stderr
    };
    for (place, mode) in [("", 0o500), ("kiosque.db", 0)] {
        if place.is_empty() && is_root {
            // The owner may do everything; others may look.
            fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
        } else {
            fs::set_permissions(data.join(place), Permissions::from_mode(mode)).unwrap();
        }
        for args in [&["verify"][..], &SERVE] {
            let said = run(args);
            let start = format!("kiosque: {}", data.display());
            assert!(said.starts_with(&start), "{args:?}: {said}");
            let [owner, user] = [" belongs to ", " may not read and write it; run the program as"];
            assert!(said.contains(owner) && said.contains(user), "{args:?}: {said}");
            assert_eq!((said.matches("(uid ").count(), said.lines().count()), (2, 1), "{said}");
        }
        fs::set_permissions(&data, Permissions::from_mode(if is_root { 0o777 } else { 0o700 }))
            .unwrap();
    }
    // Its owner may read the file, which is enough for some commands, but not for a server; and
    // the files next to it have to be written as well.
    let database = data.join("kiosque.db");
    if is_root {
        chown(&database, Some(65_534), None).unwrap();
    }
    fs::set_permissions(&database, Permissions::from_mode(0o400)).unwrap();
    let said = run(&SERVE);
    assert!(said.starts_with(&format!("kiosque: {} belongs to ", database.display())), "{said}");
    fs::set_permissions(&database, Permissions::from_mode(0o600)).unwrap();
    let log = sandbox.file("data/kiosque.db-wal", "");
    fs::set_permissions(&log, Permissions::from_mode(0o400)).unwrap();
    let said = run(&["verify"]);
    assert!(said.starts_with(&format!("kiosque: {log} belongs to ")), "{said}");
}
