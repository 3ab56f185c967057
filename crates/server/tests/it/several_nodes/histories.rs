//! AUTH-12, AUTH-20 and AUTH-22 on one node and on three: many short histories of clients that
//! share accounts, each checked for an order that explains it.

mod client;
mod copy;
mod disturbances;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use client::{Client, KnownTokens};
use copy::Copy;
use kiosque_testkit::{
    Client as HttpClient, FleetToml, OrderLine, Rng, ServerOptions, TestData, TestServer, runs,
    seed, size,
};
use tokio::sync::RwLock;
use tokio::task::JoinSet;

use super::linear::{Answer, Op, Recorder, check};

const NODES: usize = 3;
const CLIENTS: usize = 8;
const ACCOUNTS: usize = 2;
const GROUPS: usize = 3;
/// The requests of each client in a history.
const CALLS: usize = 5;
/// The device that each group owned once, and sold an order with: `o0`, `o1`, `o2`.
const WANDERER: &str = "W";

/// The accounts have the same groups; each has another default.
fn fleet() -> FleetToml {
    let mut fleet = FleetToml::new();
    for number in 0..GROUPS {
        let group = format!("g{number}");
        fleet = fleet.group(&group, &format!("Group {number}")).device(
            &format!("D{number}"),
            "Kiosk",
            &group,
        );
    }
    for account in 0..ACCOUNTS {
        let groups: Vec<_> =
            (0..GROUPS).map(|at| format!("g{}", (account + at) % GROUPS)).collect();
        fleet = fleet.cheap_account(&format!("ops{account}"), &groups);
    }
    // It shows whether a node answers.
    fleet.cheap_account("probe", &["g0"])
}

/// Nodes with one database and one clock.
pub(super) struct Nodes {
    /// Locked for writing while a node is restarted.
    servers: Vec<RwLock<TestServer>>,
    /// The proxy in front of the last node, if a bug is planted there.
    copy: Option<Copy>,
    /// One client at a time moves the clock.
    moving: tokio::sync::Mutex<()>,
}

impl Nodes {
    async fn start(options: ServerOptions, nodes: usize, copy: Option<Copy>) -> Nodes {
        let first = TestServer::start_on(fleet(), options).await;
        wander(&first).await;
        let mut servers = vec![first];
        while servers.len() < nodes {
            servers.push(servers[0].another_node().await);
        }
        let servers = servers.into_iter().map(RwLock::new).collect();
        Nodes { servers, copy, moving: tokio::sync::Mutex::default() }
    }

    async fn connect(&self, node: usize) -> HttpClient {
        self.servers[node].read().await.connect().await
    }

    /// Returns the proxy in front of a node.
    fn copy_before(&self, node: usize) -> Option<&Copy> {
        self.copy.as_ref().filter(|_| node + 1 == self.servers.len())
    }
}

async fn wander(server: &TestServer) {
    let minute = Duration::from_secs(60);
    for group in 0..GROUPS {
        let name = format!("name = \"Wanderer\"\ngroup = \"g{group}\"");
        server.apply(&format!("[[device]]\ncode = \"{WANDERER}\"\n{name}\n")).await.unwrap();
        server.advance(minute);
        let start = format!("2026-03-02 10:0{group}:30");
        let order = OrderLine::new(format!("o{group}"), WANDERER, start);
        server.import_valid(order.to_string()).await;
    }
}

/// The state that clients of one history share.
pub(super) struct History {
    nodes: Arc<Nodes>,
    recorder: Recorder,
    tokens: Mutex<KnownTokens>,
    /// Locked for writing from the beginning of a disturbance until every node answers again.
    disturbance: RwLock<()>,
}

/// Clients that make one history after the other.
struct Run {
    seed: u64,
    nodes: Arc<Nodes>,
    clients: Vec<Client>,
    tally: Tally,
}

/// Counts of the operations.
#[derive(Debug, Default)]
struct Tally {
    histories: usize,
    opened: usize,
    ended: usize,
    seen: usize,
    refused: usize,
    clock_moved: usize,
    unknown: usize,
    asking: Duration,
    checking: Duration,
}

