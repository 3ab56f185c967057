//! One session for all processes of a profile.

use std::fs::File;

use kiosque_testkit::{Served, wait_until};
use serde_json::json;

use super::Place;

/// AUTH-11, AUTH-12: two processes that repeat, in two groups, and others next to them: one login.
#[test]
fn processes_share_one_login() {
    let place = Place::logged_in();
    let watch = |group| {
        let args = ["devices", "--group", group, "--output", "ndjson", "--watch", "20ms"];
        place.spawn(&args)
    };
    let watches = [watch("north"), watch("south")];
    let count = |served: &Served, device| served.stdout().matches(device).count();
    for _ in 0..5 {
        let codes = place.json(&["devices", "--all-groups", "--columns", "deviceCode"]);
        let device = |code| json!({"deviceCode": code});
        assert_eq!(codes, json!([device("N-1"), device("N-2"), device("S-1")]));
    }
    wait_until("both have printed ten rounds", || {
        // On a slow machine they say that they wait for each other.
        let failed = watches.iter().any(|served| served.stderr().contains("kiosque: "));
        assert!(!failed, "{:?}", watches.each_ref().map(Served::stderr));
        count(&watches[0], "N-1") >= 10 && count(&watches[1], "S-1") >= 10
    });
    // Each sees its own group alone.
    let foreign = (count(&watches[0], "S-1"), count(&watches[1], "N-1"));
    // Before they end: one that is killed during a switch makes the other log in.
    assert_eq!((foreign, place.trail("login")), ((0, 0), 1));
    drop(watches);
}

/// AUTH-4, AUTH-11: when another user of the account logs in, the next command logs in again, which
/// selects the default group.
#[test]
fn a_replaced_session_is_renewed() {
    let place = Place::logged_in();
    place.run(&["devices", "--group", "south"]).success();
    let who = place.json(&["whoami"]);
    assert_eq!((&who["username"], &who["groupId"]), (&json!("ops"), &json!("south")));
    place.server.connect().log_in("ops", super::PASSWORD);
    assert_eq!(place.json(&["whoami"])["groupId"], "north");
    place.run(&["groups"]).success();
    assert_eq!(place.trail("login"), 3);
}

/// AUTH-11: a command whose session others end again and again says so once, while it still tries,
/// and gives up after a few logins.
#[test]
fn a_session_that_is_replaced_again_and_again_is_given_up() {
    let place = Place::new();
    let _proxy = place.log_in_through(&["evict(devices)"]);
    let ran = place.run(&["devices"]);
    let warning = "warning: other logins as ops end the session of this command again and again; \
                   use a separate account, or let all programs of the account use one \
                   `kiosque broker`\n";
    let (said, error) = ran.stderr.split_once("kiosque: ").unwrap();
    assert_eq!((ran.status, said), (3, warning), "{ran:?}");
    assert!(
        error.starts_with(
            "gave up after 5 attempts; the last failure: the server refused the call: code -4, "
        ),
        "{ran:?}"
    );
    assert_eq!(place.trail("login"), 5);
}

/// A token is used for the account that it belongs to alone.
#[test]
fn another_account_does_not_use_the_token() {
    let place = Place::logged_in();
    let mut other = place.command(&["groups", "--output", "json"]);
    other.env("KIOSQUE_REMOTE_USERNAME", "guest");
    let ran = kiosque_testkit::Ran::of(&mut other).success();
    let groups = json!([{"groupId": "south", "groupName": "South", "isSelected": true}]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap(), groups);
    assert_eq!(ran.stderr, "using profile default, with KIOSQUE_REMOTE_USERNAME\n");
    assert_eq!(place.json(&["groups"]).as_array().unwrap().len(), 2);
}

/// A process that waits for another one says so.
#[test]
fn a_process_says_what_it_waits_for() {
    let place = Place::logged_in();
    let lock = File::open(place.sandbox.path("run/kiosque/default.lock")).unwrap();
    lock.lock().unwrap();
    let mut waiting = place.spawn(&["devices"]);
    waiting.stderr_until("waiting for another process that uses the session");
    assert_eq!(waiting.stdout(), "");
    lock.unlock().unwrap();
    assert!(waiting.wait().success());
    waiting.stdout_until("N-2");
}

/// Profiles and sessions are readable by their owner alone, and no temporary file remains.
#[test]
fn files_are_for_their_owner_alone() {
    let place = Place::logged_in();
    place.run(&["devices", "--all-groups"]).success();
    for (directory, files) in [
        ("config/kiosque", ["remote.toml", "remote.toml.lock"]),
        ("run/kiosque", ["default.lock", "default.session"]),
    ] {
        assert_eq!(place.sandbox.mode(directory), 0o700, "{directory}");
        assert_eq!(place.sandbox.names(directory), files);
        for file in files {
            assert_eq!(place.sandbox.mode(format!("{directory}/{file}")), 0o600, "{file}");
        }
    }
}

/// AUTH-21: a log out ends the session for all, and is sent once.
#[test]
fn a_log_out_ends_the_session() {
    let place = Place::logged_in();
    place.run(&["logout"]).success();
    let again = place.run(&["logout"]).success();
    assert_eq!(again.stdout, "profile default has no session\n");
    assert_eq!(place.trail("logout"), 1);
}
