//! The log of `kiosque serve`.

use kiosque_testkit::wait_until;

use crate::KIOSQUE;
use crate::fleet::fleet;

const ORDERS: &str = "/operator/v1/orders";
const LINE: &str = "requests failed because the server is overloaded";

/// Requests that fail by overload are counted and logged together, so that no caller can fill the
/// log.
#[test]
fn overload_is_logged_by_its_number() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let key = sandbox.run(&["operator-key", "create", "feed"]).success().stdout;
    let served = sandbox.serve_with(&["--ingest-streams-max", "1"]);
    let refused = || {
        let reply = served.connect_operator().call_operator(ORDERS, key.trim(), "\n");
        reply.unwrap().status == 503
    };
    served
        .connect_operator()
        .call_operator_while(ORDERS, key.trim(), "\n", || {
            // The first stream may not have arrived yet.
            wait_until("a second stream is refused", refused);
            assert!((1..50).all(|_| refused()));
        })
        .unwrap();
    let count = |log: &str| {
        let lines = log.lines().filter(|line| line.contains(LINE));
        let counts = lines.map(|line| {
            assert!(line.contains(r#"kind="overloaded""#), "{line}");
            line.rsplit_once("requests=").unwrap().1.parse::<usize>().unwrap()
        });
        counts.sum::<usize>()
    };
    wait_until("all are in the log", || count(&served.stderr()) == 50);
    assert!(!served.stderr().contains("too many order streams"), "{}", served.stderr());
}
