//! Every business request takes exactly one round trip, counted on the wire: a relay between the
//! store and its PostgreSQL counts how often a request follows an answer.

use std::sync::Arc;

use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_model::order::{PayStatus, ShipmentStatus};
use kiosque_model::{ActedBy, Day};
use kiosque_store::{
    FleetSalesQuery, Incoming, Listing, NewHashes, OnlineSince, OrderFilter, OrderOutcome,
    OrdersOf, ReceiveOptions,
};
use kiosque_testkit::entries::{aisle, device, group, moved, order, rate, sale, sold};
use kiosque_testkit::{NOW, clock_at, no_owners};

use super::relay::Relay;
use super::requests::{Requests, all_requests};

/// Statements are compiled once a connection, and the pool has eight of them.
const WARM_UP: usize = 16;
/// The most rounds. A connection plans its statements again at ages that double, which is a
/// separate round trip: it does not happen in each of this many rounds, however slow they are.
const ROUNDS_MAX: i64 = 20;

#[tokio::test]
async fn every_business_request_is_one_round_trip() {
    let counted = Requests::through(Relay::to).await;
    for name in &all_requests() {
        for _ in 0..WARM_UP {
            counted.ask(name).await;
        }
        let mut fewest = usize::MAX;
        for _ in 0..ROUNDS_MAX {
            let before = counted.relay.turns();
            for _ in 0..WARM_UP {
                counted.ask(name).await;
            }
            fewest = fewest.min(counted.relay.turns() - before);
            if fewest == WARM_UP {
                break;
            }
        }
        assert_eq!(fewest, WARM_UP, "{name}");
    }
}

/// Values that are cached and have changed are read again in the same round trip.
#[tokio::test]
async fn a_business_request_after_a_change_is_one_round_trip() {
    let counted = Requests::through(Relay::to).await;
    let mut more = Vec::new();
    for name in all_requests() {
        for _ in 0..WARM_UP {
            counted.ask(&name).await;
        }
        let mut fewest = usize::MAX;
        for round in 0..ROUNDS_MAX {
            let aisles = Some(vec![aisle("1", "p", round)]);
            counted.fixture.apply_devices(vec![DeviceEntry { aisles, ..device("d1", "a") }]).await;
            let sale = sale(600, "EUR", &[("p", 1, 7)]);
            let sold = sold(order(&format!("{name} {round}"), "d1", 600), sale);
            counted.fixture.receive_new(vec![sold]).await;
            let before = counted.relay.turns();
            counted.ask(&name).await;
            fewest = fewest.min(counted.relay.turns() - before);
            if fewest == 1 {
                break;
            }
        }
        if fewest > 1 {
            more.push((name, fewest));
        }
    }
    assert_eq!(more, []);
}

/// Returns the round trips of applies of `count` devices: new ones with aisles, the same with other
/// aisles, the same again, and the same in another group.
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
    // Now and then a connection plans a statement again, which is a separate round trip.
    let grows = |(many, few): (&usize, &usize)| *many > few + 3;
    assert!(!many.iter().zip(&few).any(grows), "{many:?} and {few:?} round trips");
    assert!(few.iter().all(|turns| *turns < 60), "{few:?}");
}

/// Adds groups `PREFIX0`, `PREFIX1` and so on, each with a device with an aisle.
async fn add_groups(counted: &Requests, prefix: &str, count: usize) {
    let ids: Vec<String> = (0..count).map(|number| format!("{prefix}{number}")).collect();
    let devices = ids.iter().map(|id| DeviceEntry {
        aisles: Some(vec![aisle("1", "p", 1)]),
        ..device(&format!("d-{id}"), id)
    });
    let (groups, devices) = (ids.iter().map(|id| group(id)).collect(), devices.collect());
    counted.fixture.apply(Fleet { groups, devices, ..Fleet::default() }).await.unwrap();
}

/// Stores a sale of the device of each group, and an order that is none.
async fn sell(counted: &Requests, groups: &[(&str, usize)], round: &str) {
    let orders = groups.iter().flat_map(|(prefix, count)| {
        (0..*count).flat_map(move |number| {
            let (id, device) = (format!("{prefix}{number}-{round}"), format!("d-{prefix}{number}"));
            let sale = sale(600, "EUR", &[("q", 1, 7)]);
            [sold(order(&id, &device, 600), sale), order(&format!("u{id}"), &device, 600)]
        })
    });
    let (batch, options) = (Arc::new(orders.collect::<Vec<_>>()), ReceiveOptions::at(NOW));
    let received = counted.store.intake().receive(batch, no_owners(), options).await.unwrap();
    let is_new = |outcome: &OrderOutcome| *outcome == OrderOutcome::Accepted;
    assert!(received.outcomes.iter().all(is_new), "{received:?}");
}

