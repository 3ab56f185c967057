//! Completions, manual pages, the printed settings file and the report to a service manager; and
//! the files of `deploy/` that name the program's commands and metrics.

use std::os::unix::net::UnixDatagram;
use std::process::Command;

use kiosque_testkit::{Ran, SERVE, Served};
use serde_json::Value;

use crate::KIOSQUE;
use crate::fleet::fleet;
use crate::shell::get;

const ALERTS: &str = include_str!("../../../../deploy/prometheus/kiosque.rules.yml");
const DASHBOARD: &str = include_str!("../../../../deploy/grafana/kiosque.json");
const UNITS: [&str; 2] = [
    include_str!("../../../../deploy/systemd/kiosque.service"),
    include_str!("../../../../deploy/systemd/kiosque-backup.service"),
];

fn run(args: &[&str]) -> Ran {
    Ran::of(KIOSQUE.command().args(args)).success()
}

/// Completes the last word of a line as bash does.
fn completed(line: &str) -> Vec<String> {
    // The script is longer than an argument may be.
    let sandbox = KIOSQUE.sandbox();
    let script = sandbox.file("completions", run(&["completions", "bash"]).stdout);
    let words: Vec<&str> = line.split(' ').collect();
    let last = words.len() - 1;
    let ask = format!(
        "source {script}\nCOMP_WORDS=({line} '')\nCOMP_WORDS=(\"${{COMP_WORDS[@]:0:{}}}\")\n\
         COMP_CWORD={last}\n_kiosque kiosque \"{}\" \"{}\"\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        last + 1,
        words[last],
        words[last - 1],
    );
    let ran = Ran::of(Command::new("bash").args(["-c", &ask])).success();
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn shells_complete_commands_and_flags() {
    assert_eq!(completed("kiosque bac"), ["backup"]);
    assert_eq!(completed("kiosque operator-key rev"), ["revoke"]);
    assert_eq!(completed("kiosque serve --token-v"), ["--token-validity"]);
    for shell in ["zsh", "fish"] {
        let script = run(&["completions", shell]).stdout;
        assert!(script.contains("operator-key") && script.contains("token-validity"), "{shell}");
        // Where the shell is installed, it reads the script.
        let sandbox = KIOSQUE.sandbox();
        let file = sandbox.file("script", &script);
        if let Ok(output) = Command::new(shell).args(["-n", &file]).output() {
            Ran::from(output).success();
        }
    }
    assert_eq!(Ran::of(KIOSQUE.command().args(["completions", "tcsh"])).status, 2);
}

/// Each command has a page, with every flag and with its examples.
#[test]
fn every_command_has_a_manual_page() {
    let sandbox = KIOSQUE.sandbox();
    let directory = sandbox.path("share/man1");
    run(&["man", directory.to_str().unwrap()]);
    let pages = std::fs::read_dir(&directory).unwrap().count();
    let commands = run(&["--help"]).stdout;
    let (_, commands) = commands.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let names = commands.lines().filter_map(|line| line.split_whitespace().next());
    let names: Vec<&str> = names.filter(|name| *name != "help").collect();
    assert!(names.len() > 10 && pages > names.len(), "{names:?}, {pages} pages");
    for name in names {
        let page = std::fs::read_to_string(directory.join(format!("kiosque-{name}.1"))).unwrap();
        assert!(page.contains(".SH NAME\n") && page.contains(".SH OPTIONS\n"), "{name}: {page}");
        assert!(!page.contains(".SH EXTRA\n"), "{name}: {page}");
    }
    let serve = std::fs::read_to_string(directory.join("kiosque-serve.1")).unwrap();
    assert!(serve.contains(".SH EXAMPLES\n") && serve.contains("token\\-validity"), "{serve}");
    assert!(directory.join("kiosque-import-orders.1").exists());
}

/// `config print` prints a settings file that changes nothing, also where the present one is wrong.
#[test]
fn the_printed_settings_file_is_one() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let wrong = sandbox.file("wrong.toml", "lissten = 1\n");
    let print = || Ran::of(KIOSQUE.command().args(["config", "print", "--config", &wrong]));
    let file = sandbox.file("kiosque.toml", print().success().stdout);
    let ran = sandbox.run(&["verify", "--config", &file]).success();
    assert_eq!((ran.stdout.starts_with("verified: "), &*ran.stderr), (true, ""));
    let edited = sandbox.read("kiosque.toml").replace("\n#log = \"info\"", "\nlog = 1");
    let file = sandbox.file("kiosque.toml", edited);
    let ran = sandbox.run(&["verify", "--config", &file]).failure();
    assert!(ran.stderr.contains("log: expected a string, such as \"info\""), "{}", ran.stderr);
}

