//! No secret is shown.

use std::fs;

use kiosque_testkit::{Ran, Served};
use serde_json::Value;

use super::{PASSWORD, Place};
use crate::KIOSQUE;

/// Returns the token of the stored session.
fn token(place: &Place) -> String {
    let text = fs::read_to_string(place.sandbox.path("run/kiosque/default.session")).unwrap();
    let content: Value = serde_json::from_str(&text).unwrap();
    content["session"]["accessToken"].as_str().unwrap().to_owned()
}

/// AUTH-3: neither the arguments nor the environment of a process that runs, nor what it prints.
#[test]
fn no_secret_is_visible_while_a_command_runs() {
    let place = Place::logged_in();
    let mut command = place.command(&["online", "--watch", "20ms", "--explain"]);
    command.env("KIOSQUE_REMOTE_PASSWORD_COMMAND", "cat pw");
    // The command has to log in itself.
    place.run(&["logout"]).success();
    let running = Served::spawn(&mut command, &place.sandbox.path("none"));
    running.stderr_until(r#""totalCount":2"#);
    let token = token(&place);
    for file in ["cmdline", "environ"] {
        let text = fs::read(format!("/proc/{}/{file}", running.process())).unwrap();
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains("remote") || text.contains("KIOSQUE_REMOTE_"), "{text}");
        assert!(!text.contains(PASSWORD) && !text.contains(&token), "{file}: {text}");
    }
    let shown = format!("{}{}", running.stdout(), running.stderr());
    assert!(shown.contains(r#"{"username":"ops","password":"***"}"#), "{shown}");
    assert!(shown.contains(r#""accessToken":"***""#), "{shown}");
    assert!(shown.contains("(token ***)"), "{shown}");
    assert!(!shown.contains(PASSWORD) && !shown.contains(&token), "{shown}");
}

/// A file that other users may read is refused, with the command that fixes it.
#[test]
fn a_password_file_for_others_is_refused() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    let file = place.sandbox.path("pw");
    for mode in [0o640, 0o604, 0o620] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let ran = place.run(&place.login("ops", "pw"));
        let mend = format!("(mode {mode:o}); run: chmod 600 {}\n", file.display());
        assert!(ran.status == 2 && ran.stderr.ends_with(&mend), "{ran:?}");
    }
    assert_eq!(place.trail("login"), 0);
}

/// A URL with a password is refused by each command that takes one, and is not shown.
#[test]
fn a_password_in_a_url_is_refused_and_not_shown() {
    let place = Place::new();
    let url = format!("https://ops:{PASSWORD}@127.0.0.1/v8");
    let reason = "\"https://***@127.0.0.1/v8\" contains a user name or a password, which is not \
                  sent; write it like https://kiosque.example.com/v8\n";
    let login = ["login", "--url", &url, "--username", "ops", "--password-file", "pw"];
    let ran = place.run(&login);
    assert_eq!((ran.status, ran.stderr), (2, format!("kiosque: {reason}")));
    let value = "error: invalid value 'https://***@127.0.0.1/v8' for '";
    for args in [
        &["check", &url, "--username", "ops", "--password-file", "pw"][..],
        &["fault-proxy", &url, "--listen", "127.0.0.1:0"],
    ] {
        let ran = Ran::of(KIOSQUE.command().args(args));
        assert!(ran.status == 2 && ran.stderr.starts_with(value), "{ran:?}");
        assert!(ran.stderr.contains(reason) && !ran.stderr.contains(PASSWORD), "{ran:?}");
    }
}
