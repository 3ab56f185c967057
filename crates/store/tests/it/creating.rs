//! Products and devices that are created together with orders: those that stored orders need, and
//! no others.

use std::sync::Arc;

use kiosque_model::ActedBy;
use kiosque_model::fleet::Fleet;
use kiosque_store::{
    AuditQuery, BatchPart, EntryIndexes, Incoming, NeededEntries, OrderOutcome, ReceiveOptions,
    Received,
};
use kiosque_testkit::entries::{device, order, product, trade_no};
use kiosque_testkit::{NOW, TestStore};

fn numbered(id: &str, device: &str, number: &str) -> Incoming {
    Incoming { trade_no_in: trade_no(number), ..order(id, device, 1) }
}

/// Devices `x`, `y` and `z`, and products `q` and `r`.
fn entries() -> Arc<Fleet> {
    Arc::new(Fleet {
        products: vec![product("q"), product("r")],
        devices: vec![device("x", "a"), device("y", "a"), device("z", "b")],
        ..Fleet::default()
    })
}

/// Receives orders, each with the device and the product that it needs.
async fn receive(
    fixture: &TestStore,
    orders: &[(Incoming, Option<usize>, usize)],
    sorted: usize,
) -> Received {
    let of_orders = orders
        .iter()
        .map(|(_, device, product)| EntryIndexes { device: *device, products: vec![*product] });
    let needed = NeededEntries { fleet: entries(), of_orders: of_orders.collect() };
    let whole = BatchPart { orders: 0..usize::MAX, sorted, orders_max: usize::MAX, arrival: None };
    let options = ReceiveOptions { parts: vec![whole], ..ReceiveOptions::at(NOW) };
    let batch = Arc::new(orders.iter().map(|(order, ..)| order.clone()).collect());
    let by = ActedBy::command(NOW);
    fixture.store.intake().receive_creating(batch, needed, options, by).await.unwrap()
}

/// Returns the devices, the products and the number of fleets in the audit trail.
fn created(fixture: &TestStore) -> [String; 3] {
    [
        "select device_code from devices order by device_code",
        "select goods_id from products order by goods_id",
        "select count(*) from audit where event = 'fleetApplied'",
    ]
    .map(|sql| fixture.query(sql).join(" "))
}

fn is_rejected(outcome: &OrderOutcome, with: &str) -> bool {
    matches!(outcome, OrderOutcome::Rejected(reason) if reason.contains(with))
}

#[tokio::test]
async fn orders_that_are_not_stored_create_nothing() {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![numbered("o1", "d1", "N1"), order("o9", "d1", 1)]).await;
    let before = ["d1 d2 e1", "p", "1"];
    assert_eq!(created(&fixture), before);
    // A number and an id that stored orders have, and a number that only derived ones have.
    let bad = [
        (numbered("o2", "x", "N1"), Some(0), 0),
        (order("o9", "y", 1), Some(1), 0),
        (numbered("o3", "y", "oid:o1"), Some(1), 1),
    ];
    let outcomes = receive(&fixture, &bad, 0).await.outcomes;
    assert!(is_rejected(&outcomes[0], "order o1 has N1 already"), "{outcomes:?}");
    assert!(is_rejected(&outcomes[1], "belongs to device d1, not y"), "{outcomes:?}");
    assert!(is_rejected(&outcomes[2], "derived number"), "{outcomes:?}");
    assert_eq!(created(&fixture), before);
    // Lines before them may decide them, so that they wait.
    assert_eq!(receive(&fixture, &bad[..1], 1).await.outcomes, [OrderOutcome::Deferred]);
    assert_eq!(created(&fixture), before);
    // A good order among bad ones creates its own entries.
    let good = (numbered("o4", "z", "N2"), Some(2), 1);
    let taken = (numbered("o5", "z", "N2"), Some(2), 0);
    let batch = [bad[0].clone(), good.clone(), bad[1].clone(), taken];
    let Received { outcomes, groups, .. } = receive(&fixture, &batch, 0).await;
    assert!(is_rejected(&outcomes[0], "has N1 already"), "{outcomes:?}");
    assert_eq!(outcomes[1], OrderOutcome::Accepted);
    assert!(is_rejected(&outcomes[2], "belongs to device d1"), "{outcomes:?}");
    assert!(is_rejected(&outcomes[3], "order o4 has N2 already"), "{outcomes:?}");
    let groups: Vec<String> = groups.iter().flatten().map(|group| group.0.to_string()).collect();
    let numbers = fixture.query("select group_no from groups order by group_id");
    assert_eq!(groups, [0, 1, 0, 1].map(|at: usize| numbers[at].clone()));
    let after = ["d1 d2 e1 z", "p r", "2"];
    assert_eq!(created(&fixture), after);
    // They exist now.
    let again = [good, (order("o6", "z", 2), Some(2), 1)];
    let outcomes = receive(&fixture, &again, 0).await.outcomes;
    assert_eq!(outcomes, [OrderOutcome::Unchanged, OrderOutcome::Accepted]);
    assert_eq!(created(&fixture), after);
    let counts = "groups: 0 created, 0 changed, 0 unchanged; accounts: 0 created, 0 changed, \
                  0 unchanged; products: 1 created, 0 changed, 0 unchanged; devices: 1 created, \
                  0 changed, 0 unchanged; sessions ended: 0";
    let trail = fixture.store.trail().entries(AuditQuery::latest(10)).await.unwrap().entries;
    let details = trail.iter().map(|entry| entry.detail.as_deref());
    assert_eq!(details.filter(|detail| *detail == Some(counts)).count(), 1, "{trail:?}");
    fixture.check().await;
}
