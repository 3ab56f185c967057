//! Lists for the operator: every entry is listed once, in parts of any size, with counts that match
//! the stored orders.

use kiosque_contract::inventory::{DeviceItem, DeviceOwner, PlannedMove};
use kiosque_model::fleet::{DeviceEntry, Fleet, GroupEntry};
use kiosque_model::{DeviceCode, UnixMs};
use kiosque_store::{Error, Listed, Listing, OrderFilter, OrdersOf};
use kiosque_testkit::entries::{
    account, aisle, bare_device, beat, device, group, group_id, order, product, rate,
};
use kiosque_testkit::{NOW, TestData, TestStore, sql};

/// Returns all entries of a list, which is read in parts of a size.
async fn all<T, K: Clone>(
    limit: usize,
    read: impl AsyncFn(Listing<K>) -> Result<Listed<T, K>, Error>,
) -> Vec<T> {
    let (mut entries, mut after) = (Vec::new(), None);
    loop {
        let part = read(Listing { after, limit }).await.unwrap();
        assert!(part.entries.len() <= limit);
        assert!(part.next.is_none() || part.entries.len() == limit);
        entries.extend(part.entries);
        after = part.next;
        if after.is_none() {
            return entries;
        }
    }
}

fn moved(code: &str, group: &str, since: Option<i64>) -> Fleet {
    let since = since.map(UnixMs);
    let entry = DeviceEntry { group: Some(group_id(group)), since, ..bare_device(code) };
    Fleet { devices: vec![entry], ..Fleet::default() }
}

/// A device `d1` with two orders of `a`, one of which is archived, that has moved to `b` and will
/// move to `c`.
async fn fixture() -> TestStore {
    let fixture = TestStore::with_fleet().await;
    let d3 = DeviceEntry {
        aisles: Some(vec![aisle("2", "p", 4), aisle("1", "p", 3)]),
        ..device("d3", "c")
    };
    let fleet = Fleet {
        groups: vec![group("c")],
        accounts: vec![account("bob", &["c", "a"])],
        products: vec![product("q")],
        devices: vec![d3],
    };
    fixture.apply(fleet).await.unwrap();
    fixture.receive_new(vec![order("o1", "d1", 10), order("o2", "d1", 20)]).await;
    fixture.store.upkeep().archive(UnixMs(15), NOW).await.unwrap();
    fixture.apply(moved("d1", "b", Some(500))).await.unwrap();
    fixture.receive_new(vec![order("o3", "d1", 600)]).await;
    fixture.apply(moved("d1", "c", Some(NOW.0 + 700))).await.unwrap();
    fixture
}

#[tokio::test]
async fn groups_have_the_counts_of_their_devices_and_orders() {
    let fixture = fixture().await;
    for limit in [1, 2, 3, 100] {
        let groups =
            all(limit, async |part| fixture.store.inventory().groups(part, NOW).await).await;
        let counts = groups.iter().map(|group| {
            let ids = group.group_id.as_str();
            let counts = [group.device_count, group.account_count, group.order_count];
            (ids, counts, group.archived_count, group.last_active_timestamp)
        });
        let expected = [
            ("a", [1, 2, 2], 1, Some(20)),
            ("b", [2, 1, 1], 0, Some(600)),
            ("c", [1, 1, 0], 0, None),
        ];
        assert_eq!(counts.collect::<Vec<_>>(), expected, "{limit}");
    }
}

#[tokio::test]
async fn accounts_have_their_groups_and_their_sessions() {
    let fixture = fixture().await;
    fixture.log_in("ops").await.unwrap();
    for limit in [1, 2, 100] {
        let accounts =
            all(limit, async |part| fixture.store.inventory().accounts(part, NOW).await).await;
        let names: Vec<_> =
            accounts.iter().map(|one| (&*one.account, one.group_ids.join(","))).collect();
        assert_eq!(names, [("bob", "c,a".to_owned()), ("ops", "a,b".to_owned())]);
        assert!(accounts[0].session_expires_timestamp.is_none());
        assert!(accounts[1].session_expires_timestamp.is_some());
        let sessions =
            fixture.store.inventory().sessions(Listing { after: None, limit }, NOW).await.unwrap();
        assert_eq!(sessions.entries.len(), usize::from(limit > 1));
    }
    let all = Listing { after: Some("bob".to_owned()), limit: 1 };
    let session = &fixture.store.inventory().sessions(all.clone(), NOW).await.unwrap().entries[0];
    let opened = (&*session.account, session.group_id.as_deref(), session.source.as_deref());
    assert_eq!(opened, ("ops", Some("a"), Some("127.0.0.1")));
    let late = UnixMs(session.expires_timestamp);
    assert_eq!(fixture.store.inventory().sessions(all, late).await.unwrap().entries, []);
}

