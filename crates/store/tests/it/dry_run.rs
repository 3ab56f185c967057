//! A dry run does what its operations do, and stores nothing.

mod writers;

use kiosque_model::fleet::{DeviceEntry, Fleet, ProductEntry};
use kiosque_model::order::Order;
use kiosque_model::{ActedBy, Minor, TradeNo, UnixMs};
use kiosque_store::{
    Applied, ApplyError, Changes, DatedRate, Error, Incoming, MoveError, NewHashes, OpenOptions,
    OrderOutcome, OwnerDifference, Returning, Store, WhenAbsent,
};
use kiosque_testkit::entries::{
    account, aisle, bare_account, bare_device, bare_order, device, group, group_id, moved, order,
    product, rate, rendered,
};
use kiosque_testkit::{NOW, Rng, TestData, TestStore, clock_at, open_options, receive_at, seed};

fn options(data: &TestData) -> OpenOptions<'_> {
    OpenOptions { changes: Changes::RolledBack, ..open_options(data) }
}

async fn dry_run(data: &TestData) -> Store {
    Store::open(&options(data)).await.unwrap()
}

/// A fleet that creates, changes and moves entries of the fixture.
fn fleet() -> Fleet {
    let aisles = Some(vec![aisle("1", "p", 3), aisle("2", "q", 4)]);
    Fleet {
        groups: vec![group("c")],
        accounts: vec![],
        products: vec![
            ProductEntry { name: Some("Other".to_owned()), ..product("p") },
            ProductEntry { default_price: Some(Minor(250)), ..product("q") },
        ],
        devices: vec![
            DeviceEntry { aisles, ..bare_device("d1") },
            moved("d2", "b", None),
            device("c1", "c"),
            bare_device("e1"),
        ],
    }
}

fn rates() -> Vec<DatedRate> {
    vec![rate("EUR", 10, "1.1")]
}

/// The results of every operation of the commands that have a dry run.
#[derive(Debug, PartialEq)]
struct Results {
    applied: Applied,
    received: Vec<Vec<OrderOutcome>>,
    rates: String,
    archived: i64,
    returned: i64,
    differences: Vec<String>,
}

/// Applies a fleet in which no account is new.
async fn apply(store: &Store, fleet: Fleet) -> Result<Applied, ApplyError> {
    store.fleet().apply(fleet, NewHashes::new(), ActedBy::command(NOW), &clock_at(NOW)).await
}

async fn results(store: &Store) -> Results {
    let applied = apply(store, fleet()).await.unwrap();
    let mut received = Vec::new();
    for orders in [
        vec![order("o1", "d1", 10), order("o2", "d1", 20)],
        // One that the batch before has stored, one of a new device, and an unknown one.
        vec![order("o1", "d1", 10), order("o3", "c1", 30), order("o4", "x9", 40)],
    ] {
        received.push(receive_at(store, orders, NOW).await);
    }
    let rates = store.fleet().set_rates(rates()).await.unwrap().counts.to_string();
    let archived = store.upkeep().archive(UnixMs(25), NOW).await.unwrap().orders;
    let returned =
        store.upkeep().archive_exactly(UnixMs(0), NOW, Returning::Allowed).await.unwrap();
    let returned = returned.returned_orders;
    // A dry run on a database server reads no sums, and does not copy them.
    let has_sums = store.engine().is_file() || !store.engine().is_dry_run();
    let differences =
        if has_sums { store.upkeep().verify().await.unwrap().differences } else { Vec::new() };
    Results { applied, received, rates, archived, returned, differences }
}

#[tokio::test]
async fn a_dry_run_has_the_results_of_its_operations_and_stores_nothing() {
    let fixture = TestStore::with_fleet().await;
    let (before, bytes) = (fixture.rows(), fixture.data.bytes().await);
    let store = dry_run(&fixture.data).await;
    assert!(store.engine().is_dry_run() && !fixture.store.engine().is_dry_run());
    let tried = results(&store).await;
    assert_eq!(tried.received[1][..2], [OrderOutcome::Unchanged, OrderOutcome::Accepted]);
    assert_eq!((tried.archived, tried.returned), (2, 2));
    assert_eq!(tried.differences, [""; 0]);
    drop(store);
    assert_eq!(fixture.rows(), before);
    assert!(fixture.data.bytes().await == bytes, "a file or a row was written");
    let applied = Applied { differences: Vec::new(), unnamed: Vec::new(), ..tried.applied };
    let tried = Results { applied, ..tried };
    assert_eq!(results(&fixture.store).await, tried);
    fixture.check().await;
}

