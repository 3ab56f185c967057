//! `kiosque remote` with a broker in place of the server, and a broker with its profile.

use kiosque_testkit::{Ran, Served};

use super::Place;
use crate::KIOSQUE;

/// AUTH-12: a broker is a server for it.
#[test]
fn a_broker_is_a_server() {
    let place = Place::new();
    let mut broker = KIOSQUE.command();
    broker.env("XDG_STATE_HOME", place.sandbox.path("state"));
    broker.args(["broker", "--upstream", &place.server.base, "--username", "ops"]);
    broker.args(["--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0"]);
    broker.args(["--password-file", "pw", "--ca-file", "data/tls/cert.pem"]);
    broker.current_dir(place.sandbox.directory.path());
    let certificate = place.sandbox.path("state/kiosque/tls/cert.pem");
    let broker = Served::start(&mut broker, &certificate);
    let login = ["login", "--url", &broker.base, "--username", "ops", "--password-file", "pw"];
    let login = [&login[..], &["--ca-file", certificate.to_str().unwrap()]].concat();
    place.run(&login).success();
    for group in ["north", "south"] {
        let devices = place.json(&["devices", "--group", group]);
        let devices = devices.as_array().unwrap();
        assert!(devices.iter().all(|device| device["groupId"] == group), "{devices:?}");
    }
    place.run(&["logout"]).success();
    assert_eq!((place.trail("login"), place.trail("logout")), (1, 0));
}

/// AUTH-12: a broker takes its account from a profile; a second one of the profile is refused with
/// the process ID of the first one.
#[test]
fn a_broker_takes_its_account_from_a_profile() {
    let place = Place::logged_in();
    let command = |profile: &str| {
        let mut broker = KIOSQUE.command();
        broker.env("XDG_CONFIG_HOME", place.sandbox.path("config"));
        broker.env("XDG_STATE_HOME", place.sandbox.path("state"));
        broker.args(["broker", "--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0"]);
        broker.args(["--profile", profile]);
        broker
    };
    let certificate = place.sandbox.path("state/kiosque/tls/cert.pem");
    let broker = Served::start(&mut command("default"), &certificate);
    broker.connect().log_in("ops", super::PASSWORD);
    assert_eq!(place.trail("login"), 2);
    let second = Ran::of(&mut command("default")).failure();
    let message = format!("process {} is already a broker of ops at ", broker.process());
    assert!(second.stderr.contains(&message), "{second:?}");
    let unknown = Ran::of(&mut command("west")).failure();
    assert!(unknown.stderr.contains("kiosque remote login --profile west"), "{unknown:?}");
    let both = Ran::of(command("default").args(["--username", "ops"]));
    assert!(both.status == 2 && both.stderr.contains("cannot be used with"), "{both:?}");
}
