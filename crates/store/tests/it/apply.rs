//! Applying a fleet is declarative and repeatable: entries are created or changed, absent ones
//! stay, and a list in an entry replaces the whole list.

use std::sync::Arc;
use std::time::Duration;

use kiosque_contract::{ChangeCounts, FleetCounts};
use kiosque_model::fleet::{Aisle, DeviceEntry, Fleet, GroupEntry, ProductEntry};
use kiosque_model::{ActedBy, Currency, Minor};
use kiosque_store::{Applied, LockedGroups, NewHashes, OrderOutcome, ReceiveOptions};
use kiosque_testkit::entries::{
    account, aisle, bare_account, bare_device, device, group, group_id, order, product,
};
use kiosque_testkit::{NOW, TestData, TestStore, clock_at, is_citus, no_owners};

/// A kind of entry, a change of one, and the table where it shows, with a part of its rows.
type Case = (&'static str, fn(&mut Fleet), &'static str, &'static str);

fn counts(created: usize, changed: usize, unchanged: usize) -> ChangeCounts {
    ChangeCounts { created, changed, unchanged }
}

fn all(counts: ChangeCounts) -> Applied {
    let (groups, accounts, products, devices) = (counts, counts, counts, counts);
    let counts = FleetCounts { groups, accounts, products, devices, sessions_ended: 0 };
    Applied { counts, ..Applied::default() }
}

fn one_of_each() -> Fleet {
    let aisles = Some(vec![aisle("1", "p", 2), aisle("2", "p", 3)]);
    Fleet {
        groups: vec![group("a")],
        accounts: vec![account("ops", &["a"])],
        products: vec![product("p")],
        devices: vec![DeviceEntry { aisles, ..device("d", "a") }],
    }
}

fn one_of_each_unnamed() -> Fleet {
    let product = ProductEntry {
        id: "p".to_owned(),
        name: None,
        category: None,
        currency: None,
        default_price: None,
    };
    Fleet {
        groups: vec![GroupEntry { id: group_id("a"), name: None, active: None }],
        accounts: vec![bare_account("ops")],
        products: vec![product],
        devices: vec![bare_device("d")],
    }
}

/// Applying a fleet again changes nothing.
#[tokio::test]
async fn what_is_named_again_is_unchanged() {
    let fixture = TestStore::new().await;
    assert_eq!(fixture.apply(one_of_each()).await.unwrap(), all(counts(1, 0, 0)));
    let rows = fixture.rows();
    // The number of applications is stored elsewhere.
    let is_record = |row: &str| row.starts_with("counters|") || row.starts_with("audit|");
    let without_records =
        |rows: &[String]| rows.iter().filter(|row| !is_record(row)).cloned().collect::<Vec<_>>();
    for fleet in [one_of_each(), one_of_each_unnamed(), one_of_each()] {
        assert_eq!(fixture.apply(fleet).await.unwrap(), all(counts(0, 0, 1)));
        assert_eq!(without_records(&fixture.rows()), without_records(&rows));
    }
    assert_eq!(fixture.apply(Fleet::default()).await.unwrap(), Applied::default());
}

/// Each change of each kind of entry is counted, and absent entries stay.
#[tokio::test]
async fn each_change_of_each_kind_is_counted_and_the_rest_stays() {
    let named = |change: fn(&mut Fleet)| {
        let mut fleet = one_of_each_unnamed();
        change(&mut fleet);
        fleet
    };
    let cases: [Case; 17] = [
        ("group", |f| f.groups[0].name = Some("x".into()), "groups", "1|a|x|1"),
        ("group", |f| f.groups[0].active = Some(false), "groups", "1|a|Group a|0"),
        ("account", |f| f.accounts[0].display_name = Some("x".into()), "accounts", "1|ops|x|"),
        ("account", |f| f.accounts[0].third_party_api = Some(false), "accounts", "ops|0|1"),
        ("account", |f| f.accounts[0].enabled = Some(false), "accounts", "ops|1|0"),
        ("account", |f| f.accounts[0].groups = Some(Vec::new()), "account_groups", ""),
        ("product", |f| f.products[0].name = Some(String::new()), "products", "p|||EUR|null"),
        ("product", |f| f.products[0].category = Some("x".into()), "products", "|x|EUR|null"),
        ("product", |f| f.products[0].currency = Currency::parse("ISK").ok(), "products", "|ISK|"),
        ("product", |f| f.products[0].default_price = Some(Minor(7)), "products", "||EUR|7"),
        ("device", |f| f.devices[0].name = Some("x".into()), "devices", "1|d|x|||1|1000000|5"),
        ("device", |f| f.devices[0].model = Some("x".into()), "devices", "1|d|Device d|x||1|"),
        ("device", |f| f.devices[0].address = Some("x".into()), "devices", "1|d|Device d||x|1|"),
        ("device", |f| f.devices[0].enabled = Some(false), "devices", "|0|1000000|5"),
        ("device", |f| f.devices[0].aisles = Some(Vec::new()), "devices", "|1|1000000|0"),
        (
            "device",
            |f| f.devices[0].aisles = Some(vec![aisle("2", "p", 3), aisle("1", "p", 2)]),
            "aisles",
            "1|2|0|1|1|p|100|100|10|3|1|0",
        ),
        (
            "device",
            |f| f.devices[0].aisles = Some(vec![aisle("9", "p", 4)]),
            "aisles",
            "1|9|0|1|1|p|100|100|10|4|1|0",
        ),
    ];
    for (kind, change, table, row) in cases {
        let fixture = TestStore::new().await;
        fixture.apply(one_of_each()).await.unwrap();
        let applied = fixture.apply(named(change)).await.unwrap().counts;
        let (changed, same) = (counts(0, 1, 0), counts(0, 0, 1));
        let of = |name: &str| if name == kind { changed } else { same };
        let want = [of("group"), of("account"), of("product"), of("device")];
        let got = [applied.groups, applied.accounts, applied.products, applied.devices];
        assert_eq!(got, want, "{table}: {row}");
        let rows = fixture.query(&format!("select * from {table}")).join("\n");
        assert!(rows.contains(row), "{table} has {rows}, not {row}");
        assert_eq!(fixture.apply(named(change)).await.unwrap(), all(same), "{table}: {row}");
    }
}

/// An apply locks all groups that it changes in the order of their numbers, also groups in which it
/// changes prices alone: while it waits for one, it has locked none with a higher number.
#[tokio::test]
async fn groups_are_locked_in_the_order_of_their_numbers() {
    let fixture = TestStore::with_fleet_on(TestData::postgres()).await;
    let priced = |price| {
        let aisles = Some(vec![Aisle { price: Minor(price), ..aisle("1", "p", 1) }]);
        vec![DeviceEntry { aisles, ..bare_device("d1") }]
    };
    fixture.apply_devices(priced(5)).await;
    let held = fixture.data.lock_group("a").await;
    let mut devices = priced(7);
    devices.push(DeviceEntry { enabled: Some(false), ..bare_device("e1") });
    let (store, by) = (fixture.store.clone(), ActedBy::command(NOW));
    let fleet = Fleet { devices, ..Fleet::default() };
    let applying = tokio::spawn(async move {
        store.fleet().apply(fleet, NewHashes::new(), by, &clock_at(NOW)).await
    });
    // On a cluster, a worker has the lock.
    let is_waiting = match is_citus() {
        true => {
            "select 1 from citus_stat_activity where wait_event_type = 'Lock'
                and query like '%UPDATE ' || current_schema() || '.group_changes%'"
        }
        false => {
            "select 1 from pg_locks
            where locktype = 'tuple' and relation = 'group_changes'::regclass"
        }
    };
    while fixture.query(is_waiting).is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let options = ReceiveOptions { locked_groups: LockedGroups::Skip, ..ReceiveOptions::at(NOW) };
    let batch = Arc::new(vec![order("o1", "e1", 1)]);
    let received = fixture.store.intake().receive(batch, no_owners(), options).await.unwrap();
    let outcomes = received.outcomes;
    assert_eq!(outcomes, [OrderOutcome::Accepted], "group b is locked while the apply waits for a");
    held.release().await;
    let applied = applying.await.unwrap().unwrap();
    assert_eq!(applied.counts.devices, counts(0, 2, 0));
    fixture.check().await;
}

/// Applies at the same time take effect one after the other, although each may have read the stored
/// fleet before the other changed it.
#[tokio::test]
async fn applies_at_the_same_time_are_made_one_after_the_other() {
    let fixture = TestStore::with_fleet().await;
    let held = fixture.data.block_writes().await;
    let apply = || {
        let devices = vec![device("new", "a"), DeviceEntry { name: None, ..device("d2", "b") }];
        let fleet = Fleet { devices, ..Fleet::default() };
        let (store, by) = (fixture.store.clone(), ActedBy::command(NOW));
        tokio::spawn(async move {
            store.fleet().apply(fleet, NewHashes::new(), by, &clock_at(NOW)).await
        })
    };
    let both = [apply(), apply()];
    // Usually longer than it takes to read the fleet.
    tokio::time::sleep(Duration::from_millis(200)).await;
    held.release().await;
    let mut devices = Vec::new();
    for applying in both {
        devices.push(applying.await.unwrap().unwrap().counts.devices);
    }
    devices.sort_unstable_by_key(|counts| counts.created);
    assert_eq!(devices, [counts(0, 0, 2), counts(1, 1, 0)]);
    let numbers = fixture.query("select count(*), count(distinct device_no) from devices");
    assert_eq!(numbers, ["4|4"]);
    fixture.check().await;
}
