//! A Citus cluster: its shards, the script that distributes the tables, and its workers. Tests of a
//! cluster print that they did not run where there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kiosque_model::fleet::DeviceEntry;
use kiosque_model::{GroupId, LoginName, UnixMs};
use kiosque_store::{
    Error, History, Incoming, OpenOptions, ReceiveOptions, Refused, Store, StoreLocation,
    citus_statements,
};
use kiosque_testdb::{Durability, Server};
use kiosque_testkit::entries::{aisle, device, order};
use kiosque_testkit::{NOW, TestData, TestStore, is_citus, no_owners, open_options, origin};

use super::relay::Relay;
use super::requests::{Requests, all_requests};

/// Prints that a test did not run, unless this run has a cluster.
fn has_cluster() -> bool {
    if !is_citus() {
        println!("not run: `cargo xtask test --citus URL` names a cluster");
    }
    is_citus()
}

/// The shards of the data's distributed tables, by number: each with its table, and the start of
/// its range of hashes, which is equal for the shards that have the rows of a group.
struct Shards(BTreeMap<u64, (String, i64)>);

impl Shards {
    fn of(fixture: &TestStore) -> Shards {
        let rows = fixture.query(
            "select s.shardid, c.relname, s.shardminvalue from pg_dist_shard s
                join pg_class c on c.oid = s.logicalrelid
            where c.relnamespace = current_schema()::regnamespace and s.shardminvalue is not null",
        );
        let shard = |row: &String| {
            let cells: Vec<&str> = row.split('|').collect();
            (cells[0].parse().unwrap(), (cells[1].to_owned(), cells[2].parse().unwrap()))
        };
        Shards(rows.iter().map(shard).collect())
    }

    /// Returns the ranges of the tables by group and of those by account that statements name.
    fn named_in(&self, statements: &str) -> [BTreeSet<i64>; 2] {
        let mut ranges = [BTreeSet::new(), BTreeSet::new()];
        let words = statements.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let named = words.filter_map(|word| {
            let (table, number) = word.rsplit_once('_')?;
            self.0.get(&number.parse().ok()?).filter(|(of, _)| of == table)
        });
        for (table, range) in named {
            let is_of_account = ["sessions", "known_sources"].contains(&table.as_str());
            ranges[usize::from(is_of_account)].insert(*range);
        }
        ranges
    }
}

/// The statements that the coordinator sends to the workers are notices to its client.
#[tokio::test]
async fn a_request_reads_one_shard_of_a_group_and_one_of_an_account() {
    if !has_cluster() {
        return;
    }
    let recording =
        |url: &str| Relay::recording(&format!("{url}%20-c%20citus.log_remote_commands%3Don"));
    let requests = Requests::through(recording).await;
    let shards = Shards::of(&requests.fixture);
    let mut all = BTreeSet::new();
    requests.relay.answers();
    for name in &all_requests() {
        // The first one of a group that this node has not seen has its own statements. Later ones
        // may be answered from a cache, of which the version is on the coordinator.
        for time in 0..2 {
            requests.ask(name).await;
            let [of_groups, of_accounts] = shards.named_in(&requests.relay.answers());
            let groups = usize::from(name != "session");
            let is_cached = time > 0 && of_groups.is_empty();
            assert!(of_groups.len() == groups || is_cached, "{name}, {time}: {of_groups:?}");
            assert_eq!(of_accounts.len(), 1, "{name}, {time}: {of_accounts:?}");
            all.extend(of_groups);
        }
    }
    assert_eq!(all.len(), 2, "the two groups are on different shards");
    let (store, fixture) = (&requests.store, &requests.fixture);
    let (late, from) = (UnixMs(i64::MAX / 2), || origin("127.0.0.1", NOW));
    let credentials =
        store.sessions().credentials(&LoginName::parse("ops").unwrap()).await.unwrap().unwrap();
    is_done(store.sessions().log_in(credentials, [1; 32], late, from()).await);
    let claim = fixture.claim(&fixture.log_in("ops").await.unwrap());
    is_done(
        store.sessions().switch_group(claim, GroupId::parse("b").ok(), [2; 32], late, from()).await,
    );
    let claim = fixture.claim(&fixture.log_in("ops").await.unwrap());
    is_done(store.sessions().log_out(claim, from()).await);
    let [of_groups, of_accounts] = shards.named_in(&requests.relay.answers());
    assert_eq!((of_groups.len(), of_accounts.len()), (0, 1), "{of_groups:?} {of_accounts:?}");
}

/// A batch of one group is written on one node alone, so that one commit ends its transaction. For
/// groups of two workers, it is prepared on both first.
#[tokio::test]
async fn a_batch_of_one_group_needs_no_two_phase_commit() {
    if !has_cluster() {
        return;
    }
    let recording =
        |url: &str| Relay::recording(&format!("{url}%20-c%20citus.log_remote_commands%3Don"));
    let requests = Requests::through(recording).await;
    let owners = no_owners();
    for (codes, is_prepared) in [(&["d1", "d2"][..], false), (&["d1", "e1"], true)] {
        for round in 0..2 {
            requests.relay.answers();
            let new = |code: &&str| order(&format!("{code}-{}-{round}", codes.len()), code, 99);
            let batch: Vec<Incoming> = codes.iter().map(new).collect();
            let (batch, owners) = (Arc::new(batch), Arc::clone(&owners));
            let stored =
                requests.store.intake().receive(batch, owners, ReceiveOptions::at(NOW)).await;
            assert!(matches!(stored, Ok(_) | Err(Error::Unknown(_))), "{stored:?}");
            let sent = requests.relay.answers();
            assert!(sent.contains("BEGIN TRANSACTION"), "{codes:?}: {sent}");
            assert_eq!(sent.contains("PREPARE TRANSACTION"), is_prepared, "{codes:?}: {sent}");
        }
    }
}