/// An operation that fails changes nothing, and those before it remain in the dry run.
#[tokio::test]
async fn an_operation_that_fails_changes_nothing() {
    let fixture = TestStore::with_fleet().await;
    let store = dry_run(&fixture.data).await;
    apply(&store, fleet()).await.unwrap();
    let invalid = Fleet {
        groups: vec![group("z")],
        devices: vec![device("z1", "unknown")],
        ..Fleet::default()
    };
    let refused = apply(&store, invalid).await;
    assert!(matches!(refused, Err(ApplyError::Invalid(_))), "{refused:?}");
    let ids: Vec<String> = store.inventory().group_ids().await.unwrap().into_values().collect();
    assert!(ids.contains(&"c".to_owned()) && !ids.contains(&"z".to_owned()), "{ids:?}");
    let again = apply(&store, fleet()).await.unwrap();
    assert_eq!((again.counts.groups.unchanged, again.differences), (1, Vec::new()));
}

/// Each entry that changes is listed with its fields; a password only by its name.
#[tokio::test]
async fn the_differences_of_a_fleet_are_listed_by_entry_and_field() {
    let fixture = TestStore::with_fleet().await;
    let store = dry_run(&fixture.data).await;
    let mut fleet = fleet();
    fleet.accounts = vec![account("new", &["a"]), bare_account("ops")];
    fleet.accounts[1].enabled = Some(false);
    fleet.accounts[1].groups = Some(vec![group_id("b")]);
    let hash =
        |text: &str| kiosque_store::NewHash { compared_with: None, new: Some(text.to_owned()) };
    let hashes = NewHashes::from([("new".to_owned(), hash("hash of new"))]);
    let applied =
        store.fleet().apply(fleet, hashes, ActedBy::command(NOW), &clock_at(NOW)).await.unwrap();
    let lines: Vec<String> = applied
        .differences
        .iter()
        .map(|entry| {
            let owner = entry.owner.iter().map(|owner| match owner {
                OwnerDifference::New { from, to, since } => {
                    format!("owner {from:?} -> {to} at {}", since.is_none())
                }
                cancelled => format!("{cancelled:?}"),
            });
            let fields = entry.fields.iter().map(ToString::to_string);
            let parts: Vec<String> = owner.chain(fields).collect();
            format!("{} {} new={}: {}", entry.kind, entry.id, entry.is_new, parts.join("; "))
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    let aisles = vec![
        kiosque_model::fleet::Aisle { price: Minor(120), ..aisle("2", "q", 4) },
        aisle("1", "p", 1),
    ];
    let entry = DeviceEntry { aisles: Some(aisles), ..bare_device("d1") };
    let fleet = Fleet { devices: vec![entry], ..Fleet::default() };
    let applied = apply(&store, fleet).await.unwrap();
    let fields = applied.differences[0].fields.iter().map(ToString::to_string);
    assert_eq!(
        fields.collect::<Vec<_>>(),
        ["aisle 2 price 100 -> 120", "aisle 1 stock 3 -> 1", "order of the aisles another"]
    );
}

/// Where there is no data, none is created: neither a directory nor a table.
#[tokio::test]
async fn absent_data_is_created_in_the_dry_run_alone() {
    for data in [TestData::sqlite(), TestData::without_tables()] {
        let refusing = OpenOptions { when_absent: WhenAbsent::Refuse, ..options(&data) };
        assert!(matches!(Store::open(&refusing).await, Err(Error::NoData)));
        let store = dry_run(&data).await;
        let fleet = Fleet {
            groups: vec![group("a")],
            devices: vec![device("d1", "a")],
            ..Fleet::default()
        };
        assert_eq!(apply(&store, fleet).await.unwrap().counts.devices.created, 1);
        let received = receive_at(&store, vec![order("o1", "d1", 10)], NOW).await;
        assert_eq!(received, [OrderOutcome::Accepted]);
        drop(store);
        assert!(data.is_empty());
    }
}

/// The database file remains as it is, byte by byte, also if the changes exceed the memory of the
/// transaction.
#[tokio::test]
async fn the_database_file_is_not_written() {
    let fixture = TestStore::with_fleet_on(TestData::sqlite()).await;
    let file = fixture.data.files().join("kiosque.db");
    let before = std::fs::read(&file).unwrap();
    let store = dry_run(&fixture.data).await;
    for batch in 0..20 {
        let orders: Vec<Incoming> = (0..1_000)
            .map(|at| order(&format!("o{batch}-{at}"), "d1", batch * 1_000 + at))
            .collect();
        receive_at(&store, orders, NOW).await;
    }
    drop(store);
    assert!(std::fs::read(&file).unwrap() == before, "the file has changed");
    assert_eq!(fixture.query("select count(*) from orders"), ["0"]);
}

/// A batch of orders that repeat ids and internal trade numbers, within the batch and of others,
/// on devices of which one has moved.
fn random_batch(random: &mut Rng) -> Vec<Incoming> {
    let order = |random: &mut Rng| {
        let device = if random.one_in(20) { "x9" } else { ["d1", "d2", "e1"][random.below(3)] };
        let (id, start) = (random.below(60), NOW.0 - 45 + 10 * random.range(0..8));
        let order = bare_order(&format!("o{id}"), device, start);
        let number = random.one_in(2).then(|| format!("n{}", random.below(40)));
        let refund = random.one_in(4).then_some(Minor(random.range(1..4)));
        rendered(Order {
            trade_no_in: number.map(|number| TradeNo::parse(&number).unwrap()),
            total_amount: Minor(random.range(4..7)),
            refund_amount: refund.unwrap_or(Minor(0)),
            ..order
        })
    };
    let mut batch: Vec<Incoming> = (0..40).map(|_| order(random)).collect();
    batch.extend_from_within(30..);
    batch
}

/// The outcomes of batches, of which each depends on those before it.
async fn outcomes(store: &Store, batches: &[Vec<Incoming>]) -> Vec<Vec<OrderOutcome>> {
    let mut outcomes = Vec::new();
    for batch in batches {
        outcomes.push(receive_at(store, batch.clone(), NOW).await);
    }
    outcomes
}

/// Updates, refunds, repeated lines, numbers that are taken and freed, devices that moved and
/// unknown ones: a dry run has the outcomes of the run, in front of data that has such orders.
#[tokio::test]
async fn a_dry_run_has_the_outcomes_of_the_run() {
    let seed = seed();
    println!("seed {seed}");
    let mut random = Rng::seeded(seed);
    let fixture = TestStore::with_fleet().await;
    let stored: Vec<_> = (0..3).map(|_| random_batch(&mut random)).collect();
    outcomes(&fixture.store, &stored).await;
    fixture.apply_devices(vec![moved("d2", "b", None)]).await;
    outcomes(&fixture.store, &stored[1..]).await;
    let batches: Vec<_> = (0..8).map(|_| random_batch(&mut random)).collect();
    let before = fixture.rows();
    let store = dry_run(&fixture.data).await;
    let tried = outcomes(&store, &batches).await;
    drop(store);
    assert_eq!(fixture.rows(), before);
    assert_eq!(outcomes(&fixture.store, &batches).await, tried);
    let has = |wanted: fn(&OrderOutcome) -> bool| tried.iter().flatten().any(wanted);
    assert!(has(|one| *one == OrderOutcome::Updated) && has(|one| *one == OrderOutcome::Unchanged));
    assert!(has(|one| matches!(one, OrderOutcome::Rejected(why) if why.contains("tradeNoIn"))));
}

/// A move is checked, and its rows are counted; neither side changes.
#[tokio::test]
async fn a_move_is_checked_and_counted() {
    let from = TestStore::with_fleet_on(TestData::sqlite()).await;
    from.receive_new(vec![order("o1", "d1", 10), order("o2", "e1", 20)]).await;
    from.log_in("ops").await.unwrap();
    let (here, target) = (from.rows(), TestData::without_tables());
    {
        let source = Store::open_unsettled(&options(&from.data)).await.unwrap();
        let to = Store::open_unsettled(&options(&target)).await.unwrap();
        let counted = source.upkeep().move_to(to.upkeep(), NOW, |_| {}).await.unwrap();
        assert_eq!(counted.rows_of("orders"), 2);
        assert_eq!((counted.rows_of("groups"), counted.rows_of("sessions")), (2, 1));
        drop((source, to));
        assert_eq!(from.rows(), here);
        let to = Store::open_unsettled(&open_options(&target)).await.unwrap();
        let source = Store::open_unsettled(&open_options(&from.data)).await.unwrap();
        let moved = source.upkeep().move_to(to.upkeep(), NOW, |_| {}).await.unwrap();
        assert_eq!((moved.tables, moved.groups), (counted.tables, 2));
    }
    let source = Store::open_unsettled(&options(&from.data)).await.unwrap();
    let to = Store::open_unsettled(&options(&target)).await.unwrap();
    let refused = source.upkeep().move_to(to.upkeep(), NOW, |_| {}).await;
    assert!(matches!(refused, Err(MoveError::HasMoved)), "{refused:?}");
}
