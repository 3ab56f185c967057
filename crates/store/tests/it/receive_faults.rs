//! Every statement of the receive path fails once, in turn. After a failure the same is sent again:
//! nothing is lost, and nothing is rejected that is valid.

use std::sync::Arc;

use kiosque_model::fleet::{DeviceEntry, Fleet, ProductEntry};
use kiosque_model::order::ShipmentStatus;
use kiosque_model::sales::{Sale, Sold};
use kiosque_model::{Currency, DeviceCode, Minor, UnixMs};
use kiosque_store::{Error, FleetSnapshot, Heartbeat, Incoming, OrderOutcome, ReceiveOptions};
use kiosque_testkit::entries::{bare_device, device, group_id, order, product, sold, trade_no};
use kiosque_testkit::{NOW, TestStore, no_owners};

/// A fault after which a caller tries again, and one that a statement causes.
const FAULTS: [fn() -> Error; 2] = [
    || Error::Unreachable("a fault of the test".to_owned()),
    || Error::Data("a fault of the test".to_owned()),
];

/// Opens a store with the usual fleet and a device `m1` that moved from `a` to `b` at 500.
async fn with_moved_device() -> TestStore {
    let fixture = TestStore::with_fleet().await;
    let devices = vec![device("m1", "a")];
    fixture.apply(Fleet { devices, ..Fleet::default() }).await.unwrap();
    let (group, since) = (Some(group_id("b")), Some(UnixMs(500)));
    let devices = vec![DeviceEntry { group, since, ..bare_device("m1") }];
    fixture.apply(Fleet { devices, ..Fleet::default() }).await.unwrap();
    fixture
}

/// Changes the fleet, so that the receive path reads it again.
async fn change_fleet(fixture: &TestStore, round: &str) {
    let products = vec![ProductEntry { name: Some(round.to_owned()), ..product("p") }];
    fixture.apply(Fleet { products, ..Fleet::default() }).await.unwrap();
}

fn sale_of(order: Incoming, items: i64) -> Incoming {
    let goods = vec![Sold { goods_id: "q".to_owned(), items, amount: Minor(7), name: None }];
    let (amount, refund, shipment) = (Minor(7), Minor(0), ShipmentStatus::Success);
    let currency = Currency::parse("EUR").unwrap();
    sold(order, Sale { at: UnixMs(900), currency, amount, refund, shipment, goods })
}

fn numbered(order: Incoming, number: &str) -> Incoming {
    Incoming { trade_no_in: trade_no(number), ..order }
}

/// The orders that are stored before a round, and the batch of the round with its outcomes.
fn batch(round: &str) -> (Vec<Incoming>, Vec<Incoming>, Vec<OrderOutcome>) {
    let id = |name: &str| format!("{round}-{name}");
    let stored = vec![
        sale_of(order(&id("changed"), "d1", 10), 1),
        numbered(order(&id("numbered"), "d2", 11), &id("N1")),
        order(&id("same"), "e1", 12),
        order(&id("former"), "m1", 13),
    ];
    let batch = vec![
        sale_of(numbered(order(&id("new"), "d1", 20), &id("N2")), 2),
        sale_of(order(&id("changed"), "d1", 10), 3),
        numbered(order(&id("numbered"), "d2", 11), &id("N3")),
        numbered(order(&id("takes"), "d2", 21), &id("N1")),
        order(&id("same"), "e1", 12),
        order(&id("unknown"), "absent", 12),
        order(&id("moved"), "m1", 600),
        order(&id("former"), "m1", 601),
    ];
    let unknown = OrderOutcome::Rejected("deviceCode: no device absent is known".to_owned());
    let reason = format!(
        "tradeStartTime: order {round}-former belongs to group a, and at this time to group b; \
         an update may not change the owning group"
    );
    let outcomes = vec![
        OrderOutcome::Accepted,
        OrderOutcome::Updated,
        OrderOutcome::Updated,
        OrderOutcome::Accepted,
        OrderOutcome::Unchanged,
        unknown,
        OrderOutcome::Accepted,
        OrderOutcome::Rejected(reason),
    ];
    (stored, batch, outcomes)
}