/// A service manager learns that the server is ready once it accepts connections.
#[test]
fn readiness_is_reported_to_a_service_manager() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let socket = UnixDatagram::bind(sandbox.path("notify")).unwrap();
    let mut command = sandbox.command(&SERVE);
    command.env("NOTIFY_SOCKET", sandbox.path("notify"));
    let mut served = Served::spawn(&mut command, &sandbox.certificate());
    let mut state = [0; 64];
    let length = socket.recv(&mut state).unwrap();
    assert_eq!(&state[..length], b"READY=1\n");
    served.wait_for_address();
    served.connect().log_in("walker", "secret");
    drop(served);
    // A socket that does not exist is a warning, and the server serves.
    command.env("NOTIFY_SOCKET", sandbox.path("absent"));
    let served = sandbox.start(&mut command);
    served.stderr_until("readiness cannot be reported");
    served.connect().log_in("walker", "secret");
}

/// The commands of the units are commands of the program.
#[test]
fn the_units_run_commands_that_there_are() {
    for unit in UNITS {
        let lines = unit.lines().filter_map(|line| line.strip_prefix("ExecStart="));
        let commands: Vec<&str> = lines.collect();
        assert_eq!(commands.len(), 1, "{unit}");
        let words: Vec<&str> = commands[0].split(' ').skip(1).collect();
        assert!(commands[0].starts_with("/usr/bin/kiosque "), "{unit}");
        // `--help` is accepted only after arguments that are.
        run(&[&words[..], &["--help"]].concat());
    }
}

/// Returns the metrics in a text, each with the labels that it selects. The label `instance` is
/// Prometheus's own.
fn selectors(text: &str) -> Vec<(String, Vec<String>)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let text = text.replace('\\', "");
    let mut found = Vec::new();
    for (at, _) in text.match_indices("kiosque_") {
        let (name, after) = text[at..].split_once(|c| !is_name(c)).unwrap();
        let has_labels = text[at + name.len()..].starts_with('{');
        let labels = after.split_once('}').filter(|_| has_labels).map_or("", |(labels, _)| labels);
        let labels = labels.split(',').filter_map(|label| label.trim().split_once('='));
        let labels = labels.filter(|(label, _)| *label != "instance").flat_map(|(label, value)| {
            let values = value.trim_start_matches('~').trim_matches('"').split('|');
            values.map(move |value| format!("{label}=\"{value}\""))
        });
        found.push((name.to_owned(), labels.collect()));
    }
    found
}

/// Every metric of the alert rules and of the dashboard is one of the server's, and so is every
/// value of a label.
#[test]
fn alerts_and_dashboard_use_metrics_that_there_are() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let metrics = get(&sandbox.serve(), "/metrics").1;
    serde_json::from_str::<Value>(DASHBOARD).unwrap();
    let mut used = 0;
    for (name, labels) in [ALERTS, DASHBOARD].into_iter().flat_map(selectors) {
        let mut of_name = metrics.lines().filter(|line| {
            line.strip_prefix(&name).is_some_and(|rest| rest.starts_with([' ', '{']))
        });
        let has = |label: &String| of_name.clone().any(|line| line.contains(label.as_str()));
        let all = labels.iter().all(has);
        assert!(all && of_name.next().is_some(), "{name}{labels:?} is not in:\n{metrics}");
        used += 1;
    }
    assert!(used > 30, "{used}");
}
