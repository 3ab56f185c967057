//! Runs the commands of docs/operating.md as written, in an empty folder, and compares their output
//! with the page; its settings are those of the program.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{Ran, Sandbox, kiosque};
use crate::readme::is_shown;

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

/// Runs a script in a shell like the reader's: an empty folder, and `kiosque` on the path.
fn shell(folder: &Path, script: &str) -> Ran {
    let program = Path::new(env!("CARGO_BIN_EXE_kiosque"));
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("bash");
    for (name, value) in kiosque().get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.args(["-c", script]).current_dir(folder).stdin(Stdio::null());
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
fn the_walk_prints_what_the_page_shows() {
    let sandbox = Sandbox::new();
    let walk = walk();
    let mut script = "trap 'kill $SERVER 2> /dev/null' EXIT\n".to_owned();
    for (pasted, _) in &walk {
        script.push_str(&format!("{pasted}echo '{NEXT}'\n"));
    }
    let ran = shell(sandbox.folder.path(), &with_free_ports(&script));
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

/// Returns the rows of the page's table, made from `kiosque serve --help`.
fn settings() -> Vec<String> {
    let help = Ran::of(kiosque().args(["serve", "--help"])).good().stdout;
    let (_, options) = help.split_once("Options:\n").unwrap();
    let (options, _) = options.split_once("  -h, --help\n").unwrap();
    format!("\n{options}").split("\n      --").skip(1).map(row).collect()
}

fn row(option: &str) -> String {
    let words: Vec<&str> = option.split_whitespace().collect();
    let flag = format!("--{} {}", words[0], words[1].trim_matches(['<', '>']));
    let text = words[2..].join(" ");
    let (said, default) = match text.split_once(" [default: ") {
        Some((said, rest)) => {
            let (default, more) = rest.split_once(']').unwrap();
            (format!("{said}{more}"), default)
        }
        None => (text.clone(), ""),
    };
    let (said, _) = said.split_once(" [env: ").unwrap();
    format!("| `{flag}` | {default} | {said} |")
}

#[test]
fn the_page_lists_the_settings_that_there_are() {
    let wanted = settings();
    assert!(wanted.len() > 40, "{wanted:?}");
    let listed = PAGE.lines().filter(|line| line.starts_with("| `--"));
    assert_eq!(listed.collect::<Vec<_>>(), wanted, "the table should be\n{}", wanted.join("\n"));
}

/// Every name in backticks that may be a metric is one, labels included.
#[test]
fn what_the_page_watches_is_counted() {
    let sandbox = Sandbox::new();
    let served = sandbox.serve();
    let (cert, operator) = ("data/tls/cert.pem", served.operator());
    let ask = format!("curl --silent --cacert {cert} https://{operator}/metrics");
    let counted = shell(sandbox.folder.path(), &ask).good().stdout;
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
    let sandbox = Sandbox::new();
    let rates = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rates.csv");
    let ran = sandbox.run(&["import", "rates", rates]).good();
    assert_eq!(ran.stdout, "rates: 6 created, 0 changed, 0 unchanged\n");
}
