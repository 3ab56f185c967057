//! Every statement for heartbeats, and for the snapshot of the fleet, fails once, in turn. After a
//! failure the same is done again, and nothing is lost. Requests with orders are tested with the
//! server; their statements are counted here, by those that can fail.

use std::sync::Arc;

use kiosque_model::UnixMs;
use kiosque_model::fleet::{Fleet, ProductEntry};
use kiosque_store::{Error, FleetSnapshot, Incoming, ReceiveOptions};
use kiosque_testkit::entries::{beat, device, moved, order, product, sale, sold};
use kiosque_testkit::{NOW, TestStore, no_owners};

/// A fault after which a caller tries again, and one that a statement causes.
const FAULTS: [fn() -> Error; 2] = [
    || Error::Unreachable("a fault of the test".to_owned()),
    || Error::Data("a fault of the test".to_owned()),
];

/// Opens a store with the usual fleet and a device `m1` that moved from `a` to `b` at 500.
async fn with_moved_device() -> TestStore {
    let fixture = TestStore::with_fleet().await;
    fixture.apply_devices(vec![device("m1", "a")]).await;
    fixture.apply_devices(vec![moved("m1", "b", Some(500))]).await;
    fixture
}

/// Returns the number of statements that store orders: the one after the last that can fail.
async fn statements(fixture: &TestStore, orders: Vec<Incoming>) -> usize {
    let batch = Arc::new(orders);
    for statements in 0.. {
        fixture.store.engine().faults().arm(Some((statements, FAULTS[1])));
        let (batch, options) = (Arc::clone(&batch), ReceiveOptions::at(NOW));
        let received = fixture.store.intake().receive(batch, no_owners(), options).await;
        fixture.store.engine().faults().arm(None);
        if received.is_ok() {
            return statements;
        }
    }
    unreachable!("a transaction ends")
}

/// Orders are stored together, new and changed ones: those of two groups with sales of two days
/// take as many statements for a hundred orders as for four.
#[tokio::test]
async fn a_batch_takes_the_same_statements_for_any_number_of_orders() {
    let fixture = TestStore::with_fleet().await;
    let orders = |name: &str, count: i64, price: i64| {
        let of = |at: i64| {
            let device = if at % 2 == 0 { "d1" } else { "e1" };
            let day_ms = if at % 4 < 2 { 0 } else { 86_400_000 };
            let sale = sale(day_ms + 600, "EUR", &[("p", 1, price)]);
            sold(order(&format!("{name}{at}"), device, 600 + at), sale)
        };
        (0..count).map(of).collect::<Vec<_>>()
    };
    // The first batch of a store begins the history of its groups.
    statements(&fixture, orders("first", 4, 5)).await;
    let mut found = Vec::new();
    for (name, count) in [("few", 4), ("many", 100)] {
        for price in [5, 6] {
            found.push(statements(&fixture, orders(name, count, price)).await);
        }
    }
    let [new, changed, ..] = found[..] else { panic!("{found:?}") };
    assert_eq!(found, [new, changed, new, changed]);
    assert!(new < 50 && changed < 50, "{found:?}");
}

/// Changes the fleet, so that the receive path reads it again.
async fn change_fleet(fixture: &TestStore, round: &str) {
    let products = vec![ProductEntry { name: Some(round.to_owned()), ..product("p") }];
    fixture.apply(Fleet { products, ..Fleet::default() }).await.unwrap();
}

#[tokio::test]
async fn heartbeats_whose_nth_statement_failed_are_recorded_by_the_next_try() {
    let fixture = with_moved_device().await;
    let beat = |code, at| beat(code, UnixMs(at));
    let mut at = 1_000;
    for fault in FAULTS {
        for statements in 0.. {
            at += 1;
            change_fleet(&fixture, &at.to_string()).await;
            let beats = vec![beat("d1", at), beat("m1", at)];
            fixture.store.engine().faults().arm(Some((statements, fault)));
            let first = async {
                assert_eq!(fixture.store.intake().record_heartbeats(beats.clone()).await?, []);
                fixture.store.intake().write_activity().await
            };
            let first = first.await;
            let is_over = fixture.store.engine().faults().arm(None);
            assert_eq!(first.is_ok(), is_over, "{statements}: {first:?}");
            assert_eq!(
                fixture.store.intake().record_heartbeats(beats).await.unwrap(),
                [],
                "{statements}"
            );
            // A server may still hold the ledgers for the transaction that failed.
            while fixture.store.intake().unwritten_activity() > 0 {
                fixture.store.intake().write_activity().await.unwrap();
            }
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
        fixture.store.engine().faults().arm(Some((statements, FAULTS[0])));
        let first = fixture.store.fleet().newer_snapshot(&known).await;
        let is_over = fixture.store.engine().faults().arm(None);
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
