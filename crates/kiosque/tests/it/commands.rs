//! Commands other than import: their effects, their refusals to the letter, and that data goes to
//! stdout and messages go to stderr.

use std::fs::File;

use kiosque_testkit::{DEVICES_PATH, Ran, Sandbox};
use serde_json::Value;

use crate::KIOSQUE;
use crate::fleet::{fleet, order_with};
use crate::pages;

fn sandbox() -> Sandbox {
    KIOSQUE.sandbox_with(fleet(), "Europe/Paris")
}

/// VER-2: the printed documents are the committed ones.
#[test]
fn openapi_prints_the_committed_documents() {
    for (args, file) in [
        (&["openapi"][..], include_str!("../../../../docs/openapi.json")),
        (&["openapi", "--operator"], include_str!("../../../../docs/openapi-operator.json")),
    ] {
        let ran = Ran::of(KIOSQUE.command().args(args)).success();
        assert!(ran.stdout == file, "run `cargo xtask openapi` and commit its documents");
        assert_eq!(ran.stderr, "");
    }
}

/// VER-2: generated clients call the server in the document.
#[test]
fn openapi_names_the_server_that_is_given() {
    let document = |arguments: &[&str]| -> Value {
        let ran = Ran::of(KIOSQUE.command().arg("openapi").args(arguments)).success();
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let of_integrators = document(&["--server", "https://kiosque.example.com/api/v8"]);
    assert_eq!(of_integrators["servers"][0]["url"], "https://kiosque.example.com/api/v8");
    let of_operator = document(&["--operator", "--server", "https://10.0.0.7:8444"]);
    assert_eq!(of_operator["servers"][0]["url"], "https://10.0.0.7:8444");
    for (server, said) in [
        ("https://kiosque.example.com", "ends with /v8: https://kiosque.example.com/v8"),
        ("http://kiosque.example.com/v8", "is not a base URL"),
        ("https:///v8", "is not a base URL"),
        ("https://kiosque.example.com/v8/", "is not a base URL"),
        ("https://kiosque.example.com/v8?x", "is not a base URL"),
        ("kiosque.example.com/v8", "is not a base URL"),
    ] {
        let ran = Ran::of(KIOSQUE.command().args(["openapi", "--server", server])).failure();
        assert!(ran.stderr.contains(said), "{server}: {}", ran.stderr);
    }
}

#[test]
fn apply_prints_its_changes_and_a_repetition_changes_nothing() {
    let sandbox = KIOSQUE.sandbox();
    sandbox.file("fleet.toml", fleet());
    sandbox.file("fleet.json", r#"{"device":[{"code":"D1","name":"Renamed"}]}"#);
    insta::assert_snapshot!(sandbox.transcript(&[
        &["apply", "fleet.toml"],
        &["apply", "fleet.toml"],
        &["apply", "fleet.json"],
    ]));
}

#[test]
fn apply_names_every_error_and_applies_nothing() {
    let sandbox = sandbox();
    let mut shown = String::new();
    for fleet in [
        "[[group]]\nid = \"east\"\nname = \"East\"\n\
         [[product]]\nid = \"tea\"\nname = \"Tea\"\ncurrency = \"ZZZ\"\n\
         [[device]]\ncode = \"D1\"\nname = \"a\\u0000b\"\n\
         [[device]]\ncode = \"D1\"\n",
        "[[group]]\nid = \"east\"\nname = \"East\"\n\
         [[device]]\ncode = \"D3\"\nname = \"Third\"\ngroup = \"west\"\n",
        // A misspelt key hides neither of the other errors.
        "[[device]]\ncode = \"D3\"\nnmae = \"Third\"\ngroup = \"west\"\n",
        // An invalid field is not reported as missing, too.
        "[[account]]\nlogin_name = \"a\"\npassword_hash = \"md5\"\n\
         [[device]]\ncode = \"D3\"\nname = 3\ngroup = \"east\"\n",
        // The group `east` is still new.
        "[[group]]\nid = \"east\"\nname = \"East\"\n",
    ] {
        sandbox.file("fleet.toml", fleet);
        shown.push_str(&sandbox.transcript(&[&["apply", "fleet.toml"]]));
    }
    insta::assert_snapshot!(shown);
}

/// Very many errors are counted: the first ones are printed.
#[test]
fn the_printed_errors_of_a_fleet_have_a_bound() {
    let sandbox = sandbox();
    let device =
        |at: usize| format!("[[device]]\ncode = \"X{at}\"\nname = \"X\"\ngroup = \"no\"\n");
    let file = sandbox.file("fleet.toml", (0..1_003).map(device).collect::<String>());
    let ran = sandbox.run(&["apply", &file]);
    let ends = ran.stderr.ends_with(": … and 3 more errors\nnothing was applied\n");
    assert_eq!((ran.status, ran.stderr.lines().count(), ends), (1, 1_002, true), "{}", ran.stderr);
}

#[test]
fn a_wrong_input_is_named_with_its_file_and_key() {
    let sandbox = sandbox();
    sandbox.file("fleet.csv", "");
    sandbox.file("half.toml", "[[device]\n");
    sandbox.file("typo.toml", "[[device]]\ncode = \"X\"\ncolour = \"red\"\n");
    sandbox.file("typo.json", r#"{"device":[{"code":"X","aisle":[{"code":1}]}]}"#);
    sandbox.file("map.toml", "x = 1\n");
    let map = "[amount]\nunit = \"minor\"\n[order]\norderId = \"{Id}\"\ndeviceCode = \"D1\"\n\
               currency = \"EUR\"\ntotalAmount = \"{Total}\"\ntradeStartTime = \"{Time}\"\n";
    sandbox.file("good-map.toml", map);
    sandbox.file("large.toml", "#".repeat((4 << 20) + 1));
    File::create(sandbox.path("sparse.json")).unwrap().set_len((256 << 20) + 1).unwrap();
    sandbox.file("report.csv", "Id,Time\n1,2\n");
    insta::assert_snapshot!(sandbox.transcript(&[
        &["apply", "absent.toml"],
        &["apply", "fleet.csv"],
        &["apply", "half.toml"],
        // Neither is shown: they may have a password.
        &["status", "--store", "host=db password=secret"],
        &["status", "--store", "postgres:///db"],
        &["apply", "typo.toml"],
        &["apply", "typo.json"],
        &["apply", "sparse.json"],
        &["import", "orders", "absent.ndjson"],
        &["import", "orders", "report.csv", "--map", "none"],
        &["import", "orders", "report.csv", "--map", "map.toml"],
        &["import", "orders", "report.csv", "--map", "good-map.toml"],
        &["import", "orders", "report.csv", "--map", "large.toml"],
        &["verify", "--config", "large.toml"],
        &["archive", "--before", "yesterday"],
        &["archive", "--before", "2026-02-30"],
        &["archive", "--before", "2026-10-25 02:30:00"],
        &["verify", "--timezone", "Mars/Base"],
        &["serve", "--default-locale", "fr"],
        &["serve", "--hash-slots", "0"],
        &["serve", "--hash-queue", "9223372036854775807"],
        &["serve", "--json-max-depth", "128"],
        &["serve", "--ingest-threads", "0"],
        &["serve", "--online-window", "0s"],
        &["serve", "--json-max-depth", "0"],
        &["serve", "--header-deadline", "0s"],
        &["operator-key", "create", " "],
    ]));
}

#[test]
fn a_wrong_command_line_is_explained_with_status_2() {
    insta::assert_snapshot!(sandbox().transcript(&[
        &["frobnicate"],
        &["export"],
        &["show"],
        &["list"],
        &["import", "rivers", "x"],
        &["verify", "--lissten", "x"],
        &["apply"],
        &["archive"],
        &["serve", "--listen", "8443"],
        &["serve", "--listen", "localhost:8443"],
        &["serve", "--log", "verbose"],
        &["verify", "--log", "a=b=c"],
        &["serve", "--log-format", "xml"],
        &["serve", "--token-validity", "3x"],
        &["demo", "--today", "31.3.2026"],
    ]));
}

#[test]
fn a_command_without_a_directory_says_which_flag_names_it() {
    let ran = Ran::of(KIOSQUE.command().arg("verify")).failure();
    assert!(ran.stderr.contains("--data DIR is required"), "{}", ran.stderr);
}

#[test]
fn a_directory_with_other_files_is_accepted_and_they_stay() {
    let sandbox = KIOSQUE.sandbox();
    std::fs::create_dir_all(sandbox.data().join("photos")).unwrap();
    for name in ["data/notes.txt", "data/photos/a.jpg", "data/kiosque.toml"] {
        sandbox.file(name, "mine");
    }
    sandbox.apply(fleet());
    sandbox.import(order_with("1", "D1", "D2"));
    drop(sandbox.serve());
    for name in ["data/notes.txt", "data/photos/a.jpg", "data/kiosque.toml"] {
        assert_eq!(sandbox.read(name), "mine");
    }
    let mut names = sandbox.names("data");
    names.retain(|name| !name.starts_with("kiosque.db-"));
    assert_eq!(names, ["kiosque.db", "kiosque.lock", "kiosque.toml", "notes.txt", "photos", "tls"]);
}

#[test]
fn archive_takes_each_form_of_time_and_the_running_server_shows_it() {
    let sandbox = sandbox();
    let days = ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"];
    let orders: Vec<String> = days.iter().map(|day| order_with(day, "2026-01-02", day)).collect();
    sandbox.import(orders.join("\n"));
    let served = sandbox.serve();
    let (mut caller, token) = served.log_in("walker");
    let forms: [(&str, &str, usize); 5] = [
        ("2026-01-01", "archived 0 orders of 0 devices\n", 4),
        ("2026-01-02", "archived 1 order of 1 device\n", 3),
        // 03:04:05 in Paris is not before itself.
        ("2026-01-02 03:04:05", "archived 0 orders of 0 devices\n", 3),
        ("2026-01-02T02:04:06Z", "archived 1 order of 1 device\n", 2),
        ("2026-01-04T03:04:05.001+01:00", "archived 2 orders of 1 device\n", 0),
    ];
    for (before, said, current) in forms {
        let ran = sandbox.run(&["archive", "--before", before]).success();
        assert!(ran.stdout == said && ran.stderr.is_empty(), "{before}: {ran:?}");
        assert_eq!(pages::current_orders(&mut caller, &token, "D1").len(), current, "{before}");
        assert_eq!(pages::orders(&mut caller, &token, "D1").len(), 4, "{before}");
    }
    sandbox.run(&["verify"]).success();
}

#[test]
fn verify_names_a_difference_and_exits_with_1() {
    let sandbox = sandbox();
    assert!(!sandbox.data().join("kiosque.db-wal").exists());
    // The largest number, as the file stores it, a little smaller: the end of an ownership that
    // continues.
    let path = sandbox.data().join("kiosque.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let endless = i64::MAX.to_be_bytes();
    let places: Vec<usize> =
        (0..bytes.len() - 8).filter(|at| bytes[*at..at + 8] == endless).collect();
    assert!(places.len() >= 2);
    for at in places {
        bytes[at + 7] = 0;
    }
    std::fs::write(&path, bytes).unwrap();
    insta::assert_snapshot!(sandbox.transcript(&[&["verify"]]));
}

/// LIM-13: one signal stops both listeners, once the requests in progress have been answered.
#[test]
fn a_stopping_server_finishes_requests_and_exits_with_0() {
    for signal in ["TERM", "INT"] {
        let sandbox = sandbox();
        let mut served = sandbox.serve();
        let (mut caller, token) = served.log_in("walker");
        let listeners = [served.address(), served.operator()];
        let stop = || {
            served.signal(signal);
            served.stderr_until("stopping");
        };
        caller.call_while(DEVICES_PATH, &token, "{}", stop).success();
        let status = served.wait();
        assert_eq!(status.code(), Some(0), "{}", served.stderr());
        assert_eq!(served.stdout(), "");
        for address in listeners {
            assert!(std::net::TcpStream::connect(address).is_err(), "{address} still listens");
        }
        // All data is in the one file.
        assert!(!sandbox.data().join("kiosque.db-wal").exists());
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    let (other, sandbox) = (sandbox(), sandbox());
    let served = other.serve();
    let address = served.address().to_string();
    let ran = sandbox.run(&["serve", "--listen", &address]).failure();
    let said =
        format!("kiosque: cannot listen on {address} (see --listen): Address already in use");
    assert!(ran.stderr.starts_with(&said), "{}", ran.stderr);
    let address = served.operator().to_string();
    let ran =
        sandbox.run(&["serve", "--listen", "127.0.0.1:0", "--operator-listen", &address]).failure();
    let said = format!("kiosque: cannot listen on {address} for the operator");
    assert!(ran.stderr.starts_with(&said), "{}", ran.stderr);
    assert!(ran.stderr.contains("--operator-listen): Address already in use"), "{}", ran.stderr);
}
