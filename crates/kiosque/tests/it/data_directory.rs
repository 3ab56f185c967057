//! The directory of the data: few commands create it, only its owner can read it, one server uses
//! it, and a server notices when it is replaced, moved or removed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use kiosque_testkit::{DEVICES_PATH, Ran, SERVE, Sandbox, Served, wait_until};

use crate::KIOSQUE;
use crate::fleet::{fleet, order};
use crate::shell;

#[test]
fn most_commands_create_no_data() {
    let sandbox = KIOSQUE.sandbox();
    sandbox.file("orders.ndjson", order("o1"));
    sandbox.file("rates.csv", "date,currency,usd_per_unit\n2026-01-01,EUR,1.08\n");
    let directory = sandbox.data();
    let no_data = format!(
        "kiosque: {}: has no data; check the name, or create data with `kiosque init --timezone \
         ZONE` or `kiosque apply`\n",
        directory.display()
    );
    let commands: [&[&str]; 16] = [
        &SERVE,
        &["import", "orders", "orders.ndjson"],
        &["import", "rates", "rates.csv"],
        &["archive", "--before", "2026-01-01"],
        &["verify"],
        &["backup", "copy.db"],
        &["operator-key", "create", "tills"],
        &["operator-key", "list"],
        &["operator-key", "revoke", "till"],
        &["status"],
        &["group", "list"],
        &["account", "list"],
        &["product", "list"],
        &["device", "list"],
        &["device", "show", "D1"],
        &["move", "--store", "postgres://kiosque@127.0.0.1:1/kiosque"],
    ];
    let names = || {
        let entries = fs::read_dir(&directory).ok()?;
        Some(entries.map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>())
    };
    // Without a directory, in an empty one, and in one where creation was interrupted.
    for left in 0..3 {
        match left {
            0 => {}
            1 => fs::create_dir(&directory).unwrap(),
            _ => drop(sandbox.file("data/kiosque.db", "")),
        }
        let before = names();
        for args in commands {
            let ran = sandbox.run(args).failure();
            assert_eq!((ran.stdout.as_str(), &ran.stderr), ("", &no_data), "{args:?}");
            assert_eq!(names(), before, "{args:?}");
        }
    }
    assert!(!sandbox.path("copy.db").exists());
}

#[test]
fn init_creates_data_in_a_time_zone_once() {
    let sandbox = KIOSQUE.sandbox();
    let mut shown = sandbox.transcript(&[&["init"]]);
    assert!(!sandbox.data().exists());
    shown.push_str(&sandbox.transcript(&[
        &["init", "--timezone", "Europe/Kyiv"],
        &["init", "--timezone", "Europe/Kyiv"],
        // Without a zone, and with another name of the same one.
        &["init"],
        &["init", "--timezone", "Europe/Kiev"],
        &["init", "--timezone", "UTC"],
    ]));
    insta::assert_snapshot!(shown);
    // The zone of the first command is the zone of the fleet.
    sandbox.apply(fleet());

    let other = KIOSQUE.sandbox();
    let init = || other.run(&["init", "--timezone", "UTC"]).success().stdout;
    let results = std::thread::scope(|scope| {
        let runs = [(); 4].map(|()| scope.spawn(init));
        runs.map(|run| run.join().unwrap())
    });
    let created = results.iter().filter(|result| result.starts_with("created "));
    assert_eq!(created.count(), 1, "{results:?}");
}

/// The first apply decides the time zone, so one that applies nothing leaves nothing, whether its
/// fleet cannot be read or refers to entries that do not exist. All errors are reported together.
#[test]
fn a_first_fleet_with_errors_creates_no_data() {
    let sandbox = KIOSQUE.sandbox();
    let west = "name = \"X\"\ngroup = \"west\"\n";
    let aisle = "name = \"X\"\n[[device.aisle]]\ncode = \"1\"\nproduct = \"cola\"\nprice = 5\n";
    let mut shown = String::new();
    for device in [
        west.to_owned(),
        format!("{west}colour = \"red\"\n"),
        aisle.to_owned(),
        // An invalid price does not hide that the product is unknown.
        aisle.replace("price = 5", "price = -1"),
        aisle.replace("price = 5", "price = \"5\""),
    ] {
        sandbox.file("fleet.toml", format!("[[device]]\ncode = \"X\"\n{device}"));
        let apply = ["apply", "fleet.toml", "--timezone", "Europe/Kyiv"];
        shown.push_str(&sandbox.transcript(&[&apply]));
        assert!(!sandbox.data().exists(), "{device}");
    }
    insta::assert_snapshot!(shown);
    // The next one is free to choose another zone.
    let file = sandbox.file("good.toml", fleet());
    sandbox.run(&["apply", &file, "--timezone", "Europe/Paris"]).success();
}

