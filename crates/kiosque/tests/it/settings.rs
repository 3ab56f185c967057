//! Settings: a flag precedes a variable and that precedes the file, in any position.

use kiosque_testkit::{DEVICES_PATH, Ran, Served, TOKEN_PATH};

use crate::KIOSQUE;
use crate::fleet::fleet;

/// Returns the largest page size of a server, from its refusal (PAGE-4).
fn largest_page(served: &Served) -> String {
    let (mut caller, token) = served.log_in("walker");
    let path = format!("{DEVICES_PATH}?size=999999");
    let reply = caller.call(&path, Some(&token), "{}");
    assert_eq!(reply.code(), -1);
    let said = reply.json["data"][0].as_str().unwrap();
    said.split(|c: char| !c.is_ascii_digit()).rfind(|word| !word.is_empty()).unwrap().to_owned()
}

#[test]
fn a_flag_overrides_a_variable_and_a_variable_the_file() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let listen = "listen = \"127.0.0.1:0\"\noperator_listen = \"127.0.0.1:0\"\n";
    let file = sandbox.file("kiosque.toml", format!("page_size_max = 11\n{listen}"));
    let serve = |flag: Option<&str>, variable: Option<&str>| {
        let mut command = sandbox.command(&["serve", "--config", &file]);
        command.args(flag.iter().flat_map(|flag| ["--page-size-max", flag]));
        command.envs(variable.map(|variable| ("KIOSQUE_PAGE_SIZE_MAX", variable)));
        sandbox.start(&mut command)
    };
    assert_eq!(largest_page(&serve(None, None)), "11");
    assert_eq!(largest_page(&serve(None, Some("12"))), "12");
    assert_eq!(largest_page(&serve(Some("13"), Some("12"))), "13");
    assert_eq!(largest_page(&serve(Some("13"), None)), "13");
    assert_eq!(largest_page(&sandbox.serve()), "1000");
}

/// A variable sets its setting also for a command that uses it and has no flag for it, and its
/// value is checked.
#[test]
fn a_variable_is_read_by_commands_without_the_flag() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    drop(sandbox.serve());
    let own = sandbox.certificate();
    let other = sandbox.path("other.pem");
    std::fs::copy(&own, &other).unwrap();
    let file = sandbox.file("kiosque.toml", format!("tls_cert = {:?}\n", own.to_str().unwrap()));
    let status = |variable: (&str, &str)| {
        let mut command = sandbox.command(&["status", "--output", "json", "--config", &file]);
        Ran::of(command.env(variable.0, variable.1))
    };
    let ran = status(("KIOSQUE_TLS_CERT", other.to_str().unwrap())).success();
    let shown: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(shown["certificate"]["file"], other.to_str().unwrap());
    for (name, value, message) in [
        ("KIOSQUE_TLS_CERT", "", "KIOSQUE_TLS_CERT: a path must not be empty"),
        ("KIOSQUE_SESSION_LEASE", "soon", "KIOSQUE_SESSION_LEASE: "),
        ("KIOSQUE_SESSION_LEASE", "0s", "KIOSQUE_SESSION_LEASE: "),
        ("KIOSQUE_TIMEZONE", "Mars", "KIOSQUE_TIMEZONE: "),
        ("KIOSQUE_STORE", "", "KIOSQUE_STORE: "),
    ] {
        let ran = status((name, value)).failure();
        assert!(ran.stderr.starts_with(&format!("kiosque: {message}")), "{ran:?}");
    }
    // A value of a flag of the command is checked with the command line.
    for (name, value) in [("KIOSQUE_LOG", "loud"), ("KIOSQUE_CONFIG", "")] {
        let ran = Ran::of(KIOSQUE.command().arg("verify").env(name, value));
        assert!(ran.stderr.contains(&format!(" for '{name}'")), "{ran:?}");
    }
}

#[test]
fn a_file_and_the_environment_can_say_where_the_data_is() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    let data = sandbox.data().to_str().unwrap().to_owned();
    let file =
        sandbox.file("kiosque.toml", format!("data = {data:?}\ntimezone = \"Europe/Paris\"\n"));
    Ran::of(KIOSQUE.command().args(["verify", "--config", &file])).success();
    Ran::of(KIOSQUE.command().arg("verify").env("KIOSQUE_CONFIG", &file)).success();
    Ran::of(KIOSQUE.command().arg("verify").env("KIOSQUE_DATA", &data)).success();
    let ran = Ran::of(KIOSQUE.command().args(["verify", "--data", "elsewhere", "--config", &file]))
        .failure();
    assert!(ran.stderr.starts_with("kiosque: elsewhere: "), "{}", ran.stderr);
}