/// Returns the outcomes of a batch that was stored already.
fn stored_before(outcomes: &[OrderOutcome]) -> Vec<OrderOutcome> {
    let again = |outcome: &OrderOutcome| match outcome {
        OrderOutcome::Accepted | OrderOutcome::Updated => OrderOutcome::Unchanged,
        other => other.clone(),
    };
    outcomes.iter().map(again).collect()
}

#[tokio::test]
async fn a_batch_whose_nth_statement_failed_is_stored_by_the_next_try() {
    let fixture = with_moved_device().await;
    let owners = no_owners();
    let receive = async |orders: &[Incoming]| {
        let (batch, owners) = (Arc::new(orders.to_vec()), Arc::clone(&owners));
        fixture.store.intake().receive(batch, owners, ReceiveOptions::at(NOW)).await
    };
    let mut rounds = 0;
    for (kind, fault) in FAULTS.into_iter().enumerate() {
        for statements in 0.. {
            let round = format!("{kind}.{statements}");
            let (stored, batch, outcomes) = batch(&round);
            fixture.receive_new(stored).await;
            change_fleet(&fixture, &round).await;
            fixture.store.upkeep().arm_fault(statements, fault);
            let first = receive(&batch).await;
            let is_over = fixture.store.upkeep().disarm_fault();
            assert_eq!(first.is_ok(), is_over, "{round}: {first:?}");
            let second = receive(&batch).await.unwrap();
            // The last fault is a commit whose report was lost.
            let is_stored = second == stored_before(&outcomes);
            assert!(second == outcomes || is_stored, "{round}: {second:?}");
            rounds += 1;
            if is_over {
                assert!(is_stored, "{round}");
                break;
            }
        }
    }
    let orders = fixture.query("select count(*) from orders");
    assert_eq!(orders, [(rounds * 7).to_string()], "four before each round, and three new");
    assert!(rounds > 2 * 20, "{rounds} rounds: the statements of a batch are not counted");
    assert_eq!(fixture.store.upkeep().verify().await.unwrap().differences, [""; 0]);
}

#[tokio::test]
async fn heartbeats_whose_nth_statement_failed_are_recorded_by_the_next_try() {
    let fixture = with_moved_device().await;
    let beat = |code: &str, at: i64| Heartbeat {
        device_code: DeviceCode::parse(code).unwrap(),
        at: UnixMs(at),
    };
    let mut at = 1_000;
    for fault in FAULTS {
        for statements in 0.. {
            at += 1;
            change_fleet(&fixture, &at.to_string()).await;
            let beats = vec![beat("d1", at), beat("m1", at)];
            fixture.store.upkeep().arm_fault(statements, fault);
            let first = async {
                assert_eq!(fixture.store.intake().record_heartbeats(beats.clone()).await?, []);
                fixture.store.intake().write_activity().await
            };
            let first = first.await;
            let is_over = fixture.store.upkeep().disarm_fault();
            assert_eq!(first.is_ok(), is_over, "{statements}: {first:?}");
            assert_eq!(
                fixture.store.intake().record_heartbeats(beats).await.unwrap(),
                [],
                "{statements}"
            );
            fixture.store.intake().write_activity().await.unwrap();
            let sql = "select last_active_ms from ledger where device_code = 'd1'";
            assert_eq!(fixture.query(sql), [at.to_string()]);
            if is_over {
                assert!(statements > 5, "{statements} statements");
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_fleet_whose_nth_statement_failed_is_read_by_the_next_try() {
    let fixture = with_moved_device().await;
    let mut known = FleetSnapshot::default();
    for statements in 0.. {
        let round = statements.to_string();
        change_fleet(&fixture, &round).await;
        fixture.store.upkeep().arm_fault(statements, FAULTS[0]);
        let first = fixture.store.fleet().newer_snapshot(&known).await;
        let is_over = fixture.store.upkeep().disarm_fault();
        assert_eq!(first.is_ok(), is_over, "{round}: {first:?}");
        let newer = fixture.store.fleet().newer_snapshot(&known).await.unwrap();
        known = newer.expect("the fleet changed");
        assert_eq!(known.product_names["p"], round);
        assert!(known.groups_by_device.has_moved("m1"));
        assert_eq!(known.groups_by_device.latest("absent"), None);
        if is_over {
            assert!(statements > 3, "{statements} statements");
            break;
        }
    }
}
