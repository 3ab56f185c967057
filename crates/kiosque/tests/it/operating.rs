//! Runs the commands of docs/operating.md as written, in an empty directory, and compares their
//! output with the page; the page lists the settings of the program.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::{Args, FromArgMatches};
use kiosque_model::Limits;
use kiosque_testkit::Ran;

use crate::KIOSQUE;
use crate::fleet::fleet;
use crate::readme::is_shown;
use crate::shell::{get, take_environment};

const PAGE: &str = include_str!("../../../../docs/operating.md");
/// Printed between two blocks.
const NEXT: &str = "----- the next block";

/// Each block to paste, and the output that the page shows for it.
fn walk() -> Vec<(&'static str, Option<&'static str>)> {
    let steps = PAGE.split("```sh\n").skip(1).map(|rest| {
        let (pasted, rest) = rest.split_once("```").unwrap();
        let shown = rest.split_once("```text\n").map(|(_, shown)| shown);
        (pasted, shown.map(|shown| shown.split("```").next().unwrap()))
    });
    steps.collect()
}

/// Runs a script in a shell like the reader's: an empty directory, and `kiosque` on the path.
fn shell(directory: &Path, script: &str) -> Ran {
    let program = Path::new(env!("CARGO_BIN_EXE_kiosque"));
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("bash");
    take_environment(&mut shell, &KIOSQUE.command());
    shell.args(["-c", script]).current_dir(directory).stdin(Stdio::null());
    shell.env("PATH", format!("{}:{path}", program.parent().unwrap().display()));
    Ran::of(&mut shell)
}

/// Replaces the two ports of the page, so that tests can run side by side.
fn with_free_ports(script: &str) -> String {
    let sockets = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [gateway, operator] = sockets.map(|socket| socket.local_addr().unwrap().to_string());
    let flags = format!("--data data --listen {gateway} --operator-listen {operator}");
    script
        .replacen("kiosque serve --data data", &format!("kiosque serve {flags}"), 1)
        .replace("127.0.0.1:8443", &gateway)
        .replace("127.0.0.1:8444", &operator)
}

#[test]
fn the_walkthrough_prints_the_output_of_the_page() {
    let sandbox = KIOSQUE.sandbox();
    let walk = walk();
    let mut script = "trap 'kill $SERVER 2> /dev/null' EXIT\n".to_owned();
    for (pasted, _) in &walk {
        script.push_str(&format!("{pasted}echo '{NEXT}'\n"));
    }
    let ran = shell(sandbox.directory.path(), &with_free_ports(&script));
    let printed: Vec<&str> = ran.stdout.split_inclusive(&format!("{NEXT}\n")).collect();
    assert_eq!(printed.len(), walk.len(), "{ran:?}");
    for ((pasted, shown), printed) in walk.into_iter().zip(printed) {
        let printed = printed.strip_suffix(&format!("{NEXT}\n")).unwrap();
        let lines = printed.lines().zip(shown.unwrap_or_default().lines());
        let all_shown = lines.clone().all(|(printed, shown)| is_shown(printed, shown));
        let count = shown.unwrap_or_default().lines().count();
        let said = &ran.stderr;
        assert!(
            all_shown && count == printed.lines().count(),
            "{pasted}\nprinted\n{printed}\nthe page shows\n{}\n{said}",
            shown.unwrap_or_default(),
        );
    }
    let log = sandbox.read("kiosque.log");
    assert!(!log.contains(" WARN ") && !log.contains(" ERROR "), "{log}");
}

