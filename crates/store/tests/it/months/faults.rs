//! The statements of batches and of roll-ups: they are counted, and each fails in turn.

use std::sync::Arc;

use kiosque_store::{Error, Incoming, OrderOutcome, ReceiveOptions, Store};
use kiosque_testkit::{TestStore, no_owners};

use super::{NOW, SETTLED, closed, receive, roll_up, sale_on};

/// Returns how many statements a batch executes. The fault of a test counts them.
async fn statements(store: &Store, batch: Vec<Incoming>) -> usize {
    let (batch, owners) = (Arc::new(batch), no_owners());
    for statements in 0.. {
        store.arm_fault(statements, || Error::Data("a fault of the test".to_owned()));
        let options = ReceiveOptions::at(NOW);
        let received = store.receive(Arc::clone(&batch), Arc::clone(&owners), options).await;
        if store.disarm_fault() {
            let outcomes = received.unwrap();
            assert!(
                outcomes.iter().all(|one| *one == OrderOutcome::Unchanged),
                "the fault after the commit was the last: {outcomes:?}"
            );
            return statements;
        }
    }
    unreachable!("a batch has an end")
}

/// A batch of today's orders executes the same statements with closed months as without.
#[tokio::test]
async fn a_batch_of_recent_orders_does_nothing_for_months() {
    let fixture = TestStore::with_fleet().await;
    receive(&fixture.store, vec![sale_on("jan", "d1", 3)]).await;
    let batch = |name: &str, day: i64| {
        vec![sale_on(name, "d1", day), sale_on(&format!("{name}2"), "d2", day)]
    };
    let without = statements(&fixture.store, batch("before", 365)).await;
    assert_eq!(roll_up(&fixture.store).await, 1);
    let with = statements(&fixture.store, batch("after", 365)).await;
    assert_eq!(with, without);
    assert_eq!(closed(&fixture), ["1|0"]);
    statements(&fixture.store, batch("late", 5)).await;
    assert_eq!(closed(&fixture), [""; 0]);
}

/// Each statement of a marking and of a roll-up fails in turn; the next try completes it.
#[tokio::test]
async fn a_roll_up_that_failed_is_completed_by_the_next_try() {
    let fixture = TestStore::with_fleet().await;
    for statements in 0.. {
        let late = sale_on(&format!("late {statements}"), "d1", 3);
        receive(&fixture.store, vec![late]).await;
        assert_eq!(closed(&fixture), [""; 0]);
        fixture.store.arm_fault(statements, || Error::Unreachable("of the test".to_owned()));
        let first = async {
            fixture.store.mark_months(NOW).await?;
            fixture.store.close_months(SETTLED).await
        };
        let first = first.await;
        let is_over = fixture.store.disarm_fault();
        assert_eq!(first.is_ok(), is_over, "{statements}: {first:?}");
        roll_up(&fixture.store).await;
        assert_eq!(closed(&fixture), ["1|0"], "{statements}");
        assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0], "{statements}");
        if is_over {
            assert!(statements > 15, "{statements} statements");
            return;
        }
    }
}
