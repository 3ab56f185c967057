//! Caches of the fleet are cleared by an apply that changes what they hold, and by no other.

use std::sync::Arc;

use kiosque_model::fleet::{AccountEntry, DeviceEntry, Fleet, GroupEntry, ProductEntry};
use kiosque_model::{ActedBy, Currency, DeviceCode, UnixMs};
use kiosque_store::{FleetSnapshot, OrderOutcome, Owners, ReceiveOptions};
use kiosque_testkit::entries::{
    self, account, aisle, bare_account, bare_device, beat, device, group, order, product, rate,
};
use kiosque_testkit::{NOW, TestData, TestStore};
use tokio::sync::Mutex;

fn devices(devices: Vec<DeviceEntry>) -> Fleet {
    Fleet { devices, ..Fleet::default() }
}

fn moved(code: &str, group: &str, since: Option<i64>) -> Fleet {
    devices(vec![entries::moved(code, group, since)])
}

/// Returns every version except the versions of the audit trail and of the lists of devices.
fn counters(fixture: &TestStore) -> Vec<String> {
    let sql = "select name, last from counters where name <> 'audit'";
    let mut counters = fixture.query(sql);
    counters.extend(
        fixture.query("select group_no, last_change_no, history, rates from group_changes"),
    );
    counters.sort_unstable();
    counters
}

/// Returns the groups, and the versions of their lists of devices.
fn list_versions(fixture: &TestStore) -> Vec<String> {
    fixture.query(
        "select g.group_id, c.fleet from group_changes c
        join groups g on g.group_no = c.group_no order by g.group_id",
    )
}

/// Applies a fleet, and returns the groups whose lists of devices it invalidates.
async fn invalidated(fixture: &TestStore, fleet: Fleet) -> String {
    let before = list_versions(fixture);
    fixture.apply(fleet).await.unwrap();
    let mut groups = list_versions(fixture);
    groups.retain(|version| !before.contains(version));
    groups.iter().filter_map(|version| version.split('|').next()).collect()
}

/// Neither an apply that changes nothing, nor one of stock, prices, accounts or texts. Stock, and
/// the names of devices and groups, are in the lists of devices, and change the version of their
/// group alone.
#[tokio::test]
async fn an_apply_that_changes_no_owner_and_no_name_invalidates_nothing() {
    let fixture = TestStore::with_fleet().await;
    let stocked = |stock: i64| DeviceEntry {
        aisles: Some(vec![aisle("1", "p", stock), aisle("2", "p", 5)]),
        ..bare_device("d1")
    };
    fixture.apply(devices(vec![stocked(1)])).await.unwrap();
    let before = counters(&fixture);
    let product = |category: Option<&str>| ProductEntry {
        category: category.map(str::to_owned),
        ..product("p")
    };
    let renamed = GroupEntry { name: Some("x".to_owned()), ..group("a") };
    let fleets = [
        Fleet::default(),
        devices(vec![device("d1", "a"), device("d2", "a"), device("e1", "b")]),
        devices(vec![stocked(1)]),
        devices(vec![stocked(7)]),
        devices(vec![DeviceEntry { name: Some("x".to_owned()), ..bare_device("d1") }]),
        devices(vec![DeviceEntry { enabled: Some(true), ..bare_device("d1") }]),
        Fleet { products: vec![product(None)], ..Fleet::default() },
        Fleet { products: vec![product(Some("x"))], ..Fleet::default() },
        Fleet { groups: vec![renamed, group("new")], ..Fleet::default() },
        Fleet {
            accounts: vec![
                AccountEntry { display_name: Some("x".to_owned()), ..bare_account("ops") },
                account("other", &["a"]),
            ],
            ..Fleet::default()
        },
    ];
    for (number, fleet) in fleets.into_iter().enumerate() {
        let groups = invalidated(&fixture, fleet).await;
        assert_eq!(counters(&fixture), before, "fleet {number}");
        assert_eq!(groups, if [3, 4, 8].contains(&number) { "a" } else { "" }, "fleet {number}");
    }
}

