//! The same seed and the same calls give the same answers.

use kiosque_testkit::{DEVICES_PATH, ONLINE_PATH, ORDERS_PATH, Reply, Served};

use super::{ONE_DEVICE, Server};

const FAULTS: [&str; 4] =
    ["chance(30%, drop-row)", "chance(20%, code500(devices))", "every(3, resort)", "nth(5, reset)"];

/// Returns 60 answers as they are but for their date and the id of their request; `None` for calls
/// without one.
fn answers(proxy: &Served, token: &str) -> Vec<Option<String>> {
    let mut caller = proxy.connect();
    let mut all = Vec::new();
    for number in 0..60 {
        let page = number % 5 + 1;
        let (path, body) = match number % 3 {
            0 => (format!("{DEVICES_PATH}?size=1&current={page}"), "{}"),
            1 => (format!("{ORDERS_PATH}?size=4&current={page}"), ONE_DEVICE),
            _ => (ONLINE_PATH.to_owned(), "{}"),
        };
        match caller.try_call(&path, Some(token), body) {
            Ok(reply) => all.push(Some(shown(&reply))),
            Err(_) => {
                all.push(None);
                caller = proxy.connect();
            }
        }
    }
    all
}

fn shown(reply: &Reply) -> String {
    let id = &reply.headers["x-request-id"];
    let headers = reply.headers.iter().filter(|(name, _)| *name != "date");
    let headers: Vec<String> = headers.map(|(name, value)| format!("{name}: {value}")).collect();
    let text = format!("{}\n{}\n\n{}", reply.status, headers.join("\n"), reply.text);
    // Those that the proxy makes are numbered from its start.
    if id.starts_with("fault-") { text } else { text.replace(id, "ID") }
}

#[test]
fn a_seed_decides_every_answer() {
    let server = Server::start();
    let (_, token) = server.served.log_in("walker");
    let run = |seed: &str| {
        let proxy = server.proxy_with(&FAULTS, &["--seed", seed]);
        answers(&proxy, &token)
    };
    let (first, again, other) = (run("7"), run("7"), run("8"));
    assert_eq!(first, again);
    assert_ne!(first, other);
    assert_eq!(first.iter().filter(|answer| answer.is_none()).count(), 1);
    for fault in ["code500", "drop-row", "resort", "resort, drop-row"] {
        let has = |answer: &&String| answer.contains(&format!("\nkiosque-fault: {fault}"));
        let count = first.iter().flatten().filter(has).count();
        // Names are in the order of the arguments.
        assert_eq!(count == 0, fault == "resort, drop-row", "{fault}: {count}");
    }
}
