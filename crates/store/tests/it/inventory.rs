//! Lists for the operator: accounts of active groups, and orders that are damaged.

use kiosque_model::fleet::{Fleet, GroupEntry};
use kiosque_store::{Error, Listed, Listing, OrderFilter, OrdersOf};
use kiosque_testkit::entries::{account, group, moved, order};
use kiosque_testkit::{NOW, TestData, TestStore, sql};

/// Returns all entries of a list, which is read in parts of a size.
pub(crate) async fn all<T, K: Clone>(
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

/// A device `d1` with two orders of `a`, that has moved to `b`.
async fn fixture() -> TestStore {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![order("o1", "d1", 10), order("o2", "d1", 20)]).await;
    fixture.apply_devices(vec![moved("d1", "b", Some(500))]).await;
    fixture.receive_new(vec![order("o3", "d1", 600)]).await;
    fixture
}

/// REQ-12: no database can compare such a text.
#[tokio::test]
async fn nothing_is_listed_after_a_key_with_a_nul_byte() {
    let fixture = fixture().await;
    let after = Listing { after: Some("d\0".to_owned()), limit: 5 };
    let devices = fixture.store.inventory().devices(None, after, NOW).await;
    assert_eq!(devices.unwrap().entries, []);
}

/// An account belongs to an active group if one of its groups is active.
#[tokio::test]
async fn accounts_of_active_groups_are_found() {
    let fixture = TestStore::with_fleet().await;
    let (groups, accounts) = (vec![group("c")], vec![account("bob", &["c", "a"])]);
    fixture.apply(Fleet { groups, accounts, ..Fleet::default() }).await.unwrap();
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

/// A damaged order is named in its place in the list, and all others are listed, in parts of any
/// size.
#[tokio::test]
async fn damaged_orders_are_named_among_the_others() {
    let fixture = fixture().await;
    let ids = ["p1", "p2", "p3", "p4"];
    fixture.receive_new(ids.map(|id| order(id, "e1", 5)).to_vec()).await;
    fixture.tamper(&sql("damage_order").replace("ORDER", "p2").replace("BY", "1"));
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
