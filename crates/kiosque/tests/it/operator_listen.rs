//! `--operator-listen`: HTTPS with the same certificate, at a separate address; a demo opens no
//! operator's listener.

use crate::KIOSQUE;
use crate::fleet::{fleet, order};

/// LIM-13: one signal stops both, once the requests in progress have been answered.
#[test]
fn both_listeners_stop_on_one_signal() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let key = sandbox.run(&["operator-key", "create", "till"]).success().stdout;
    let mut served = sandbox.serve();
    let (address, operator) = (served.address(), served.operator());
    assert_ne!(address, operator);
    let reply =
        served.connect_operator().call_operator("/operator/v1/orders", key.trim(), &order("o1"));
    assert_eq!(reply.unwrap().json["accepted"], 1);
    served.signal("TERM");
    assert_eq!(served.wait().code(), Some(0), "{}", served.stderr());
    for address in [address, operator] {
        assert!(std::net::TcpStream::connect(address).is_err(), "{address} still listens");
    }
    assert!(!sandbox.data().join("kiosque.db-wal").exists());
}

/// Unknown keys of orders are ignored, with one warning each however often they occur.
#[test]
fn a_key_that_means_nothing_is_warned_of_once() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let key = sandbox.run(&["operator-key", "create", "till"]).success().stdout;
    let served = sandbox.serve();
    let mut caller = served.connect_operator();
    for id in ["o1", "o2", "o3"] {
        let odd = order(id).replace("\"currency\"", "\"colour\":1,\"currency\"");
        let body = format!("{odd}\n{}", odd.replace(id, &format!("{id}-again")));
        let reply = caller.call_operator("/operator/v1/orders", key.trim(), &body).unwrap();
        assert_eq!(reply.json["accepted"], 2, "{:?}", reply.json);
    }
    let said = served.stderr_until("colour");
    let warned = said.lines().filter(|line| line.contains("WARN")).collect::<Vec<_>>();
    assert_eq!(warned.len(), 1, "{said}");
    assert!(warned[0].contains("key=\"colour\""), "{said}");
}