/// Makes a request for all groups of the pages of the operator, and returns the round trips.
async fn asked(counted: &Requests, page: &str) -> usize {
    let before = counted.relay.turns();
    match page {
        // The 28 days up to now, or days without sales.
        "overview" | "empty overview" => {
            let first_day = if page == "overview" { Day(-27) } else { Day(1) };
            let sales = counted.store.reports().fleet_sales(FleetSalesQuery {
                group: None,
                totals_from: first_day,
                first_day,
                last_day: Day(first_day.0 + 27),
                products_max: 9,
                online: OnlineSince(NOW),
                now: NOW,
            });
            sales.await.unwrap().unwrap();
        }
        "refill" => {
            assert!(!counted.store.inventory().refill(None, None, 9, NOW).await.unwrap().is_empty())
        }
        _ => {
            let shipment = vec![ShipmentStatus::Success];
            let payment = vec![PayStatus::Paid, PayStatus::Unpaid];
            let filter = match page {
                "orders" => OrderFilter::default(),
                "sales" => OrderFilter { payment, ..OrderFilter::default() },
                _ => OrderFilter { shipment, ..OrderFilter::default() },
            };
            let listing = Listing { after: None, limit: 9 };
            counted.store.inventory().orders_newest_first(None, filter, listing).await.unwrap();
        }
    }
    counted.relay.turns() - before
}

/// Returns the round trips of each page: after new rates, and after new orders of all groups.
async fn of_pages(counted: &Requests, groups: &[(&str, usize)]) -> Vec<(&'static str, [usize; 2])> {
    let pages = ["overview", "empty overview", "refill", "orders", "sales", "shipped"];
    let mut turns = pages.map(|page| (page, [usize::MAX; 2]));
    // Statements are prepared first, and now and then a connection plans one again.
    for round in 0..4 {
        for (page, fewest) in &mut turns {
            let rate = rate("EUR", -99, &format!("1.{}", round + 1));
            counted.store.fleet().set_rates(vec![rate]).await.unwrap();
            let cold = asked(counted, page).await;
            sell(counted, groups, &format!("{page}-{round}-{}", groups.len())).await;
            let changed = asked(counted, page).await;
            *fewest = [fewest[0].min(cold), fewest[1].min(changed)];
        }
    }
    turns.to_vec()
}

/// Pages over all groups take as many round trips for 60 groups as for three.
#[tokio::test]
async fn a_page_over_all_groups_is_a_fixed_number_of_round_trips() {
    let counted = Requests::through(Relay::to).await;
    add_groups(&counted, "few", 3).await;
    // One of them has moved, so that the sales of an earlier group count.
    let devices = vec![moved("d-few0", "few1", None)];
    counted.fixture.apply_at(Fleet { devices, ..Fleet::default() }, NOW).await.unwrap();
    let few = of_pages(&counted, &[("few", 3)]).await;
    add_groups(&counted, "many", 57).await;
    let many = of_pages(&counted, &[("few", 3), ("many", 57)]).await;
    for ((page, of_few), (_, of_many)) in few.iter().zip(&many) {
        // Statements that are sent together may be answered in two parts.
        let grows = of_many.iter().zip(of_few).any(|(many, few)| *many > few + 3);
        assert!(!grows, "{page}: {of_many:?} and {of_few:?} round trips");
        assert!(of_few.iter().all(|turns| *turns <= 24), "{page}: {of_few:?}");
    }
}

/// A filtered list reads many orders with each statement, however few it may return.
#[tokio::test]
async fn a_filter_that_few_orders_match_takes_few_round_trips() {
    let counted = Requests::through(Relay::to).await;
    let orders: Vec<Incoming> =
        (0..300).map(|at| order(&format!("f{at}"), "d2", 600 + at)).collect();
    let options = ReceiveOptions::at(NOW);
    counted.store.intake().receive(Arc::new(orders), no_owners(), options).await.unwrap();
    let mut fewest = usize::MAX;
    for _ in 0..3 {
        let payment = vec![PayStatus::Refunding];
        let filter = OrderFilter { payment, ..OrderFilter::default() };
        let of = OrdersOf { filter, ..OrdersOf::default() };
        let before = counted.relay.turns();
        let listing = Listing { after: None, limit: 1 };
        let listed = counted.store.inventory().orders(of, listing).await.unwrap();
        assert_eq!((listed.entries.len(), listed.next), (0, None));
        fewest = fewest.min(counted.relay.turns() - before);
    }
    assert!(fewest < 20, "{fewest} round trips");
}

/// A batch of a device that moved takes about as many round trips as any other, however many orders
/// it has.
#[tokio::test]
async fn orders_of_a_moved_device_take_no_round_trip_each() {
    let counted = Requests::through(Relay::to).await;
    counted.fixture.apply_devices(vec![moved("d1", "b", Some(500))]).await;
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
            let received = counted.store.intake().receive(batch, owners, options).await.unwrap();
            assert!(
                received.outcomes.iter().all(|outcome| *outcome == OrderOutcome::Accepted),
                "{received:?}"
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
/// the sums of the earlier day, too.
#[tokio::test]
async fn sales_take_no_round_trip_of_their_own() {
    const DAY_MS: i64 = 86_400_000;
    let counted = Requests::through(Relay::to).await;
    let owners = no_owners();
    let sale_on = |id: &str, day: i64| {
        let sale = sale(day * DAY_MS + 600, "EUR", &[("p", 1, 5), ("q", 1, 5)]);
        sold(order(id, "d2", 600), sale)
    };
    let turns = async |batch: Vec<Incoming>, expected: OrderOutcome| {
        let before = counted.relay.turns();
        let options = ReceiveOptions::at(NOW);
        let received =
            counted.store.intake().receive(Arc::new(batch), Arc::clone(&owners), options).await;
        assert!(received.unwrap().outcomes.iter().all(|outcome| *outcome == expected));
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
