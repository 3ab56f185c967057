//! Exit statuses, and logins that are refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use kiosque_testkit::Ran;

use super::{PASSWORD, Place};

/// ENV-3, AUTH-8, ADDR-3: each kind of failure has its exit status.
#[test]
fn each_kind_of_failure_has_its_exit_status() {
    let mut place = Place::new();
    for (args, message) in [
        (&["whoami"][..], "the profile default in "),
        (&["whoami", "--profile", "a/b"], "is not a valid profile name"),
        (&["login"], "has no url"),
        (&["login", "--url", "http://x/v8", "--username", "a", "--password-file", "pw"], "/v8"),
        (&["login", "--url", "https://x/v8", "--username", "a"], "no source of the password"),
    ] {
        let ran = place.run(args);
        assert!(ran.status == 2 && ran.stderr.contains(message), "{args:?}: {ran:?}");
    }
    place.log_in();
    assert_eq!(place.run(&["whoami"]).status, 0);
    let refused = place.run(&["order", "unknown"]);
    assert!(refused.status == 1 && refused.stderr.contains("code -1"), "{refused:?}");
    let refused = place.run(&["devices", "--group", "west"]);
    assert!(refused.status == 1 && refused.stderr.contains("code -1"), "{refused:?}");
    let unknown = place.run(&["call", "third-center-web/openapi/v1/nothing"]);
    assert!(unknown.status == 1 && unknown.stderr.contains("code 0"), "{unknown:?}");
    let path = place.run(&["call", "a b\u{1b}[2J", "--explain"]);
    let reason = "kiosque: \"a b\\u{1b}[2J\" is not a path with a query; write characters that a \
                  URL cannot have as in %20, which is a space\n";
    assert_eq!((path.status, &*path.stderr), (2, reason), "nothing was sent");
    let date = place.run(&["summary", "--since", "2026-03-01", "--until", "2026-02-30"]);
    let reason = "kiosque: --until: \"2026-02-30\" does not exist in the calendar\n";
    assert_eq!((date.status, &*date.stderr), (2, reason));
    let late = ["--since", "2026-03-02", "--until", "2026-03-01"];
    for command in [&["summary"][..], &["orders", "--all-devices"]] {
        let range = place.run(&[command, &late].concat());
        let named = range.stderr.contains("--since") && !range.stderr.contains("Timestamp");
        assert!(range.status == 1 && named, "{range:?}");
    }
    for args in [
        &["orders"][..],
        &["devices", "--columns", "deviceCode,nothing"],
        &["summary", "--since", "soon"],
        &["devices", "--watch", "0s"],
        &["changes", "--size", "0"],
        &["call", "platform-auth/auth/third-api/logout"],
        &["call", "third-center-web/openapi/v1/kioskDashboard/summary", "@nowhere"],
    ] {
        let ran = place.run(args);
        assert!(ran.status == 2 && ran.stdout.is_empty(), "{args:?}: {ran:?}");
    }
    place.stop();
    let unreachable = place.run(&["devices"]);
    assert!(unreachable.status == 4 && unreachable.stderr.contains("no answer"), "{unreachable:?}");
}

/// A password that cannot be read is an error of a local file or command, and nothing is sent.
#[test]
fn a_password_that_cannot_be_read_is_no_lack_of_a_session() {
    let place = Place::new();
    let empty = place.write_password("empty", "");
    let two = place.write_password("two", "a\nb");
    let latin = place.sandbox.file("latin", b"\xe9\n");
    fs::set_permissions(&latin, fs::Permissions::from_mode(0o600)).unwrap();
    let mut shown = String::new();
    for file in ["absent", ".", &empty, &two, &latin, "/dev/full"] {
        shown.push_str(&place.run(&place.login("ops", file)).transcript());
    }
    let of_url = ["login", "--url", &place.server.base, "--username", "ops"];
    for source in [
        ["--password-command", "exit 3", "--ca-file", "data/tls/cert.pem"],
        ["--password-command", "exec cat /dev/zero", "--ca-file", "data/tls/cert.pem"],
        ["--password-file", "pw", "--ca-file", "/dev/zero"],
    ] {
        shown.push_str(&place.run(&[&of_url[..], &source].concat()).transcript());
    }
    insta::assert_snapshot!(shown.replace(place.sandbox.directory.path().to_str().unwrap(), "DIR"));
    assert_eq!(place.trail("login"), 0);
}