#[test]
fn common_flags_are_accepted_before_and_after_the_arguments() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    let data = sandbox.data().to_str().unwrap().to_owned();
    let orders = sandbox.file("orders.ndjson", "");
    let config = sandbox.file("kiosque.toml", "");
    let common = ["--data", &data, "--timezone", "Europe/Paris", "--config", &config];
    let mut places = 0;
    for words in [&["import", "orders", &orders][..], &["archive", "--before", "2026-01-01"]] {
        for at in 0..=words.len() {
            // The value of a flag follows it.
            if at > 0 && words[at - 1] == "--before" {
                continue;
            }
            let mut args = words.to_vec();
            args.splice(at..at, common);
            Ran::of(KIOSQUE.command().args(&args)).success();
            places += 1;
        }
    }
    assert_eq!(places, 7);
}

#[test]
fn a_wrong_configuration_file_is_named_with_its_line_and_key() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let mut shown = String::new();
    for content in [
        "lissten = \"127.0.0.1:0\"\nlog = \"info\"\n[tls]\n",
        "token-validity = \"1h\"\n",
        "KIOSQUE_LOG = \"x\"\n",
        "listen = \"8443\"\n",
        "listen = 8443\n",
        "token_validity = 3600\n",
        "body_max_bytes = \"1M\"\n",
        "trusted_proxies = 10\n",
        "trusted_proxies = [1]\n",
        "trusted_proxies = [\"10.0.0.0/8\", \"proxy\"]\n",
        "# Everything.\n\nlog = \"verbose\"\n",
        "log = \"info\"\n  token_validity = \"3x\"\n",
        "hash_slots = -1\n",
        "listen = \n",
        // The line that cannot be read may have the password of a database.
        "data = \"d\"\nstore = \"postgres://u:pass\"word@db/k\"\n",
    ] {
        sandbox.file("kiosque.toml", content);
        shown.push_str(content);
        shown.push_str(&sandbox.transcript(&[&["verify", "--config", "kiosque.toml"]]));
    }
    shown.push_str(&sandbox.transcript(&[&["verify", "--config", "absent.toml"]]));
    insta::assert_snapshot!(shown);
}

/// Commands that use no setting do not read the settings file.
#[test]
fn commands_without_settings_need_no_configuration_file() {
    for args in [["check", "--list"].as_slice(), &["config", "print"], &["openapi"]] {
        let ran = Ran::of(KIOSQUE.command().args(args).env("KIOSQUE_CONFIG", "absent.toml"));
        assert_eq!(ran.success().stderr, "", "{args:?}");
    }
}

#[test]
fn an_unknown_variable_is_a_warning_and_no_more() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let mut command = sandbox.command(&["verify"]);
    let ran =
        Ran::of(command.env("KIOSQUE_LISTN", "x").env("KIOSQUE_LISTEN", "127.0.0.1:1")).success();
    assert_eq!(ran.stderr, "warning: KIOSQUE_LISTN is not a setting of kiosque\n");
    assert_eq!(ran.stdout, "verified: 0 orders in 2 ledgers and 0 sums, no difference\n");
    let mut command = sandbox.command(&["verify", "--log-format", "json"]);
    let ran = Ran::of(command.env("KIOSQUE_LISTN", "x")).success();
    let logged: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(logged["message"], "KIOSQUE_LISTN is not a setting of kiosque");
}

#[test]
fn the_time_zone_is_recorded_once_and_another_one_is_refused_with_both_named() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "Europe/Paris");
    sandbox.run(&["verify"]).success();
    sandbox.run(&["verify", "--timezone", "Europe/Paris"]).success();
    let said = "the time zone of this data is Europe/Paris, not Asia/Tokyo";
    for args in [
        &["verify"][..],
        &["serve", "--listen", "127.0.0.1:0"],
        &["apply", "fleet.toml"],
        &["import", "orders", "fleet.toml"],
        &["archive", "--before", "2026-01-01"],
    ] {
        let mut args = args.to_vec();
        args.extend(["--timezone", "Asia/Tokyo"]);
        let ran = sandbox.run(&args).failure();
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{args:?}");
    }
    // Without a zone it is UTC, and that is recorded, too (FMT-2).
    let plain = KIOSQUE.sandbox();
    plain.apply(fleet());
    plain.run(&["verify", "--timezone", "UTC"]).success();
    let ran = plain.run(&["verify", "--timezone", "Europe/Paris"]).failure();
    assert!(ran.stderr.contains("is UTC, not Europe/Paris"), "{}", ran.stderr);
}

/// SQLite counts the milliseconds of a wait in 32 bits.
#[test]
fn a_request_may_wait_for_the_store_for_months() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let served = sandbox.serve_with(&["--store-wait", "60d"]);
    served.connect().log_in("walker", "secret");
}

#[test]
fn a_server_speaks_its_default_locale() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let served = sandbox.serve_with(&["--default-locale", "zh-CN"]);
    let body = r#"{"username":"walker","password":"wrong"}"#;
    let reply = served.connect().call(TOKEN_PATH, None, body);
    assert_eq!(reply.code(), -2);
    assert_eq!(reply.json["enMsg"], "User name or password is wrong.");
    assert!(!reply.json["msg"].as_str().unwrap().is_ascii(), "{reply:?}");
}