/// The groups whose lists show what an apply changes, and no others.
#[tokio::test]
async fn an_apply_invalidates_the_lists_of_its_groups_alone() {
    let fixture = TestStore::with_fleet().await;
    let selling = |code: &str, product: &str| DeviceEntry {
        aisles: Some(vec![aisle("1", product, 1)]),
        ..bare_device(code)
    };
    let products = |currency: Option<&str>, name: &str, id: &str| Fleet {
        products: vec![ProductEntry {
            name: Some(name.to_owned()),
            currency: currency.map(|code| Currency::parse(code).unwrap()),
            ..product(id)
        }],
        ..Fleet::default()
    };
    let ahead = Some(NOW.0 + 500);
    let closed = GroupEntry { active: Some(false), ..group("b") };
    for (change, fleet, groups) in [
        ("a new product", products(Some("EUR"), "Q", "q"), ""),
        ("an aisle", devices(vec![selling("d1", "p")]), "a"),
        ("an aisle of another group", devices(vec![selling("e1", "q")]), "b"),
        ("the name of a product", products(None, "Tea", "p"), "a"),
        ("its currency", products(Some("JPY"), "Tea", "p"), "a"),
        ("a product of another group", products(None, "Juice", "q"), "b"),
        ("a new device", devices(vec![device("e2", "b")]), "b"),
        ("a planned move", moved("e2", "a", ahead), "ab"),
        ("a device with a planned move", devices(vec![selling("e2", "q")]), "ab"),
        ("a product of such a device", products(None, "Milk", "q"), "ab"),
        ("a move that is given up", moved("e2", "b", None), "ab"),
        ("a move", moved("e2", "a", None), "ab"),
        ("a device that has left", devices(vec![selling("e2", "p")]), "a"),
        ("a closed group", Fleet { groups: vec![closed], ..Fleet::default() }, ""),
        ("nothing", devices(vec![selling("e2", "p")]), ""),
    ] {
        assert_eq!(invalidated(&fixture, fleet).await, groups, "{change}");
    }
    let by = ActedBy::command(NOW);
    let before = list_versions(&fixture);
    fixture.store.fleet().delete_device(DeviceCode::parse("d2").unwrap(), by).await.unwrap();
    let after = list_versions(&fixture);
    assert!(after[0] != before[0] && after[1] == before[1], "{before:?}, {after:?}");
}

/// A device that is enabled or disabled concerns its group alone; no owner and no name changes.
#[tokio::test]
async fn a_disabled_device_invalidates_the_lists_of_its_group_alone() {
    let fixture = TestStore::with_fleet().await;
    let fleet_version = || fixture.query("select last from counters where name = 'fleet'");
    let version = fleet_version();
    let off = DeviceEntry { enabled: Some(false), ..bare_device("d1") };
    assert_eq!(invalidated(&fixture, devices(vec![off])).await, "a");
    assert_eq!(fleet_version(), version);
    assert_eq!(invalidated(&fixture, moved("d1", "b", None)).await, "ab");
    assert_ne!(fleet_version(), version);
}

/// Returns the id and the versions of each group.
fn versions(fixture: &TestStore) -> Vec<Vec<String>> {
    let sql = "select g.group_id, c.last_change_no, c.history, c.fleet, c.rates
        from group_changes c join groups g on g.group_no = c.group_no order by 1";
    let rows = fixture.query(sql).into_iter();
    rows.map(|row| row.split('|').map(str::to_owned).collect()).collect()
}

fn stocked(stock: i64) -> Fleet {
    let aisles = Some(vec![aisle("1", "p", stock)]);
    devices(vec![DeviceEntry { aisles, ..bare_device("d1") }])
}

/// Each writer replaces the versions of what it changes, and no other one.
#[tokio::test]
async fn each_writer_replaces_its_versions() {
    let fixture = TestStore::with_fleet().await;
    let store = &fixture.store;
    let names = ["group", "last_change_no", "history", "fleet", "rates"];
    let mut before = versions(&fixture);
    let mut expect = |what: &str, expected: &[&str]| {
        let after = versions(&fixture);
        let mut changed = Vec::new();
        for (old, new) in before.iter().zip(&after) {
            let differing = (0..names.len()).filter(|at| old[*at] != new[*at]);
            changed.extend(differing.map(|at| format!("{} {}", new[0], names[at])));
        }
        assert_eq!(changed, expected, "{what}");
        before = after;
    };
    fixture.receive_new(vec![order("o1", "d1", 1)]).await;
    expect("the first order", &["a last_change_no", "a history"]);
    fixture.receive_new(vec![order("o2", "d1", 1)]).await;
    expect("an order", &["a last_change_no"]);
    store.intake().record_heartbeats(vec![beat("d1", NOW), beat("e1", NOW)]).await.unwrap();
    assert_eq!(store.intake().write_activity().await.unwrap(), 2);
    expect("heartbeats", &[]);
    store.fleet().set_rates(vec![rate("EUR", 1, "1")]).await.unwrap();
    expect("a rate", &["a rates", "b rates"]);
    store.fleet().set_rates(vec![rate("EUR", 1, "1")]).await.unwrap();
    expect("the same rate", &[]);
    fixture.apply(stocked(1)).await.unwrap();
    expect("stock", &["a fleet"]);
    fixture.apply(moved("d2", "b", None)).await.unwrap();
    expect("a move", &["a fleet", "b fleet"]);
}