impl Run {
    async fn start(seed: u64, options: ServerOptions, nodes: usize, copy: Option<Copy>) -> Run {
        let nodes = Arc::new(Nodes::start(options, nodes, copy).await);
        let mut clients = Vec::new();
        for (number, seed) in (0..CLIENTS).zip(seed..) {
            let mut lines = Vec::new();
            for node in 0..nodes.servers.len() {
                lines.push(nodes.connect(node).await);
            }
            clients.push(Client::new(number, Rng::seeded(seed), lines));
        }
        Run { seed, nodes, clients, tally: Tally::default() }
    }

    /// Makes one more history, and checks that an order explains it.
    async fn history(&mut self) -> Result<(), String> {
        self.history_during(async |_| {}).await
    }

    /// Makes one more history during a disturbance.
    async fn history_during(&mut self, disturb: impl AsyncFnOnce(&History)) -> Result<(), String> {
        let begun = Instant::now();
        let history = Arc::new(History {
            nodes: Arc::clone(&self.nodes),
            recorder: Recorder::start(),
            tokens: Mutex::default(),
            disturbance: RwLock::default(),
        });
        // Sessions that an earlier history has left end.
        for account in 0..ACCOUNTS {
            self.clients[account].log_in(&history, account).await;
        }
        let mut asking = JoinSet::new();
        for mut client in self.clients.drain(..) {
            let history = Arc::clone(&history);
            asking.spawn(async move {
                for _ in 0..CALLS {
                    client.ask(&history).await;
                }
                client
            });
        }
        (self.clients, ()) = tokio::join!(asking.join_all(), disturb(&history));
        self.clients.sort_by_key(Client::number);
        self.tally.asking += begun.elapsed();
        let (ops, begun) = (history.recorder.ops(), Instant::now());
        let checked = check(&ops);
        self.tally.checking += begun.elapsed();
        self.tally.count(&ops);
        checked
    }

    fn print(&self) {
        println!("seed {}: {:?}", self.seed, self.tally);
    }
}

impl Tally {
    fn count(&mut self, ops: &[Op]) {
        self.histories += 1;
        for op in ops {
            let count = match op.reply.map_or(Answer::Unknown, |reply| reply.answer) {
                Answer::OpenedSession(_) => &mut self.opened,
                Answer::Ended => &mut self.ended,
                Answer::Seen { .. } => &mut self.seen,
                Answer::Refused => &mut self.refused,
                Answer::Advanced => &mut self.clock_moved,
                Answer::Unknown => &mut self.unknown,
            };
            *count += 1;
        }
    }
}

async fn check_histories(data: TestData, nodes: usize) {
    let options = ServerOptions { data, ..ServerOptions::default() };
    let mut run = Run::start(seed(), options, nodes, None).await;
    for number in 0..runs(200, 5_000) {
        if let Err(violation) = run.history().await {
            panic!("seed {}, history {number}: {violation}", run.seed);
        }
    }
    run.print();
    let Tally { opened, ended, seen, refused, clock_moved, unknown, .. } = run.tally;
    let least = [opened, ended, seen, refused, clock_moved].into_iter().min();
    assert!(least > Some(20) && unknown == 0, "{:?}", run.tally);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn histories_of_three_nodes_are_those_of_one_session() {
    check_histories(TestData::postgres(), NODES).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn histories_of_one_node_are_those_of_one_session() {
    check_histories(TestData::new(), 1).await;
}

/// A planted bug: a cache of the answers of a node, used for five lookups.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn histories_of_a_node_with_a_stale_copy_are_detected() {
    let options = ServerOptions { data: TestData::postgres(), ..ServerOptions::default() };
    let mut run = Run::start(seed(), options, NODES, Some(Copy::lasting(5))).await;
    for number in 0..size(200, 2_000) {
        if let Err(violation) = run.history().await {
            run.print();
            println!("history {number}: {violation}");
            return;
        }
    }
    run.print();
    panic!("seed {}: it was not found", run.seed);
}
