//! Random operations on a store. There are few names of each kind, so that most operations meet
//! data that exists already.

use kiosque_model::fleet::{AccountEntry, DeviceEntry, Fleet, GroupEntry, ProductEntry};
use kiosque_model::order::ShipmentStatus;
use kiosque_model::sales::{Sale, Sold};
use kiosque_model::{Currency, Minor, UnixMs};
use kiosque_store::{DatedRate, Heartbeat, Incoming, Returning};
use kiosque_testkit::Rng;
use kiosque_testkit::entries::{
    account, aisle, bare_account, bare_device, beat, group, group_id, order, product, rate, sold,
    titled, trade_no,
};

/// In an order that differs from the order of most collations.
pub(crate) const GROUPS: [&str; 4] = ["b", "B-1", "a_1", "a-1"];
pub(crate) const ACCOUNTS: [&str; 3] = ["ops", "Zed", "other"];
const PRODUCTS: [&str; 4] = ["p", "Q", "p-1", "\u{e9}"];
pub(crate) const DEVICES: [&str; 6] = ["d1", "D2", "d-3", "d_4", "d10", "e5"];
const CURRENCIES: [&str; 3] = ["EUR", "USD", "JPY"];
const DAY_MS: i64 = 86_400_000;

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Apply(Fleet),
    Receive(Vec<Incoming>),
    Archive(i64),
    ArchiveExactly(i64, Returning),
    Delete(&'static str),
    LogIn(&'static str),
    Switch(&'static str, &'static str),
    LogOut(&'static str),
    Heartbeats(Vec<Heartbeat>),
    WriteActivity,
    SetRates(Vec<DatedRate>),
    Purge(i64),
    Look(&'static str),
}

/// Generates steps.
pub(crate) struct StepGenerator {
    pub(crate) rng: Rng,
    sent: Vec<Incoming>,
}

impl StepGenerator {
    pub(crate) fn new(seed: u64) -> StepGenerator {
        StepGenerator { rng: Rng::seeded(seed), sent: Vec::new() }
    }

    /// The first step, which the others need.
    pub(crate) fn opening() -> Step {
        let devices = DEVICES[..5].iter().zip(GROUPS[..3].iter().cycle());
        Step::Apply(Fleet {
            groups: GROUPS[..3].iter().map(|id| group(id)).collect(),
            accounts: ACCOUNTS[..2].iter().map(|name| account(name, &GROUPS[..3])).collect(),
            products: PRODUCTS[..3].iter().map(|id| product(id)).collect(),
            devices: devices.map(|(code, id)| kiosque_testkit::entries::device(code, id)).collect(),
        })
    }

    pub(crate) fn step(&mut self, now: i64) -> Step {
        match self.rng.range(0..22) {
            0..=3 => Step::Apply(self.fleet(now)),
            4..=10 => Step::Receive(self.batch(now)),
            11 => Step::Archive(self.rng.range(0..now)),
            12 | 13 => Step::LogIn(self.rng.choose(&ACCOUNTS)),
            14 => Step::Switch(self.rng.choose(&ACCOUNTS), self.rng.choose(&GROUPS)),
            15 if self.rng.one_in(3) => Step::LogOut(self.rng.choose(&ACCOUNTS)),
            15 => Step::Heartbeats(self.beats(now)),
            16 => Step::WriteActivity,
            17 => Step::SetRates(self.rates()),
            18 if self.rng.one_in(3) => Step::Purge(self.rng.range(0..now)),
            19 => Step::Delete(self.rng.choose(&DEVICES[4..])),
            20 => {
                let returning = self.rng.choose(&[Returning::Allowed, Returning::Refused]);
                Step::ArchiveExactly(self.rng.range(0..now), returning)
            }
            _ => Step::Look(self.rng.choose(&ACCOUNTS)),
        }
    }

    fn fleet(&mut self, now: i64) -> Fleet {
        let rng = &mut self.rng;
        let groups = rng.option(|rng| GroupEntry {
            active: rng.option(|rng| !rng.one_in(3)),
            ..group(rng.choose(&GROUPS))
        });
        let accounts = rng.option(|rng| {
            let groups = rng.option(|rng| rng.subset(&GROUPS));
            AccountEntry {
                third_party_api: rng.option(|rng| !rng.one_in(4)),
                enabled: rng.option(|rng| !rng.one_in(4)),
                groups: groups.map(|ids| ids.into_iter().map(group_id).collect()),
                ..bare_account(rng.choose(&ACCOUNTS))
            }
        });
        let products = rng.option(|rng| ProductEntry {
            default_price: rng.option(|rng| Minor(rng.range(0..900))),
            currency: Currency::parse(rng.choose(&CURRENCIES)).ok(),
            ..product(rng.choose(&PRODUCTS))
        });
        let codes = rng.subset(&DEVICES).into_iter().take(2);
        let devices = codes.map(|code| device(rng, code, now)).collect();
        let (groups, accounts) = (groups.into_iter().collect(), accounts.into_iter().collect());
        Fleet { groups, accounts, products: products.into_iter().collect(), devices }
    }

    /// Returns orders that are new, changed, or unchanged; some twice in a batch.
    pub(crate) fn batch(&mut self, now: i64) -> Vec<Incoming> {
        let count = 1 + self.rng.below(14);
        // Many orders with few names: numbers move between orders, and orders occur twice.
        let names = if self.rng.one_in(2) { (5, 8) } else { (40, 20) };
        let batch = (0..count).map(|_| match self.sent.len() {
            sent if sent > 0 && self.rng.one_in(5) => {
                let again = self.rng.below(sent.min(40));
                self.sent[sent - 1 - again].clone()
            }
            _ => {
                let new = incoming(&mut self.rng, names, now);
                self.sent.push(new.clone());
                new
            }
        });
        batch.collect()
    }

    pub(crate) fn beats(&mut self, now: i64) -> Vec<Heartbeat> {
        let beats = (0..=self.rng.below(5))
            .map(|_| beat(self.rng.choose(&DEVICES), UnixMs(self.rng.range(0..now))));
        beats.collect()
    }

    fn rates(&mut self) -> Vec<DatedRate> {
        let rates = (0..=self.rng.below(3)).map(|_| {
            let (day, code) = (self.rng.range(0..5), self.rng.choose(&CURRENCIES));
            rate(code, day, self.rng.choose(&["1", "0.5", "1.25"]))
        });
        rates.collect()
    }
}

fn device(rng: &mut Rng, code: &str, now: i64) -> DeviceEntry {
    let goods = ["1", "2", "A"];
    DeviceEntry {
        name: Some(format!("Device {}", rng.range(0..9))),
        group: rng.option(|rng| group_id(rng.choose(&GROUPS))),
        since: rng.option(|rng| UnixMs(rng.range(0..now + 50))),
        enabled: rng.option(|rng| !rng.one_in(2)),
        aisles: rng.option(|rng| {
            let codes = rng.subset(&goods);
            let aisles = codes.into_iter();
            aisles.map(|code| aisle(code, rng.choose(&PRODUCTS), rng.range(0..9))).collect()
        }),
        ..bare_device(code)
    }
}

fn incoming(rng: &mut Rng, (orders, numbers): (usize, i64), now: i64) -> Incoming {
    let place = rng.below(orders);
    let id = format!("o{place}");
    // Mostly the device of the same order before, and not the last one, which can be deleted.
    let device = match rng.range(0..30) {
        0 => "absent",
        1 | 2 => rng.choose(&DEVICES),
        _ => DEVICES[place % (DEVICES.len() - 1)],
    };
    let start = rng.range(0..now + 20);
    let came = Incoming {
        trade_no: rng.option(|rng| trade_no(&format!("T{}", rng.range(0..5)))).flatten(),
        trade_no_in: rng.option(|rng| trade_no(&format!("I{}", rng.range(0..numbers)))).flatten(),
        ..titled(order(&id, device, start), &format!("{id} {}", rng.range(0..3)))
    };
    if rng.one_in(3) { came } else { sold(came, sale(rng)) }
}

fn sale(rng: &mut Rng) -> Sale {
    let goods = rng.subset(&PRODUCTS).into_iter().map(|goods_id| Sold {
        goods_id: goods_id.to_owned(),
        items: 1 + rng.range(0..3),
        amount: Minor(rng.range(0..500)),
        name: rng.option(|rng| format!("Good {}", rng.range(0..9))),
    });
    Sale {
        goods: goods.collect(),
        at: UnixMs(rng.range(0..4 * DAY_MS)),
        currency: Currency::parse(rng.choose(&CURRENCIES)).unwrap(),
        amount: Minor(rng.range(0..2_000)),
        refund: Minor(rng.range(0..200)),
        shipment: ShipmentStatus::of(rng.range(0..3)).unwrap(),
    }
}
