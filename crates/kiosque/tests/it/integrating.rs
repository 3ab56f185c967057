//! The commands and the Python program of `docs/integrating.md`, as they are written there, with a
//! real server.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use kiosque_model::GroupId;
use kiosque_store::ChangeQuery;
use kiosque_testkit::{OrderLine, Program, Ran, Served, TestServer, eventually};
use serde_json::Value;

use crate::KIOSQUE;
use crate::client::{GROUPS, server, trail};

const GUIDE: &str = include_str!("../../../../docs/integrating.md");
const PAUSE: &str = "time.sleep(60)";
/// Prints the copy as an object: the orders of each group, by their ids.
const READ_COPY: &str = "
import collections, json, sqlite3
copy = collections.defaultdict(dict)
for group, id, record in sqlite3.connect('orders.db').execute('select * from orders'):
    copy[group][id] = json.loads(record)
print(json.dumps(copy))";

type Orders = BTreeMap<String, BTreeMap<String, Value>>;

/// Returns the program that the guide shows, without the pause between its rounds.
fn program() -> String {
    let blocks = GUIDE.split("```python\n").map(|rest| rest.split("```").next().unwrap());
    let program = blocks.skip(1).find(|block| block.contains("orders.db")).unwrap();
    assert!(program.contains(PAUSE));
    program.replace(PAUSE, "time.sleep(0.05)")
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
        let changes = server.store.changes_of_group(id, query).await.unwrap().unwrap();
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
    let mut demo = KIOSQUE.command();
    demo.args(["demo", "--listen", "127.0.0.1:0"]).env("XDG_DATA_HOME", home);
    let served = Served::start(&mut demo, &home.join("kiosque-demo/tls/cert.pem"));

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

/// AUTH-12, ORD-23: the orders of all groups, new and changed ones, while another login ends the
/// session of the program.
#[tokio::test(flavor = "multi_thread")]
async fn the_program_of_the_guide_copies_all_orders() {
    let server = server().await;
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let mut python = Program("python3").command();
    python.arg(file("copy_orders.py", &program())).current_dir(directory.path());
    python.env("KIOSQUE_URL", format!("https://{}/v8", server.address));
    python.env("KIOSQUE_USERNAME", "ops");
    python.env("KIOSQUE_PASSWORD_FILE", file("password", "secret\n"));
    python.env("KIOSQUE_CA_FILE", server.certificate_file());
    let mut running = python.stderr(Stdio::inherit()).spawn().unwrap();

    let first = stored(&server).await;
    assert_eq!(first.values().map(BTreeMap::len).sum::<usize>(), 180);
    eventually("all orders are copied", async || copied(directory.path()) == first).await;

    let mut lines = String::new();
    for group in GROUPS {
        let order =
            |name, start| OrderLine::new(format!("{group}-1-{name}"), format!("{group}-1"), start);
        lines += &order("3", "2026-03-01 08:00:00").amount("EUR", 250).to_string();
        lines += &order("new", "2026-02-01 08:00:00").to_string();
    }
    drop(server.log_in("ops").await);
    server.import_valid(lines).await;
    let second = stored(&server).await;
    assert_ne!(first, second);
    eventually("the changes are copied", async || copied(directory.path()) == second).await;
    assert!(running.try_wait().unwrap().is_none(), "the program has ended");
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(trail(&server, "loginRefused").await, 0);
}