/// After the data went back, the same writes get other versions: caches may have seen those that
/// were lost.
#[tokio::test]
async fn no_version_is_given_twice() {
    let fixture = TestStore::with_fleet().await;
    fixture.apply(stocked(1)).await.unwrap();
    let [fleet, rates] = [3, 4].map(|at| versions(&fixture)[0][at].clone());
    let mut given = Vec::new();
    for _ in 0..2 {
        fixture.apply(stocked(2)).await.unwrap();
        fixture.store.fleet().set_rates(vec![rate("EUR", 2, "1")]).await.unwrap();
        given.push(versions(&fixture)[0].clone());
        fixture.apply(stocked(1)).await.unwrap();
        fixture.tamper("delete from rates where day = 2");
        fixture.tamper(&format!("update group_changes set fleet = {fleet}, rates = {rates}"));
    }
    assert!((3..=4).all(|at| given[0][at] != given[1][at]), "{given:?}");
}

/// Nor is the version of a group whose first device is one that moves.
#[tokio::test]
async fn the_first_move_to_a_group_gives_its_lists_a_version() {
    let fixture = TestStore::with_fleet().await;
    fixture.apply(Fleet { groups: vec![group("c")], ..Fleet::default() }).await.unwrap();
    let mut given = Vec::new();
    for _ in 0..2 {
        fixture.apply(moved("d1", "c", Some(NOW.0 + 500))).await.unwrap();
        given.push(list_versions(&fixture).pop());
        fixture.apply(moved("d1", "a", None)).await.unwrap();
        fixture.tamper(
            "delete from group_changes
            where group_no = (select group_no from groups where group_id = 'c')",
        );
    }
    assert_ne!(given[0], given[1]);
}

/// Heartbeats take no lock of a group, which batches of orders need.
#[tokio::test]
async fn heartbeats_are_written_while_a_group_is_locked() {
    let fixture = TestStore::with_fleet_on(TestData::postgres()).await;
    let beats = vec![beat("d1", NOW), beat("d2", NOW), beat("e1", NOW)];
    fixture.store.intake().record_heartbeats(beats).await.unwrap();
    let held = fixture.data.lock_group("a").await;
    assert_eq!(fixture.store.intake().write_activity().await.unwrap(), 3);
    assert_eq!(fixture.store.intake().unwritten_activity(), 0);
    held.release().await;
    let active = fixture.query("select last_active_ms from ledger order by device_code");
    assert_eq!(active, [NOW.0.to_string(), NOW.0.to_string(), NOW.0.to_string()]);
}

/// Stores an order with a cache of owners that is never thrown away, and returns its group.
async fn owner_of(fixture: &TestStore, owners: &Arc<Mutex<Owners>>, code: &str, at: i64) -> String {
    let id = format!("{code}-{at}-{}", fixture.query("select count(*) from orders")[0]);
    let orders = Arc::new(vec![order(&id, code, at)]);
    let received = fixture
        .store
        .intake()
        .receive(orders, Arc::clone(owners), ReceiveOptions::at(NOW))
        .await
        .unwrap();
    if let [OrderOutcome::Rejected(_)] = received.outcomes[..] {
        return "none".to_owned();
    }
    let sql = format!(
        "select g.group_id from orders o join groups g on g.group_no = o.group_no
        where o.order_id = '{id}'"
    );
    fixture.query(&sql).remove(0)
}