/// Returns the options of all commands and of servers as `--help` lists them: each on one line,
/// without the dashes and up to the end of the first paragraph.
fn options() -> Vec<String> {
    let mut options = options_of(&["--help"]);
    for option in options_of(&["serve", "--help"]) {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    options
}

fn options_of(args: &[&str]) -> Vec<String> {
    let help = Ran::of(KIOSQUE.command().args(args)).success().stdout;
    let mut options: Vec<Vec<String>> = Vec::new();
    let mut is_inside = false;
    for line in help.lines().map(str::trim) {
        if let Some(option) = line.strip_prefix("--") {
            options.push(vec![option.to_owned()]);
            is_inside = true;
        } else if line.is_empty() || line.starts_with('-') {
            is_inside = false;
        } else if is_inside {
            options.last_mut().unwrap().push(line.to_owned());
        }
    }
    let line = |option: Vec<String>| {
        let option = option.join(" ");
        let words: Vec<&str> = option.split_whitespace().collect();
        let option = words.join(" ");
        option.split_once(" [env: ").map_or(option.clone(), |(option, _)| option.to_owned())
    };
    options.into_iter().map(line).collect()
}

/// Returns the row of the page's table that shows an option.
fn row(option: &str) -> String {
    let (flag, text) = option.split_once("> ").unwrap();
    let flag = flag.replacen('<', "", 1);
    let (text, default) = text.split_once(" [default: ").unwrap_or((text, ""));
    format!("| `--{flag}` | {} | {text} |", default.trim_end_matches(']'))
}

/// The table between the two markers of the page comes from the program's help. To write it again:
/// `UPDATE_DOCS=1 cargo test -p kiosque --test program the_page_lists_the_settings`.
#[test]
fn the_page_lists_the_settings_that_there_are() {
    let rows: Vec<String> = options().iter().map(|option| row(option)).collect();
    assert!(rows.len() > 40, "{rows:?}");
    let table = format!("| setting | default | |\n|---|---|---|\n{}\n", rows.join("\n"));
    let (before, rest) = PAGE.split_once("<!-- settings -->\n").unwrap();
    let (listed, after) = rest.split_once("<!-- end of settings -->\n").unwrap();
    if listed != table && std::env::var_os("UPDATE_DOCS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating.md");
        let markers = ("<!-- settings -->\n", "<!-- end of settings -->\n");
        std::fs::write(path, format!("{before}{}{table}{}{after}", markers.0, markers.1)).unwrap();
    } else {
        assert_eq!(listed, table, "run this test with UPDATE_DOCS=1");
    }
}

/// The default of a limit is one value in the code, in the help text and on the page.
#[test]
fn the_defaults_shown_are_those_of_the_code() {
    let options = options();
    let limits = Limits::augment_args(clap::Command::new("limits").no_binary_name(true));
    let mut given = Vec::new();
    for limit in limits.get_arguments() {
        let flag = limit.get_long().unwrap();
        let option = options.iter().find(|it| it.starts_with(&format!("{flag} <"))).unwrap();
        let (_, shown) = option.split_once(" [default: ").unwrap();
        let (shown, _) = shown.split_once(']').unwrap();
        assert!(PAGE.contains(&row(option)), "{option}");
        if shown == "cores - 1, at least 1" {
            assert!(["hash-slots", "ingest-threads"].contains(&flag), "{flag}");
        } else {
            given.push(format!("--{flag}={shown}"));
        }
    }
    let given = Limits::from_arg_matches(&limits.get_matches_from(given)).unwrap();
    assert_eq!(given, Limits::default());
}

/// Every name in backticks that may be a metric is one, labels included.
#[test]
fn what_the_page_watches_is_counted() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let counted = get(&sandbox.serve(), "/metrics").1;
    let quoted = PAGE.split('`').skip(1).step_by(2);
    let watched: Vec<&str> = quoted.filter(|text| text.starts_with("kiosque_")).collect();
    assert!(watched.len() > 8, "{watched:?}");
    for name in watched {
        assert!(counted.contains(name), "{name} is not counted:\n{counted}");
    }
}

/// The larger example file is a valid file of rates.
#[test]
fn the_rates_of_the_example_are_rates() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let rates = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rates.csv");
    let ran = sandbox.run(&["import", "rates", rates]).success();
    assert_eq!(ran.stdout, "rates: 6 created, 0 changed, 0 unchanged\nimport 1\n");
}
