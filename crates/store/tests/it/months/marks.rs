//! The marks of months: each change of a month deletes its mark.

use std::time::Duration;

use kiosque_model::sales::Rate;
use kiosque_model::{Currency, Day, UnixMs};
use kiosque_store::DatedRate;
use kiosque_testkit::entries::order;
use kiosque_testkit::{TestStore, open};

use super::{DAY_MS, NOW, best, closed, receive, roll_up, sale, sale_on};

/// Opens a store with sales in January and February 1970, both rolled up.
async fn rolled_up() -> TestStore {
    let fixture = TestStore::with_fleet().await;
    receive(&fixture.store, vec![sale_on("jan", "d1", 3), sale_on("feb", "d1", 40)]).await;
    assert_eq!(roll_up(&fixture.store).await, 2);
    assert_eq!(closed(&fixture), ["1|0", "1|31"]);
    fixture
}

#[tokio::test]
async fn each_change_of_a_month_opens_it_again() {
    for (name, batch, open) in [
        ("an order of another month", vec![sale_on("mar", "d1", 60)], vec!["1|0", "1|31"]),
        ("a late order", vec![sale_on("late", "d2", 5)], vec!["1|31"]),
        (
            "a sale that is none any more",
            vec![order("feb", "d1", 40 * DAY_MS + 1_000)],
            vec!["1|0"],
        ),
        ("a payment at another time", vec![sale_on("feb", "d1", 2)], vec![]),
        ("the same order", vec![sale_on("feb", "d1", 40)], vec!["1|0", "1|31"]),
        ("another group", vec![sale_on("e", "e1", 40)], vec!["1|0", "1|31"]),
        ("an order that is no sale", vec![order("none", "d1", 5)], vec!["1|0", "1|31"]),
    ] {
        let fixture = rolled_up().await;
        receive(&fixture.store, batch).await;
        assert_eq!(closed(&fixture), open, "{name}");
        assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0], "{name}");
        roll_up(&fixture.store).await;
        assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0], "{name}");
    }
}

/// A rate holds until the next one, so that all later months depend on it.
#[tokio::test]
async fn new_rates_open_the_months_from_their_day_on() {
    let fixture = rolled_up().await;
    let set = async |day: i64, rate: &str| {
        let currency = Currency::parse("EUR").unwrap();
        let rate = DatedRate { day: Day(day), currency, rate: Rate::parse(rate).unwrap() };
        fixture.store.set_rates(vec![rate]).await.unwrap();
        let left = closed(&fixture);
        roll_up(&fixture.store).await;
        assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0]);
        left
    };
    assert_eq!(set(300, "1.5").await, ["1|0", "1|31"]);
    assert_eq!(set(45, "1.5").await, ["1|0"]);
    assert_eq!(set(45, "1.5").await, ["1|0", "1|31"], "nothing changed");
    assert_eq!(set(-9, "1.25").await, [""; 0]);
}

/// A month that has not ended, or ended a moment ago, is not marked; one that was marked a moment
/// ago is not rolled up.
#[tokio::test]
async fn months_are_rolled_up_some_time_after_their_end() {
    let fixture = TestStore::with_fleet().await;
    receive(&fixture.store, vec![sale_on("jan", "d1", 3), sale_on("feb", "d1", 31)]).await;
    let end = UnixMs(31 * DAY_MS);
    let marked = async |after: i64| fixture.store.mark_months(end.plus_ms(after)).await.unwrap();
    assert_eq!(marked(DAY_MS - 1).await, 0);
    assert_eq!(marked(DAY_MS).await, 1);
    let now = end.plus_ms(DAY_MS);
    assert_eq!(fixture.store.close_months(now.plus_ms(59_999)).await.unwrap(), 0);
    // A change in between deletes the mark.
    receive(&fixture.store, vec![sale_on("late", "d1", 4)]).await;
    assert_eq!(fixture.store.close_months(now.plus_ms(60_000)).await.unwrap(), 0);
    assert_eq!(marked(DAY_MS).await, 1);
    assert_eq!(fixture.store.close_months(now.plus_ms(60_000)).await.unwrap(), 1);
    assert_eq!(closed(&fixture), ["1|0"]);
}

/// An older program, which deletes no marks, writes orders as well: the group's months do not count
/// from then on, until they are rolled up again.
#[tokio::test]
async fn months_do_not_count_after_a_change_by_an_older_program() {
    let fixture = rolled_up().await;
    let session = fixture.log_in("ops").await.unwrap();
    let sold = |items: i64| vec![("p".to_owned(), items, 1)];
    assert_eq!(best(&fixture.store, &session, &[]).await, sold(4));
    fixture.tamper("update sales_by_product set items = 7 where day = 3");
    fixture.tamper("update group_changes set last_change_no = last_change_no + 1");
    for devices in [&[][..], &["d1"]] {
        assert_eq!(best(&fixture.store, &session, devices).await, sold(9));
    }
    // By the next batch, or by the next marking.
    let batch = sale("today", "d1", NOW.0, ("EUR", &[("q", 1, 1)]));
    receive(&fixture.store, vec![batch]).await;
    assert_eq!(closed(&fixture), [""; 0]);
    roll_up(&fixture.store).await;
    assert_eq!(best(&fixture.store, &session, &[]).await, sold(9));
    fixture.tamper("update sales_by_product set items = 2 where day = 3");
    fixture.tamper("update group_changes set last_change_no = last_change_no + 1");
    assert_eq!(roll_up(&fixture.store).await, 2);
    assert_eq!(best(&fixture.store, &session, &[]).await, sold(4));
}

/// Two nodes roll up during a stream of late orders: no month is ever closed with other sales than
/// its days have.
#[tokio::test]
async fn months_are_never_stale_during_late_orders() {
    let fixture = TestStore::with_fleet().await;
    let node = open(&fixture.data, None).await.unwrap();
    let nodes = [fixture.store.clone(), node];
    let (done, is_done) = tokio::sync::watch::channel(false);
    let rolling = nodes.clone().map(|store| {
        let is_done = is_done.clone();
        tokio::spawn(async move {
            let mut closed = 0;
            while !*is_done.borrow() {
                closed += roll_up(&store).await;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            closed
        })
    });
    for round in 0..60 {
        let late = |device: &str, day: i64| sale_on(&format!("{device} {round}"), device, day);
        let batch = vec![late("d1", round % 3 * 31), late("d2", round % 5 * 31), late("e1", 3)];
        receive(&nodes[usize::from(round % 2 == 0)], batch).await;
        if round % 10 == 0 {
            let currency = Currency::parse("EUR").unwrap();
            let rate = Rate::parse(&format!("1.{round}1")).unwrap();
            let rate = DatedRate { day: Day(round), currency, rate };
            nodes[1].set_rates(vec![rate]).await.unwrap();
        }
        if round % 6 == 0 {
            assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0]);
        }
    }
    done.send(true).unwrap();
    let mut rolled_up = 0;
    for node in rolling {
        rolled_up += node.await.unwrap();
    }
    rolled_up += roll_up(&fixture.store).await;
    println!("{rolled_up} months were rolled up");
    assert_eq!(closed(&fixture).len(), 6);
    assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0]);
}
