//! Random sales, changes and rates: a store with roll-ups answers as one without, whatever the
//! range.

use kiosque_model::sales::Rate;
use kiosque_model::{Currency, Day, PresentedToken, UnixMs, Zone};
use kiosque_store::{DatedRate, Incoming, Store};
use kiosque_testkit::entries::order;
use kiosque_testkit::{Rng, TestData, TestStore, open, seed};

use super::{DAY_MS, NOW, answers, closed, query, receive, roll_up, sale};

const DEVICES: [&str; 3] = ["d1", "d2", "e1"];
const GOODS: [&str; 3] = ["p", "q", "\u{e9}"];
const CURRENCIES: [&str; 3] = ["EUR", "USD", "JPY"];

pub(super) fn random_order(rng: &mut Rng) -> Incoming {
    let number = rng.below(60);
    let (id, device) = (format!("o{number}"), DEVICES[number % DEVICES.len()]);
    // The order starts once; its payment may come at any time.
    let start = i64::try_from(number).unwrap() * DAY_MS;
    if rng.one_in(6) {
        return order(&id, device, start);
    }
    let at = rng.range(-20 * DAY_MS..380 * DAY_MS);
    let lines: Vec<(&str, i64, i64)> = rng
        .subset(&GOODS)
        .into_iter()
        .map(|goods_id| (goods_id, rng.range(0..3), rng.range(-50..500)))
        .collect();
    let paid = sale(&id, device, at, (rng.choose(&CURRENCIES), &lines));
    Incoming { trade_start: UnixMs(start), ..paid }
}

pub(super) fn random_rate(rng: &mut Rng) -> DatedRate {
    DatedRate {
        day: Day(rng.range(-40..370)),
        currency: Currency::parse(rng.choose(&["EUR", "JPY"])).unwrap(),
        rate: Rate::parse(rng.choose(&["1.0837", "0.000000000001", "2", "0.0071"])).unwrap(),
    }
}

/// A range that begins and ends at the boundary of a month, of a day, or anywhere.
fn random_range(rng: &mut Rng, zone: &Zone) -> (UnixMs, UnixMs) {
    let mut time = || {
        let at = UnixMs(rng.range(-40 * DAY_MS..400 * DAY_MS));
        match rng.range(0..5) {
            0 => at,
            1 => zone.start_of(zone.day_of(at)),
            // Most sales of the month are outside of such a range, or none is.
            2 => zone.start_of_month(at).plus_ms(rng.range(-DAY_MS..DAY_MS)),
            _ => zone.start_of_month(at),
        }
    };
    let (one, other) = (time(), time());
    (one.min(other), one.max(other))
}

struct Pair {
    rolled_up: TestStore,
    by_day: TestStore,
    session: [PresentedToken; 2],
}

impl Pair {
    async fn new(zone: &Zone) -> Pair {
        let data = || async {
            let data = TestData::new();
            open(&data, Some(zone)).await.unwrap();
            TestStore::with_fleet_on(data).await
        };
        let (rolled_up, by_day) = (data().await, data().await);
        let session = [rolled_up.log_in("ops").await.unwrap(), by_day.log_in("ops").await.unwrap()];
        Pair { rolled_up, by_day, session }
    }

    fn stores(&self) -> [&Store; 2] {
        [&self.rolled_up.store, &self.by_day.store]
    }

    async fn compare(&self, rng: &mut Rng, zone: &Zone) {
        let filters: [&[&str]; 4] = [&[], &[], &["d1"], &["d2", "d1", "d2"]];
        let ask = query(rng.choose(&filters), random_range(rng, zone));
        let [one, other] = self.stores();
        let rolled_up = answers(one, &self.session[0], &ask).await;
        let by_day = answers(other, &self.session[1], &ask).await;
        assert_eq!(rolled_up, by_day, "{ask:?}");
    }
}

async fn months_answer_as_their_days(zone: &str, rounds: usize) {
    let (seed, zone) = (seed(), Zone::named(zone).unwrap());
    println!("seed {seed}");
    let mut rng = Rng::seeded(seed);
    let pair = Pair::new(&zone).await;
    let mut most_closed = 0;
    for round in 0..rounds {
        match rng.range(0..4) {
            0 => {
                let rates = vec![random_rate(&mut rng)];
                for store in pair.stores() {
                    store.set_rates(rates.clone()).await.unwrap();
                }
            }
            _ => {
                let batch: Vec<Incoming> =
                    (0..1 + rng.below(9)).map(|_| random_order(&mut rng)).collect();
                let [one, other] = pair.stores();
                assert_eq!(receive(one, batch.clone()).await, receive(other, batch).await);
            }
        }
        if rng.one_in(3) {
            roll_up(&pair.rolled_up.store).await;
            most_closed = most_closed.max(closed(&pair.rolled_up).len());
        }
        for _ in 0..4 {
            pair.compare(&mut rng, &zone).await;
        }
        if round % 10 == 9 {
            let verified = pair.rolled_up.store.verify().await.unwrap();
            let of_months = verified.differences.iter().filter(|it| it.contains("the month of"));
            assert_eq!(of_months.count(), 0, "{:?}", verified.differences);
        }
    }
    assert!(most_closed > 8, "only {most_closed} months were closed until {NOW:?}");
}

#[tokio::test]
async fn months_of_utc_answer_as_their_days() {
    months_answer_as_their_days("UTC", 40).await;
}

/// Months begin and end with clock changes in between, and at other times than those of UTC.
#[tokio::test]
async fn months_of_a_zone_answer_as_their_days() {
    months_answer_as_their_days("America/New_York", 40).await;
}