/// A certificate that is not trusted is not verified again.
#[test]
fn a_certificate_that_is_not_trusted_is_requested_once() {
    let place = Place::new();
    let other = Place::new();
    let certificate = other.sandbox.path("data/tls/cert.pem");
    let ca_file = certificate.to_str().unwrap();
    let url = ["login", "--url", &place.server.base, "--username", "ops", "--explain"];
    let source = ["--password-file", "pw", "--ca-file", ca_file];
    let ran = place.run(&[&url[..], &source].concat());
    assert_eq!((ran.status, ran.stderr.matches("> POST ").count()), (4, 1), "{ran:?}");
    assert!(ran.stderr.contains("\nkiosque: no answer from https://127.0.0.1:"), "{ran:?}");
    assert!(!ran.stderr.contains("gave up"), "{ran:?}");
}

/// AUTH-8: a refused password is sent once, until its file changes or a login is requested.
#[test]
fn a_refused_password_is_not_sent_again() {
    let mut place = Place::new();
    let wrong = place.run(&place.login("ops", &place.write_password("pw", "wrong")));
    assert!(wrong.status == 3 && wrong.stderr.contains("code -2"), "{wrong:?}");
    // The profile is stored by a login that succeeds.
    assert_eq!(place.json(&["profiles"]), serde_json::json!([]));

    place.write_password("pw", PASSWORD);
    place.log_in();
    place.run(&["logout"]).success();
    place.write_password("pw", "wrong");
    assert_eq!(place.run(&["whoami"]).status, 3);
    let logins = (place.trail("login"), place.trail("logout"));
    for _ in 0..3 {
        let again = place.run(&["devices"]);
        assert!(again.status == 3 && again.stderr.contains("nothing was sent"), "{again:?}");
    }
    place.write_password("pw", PASSWORD);
    place.run(&["devices"]).success();
    assert_eq!((logins, place.trail("login")), ((1, 1), 2));
    let session = place.sandbox.path("run/kiosque/default.session");
    let text = fs::read_to_string(&session).unwrap();
    assert!(text.contains(r#""refused":null"#), "{text}");

    place.run(&["logout"]).success();
    place.write_password("pw", "wrong");
    assert_eq!(place.run(&["whoami"]).status, 3);
    place.stop();
    assert_eq!(refused_logins(&place), 3);
    assert_eq!(place.run(&["whoami"]).status, 3, "without the server");
    // A change of the file is a reason to try, and there is no server.
    place.write_password("pw", "other");
    assert_eq!(place.run(&["whoami"]).status, 4);
}

fn refused_logins(place: &Place) -> i64 {
    let entries = place.sandbox.json(&["audit", "--event", "loginRefused"]);
    let counts = entries.as_array().unwrap().iter();
    counts.map(|entry| entry["count"].as_i64().unwrap_or(1)).sum()
}

/// A password from standard input serves one login; the session is used while it lasts.
#[test]
fn a_password_from_standard_input_is_not_stored() {
    let place = Place::new();
    let mut command = place.command(&place.login("ops", "-"));
    let ran = Ran::of_input(&mut command, format!("{PASSWORD}\n").as_bytes()).success();
    assert!(ran.stderr.contains("the password is not stored"), "{ran:?}");
    place.run(&["devices"]).success();
    place.run(&["logout"]).success();
    let ended = place.run(&["devices"]);
    assert!(ended.status == 3 && ended.stderr.contains("kiosque remote login"), "{ended:?}");
    for path in place.sandbox.files_with(PASSWORD) {
        let is_data = path.starts_with(place.sandbox.data()) || path.ends_with("pw");
        assert!(is_data, "{}", path.display());
    }
}
