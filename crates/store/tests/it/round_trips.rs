//! Every business request takes exactly one round trip, counted on the wire: a relay between the
//! store and its PostgreSQL counts how often a request follows an answer.

use std::sync::Arc;

use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_model::order::ShipmentStatus;
use kiosque_model::sales::{Sale, Sold};
use kiosque_model::{ActedBy, Currency, GroupId, Minor, UnixMs};
use kiosque_store::{Incoming, NewHashes, OrderOutcome, ReceiveOptions};
use kiosque_testkit::entries::{aisle, bare_device, device, order, sold};
use kiosque_testkit::{NOW, clock_at, no_owners};

use super::relay::Relay;
use super::requests::{Requests, all_requests};

/// Statements are compiled once a connection, and the pool has eight of them.
const WARM_UP: usize = 16;

#[tokio::test]
async fn every_business_request_is_one_round_trip() {
    let counted = Requests::through(Relay::to).await;
    for name in &all_requests() {
        for _ in 0..WARM_UP {
            counted.ask(name).await;
        }
        // Now and then a connection plans a statement again, which is a round trip of its own.
        let mut fewest = usize::MAX;
        for _ in 0..3 {
            let before = counted.relay.turns();
            for _ in 0..WARM_UP {
                counted.ask(name).await;
            }
            fewest = fewest.min(counted.relay.turns() - before);
        }
        assert_eq!(fewest, WARM_UP, "{name}");
    }
}

/// Returns an apply of so many devices: new ones with aisles, the same with other aisles, the same
/// again, and the same in another group.
async fn applied(counted: &Requests, prefix: &str, count: usize) -> Vec<usize> {
    let fleet = |group: &str, stock: i64| {
        let devices = (0..count).map(|number| DeviceEntry {
            aisles: Some(vec![aisle("1", "p", stock), aisle("2", "p", 1)]),
            ..device(&format!("{prefix}{number}"), group)
        });
        Fleet { devices: devices.collect(), ..Fleet::default() }
    };
    let mut turns = Vec::new();
    for (number, fleet) in
        [fleet("a", 1), fleet("a", 2), fleet("a", 2), fleet("b", 2)].into_iter().enumerate()
    {
        let (before, now) = (counted.relay.turns(), NOW.plus_ms(i64::try_from(number).unwrap()));
        let by = ActedBy::command(now);
        counted.store.fleet().apply(fleet, NewHashes::new(), by, &clock_at(NOW)).await.unwrap();
        turns.push(counted.relay.turns() - before);
    }
    turns
}

/// An apply costs as many round trips for hundreds of devices as for three.
#[tokio::test]
async fn an_apply_is_a_fixed_number_of_round_trips() {
    let counted = Requests::through(Relay::to).await;
    // Prepares the statements.
    applied(&counted, "warm", 3).await;
    let few = applied(&counted, "few", 3).await;
    let many = applied(&counted, "many", 400).await;
    // Now and then a connection plans a statement again, which is a round trip of its own.
    let grows = |(many, few): (&usize, &usize)| *many > few + 3;
    assert!(!many.iter().zip(&few).any(grows), "{many:?} and {few:?} round trips");
    assert!(few.iter().all(|turns| *turns < 60), "{few:?}");
}

/// A batch of a device that moved takes about as many round trips as any other, however many orders
/// it has.
#[tokio::test]
async fn orders_of_a_moved_device_take_no_round_trip_each() {
    let counted = Requests::through(Relay::to).await;
    let (group, since) = (GroupId::parse("b").ok(), Some(UnixMs(500)));
    let devices = vec![DeviceEntry { group, since, ..bare_device("d1") }];
    let fleet = Fleet { devices, ..Fleet::default() };
    counted
        .store
        .fleet()
        .apply(fleet, NewHashes::new(), ActedBy::command(NOW), &clock_at(NOW))
        .await
        .unwrap();
    let owners = no_owners();
    let mut round = 0;
    let mut turns = async |device: &str, count: i64| {
        let mut fewest = usize::MAX;
        for _ in 0..4 {
            round += 1;
            let orders = (0..count).map(|at| order(&format!("{round}-{at}"), device, 600 + at));
            let before = counted.relay.turns();
            let (batch, owners) = (Arc::new(orders.collect::<Vec<_>>()), Arc::clone(&owners));
            let options = ReceiveOptions::at(NOW);
            let outcomes = counted.store.intake().receive(batch, owners, options).await.unwrap();
            assert!(
                outcomes.iter().all(|outcome| *outcome == OrderOutcome::Accepted),
                "{outcomes:?}"
            );
            fewest = fewest.min(counted.relay.turns() - before);
        }
        fewest
    };
    let other = turns("d2", 200).await;
    let moved = turns("d1", 200).await;
    // One reads in which group the orders are stored. Statements that are sent together may be
    // answered in two parts.
    assert!(moved <= other + 3, "{moved} round trips, and {other} of another device");
}

/// Sums are read with the state of the orders. An update that moves a sale to another day reads
/// those of the earlier day, too.
#[tokio::test]
async fn sales_take_no_round_trip_of_their_own() {
    const DAY_MS: i64 = 86_400_000;
    let counted = Requests::through(Relay::to).await;
    let owners = no_owners();
    let sale_on = |id: &str, day: i64| {
        let goods = ["p", "q"].map(|goods_id| Sold {
            goods_id: goods_id.to_owned(),
            items: 1,
            amount: Minor(5),
            name: None,
        });
        let (amount, refund) = (Minor(10), Minor(0));
        let (currency, shipment) = (Currency::parse("EUR").unwrap(), ShipmentStatus::Success);
        let (at, goods) = (UnixMs(day * DAY_MS + 600), goods.to_vec());
        sold(order(id, "d2", 600), Sale { at, currency, amount, refund, shipment, goods })
    };
    let turns = async |batch: Vec<Incoming>, expected: OrderOutcome| {
        let before = counted.relay.turns();
        let options = ReceiveOptions::at(NOW);
        let outcomes =
            counted.store.intake().receive(Arc::new(batch), Arc::clone(&owners), options).await;
        assert!(outcomes.unwrap().iter().all(|outcome| *outcome == expected));
        counted.relay.turns() - before
    };
    // Unsold, sold, moved to another day.
    let mut fewest = [usize::MAX; 3];
    for round in 0..8 {
        let (id, unsold) = (format!("{round}"), order(&format!("u{round}"), "d2", 600));
        let batches = [
            (unsold, OrderOutcome::Accepted),
            (sale_on(&id, 0), OrderOutcome::Accepted),
            (sale_on(&id, 100), OrderOutcome::Updated),
        ];
        for (fewest, (one, expected)) in fewest.iter_mut().zip(batches) {
            *fewest = (*fewest).min(turns(vec![one], expected).await);
        }
    }
    let [unsold, sold, moved] = fewest;
    // The sums of the earlier day are read when they are written.
    assert_eq!((sold, moved), (unsold, unsold + 1), "{fewest:?}");
}