/// An account belongs to an active group if one of its groups is active.
#[tokio::test]
async fn accounts_of_active_groups_are_found() {
    let fixture = fixture().await;
    let found = async || {
        let names = ["absent", "bob", "ops"].map(str::to_owned).to_vec();
        let found = fixture.store.inventory().with_active_group(names).await.unwrap();
        found.into_iter().collect::<Vec<_>>().join(",")
    };
    let deactivate = async |id: &str| {
        let groups = vec![GroupEntry { active: Some(false), ..group(id) }];
        fixture.apply(Fleet { groups, ..Fleet::default() }).await.unwrap();
    };
    assert_eq!(found().await, "bob,ops");
    deactivate("a").await;
    assert_eq!(found().await, "bob,ops");
    deactivate("b").await;
    assert_eq!(found().await, "bob");
    deactivate("c").await;
    assert_eq!(found().await, "");
}

fn summary(device: &DeviceItem) -> (&str, &str, i64, i64) {
    (&device.device_code, &device.group_id, device.order_count, device.total_curr_stock)
}

#[tokio::test]
async fn devices_are_listed_with_their_owners_and_counts() {
    let fixture = fixture().await;
    for limit in [1, 3, 100] {
        let list = async |part| fixture.store.inventory().devices(None, part, NOW).await;
        let devices = all(limit, list).await;
        let listed: Vec<_> = devices.iter().map(summary).collect();
        let expected = [("d1", "b", 3, 0), ("d2", "a", 0, 0), ("d3", "c", 0, 7), ("e1", "b", 0, 0)];
        assert_eq!(listed, expected, "{limit}");
        let next = Some(PlannedMove { group_id: "c".to_owned(), since_timestamp: NOW.0 + 700 });
        assert_eq!((&devices[0].next_move, &devices[1].next_move), (&next, &None));
        let of_b =
            async |part| fixture.store.inventory().devices(Some(group_id("b")), part, NOW).await;
        let of_b = all(limit, of_b).await;
        assert_eq!(of_b.iter().map(|one| &*one.device_code).collect::<Vec<_>>(), ["d1", "e1"]);
    }
    let of_none =
        async |part| fixture.store.inventory().devices(Some(group_id("no")), part, NOW).await;
    assert_eq!(all(5, of_none).await, []);
    // A text that no database can compare.
    let nul = Listing { after: Some("d\0".to_owned()), limit: 5 };
    assert_eq!(fixture.store.inventory().devices(None, nul, NOW).await.unwrap().entries, []);
}

#[tokio::test]
async fn a_device_has_its_owners_by_date_its_ledgers_and_its_aisles() {
    let fixture = fixture().await;
    let find = async |code: &str, now| {
        fixture
            .store
            .inventory()
            .device_detail(DeviceCode::parse(code).unwrap(), now)
            .await
            .unwrap()
    };
    let heartbeat = beat("d1", UnixMs(900));
    fixture.store.intake().record_heartbeats(vec![heartbeat]).await.unwrap();
    let d1 = find("d1", NOW).await.unwrap();
    let owner = |group: &str, since, until| DeviceOwner {
        group_id: group.to_owned(),
        since_timestamp: since,
        until_timestamp: until,
    };
    let moves = NOW.0 + 700;
    let owners = [
        owner("a", None, Some(500)),
        owner("b", Some(500), Some(moves)),
        owner("c", Some(moves), None),
    ];
    assert_eq!(d1.owners, owners);
    let ledgers = d1.ledgers.iter().map(|ledger| {
        (&*ledger.group_id, ledger.order_count, ledger.archived_count, ledger.last_active_timestamp)
    });
    let expected = [("a", 2, 1, Some(20)), ("b", 1, 0, Some(900)), ("c", 0, 0, None)];
    assert_eq!(ledgers.collect::<Vec<_>>(), expected);
    assert_eq!(d1.device.last_active_timestamp, Some(900));
    let later = find("d1", UnixMs(moves)).await.unwrap().device;
    assert_eq!((later.group_id.as_str(), later.next_move), ("c", None));
    let d3 = find("d3", NOW).await.unwrap();
    let aisles: Vec<_> = d3.aisles.iter().map(|one| (&*one.aisle_code, one.curr_stock)).collect();
    assert_eq!(aisles, [("2", 4), ("1", 3)]);
    assert_eq!(find("d9", NOW).await, None);
}

