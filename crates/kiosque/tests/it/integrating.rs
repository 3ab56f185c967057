//! The commands and the Python program of `docs/integrating.md`, as they are written there, with a
//! real server.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use kiosque_client::Account;
use kiosque_model::GroupId;
use kiosque_store::ChangeQuery;
use kiosque_testkit::{OrderLine, Program, Ran, TestServer};
use rusqlite::Connection;
use serde_json::Value;

use crate::client::{GROUPS, profile, server, trail};
use crate::faults::proxy;
use crate::{KIOSQUE, demo};

#[expect(dead_code, reason = "its main function")]
#[path = "../../../client/examples/copy_orders.rs"]
mod copy_orders;

const GUIDE: &str = include_str!("../../../../docs/integrating.md");
/// Prints the copy as an object: the orders of each group, by their ids.
const READ_COPY: &str = "
import collections, json, sqlite3
copy = collections.defaultdict(dict)
for group, id, record in sqlite3.connect('orders.db').execute('select * from orders'):
    copy[group][id] = json.loads(record)
print(json.dumps(copy))";

type Orders = BTreeMap<String, BTreeMap<String, Value>>;

/// Returns the program that the guide shows.
fn program() -> &'static str {
    let blocks = GUIDE.split("```python\n").map(|rest| rest.split("```").next().unwrap());
    blocks.skip(1).find(|block| block.contains("orders.db")).unwrap()
}

fn copied(directory: &Path) -> Orders {
    let mut python = Program("python3").command();
    let output = python.args(["-c", READ_COPY]).current_dir(directory).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

async fn stored(server: &TestServer) -> Orders {
    let mut orders = Orders::new();
    for group in GROUPS {
        let query = ChangeQuery { after: None, size: 1_000 };
        let id = GroupId::parse(group.to_owned()).unwrap();
        let changes = server.store.orders().changes_of_group(id, query).await.unwrap().unwrap();
        let records = changes.iter().map(|(_, json)| {
            let record: Value = serde_json::from_slice(json).unwrap();
            (record["orderId"].as_str().unwrap().to_owned(), record)
        });
        orders.insert(group.to_owned(), records.collect());
    }
    orders
}

/// The commands of the guide's beginning, with a demo.
#[test]
fn the_first_commands_of_the_guide_work() {
    let commands = GUIDE.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(commands.contains("kiosque remote login") && commands.contains("--watch"));
    let sandbox = KIOSQUE.sandbox();
    let home = sandbox.directory.path();
    let served = demo::start_in_home(home, &[]);

    // The port is replaced, so that tests can run side by side, and the last command ends.
    let commands = commands.replace("https://127.0.0.1:8443/v8", &served.base);
    let commands = commands.replace(" --watch", "");
    let directory = Path::new(KIOSQUE.0).parent().unwrap();
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.args(["-e", "-c", &commands]).current_dir(home).env("PATH", path).env("HOME", home);
    for name in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"] {
        shell.env(name, home);
    }
    let ran = Ran::of(&mut shell).success();
    for shown in ["HBR-001", "Pier 1, lobby", "USD"] {
        assert!(ran.stdout.contains(shown), "{shown}: {}", ran.stdout);
    }
}

/// Runs the program to its end, with a server that has this certificate.
fn copy(directory: &Path, base: &str, certificate: &Path) {
    let mut python = Program("python3").command();
    python.arg("copy_orders.py").current_dir(directory).env("KIOSQUE_REMOTE_URL", base);
    python.env("KIOSQUE_REMOTE_USERNAME", "ops").env("KIOSQUE_REMOTE_PASSWORD_FILE", "password");
    python.env("KIOSQUE_REMOTE_CA_FILE", certificate);
    Ran::of(&mut python).success();
}

/// AUTH-11, ENV-12, ORD-23: the orders of all groups, although the session ends in the middle, the
/// server is busy once and an answer is cut; run again, what is new and what has changed.
#[tokio::test(flavor = "multi_thread")]
async fn the_program_of_the_guide_copies_all_orders() {
    let server = server().await;
    let (base, certificate) = (format!("https://{}/v8", server.address), server.certificate_file());
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("copy_orders.py"), program()).unwrap();
    std::fs::write(directory.path().join("password"), "secret\n").unwrap();

    let faults = ["nth(4, evict)", "nth(3, code500(changes))", "nth(2, cut-body(changes))"];
    let proxy = proxy(&base, &certificate, &faults);
    copy(directory.path(), &proxy.base, &certificate);
    let first = stored(&server).await;
    assert_eq!(first.values().map(BTreeMap::len).sum::<usize>(), 180);
    assert_eq!(copied(directory.path()), first);
    assert_eq!(trail(&server, "login").await, 2, "one before and one after the session ended");

    let mut lines = String::new();
    for group in GROUPS {
        let order =
            |name, start| OrderLine::new(format!("{group}-1-{name}"), format!("{group}-1"), start);
        lines += &order("3", "2026-03-01 08:00:00").amount("EUR", 250).to_string();
        lines += &order("new", "2026-02-01 08:00:00").to_string();
    }
    server.import_valid(lines).await;
    copy(directory.path(), &base, &certificate);
    let second = stored(&server).await;
    assert_ne!(first, second);
    assert_eq!(copied(directory.path()), second);
}

/// ORD-23: the example of the crate copies the same; run again, it adds what is new.
#[tokio::test(flavor = "multi_thread")]
async fn the_example_in_rust_copies_all_orders() {
    let server = server().await;
    let directory = tempfile::tempdir().unwrap();
    for order in ["first", "second"] {
        let start = "2026-02-01 08:00:00";
        server.import_valid(OrderLine::new(order, "north-1", start).to_string()).await;
        let account = Account::open(profile(&server, "secret")).unwrap();
        let db = Connection::open(directory.path().join("orders.db")).unwrap();
        copy_orders::copy(account, db).await.unwrap();
        assert_eq!(copied(directory.path()), stored(&server).await, "after the {order}");
    }
}