/// The owners that a stream has cached: of a device that did not exist, of one that moves, and of
/// one whose planned move is replaced or cancelled.
#[tokio::test]
async fn the_owners_of_a_stream_are_never_stale() {
    let fixture = TestStore::with_fleet().await;
    let owners = Arc::default();
    let ahead = NOW.0 + 500;
    let of = async |code: &str, at: i64| owner_of(&fixture, &owners, code, at).await;
    assert_eq!((of("d1", ahead).await, of("new", 1).await), ("a".into(), "none".into()));
    fixture.apply(devices(vec![device("new", "b")])).await.unwrap();
    assert_eq!(of("new", 1).await, "b");
    fixture.apply(moved("d1", "b", Some(ahead))).await.unwrap();
    assert_eq!((of("d1", ahead - 1).await, of("d1", ahead).await), ("a".into(), "b".into()));
    fixture.apply(moved("d1", "b", Some(ahead + 9))).await.unwrap();
    assert_eq!((of("d1", ahead).await, of("d1", ahead + 9).await), ("a".into(), "b".into()));
    fixture.apply(moved("d1", "a", None)).await.unwrap();
    assert_eq!(of("d1", ahead + 9).await, "a");
    fixture.apply(moved("d1", "b", None)).await.unwrap();
    assert_eq!((of("d1", NOW.0 - 1).await, of("d1", NOW.0).await), ("a".into(), "b".into()));
    fixture.check().await;
}

/// The owners that heartbeats have cached.
#[tokio::test]
async fn the_owners_of_heartbeats_are_never_stale() {
    let fixture = TestStore::with_fleet().await;
    let beat = async |code: &str, at: i64| {
        let beats = vec![beat(code, UnixMs(at))];
        fixture.store.intake().record_heartbeats(beats).await.unwrap().len()
    };
    assert_eq!((beat("d1", 5).await, beat("new", 5).await), (0, 1));
    fixture.apply(devices(vec![device("new", "b")])).await.unwrap();
    assert_eq!(beat("new", 6).await, 0);
    fixture.apply(moved("d1", "b", Some(100))).await.unwrap();
    assert_eq!((beat("d1", 99).await, beat("d1", 101).await), (0, 0));
    fixture.store.intake().write_activity().await.unwrap();
    let sql = "select g.group_id, l.device_code, l.last_active_ms from ledger l
        join groups g on g.group_no = l.group_no
        where l.last_active_ms is not null order by l.group_no, l.device_code";
    assert_eq!(fixture.query(sql), ["a|d1|99", "b|d1|101", "b|new|6"]);
}

/// The snapshot of names and groups that streams share.
#[tokio::test]
async fn the_snapshot_of_the_fleet_is_never_stale() {
    let fixture = TestStore::with_fleet().await;
    let mut snapshot = FleetSnapshot::default();
    let mut newer = async |fixture: &TestStore| {
        let newer = fixture.store.fleet().newer_snapshot(&snapshot).await.unwrap()?;
        snapshot = newer;
        let mut names: Vec<String> = snapshot.product_names.values().cloned().collect();
        names.sort_unstable();
        let devices = ["d1", "d2", "e1", "new"].into_iter();
        let known = devices.filter(|code| snapshot.groups_by_device.latest(code).is_some());
        Some((names.join(", "), known.count()))
    };
    assert_eq!(newer(&fixture).await, Some(("Product p".to_owned(), 3)));
    assert_eq!(newer(&fixture).await, None);
    let renamed = ProductEntry { name: Some("Tea".to_owned()), ..product("p") };
    fixture.apply(Fleet { products: vec![renamed], ..Fleet::default() }).await.unwrap();
    assert_eq!(newer(&fixture).await, Some(("Tea".to_owned(), 3)));
    fixture.apply(Fleet { products: vec![product("q")], ..Fleet::default() }).await.unwrap();
    assert_eq!(newer(&fixture).await, Some(("Product q, Tea".to_owned(), 3)));
    fixture.apply(devices(vec![device("new", "b")])).await.unwrap();
    assert_eq!(newer(&fixture).await, Some(("Product q, Tea".to_owned(), 4)));
    fixture.apply(moved("d1", "b", None)).await.unwrap();
    assert!(newer(&fixture).await.is_some());
    let aisles = Some(vec![aisle("1", "q", 3)]);
    fixture.apply(devices(vec![DeviceEntry { aisles, ..bare_device("d1") }])).await.unwrap();
    assert_eq!(newer(&fixture).await, None);
}