#[tokio::test]
async fn products_and_rates_are_listed() {
    let fixture = fixture().await;
    let rates = vec![rate("JPY", 7, "0.0067"), rate("EUR", 20, "1"), rate("EUR", 10, "1.10")];
    fixture.store.fleet().set_rates(rates).await.unwrap();
    for limit in [1, 2, 100] {
        let products =
            all(limit, async |part| fixture.store.inventory().products(part).await).await;
        assert_eq!(products.iter().map(|one| &*one.goods_id).collect::<Vec<_>>(), ["p", "q"]);
        let rates = all(limit, async |part| fixture.store.inventory().rates(part).await).await;
        let rates =
            rates.iter().map(|one| format!("{} {} {}", one.currency, one.date, one.usd_per_unit));
        let expected = ["EUR 1970-01-11 1.1", "EUR 1970-01-21 1", "JPY 1970-01-08 0.0067"];
        assert_eq!(rates.collect::<Vec<_>>(), expected);
    }
}

/// The totals match the lists.
#[tokio::test]
async fn the_status_has_the_totals() {
    let fixture = fixture().await;
    let empty = fixture.store.inventory().status(NOW).await.unwrap();
    assert_eq!((empty.session_count, empty.last_rate_date, empty.last_backup), (0, None, None));
    fixture.log_in("ops").await.unwrap();
    let status = fixture.store.inventory().status(NOW).await.unwrap();
    let entries =
        [status.group_count, status.account_count, status.product_count, status.device_count];
    assert_eq!(entries, [3, 2, 2, 4]);
    assert_eq!((status.order_count, status.archived_count), (3, 1));
    assert_eq!((status.session_count, status.last_active_timestamp), (1, Some(600)));
    assert!(status.database_bytes > 0 && status.layout >= 1);
    assert_eq!(status.time_zone, "UTC");
}

/// A damaged order is named in its place in the list, and all others are listed, in parts of any
/// size.
#[tokio::test]
async fn damaged_orders_are_named_among_the_others() {
    let fixture = fixture().await;
    let ids = ["p1", "p2", "p3", "p4"];
    fixture.receive_new(ids.map(|id| order(id, "e1", 5)).to_vec()).await;
    fixture.tamper(&sql::DAMAGE_ORDER.replace("ORDER", "p2").replace("BY", "1"));
    let checksum = "its checksum does not match its columns and its record";
    let mut expected =
        ["a d1 o1", "a d1 o2", "b d1 o3", "b e1 p1", "", "b e1 p3", "b e1 p4"].map(str::to_owned);
    expected[4] = format!("group b, device e1, order p2: {checksum}");
    if let TestData::Directory(_) = fixture.data {
        // Columns that cannot be read.
        fixture.tamper("update orders set order_id = cast(x'ff' as text) where order_id = 'p4'");
        expected[6] = "group b, device e1, the order with sequence number 4: the store failed: \
                       invalid utf-8 sequence of 1 bytes from index 0"
            .to_owned();
    }
    for limit in [1, 2, 3, 100] {
        let of = OrdersOf::default();
        let listed =
            all(limit, async |part| fixture.store.inventory().orders(of.clone(), part).await).await;
        let listed = listed.into_iter().map(|order| match order {
            Ok(order) => {
                let head = &order.item.record.head;
                format!("{} {} {}", order.item.group_id, head.device_code, head.order_id)
            }
            Err(damaged) => damaged.to_string(),
        });
        assert_eq!(listed.collect::<Vec<_>>(), expected, "{limit}");
    }
}

/// A list of the newest orders does not leave out an order whose states are damaged in the index:
/// it fails, and names the order.
#[tokio::test]
async fn an_order_with_damaged_states_is_not_left_out() {
    let fixture = fixture().await;
    let is_directory = matches!(fixture.data, TestData::Directory(_));
    let newest = async || {
        let (filter, listing) = (OrderFilter::default(), Listing { after: None, limit: 9 });
        fixture.store.inventory().orders_newest_first(None, filter, listing).await
    };
    let ids = newest().await.unwrap().entries.into_iter().map(|it| it.record.head.order_id);
    assert_eq!(ids.collect::<Vec<_>>(), ["o3", "o2", "o1"]);
    let states = if is_directory { "x'ff'" } else { "'\\xff'::bytea" };
    fixture.tamper(&format!("update orders set sale = {states} where order_id = 'o2'"));
    let error = newest().await.unwrap_err().to_string();
    assert!(error.starts_with("order o2 is damaged: its checksum does not match"), "{error}");
}