/// The paths of everything in a directory, itself included.
fn all_in(directory: &Path) -> Vec<PathBuf> {
    let mut all = vec![directory.to_owned()];
    let mut at = 0;
    while let Some(path) = all.get(at).cloned() {
        if path.is_dir() {
            all.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        at += 1;
    }
    all
}

#[test]
fn only_the_owner_has_access_whatever_the_umask() {
    for umask in ["umask 0", "umask 022", "umask 277"] {
        let sandbox = KIOSQUE.sandbox();
        let file = sandbox.file("fleet.toml", fleet());
        Ran::of(&mut shell::after(umask, &sandbox.command(&["apply", &file]))).success();
        let served = sandbox.start(&mut shell::after(umask, &sandbox.command(&SERVE)));
        served.connect().log_in("walker", "secret");
        let all = all_in(&sandbox.data());
        for name in ["kiosque.db", "kiosque.db-wal", "kiosque.db-shm", "kiosque.lock", "tls"] {
            assert!(all.contains(&sandbox.data().join(name)), "{name}: {all:?}");
        }
        for path in all {
            let wanted = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(sandbox.mode(&path), wanted, "{umask}: {}", path.display());
        }
        assert!(!served.stderr().contains("WARN"), "{}", served.stderr());
    }
}

#[test]
fn access_of_other_users_is_warned_of_at_the_start() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    drop(sandbox.serve());
    let data = sandbox.data();
    for (name, mode) in [("", 0o750), ("kiosque.db", 0o644), ("tls/key.pem", 0o640)] {
        fs::set_permissions(data.join(name), Permissions::from_mode(mode)).unwrap();
    }
    let said = sandbox.serve().stderr_until("operator/v1\n");
    let warned: Vec<&str> = said.lines().filter(|line| line.contains("WARN")).collect();
    let shown = data.display();
    assert_eq!(warned.len(), 1, "{said}");
    for part in [
        format!("run chmod -R go= {shown}"),
        format!("{shown} (mode 750), {shown}/kiosque.db (mode 644), "),
        format!("{shown}/tls/key.pem (mode 640)"),
    ] {
        assert!(warned[0].contains(&part), "{said}");
    }
}

/// The lock of a server that was killed is free, and commands take none.
#[test]
fn one_server_uses_a_directory_and_any_number_of_commands() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let mut served = sandbox.serve();
    let ran = sandbox.run(&SERVE).failure();
    let said = format!(
        "kiosque: {} is used by `kiosque serve`, process {}; stop it first, or choose another \
         directory with --data\n",
        sandbox.data().display(),
        served.process()
    );
    assert_eq!((ran.stdout.as_str(), ran.stderr), ("", said));
    sandbox.run(&["verify"]).success();
    sandbox.create_key(&["tills"]);
    served.connect().log_in("walker", "secret");
    served.kill_9();
    sandbox.serve().connect().log_in("walker", "secret");
}

#[test]
fn a_server_begins_with_what_it_serves() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    sandbox.import([order("o1"), order("o2")].join("\n"));
    let said = sandbox.serve().stderr();
    let expected = format!(
        "kiosque {}: data in {}, time zone Europe/Paris; groups: 2, devices: 2, orders: 2; \
         certificate valid until 20",
        env!("CARGO_PKG_VERSION"),
        sandbox.data().display()
    );
    // After the time and the level.
    let (head, rest) = said.split_once(&expected).expect(&said);
    assert!(head.ends_with("Z  INFO ") && !head.contains('\n'), "{said}");
    assert!(rest.lines().next().unwrap().ends_with(" Europe/Paris"), "{said}");
}

/// A server whose data is not in its place, with a key for orders.
struct Displaced {
    sandbox: Sandbox,
    served: Served,
    key: String,
}

impl Displaced {
    fn by(displace: impl FnOnce(&Sandbox)) -> Displaced {
        let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
        let key = sandbox.create_key(&["tills"]);
        let mut displaced = Displaced { served: sandbox.serve(), sandbox, key };
        displaced.check_open();
        let token = displaced.served.connect().log_in("walker", "secret");
        // The certificate may be displaced with the data.
        let copy = displaced.sandbox.path("cert.pem");
        fs::copy(displaced.sandbox.certificate(), &copy).unwrap();
        displaced.served.trust(&copy);
        displace(&displaced.sandbox);
        wait_until("it is noticed", || shell::get(&displaced.served, "/readyz").0 == 503);
        let (status, body) = shell::get(&displaced.served, "/readyz/orders");
        assert_eq!(status, 503);
        for text in [body, displaced.served.stderr_until("orders cannot be stored")] {
            assert!(text.contains("while this program had it open"), "{text}");
        }
        assert_eq!(displaced.store("lost"), 503);
        let reply = displaced.served.connect().call(DEVICES_PATH, Some(&token), "{}");
        assert_eq!((reply.status, reply.code()), (500, 500));
        displaced
    }

    fn check_open(&self) {
        for path in ["/readyz", "/readyz/orders"] {
            assert_eq!(shell::get(&self.served, path), (200, "ready\n".to_owned()));
        }
        assert_eq!(self.store("kept"), 200);
    }

    /// Sends an order, and returns the status.
    fn store(&self, id: &str) -> u16 {
        self.served.post_orders(&self.key, &order(id)).status
    }
}

#[test]
fn a_server_whose_database_was_replaced_refuses_everything() {
    let mut displaced = Displaced::by(|sandbox| {
        let copy = sandbox.path("copy.db").to_str().unwrap().to_owned();
        sandbox.run(&["backup", &copy]).success();
        for end in ["", "-wal", "-shm"] {
            fs::remove_file(sandbox.data().join(format!("kiosque.db{end}"))).unwrap();
        }
        fs::rename(copy, sandbox.data().join("kiosque.db")).unwrap();
    });
    displaced.served.stop();
    displaced.served = displaced.sandbox.serve();
    displaced.check_open();
    assert_eq!(displaced.sandbox.verified(), 1);
}

#[test]
fn a_server_continues_once_its_directory_is_back() {
    let mut displaced = Displaced::by(|sandbox| {
        fs::rename(sandbox.data(), sandbox.path("elsewhere")).unwrap();
    });
    let elsewhere = displaced.sandbox.path("elsewhere");
    fs::rename(&elsewhere, displaced.sandbox.data()).unwrap();
    displaced.served.stderr_until("orders are stored again");
    displaced.check_open();
    assert_eq!(displaced.store("later"), 200);
    displaced.served.stop();
    assert_eq!(displaced.sandbox.verified(), 2);
}
