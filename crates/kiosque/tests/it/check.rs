//! `kiosque check`: no finding on Kiosque, and exactly the mistakes of other servers.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use kiosque_testkit::{Program, Ran, Sandbox, Served};
use serde_json::Value;

use crate::closed_output::on_full_disk;
use crate::faults::proxy;
use crate::fleet::fleet;
use crate::{KIOSQUE, demo};

/// Runs a check with this account, whose password is in a file, and returns what it printed.
fn check(sandbox: &Sandbox, base: &str, account: [&str; 2], more: &[&str]) -> Ran {
    Ran::of(&mut checking(sandbox, base, account, more))
}

/// Returns the command of such a check.
fn checking(sandbox: &Sandbox, base: &str, account: [&str; 2], more: &[&str]) -> Command {
    let [username, password] = account;
    let password = sandbox.file("password", format!("{password}\n"));
    let certificate = sandbox.certificate();
    let mut command = KIOSQUE.command();
    command.args(["check", base, "--username", username, "--password-file", &password]);
    command.arg("--ca-file").arg(certificate).arg("--yes").args(more);
    command
}

/// Returns the ids of the broken rules.
fn broken(ran: &Ran) -> BTreeSet<&str> {
    let lines = ran.stdout.lines().filter(|line| line.starts_with("broken "));
    lines.map(|line| line.split_whitespace().nth(2).unwrap()).collect()
}

const DEMO: [&str; 2] = ["demo", "kiosque-demo"];

/// A demo follows every rule and has the data to show it; faults before it are found, each by the
/// rules that it breaks.
#[test]
fn a_demo_follows_every_rule_and_faults_are_found() {
    let sandbox = KIOSQUE.sandbox();
    let served = demo::start_quiet(&sandbox, "2026-03-31");
    let (xml, json) = (sandbox.path("rules.xml"), sandbox.path("rules.json"));
    let reports = [format!("junit={}", xml.display()), format!("json={}", json.display())];
    let password = sandbox.file("password-2", "kiosque-demo\n");
    let second = ["--second-account", "campus", "--second-password-file", &password];
    let more = [&["--extension", "--report", &reports[0], "--report", &reports[1]], &second[..]];
    let more = more.concat();
    let ran = check(&sandbox, &served.base, DEMO, &more);
    assert_eq!((broken(&ran), ran.status), (BTreeSet::new(), 0), "{}", ran.stdout);
    let rules = kiosque_conformance::all().count();
    let last = format!("rules: {rules}; ok: {rules}, broken: 0, not shown: 0, skipped: 0\n");
    assert!(rules >= 40 && ran.stdout.ends_with(&last), "{}", ran.stdout);
    let entries: Value = serde_json::from_str(&sandbox.read("rules.json")).unwrap();
    let entries = entries.as_array().unwrap();
    assert!(entries.len() == rules && entries.iter().all(|entry| entry["outcome"] == "ok"));
    let suite = format!(
        "<testsuite name=\"kiosque check\" tests=\"{rules}\" failures=\"0\" skipped=\"0\">"
    );
    assert!(sandbox.read("rules.xml").contains(&suite), "{}", sandbox.read("rules.xml"));

    // The devices of the survey are in the opposite order as well.
    let resorted = ["dashboard.profile", "devices.order"];
    for (fault, expected) in [
        ("drop-row(online)", &["dashboard.online"][..]),
        ("resort(devices)", &resorted),
        ("html404(trend)", &["dashboard.trend"]),
        ("clock(+3h)", &[]),
    ] {
        let proxy = proxy(&served.base, &sandbox.certificate(), &[fault]);
        let ran = check(&sandbox, &proxy.base, DEMO, &["--extension"]);
        assert_eq!(broken(&ran), expected.iter().copied().collect(), "{fault}: {}", ran.stdout);
        assert_eq!(ran.status, i32::from(!expected.is_empty()));
    }
    // Other servers may have other paths for these functions, and answer unknown ones with HTML.
    let elsewhere = "html404(online, best-sellers, by-device, trend, aisles, profile)";
    let proxy = proxy(&served.base, &sandbox.certificate(), &[elsewhere]);
    let ran = check(&sandbox, &proxy.base, DEMO, &second);
    assert_eq!((broken(&ran), ran.status), (BTreeSet::new(), 0), "{}", ran.stdout);
    let reason = "(needs the path of Kiosque, which the contract does not specify)";
    assert_eq!(ran.stdout.matches(reason).count(), 2, "{}", ran.stdout);
}

