//! Random sales, changes and rates: whatever the range, the reports say what a count of the plain
//! orders says.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use kiosque_model::sales::{Rate, Rates, Sale, Turnover, Usd};
use kiosque_model::{Currency, Day, PresentedToken, UnixMs, Zone};
use kiosque_store::{DatedRate, Incoming};
use kiosque_testkit::entries::order;
use kiosque_testkit::{Rng, TestData, TestStore, open, seed};

use super::{Answers, DAY_MS, answers, query, receive, sale};

const DEVICES: [&str; 3] = ["d1", "d2", "e1"];
const GOODS: [&str; 4] = ["", "p", "q", "\u{e9}"];
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

/// The orders of group `a` and all rates, without any sums.
#[derive(Default)]
struct Model {
    sales: BTreeMap<String, (String, Option<Sale>)>,
    rates: BTreeMap<(&'static str, Day), Rate>,
}

/// Items, amount, converted items and devices.
type Sold = (i64, Usd, i64, BTreeSet<String>);

/// The answers that the model can count.
#[derive(Debug, PartialEq)]
struct Counted {
    best: Vec<(String, (i64, Usd, i64, i64))>,
    by_device: BTreeMap<String, Turnover>,
    turnover: Turnover,
    trend: BTreeMap<Day, Turnover>,
}

impl Model {
    fn receive(&mut self, batch: &[Incoming]) {
        for one in batch.iter().filter(|one| one.device_code.as_str() != "e1") {
            let of = (one.device_code.as_str().to_owned(), one.sale.clone());
            self.sales.insert(one.order_id.as_str().to_owned(), of);
        }
    }

    fn count(&self, zone: &Zone, devices: &[&str], (start, end): (UnixMs, UnixMs)) -> Counted {
        let mut rates = Rates::default();
        for ((code, day), rate) in &self.rates {
            rates.add(Currency::parse(code).unwrap(), *day, *rate);
        }
        let (mut products, mut turnover) = (BTreeMap::<&str, Sold>::new(), Turnover::default());
        let (mut by_device, mut trend) = (BTreeMap::new(), BTreeMap::new());
        let sales = self.sales.values().filter_map(|(device, sale)| Some((device, sale.as_ref()?)));
        let in_range = sales.filter(|(device, sale)| {
            (devices.is_empty() || devices.contains(&device.as_str()))
                && start <= sale.at
                && sale.at < end
        });
        for (device, sale) in in_range {
            let (day, currency) = (zone.day_of(sale.at), sale.currency);
            let rate = rates.on(currency, day);
            let mut one = Turnover::default();
            one.add((currency, rate), sale.totals());
            turnover.join(&one);
            by_device.entry(device.clone()).or_insert_with(Turnover::default).join(&one);
            trend.entry(day).or_insert_with(Turnover::default).join(&one);
            for goods in &sale.goods {
                let sold = products.entry(&goods.goods_id).or_default();
                sold.0 += goods.items;
                if let Some(rate) = rate {
                    sold.1 = sold.1.plus(Usd::of(goods.amount, currency, rate));
                    sold.2 += goods.items;
                }
                if goods.items != 0 {
                    sold.3.insert(device.clone());
                }
            }
        }
        let best = products.into_iter().filter(|(_, sold)| sold.0 > 0).map(|(id, sold)| {
            (id.to_owned(), (sold.0, sold.1, sold.2, i64::try_from(sold.3.len()).unwrap()))
        });
        let mut best: Vec<_> = best.collect();
        best.sort_by_key(|(id, sold)| (Reverse(sold.0), Reverse(sold.1.cents()), id.clone()));
        Counted { best, by_device, turnover, trend }
    }
}

impl From<Answers> for Counted {
    fn from(answers: Answers) -> Counted {
        let best = answers.best.into_iter().map(|sales| {
            (sales.goods_id, (sales.items, sales.amount, sales.converted_items, sales.devices))
        });
        let by_device = answers.by_device.into_iter().map(|sales| (sales.code, sales.turnover));
        let sold = |(_, turnover): &(Day, Turnover)| *turnover != Turnover::default();
        Counted {
            best: best.collect(),
            by_device: by_device.collect(),
            turnover: answers.turnover,
            trend: answers.trend.into_iter().filter(sold).collect(),
        }
    }
}

struct Pair {
    store: TestStore,
    session: PresentedToken,
    model: Model,
}

impl Pair {
    async fn new(zone: &Zone) -> Pair {
        let data = TestData::new();
        open(&data, Some(zone)).await.unwrap();
        let store = TestStore::with_fleet_on(data).await;
        let session = store.log_in("ops").await.unwrap();
        Pair { store, session, model: Model::default() }
    }

    async fn change(&mut self, rng: &mut Rng) {
        if rng.one_in(4) {
            let rate = random_rate(rng);
            self.model.rates.insert((rate.currency.code(), rate.day), rate.rate);
            self.store.store.fleet().set_rates(vec![rate]).await.unwrap();
            return;
        }
        let batch: Vec<Incoming> = (0..1 + rng.below(9)).map(|_| random_order(rng)).collect();
        self.model.receive(&batch);
        receive(&self.store.store, batch).await;
    }

    async fn compare(&self, rng: &mut Rng, zone: &Zone) {
        let filters: [&[&str]; 4] = [&[], &[], &["d1"], &["d2", "d1", "d2"]];
        let (devices, range) = (rng.choose(&filters), random_range(rng, zone));
        let ask = query(devices, range);
        let answered = Counted::from(answers(&self.store.store, &self.session, &ask).await);
        assert_eq!(answered, self.model.count(zone, devices, range), "{ask:?}");
    }
}

async fn sums_are_those_of_the_orders(zone: &str, rounds: usize) {
    let (seed, zone) = (seed(), Zone::named(zone).unwrap());
    println!("seed {seed}");
    let mut rng = Rng::seeded(seed);
    let mut pair = Pair::new(&zone).await;
    for round in 0..rounds {
        pair.change(&mut rng).await;
        for _ in 0..4 {
            pair.compare(&mut rng, &zone).await;
        }
        if round % 10 == 9 {
            // The records have the times of UTC.
            let verified = pair.store.store.upkeep().verify().await.unwrap();
            let differences = verified.differences.iter().chain(&verified.by_other_rules);
            let of_sums = differences.filter(|it| !it.contains("counts as a sale at"));
            assert_eq!(of_sums.collect::<Vec<_>>(), [""; 0]);
        }
    }
}

#[tokio::test]
async fn sums_of_utc_are_those_of_the_orders() {
    sums_are_those_of_the_orders("UTC", 40).await;
}

/// Months begin and end with clock changes in between, and at other times than in UTC.
#[tokio::test]
async fn sums_of_a_zone_are_those_of_the_orders() {
    sums_are_those_of_the_orders("America/New_York", 40).await;
}
