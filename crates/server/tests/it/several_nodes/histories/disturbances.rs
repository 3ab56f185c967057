//! Histories during restarts of nodes, and during failovers of the database.

use std::time::Duration;

use kiosque_testdb::{Durability, Schema, Server};
use kiosque_testkit::{Rng, ServerOptions, TOKEN_PATH, TestData, runs, seed};
use tokio::task::block_in_place;

use super::{CALLS, CLIENTS, History, NODES, Run, Tally};

/// The number of histories with one primary.
const HISTORIES: usize = 50;
/// Nodes on a promoted standby wait for as long before they answer.
const SESSION_LEASE: Duration = Duration::from_secs(3);
/// Every how many histories a node is restarted.
const RESTARTED: usize = 5;
/// The maximum number of requests before a disturbance.
const SENT_MAX: usize = CLIENTS * (CALLS - 1);

/// A primary, and the standby that its commits wait for.
struct Pair {
    primary: Server,
    standby: Server,
}

impl Pair {
    fn start() -> Pair {
        let primary = Server::start(Durability::Full).unwrap();
        let standby = primary.standby().unwrap();
        Pair { primary, standby }
    }

    /// Returns a new database, at both hosts.
    fn database(&self, number: usize) -> TestData {
        let name = format!("histories_{number}");
        self.primary.sql(&format!("create database {name}")).unwrap();
        let [one, other] = [&self.primary, &self.standby].map(Server::port);
        let url = format!("postgres://kiosque@127.0.0.1:{one},127.0.0.1:{other}/{name}");
        TestData::in_schema(Schema::at(url))
    }

    /// Kills the primary in the middle of what it does, and promotes the standby.
    fn fail_over(&mut self) {
        self.primary.kill_9().unwrap();
        self.standby.promote().unwrap();
    }

    /// Returns the promoted standby with one of its own.
    fn renewed(self) -> Pair {
        let primary = self.standby;
        let standby = primary.standby().unwrap();
        Pair { primary, standby }
    }
}

impl History {
    /// Waits until `sent` requests were sent, and disturbs the nodes until all answer.
    async fn disturb(&self, sent: usize, disturb: impl AsyncFnOnce()) {
        while self.recorder.ops().len() < sent {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let _disturbance = self.disturbance.write().await;
        disturb().await;
        for node in &self.nodes.servers {
            let credentials = r#"{"username": "probe", "password": "secret"}"#;
            while node.read().await.call(TOKEN_PATH, None, credentials).await.code() != 200 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

/// Makes histories on a new database, during the last of which the standby takes over.
async fn histories_until_a_failover(
    pair: &mut Pair,
    (number, seed): (usize, u64),
    histories: usize,
    before_the_last: impl Fn(&Pair),
) -> Result<Tally, String> {
    let mut rng = Rng::seeded(seed);
    let (data, session_lease) = (pair.database(number), SESSION_LEASE);
    let options = ServerOptions { data, session_lease, ..ServerOptions::default() };
    let mut run = Run::start(seed, options, NODES, None).await;
    for at in 1..histories {
        let (sent, node) = (rng.below(SENT_MAX), rng.below(NODES));
        if at % RESTARTED == 0 {
            run.history_during(async |history| {
                let restart = async || history.nodes.servers[node].write().await.restart().await;
                history.disturb(sent, restart).await;
            })
            .await?;
        } else {
            run.history().await?;
        }
    }
    before_the_last(pair);
    let (sent, fail_over) = (rng.below(SENT_MAX), async || block_in_place(|| pair.fail_over()));
    run.history_during(async |history| history.disturb(sent, fail_over).await).await?;
    Ok(run.tally)
}

/// Returns the seed of the histories that end with a failover.
fn seed_of(seed: u64, failover: usize) -> u64 {
    seed.wrapping_add(u64::try_from(failover * CLIENTS).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn histories_across_restarts_and_failovers_are_those_of_one_session() {
    let (first, failovers, mut pair) = (seed(), runs(1, 100), Pair::start());
    for number in 0..failovers {
        let seed = seed_of(first, number);
        match histories_until_a_failover(&mut pair, (number, seed), HISTORIES, |_| {}).await {
            Ok(tally) => {
                println!("seed {seed}: {tally:?}");
                let made = [tally.opened, tally.seen, tally.refused, tally.unknown];
                assert!(!made.contains(&0), "{tally:?}");
            }
            Err(violation) => panic!("seed {seed}: {violation}"),
        }
        pair = pair.renewed();
    }
    println!("{failovers} failovers from seed {first}, {} histories", failovers * HISTORIES);
}

/// Injected: the promoted standby has missed the commits of the last history.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn histories_across_a_failover_that_loses_commits_are_detected() {
    let (first, mut pair) = (seed(), Pair::start());
    // In most of them, a login without an answer explains that the session has ended.
    for number in 0..50 {
        let seed = seed_of(first, number);
        let detach = |pair: &Pair| pair.primary.detach(&pair.standby).unwrap();
        let made = histories_until_a_failover(&mut pair, (number, seed), 1, detach).await;
        if let Err(violation) = made {
            println!("failover {number}: {violation}");
            return;
        }
        pair = pair.renewed();
    }
    panic!("seed {first}: it was not found");
}
