//! Followers of the order changes, over restarts of the service and after its data was replaced by
//! an earlier copy (ORD-28).

use std::fs;

use kiosque_testkit::blocking::Client;
use kiosque_testkit::{CHANGES_PATH, ORDERS_CALL, Reply, Sandbox, Served};
use serde_json::{Value, json};

use crate::KIOSQUE;
use crate::fleet::{fleet, order};

/// The violation of a cursor of changes that the data has lost.
const LOST: &str = "after must be the value of next in an answer for the selected group; if it is, \
    the data was restored to an earlier state: begin again with null";

/// Asks for changes of the selected group. An answer without access to the data is repeated.
pub(crate) fn ask(caller: &mut Client, token: &str, body: &Value) -> Reply {
    loop {
        let reply = caller.call(CHANGES_PATH, Some(token), &body.to_string());
        if reply.code() != 500 {
            return reply;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Returns the cursor behind the changes after another one, and the ids of their orders.
#[track_caller]
pub(crate) fn read(caller: &mut Client, token: &str, after: &Value, size: i64) -> (Value, String) {
    let reply = ask(caller, token, &json!({"after": after, "size": size}));
    let data = reply.success();
    let records = data["records"].as_array().unwrap().iter();
    let ids = records.map(|record| record["order"]["orderId"].as_str().unwrap());
    (data["next"].clone(), ids.collect::<Vec<_>>().join(" "))
}

#[track_caller]
pub(crate) fn assert_refused(reply: &Reply) {
    assert_eq!((reply.status, reply.code()), (200, -1), "{reply:?}");
    assert_eq!(*reply.data(), json!([LOST]));
}

/// A service on SQLite with one follower.
struct Service {
    sandbox: Sandbox,
    key: String,
    served: Option<Served>,
}

impl Service {
    fn new() -> Service {
        let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
        let key = sandbox.create_key(&["till"]);
        let served = Some(sandbox.serve());
        Service { sandbox, key, served }
    }

    fn served(&self) -> &Served {
        self.served.as_ref().unwrap()
    }

    /// Posts orders, separated by blanks, one by one.
    fn post(&self, ids: &str) {
        let mut till = self.served().connect_operator();
        for id in ids.split(' ') {
            let reply = till.call_operator(ORDERS_CALL, &self.key, &order(id)).unwrap();
            assert_eq!(reply.json["accepted"], 1, "{reply:?}");
        }
    }

    fn import(&self, id: &str) {
        self.sandbox.import(order(id));
    }

    fn read(&self, after: &Value, size: i64) -> (Value, String) {
        let (mut caller, token) = self.served().log_in("guest");
        read(&mut caller, &token, after, size)
    }

    /// Asserts that a cursor is refused, at once and by a request that would wait.
    fn assert_refused(&self, after: &Value) {
        let (mut caller, token) = self.served().log_in("guest");
        for seconds in [0, 60] {
            let body = json!({"after": after, "waitSeconds": seconds});
            assert_refused(&ask(&mut caller, &token, &body));
        }
    }

    fn stop(&mut self) {
        self.served = None;
    }

    fn start(&mut self) {
        self.served = Some(self.sandbox.serve());
    }

    /// Removes the database and the files of its log.
    fn remove_database(&self) {
        let names = self.sandbox.names("data");
        for name in names.iter().filter(|name| name.starts_with("kiosque.db")) {
            fs::remove_file(self.sandbox.data().join(name)).unwrap();
        }
    }
}

/// ORD-28: after a backup has replaced the data, a cursor of the lost changes is refused before
/// there are other changes, while there are fewer, and once there are more than were lost; also if
/// a command stored the first of them.
#[test]
fn a_follower_of_lost_changes_is_refused_after_a_restore() {
    let mut service = Service::new();
    service.post("a b c d e f");
    let (middle, _) = service.read(&Value::Null, 2);
    service.sandbox.run(&["backup", "monday.db"]).success();
    let (end, _) = service.read(&middle, 10);
    service.post("lost1 lost2 lost3");
    let (lost, seen) = service.read(&end, 10);
    assert_eq!(seen, "lost1 lost2 lost3");
    // It has read none of the lost changes, and its number is in the backup.
    let (walking, seen) = service.read(&middle, 2);
    assert_eq!(seen, "c d");
    service.stop();
    service.remove_database();
    fs::copy(service.sandbox.path("monday.db"), service.sandbox.data().join("kiosque.db")).unwrap();

    service.import("new1");
    service.start();
    for (at, all) in ["g", "g new2", "g new2 new3"].iter().enumerate() {
        service.assert_refused(&lost);
        service.assert_refused(&walking);
        if at == 0 {
            service.post("g");
        } else {
            service.post(&format!("new{}", at + 1));
        }
        assert_eq!(service.read(&end, 20).1, format!("new1 {all}"));
        assert_eq!(service.read(&middle, 20).1, format!("c d e f new1 {all}"));
    }
    service.assert_refused(&lost);
    assert_eq!(service.read(&Value::Null, 20).1, "a b c d e f new1 g new2 new3");
}
