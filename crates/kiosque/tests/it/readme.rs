//! The two commands of the README work as written on a fresh clone, and the calls to paste give the
//! answers that it shows.

use std::process::Command;

use crate::{KIOSQUE, demo};

const README: &str = include_str!("../../../../README.md");

/// The fenced blocks of a language, in order.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    README.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Returns whether an answer is the one shown, where `…` matches anything.
pub(crate) fn is_shown(answer: &str, shown: &str) -> bool {
    let Some((first, parts)) = shown.split_once('…') else { return answer == shown };
    let Some(mut rest) = answer.strip_prefix(first) else { return false };
    let mut parts = parts.split('…').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    false
}

#[test]
fn the_readme_shows_the_output_of_its_calls() {
    let [demo, test, calls, ..] = blocks("sh")[..] else { panic!("the README's commands") };
    assert_eq!(demo, "cargo run --release -- demo\n");
    assert_eq!(test, "cargo xtask test\n");

    let sandbox = KIOSQUE.sandbox();
    let home = sandbox.directory.path();
    let served = demo::start_in_home(home, &[]);

    // The port is replaced here, so that tests can run side by side.
    let calls = calls.replace("https://127.0.0.1:8443/v8", &served.base);
    let mut shell = Command::new("bash");
    let output = shell.args(["-c", &calls]).env("XDG_DATA_HOME", home).output().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    let shown = blocks("json")[0];
    assert_eq!(answers.lines().count(), shown.lines().count(), "{answers}");
    for (answer, shown) in answers.lines().zip(shown.lines()) {
        assert!(is_shown(answer, shown), "answered {answer}\nthe README shows {shown}");
    }
}

#[test]
fn only_dots_match_anything() {
    assert!(is_shown("a1b2c", "a…b…c"));
    assert!(is_shown("abc", "a…bc"));
    assert!(is_shown("abc", "a…"));
    assert!(is_shown("abcbc", "a…bc"));
    assert!(is_shown("abc", "abc"));
    assert!(!is_shown("ab", "ab…b"));
    assert!(!is_shown("abcd", "a…c"));
    assert!(!is_shown("xbc", "a…c"));
}