/// A check that ends early prints and reports what it has checked, and why it ended. A report that
/// cannot be written is noticed before the account logs in.
#[test]
fn a_check_that_ends_early_keeps_its_outcomes() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let served = sandbox.serve();
    let walker = ["walker", "secret"];
    let absent = sandbox.path("absent/rules.json");
    let report = format!("json={}", absent.display());
    let ran = check(&sandbox, &served.base, walker, &["--report", &report]);
    let message = format!(
        "kiosque: the check could not run: --report {}: No such file or directory\n",
        absent.display()
    );
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr), (2, "", message));
    assert_eq!(sandbox.trail_entries("login"), 0);

    // The login after the first rule that ends the session fails.
    let fault = "nth(3, html404(login))";
    let proxy = proxy(&served.base, &sandbox.certificate(), &[fault]);
    let json = sandbox.file("rules.json", "the report of an earlier check, which was longer");
    let report = format!("json={json}");
    let more = ["--rules", "sessions.end,sessions.switch,sessions.data", "--report", &report];
    let ran = check(&sandbox, &proxy.base, walker, &more);
    let counts = "rules: 3; ok: 1, broken: 0, not shown: 0, skipped: 2\n";
    assert!(ran.stdout.ends_with(counts), "{}", ran.stdout);
    assert!(ran.stdout.contains("(the check ended during this rule)"), "{}", ran.stdout);
    assert!(ran.stdout.contains("(the check ended before this rule)"), "{}", ran.stdout);
    let message = "kiosque: the check ended early: the account cannot log in; the answer was HTTP \
                   404: ";
    assert!(ran.status == 2 && ran.stderr.starts_with(message), "{ran:?}");
    let entries: Value = serde_json::from_str(&sandbox.read("rules.json")).unwrap();
    let words = |entry: &Value| entry["outcome"].as_str().unwrap().to_owned();
    let words: Vec<String> = entries.as_array().unwrap().iter().map(words).collect();
    assert_eq!(words, ["ok", "skipped", "skipped"]);
}

/// Each exchange is a file that names its rule, is private to its owner and has no secret.
#[test]
fn exchanges_are_recorded_without_secrets() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let served = sandbox.serve();
    let (walker, password) = (["walker", "secret"], sandbox.file("password-2", "secret\n"));
    let directory = sandbox.path("exchanges");
    let mut more = vec!["--second-account", "guest", "--second-password-file", &password];
    more.extend(["--extension", "--exchanges", directory.to_str().unwrap()]);
    let ran = check(&sandbox, &served.base, walker, &more);
    assert_eq!((ran.status, broken(&ran).len()), (0, 0), "{}", ran.stdout);
    assert_eq!(sandbox.mode(&directory), 0o700);
    let (mut rules, mut numbers) = (BTreeSet::new(), BTreeSet::new());
    for entry in fs::read_dir(&directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let (number, rule) = name.strip_suffix(".txt").unwrap().split_once('-').unwrap();
        assert!(numbers.insert(number.parse::<usize>().unwrap()), "{name}");
        rules.insert(rule.to_owned());
        assert_eq!(sandbox.mode(entry.path()), 0o600, "{name}");
        let text = fs::read_to_string(entry.path()).unwrap();
        assert!(text.contains(" /v8/") && text.contains("\n\nHTTP "), "{name}: {text}");
        assert!(!text.contains("secret"), "{name}: {text}");
        // Tokens have 64 characters, one of which a rule alters.
        let is_in = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let longest = text.split(|c| !is_in(c)).map(str::len).max().unwrap();
        assert!(longest < 60, "{name}: {text}");
    }
    assert!(numbers.iter().copied().eq(1..=numbers.len()), "{numbers:?}");
    let shown = ran.stdout.lines().filter(|line| line.starts_with("ok "));
    let shown = shown.map(|line| line.split_whitespace().nth(2).unwrap().to_owned());
    let expected: BTreeSet<String> = shown.chain(["survey".to_owned()]).collect();
    assert!(rules.is_superset(&expected), "{:?}", expected.difference(&rules));
    // The guest has no group that the walker lacks.
    let reason = "(needs a second account with devices and orders in a default group that the \
                  first one lacks)";
    assert_eq!(ran.stdout.matches(reason).count(), 6, "{}", ran.stdout);

    let again = check(&sandbox, &served.base, walker, &more);
    let message = format!(
        "kiosque: the check could not run: --exchanges {}: the directory already has files, which \
         would be mistaken for those of this check; choose a new directory\n",
        directory.display()
    );
    assert_eq!((again.status, again.stderr), (2, message));
}