/// A notice that comes with a commit makes its outcome unknown.
fn is_done<T>(outcome: Result<T, Refused>) {
    let outcome = outcome.map(drop);
    assert!(matches!(outcome, Ok(_) | Err(Refused::Store(Error::Unknown(_)))), "{outcome:?}");
}

async fn fill(fixture: &TestStore, round: &str) {
    let aisles = Some(vec![aisle("1", "p", 3)]);
    let devices = vec![DeviceEntry { aisles, ..device(&format!("d-{round}"), "a") }];
    fixture.apply_devices(devices).await;
    let orders = (0..130).map(|at| {
        let code = ["d1", "e1"][usize::try_from(at % 2).unwrap()];
        order(&format!("{round}-{at}"), code, at)
    });
    fixture.receive_new(orders.collect()).await;
}

/// The script works as it is printed: on empty data (see `TestData::postgres`), here on rows, and
/// again. The rows stay, and none remains on the coordinator's disk. Shards can be moved.
#[tokio::test]
async fn data_is_distributed_by_the_script_for_operators() {
    if !has_cluster() {
        return;
    }
    let filled = TestStore::with_fleet_on(TestData::without_tables()).await;
    fill(&filled, "before").await;
    let session = filled.log_in("ops").await.unwrap();
    let (rows, data) = (filled.rows(), filled.data.clone());
    drop(filled);
    for _ in 0..2 {
        data.distribute();
        assert!(data.rows() == rows, "the rows have changed");
    }
    let local =
        "select c.relname from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
        where c.relnamespace = current_schema()::regnamespace and pg_relation_size(c.oid) > 0";
    assert_eq!(data.query(local), [""; 0]);
    let fixture = TestStore::on(data).await;
    fixture.store.sessions().prove(fixture.claim(&session)).await.unwrap();
    fill(&fixture, "after").await;
    assert_eq!(fixture.list("a", "d1", History::Left, NOW).await.unwrap().len(), 130);
    let tables = "select count(distinct logicalrelid), count(*) from pg_dist_shard s
            join pg_class c on c.oid = s.logicalrelid
        where c.relnamespace = current_schema()::regnamespace and s.shardminvalue is not null";
    let count = citus_statements().matches("create_distributed_table(").count();
    assert_eq!(fixture.query(tables), [format!("{count}|{}", 2 * count)]);
    let planner = "select distinct result from run_command_on_workers('show enable_hashjoin')";
    assert_eq!(fixture.query(planner), ["off"]);
    let place = "select p.shardid, p.nodeport from pg_dist_shard_placement p
            join pg_dist_shard s using (shardid)
        where s.logicalrelid = 'orders'::regclass order by p.shardid limit 1";
    let before = fixture.query(place);
    fixture.data.execute(&format!(
        "select citus_move_shard_placement(p.shardid, p.nodename, p.nodeport, n.nodename,
            n.nodeport)
        from ({place}) one join pg_dist_shard_placement p using (shardid)
            join pg_dist_node n on n.nodeport <> p.nodeport and n.shouldhaveshards"
    ));
    assert_ne!(fixture.query(place), before);
    fixture.check().await;
}

/// The error of opening a database.
async fn refusal(url: &str) -> String {
    let data = TestData::sqlite();
    let options = OpenOptions { place: StoreLocation::Postgres(url), ..open_options(&data) };
    match Store::open(&options).await {
        Ok(_) => panic!("opened {url}"),
        Err(error) => error.to_string(),
    }
}

/// Adds the rows of the catalogs by which a server of Citus is recognized.
fn imitate_citus(server: &Server, number: u32) {
    let imitation = format!(
        "set allow_system_table_mods = on;
        insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
            select 99999, 'citus', 10, 11, false, '13.2'
            where not exists (select from pg_extension where extname = 'citus');
        create table if not exists pg_catalog.pg_dist_local_group (groupid int);
        delete from pg_catalog.pg_dist_local_group;
        insert into pg_catalog.pg_dist_local_group values ({number})"
    );
    server.sql(&imitation).unwrap();
}

/// A worker has copies of some tables, and locks of its own. The program names the mistake.
#[tokio::test]
async fn a_worker_is_refused_by_name() {
    const WORKER: &str = "this is a Citus worker: specify the coordinator";
    if is_citus() {
        let data = TestData::without_tables();
        let StoreLocation::Postgres(url) = data.location() else { panic!("no database") };
        let worker = "select nodename || ':' || nodeport as address from pg_dist_node
            where groupid > 0 limit 1";
        let (user, rest) = url.split_once('@').unwrap();
        let (_, database) = rest.split_once('/').unwrap();
        let worker = format!("{user}@{}/{database}", data.query(worker)[0]);
        let error = refusal(&worker).await;
        assert!(error.contains(WORKER), "{error}");
        return;
    }
    let server = Server::start(Durability::Off).unwrap();
    imitate_citus(&server, 2);
    let error = refusal(&server.url()).await;
    assert!(error.contains(WORKER), "{error}");
    imitate_citus(&server, 0);
    let (data, url) = (TestData::sqlite(), server.url());
    let options = OpenOptions { place: StoreLocation::Postgres(&url), ..open_options(&data) };
    Store::open(&options).await.unwrap();
}
