//! A demo with faults.

use kiosque_testkit::DEVICES_PATH;

use super::faults_of;
use crate::{KIOSQUE, demo};

/// A demo has the faults on the integrators' address, whose address and certificate are its own;
/// the operator's calls have none.
#[test]
fn a_demo_answers_integrators_with_faults() {
    let sandbox = KIOSQUE.sandbox();
    let faults = ["--fault", "every(2, code500(devices))", "--seed", "9"];
    let quiet = ["--quiet", "--today", "2026-03-31"];
    let mut served = demo::start(&sandbox, &[&quiet[..], &faults].concat());
    let said = served.stdout_until("\nkiosks ");
    let line = "\nfaults     every(2, code500(devices)) (seed 9): such answers have the header \
                kiosque-fault\n";
    assert!(said.contains(line), "{said}");
    let mut caller = served.connect();
    let token = caller.log_in("demo", "kiosque-demo");
    for number in 1..=4 {
        let reply = caller.call(DEVICES_PATH, Some(&token), "{}");
        let expected = if number % 2 == 0 { (500, Some("code500")) } else { (200, None) };
        assert_eq!((reply.status, faults_of(&reply)), expected);
    }
    // The server stops after the proxy, which needs it for the requests in progress.
    let reply = caller.call_while(DEVICES_PATH, &token, "{}", || {
        served.signal("TERM");
        served.stderr_until("stopping: finishing open requests");
    });
    assert_eq!((reply.status, reply.code()), (200, 200));
    assert_eq!(served.wait().code(), Some(0));
}