/// Each mistake of a server of another make is named, with the call that shows it and no secret.
#[test]
fn the_mistakes_of_another_make_are_named() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    drop(sandbox.serve());
    let tls = |name: &str| sandbox.data().join("tls").join(name);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/check/other_make.py");
    let mut python = Program("python3").command();
    python.arg(script).args([tls("cert.pem"), tls("key.pem")]);
    let other = Served::start(&mut python, &tls("cert.pem"));
    let ran = check(&sandbox, &other.base, ["other", "secret"], &[]);
    let mistakes = [
        "dashboard.trend-days",
        "envelope.content-type",
        "envelope.locale",
        "http.unknown-path",
        "orders.end",
        "pages.end",
        "requests.violations",
        "sessions.default-again",
        "sessions.end",
        "sessions.login-replaces",
    ];
    assert_eq!(broken(&ran), mistakes.into_iter().collect(), "{}", ran.stdout);
    assert_eq!(ran.status, 1);
    for line in [
        "broken     ADDR-3   http.unknown-path ",
        "  sent       POST /v8/third-center-web/openapi/v1/unknown\n",
        "  expected   HTTP 404, with code 0 unless the body is HTML\n",
        "  came       HTTP 200: {\"code\": 0, ",
        "  repeat     curl --include -X POST 'https://127.0.0.1:",
        " -H 'third-api-token: ***' ",
        "\n*** replaces a password or a token: insert it to repeat a call\n",
    ] {
        assert!(ran.stdout.contains(line), "{line:?}: {}", ran.stdout);
    }
    // Its tokens are token-1, token-2 and so on; ids of rules contain the word as well.
    let is_token = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    let shows_token = ran.stdout.split("token-").skip(1).any(is_token);
    assert!(!ran.stdout.contains("\"secret\"") && !shows_token, "{}", ran.stdout);
}

/// With `--read-only` the check logs in once and changes nothing else; a check that cannot run says
/// why.
#[test]
fn a_check_is_limited_confirmed_and_can_fail_to_run() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let served = sandbox.serve();
    let walker = ["walker", "secret"];
    let ran = check(&sandbox, &served.base, walker, &["--read-only"]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    assert_eq!((sandbox.trail_entries("login"), sandbox.trail_entries("switchGroup")), (1, 0));
    let without = "(needs --second-account)";
    assert_eq!(ran.stdout.matches(without).count(), 4, "{}", ran.stdout);
    let selected = check(&sandbox, &served.base, walker, &["--rules", "pages.fields,scope"]);
    let ids: Vec<&str> =
        selected.stdout.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert!(
        ids.contains(&"pages.fields") && ids.iter().filter(|id| id.contains("scope.")).count() > 2
    );

    let by_number = check(&sandbox, &served.base, walker, &["--rules", "ADDR-3"]);
    assert!(by_number.stdout.contains(" http.unknown-path "), "{}", by_number.stdout);

    let wrong = sandbox.file("wrong", "open barley");
    let second = ["--second-account", "stranger", "--second-password-file", &wrong];
    let mut shown = String::new();
    for (account, more) in [
        (["walker", "open barley"], &[][..]),
        (walker, &second),
        (walker, &["--rules", "absent"]),
        (["walker", ""], &[]),
    ] {
        shown += &check(&sandbox, &served.base, account, more).transcript();
    }
    let password = sandbox.file("password", "secret");
    let mut unconfirmed = KIOSQUE.command();
    unconfirmed.args(["check", "https://127.0.0.1:1", "--username", "walker"]);
    unconfirmed.args(["--password-file", &password, "--ca-file"]).arg(sandbox.certificate());
    shown += &Ran::of(&mut unconfirmed).transcript();
    insta::assert_snapshot!(shown.replace(sandbox.directory.path().to_str().unwrap(), "DIR"));
}

/// The list has every rule with its number, its mark and its text.
#[test]
fn the_list_has_every_rule() {
    let ran = Ran::of(KIOSQUE.command().args(["check", "--list"])).success();
    insta::assert_snapshot!(ran.stdout);
}

/// Outcomes that cannot be printed are reported in the files nevertheless.
#[test]
fn outcomes_that_cannot_be_printed_are_a_failure_of_their_own() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let served = sandbox.serve();
    let report = format!("json={}", sandbox.path("rules.json").display());
    let more = ["--rules", "ADDR-3", "--report", &report];
    let ran = on_full_disk(&mut checking(&sandbox, &served.base, ["walker", "secret"], &more));
    let message = "kiosque: the outcomes cannot be shown: cannot write to standard output: \
                   No space left on device\n";
    assert_eq!((ran.status, &*ran.stderr), (2, message));
    assert!(sandbox.read("rules.json").contains("ADDR-3"));
}
