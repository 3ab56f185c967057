//! Random operations on a store. There are few names of each kind, so that most operations meet
//! data that exists already.

use kiosque_model::fleet::{AccountEntry, DeviceEntry, Fleet, GroupEntry, ProductEntry};
use kiosque_model::order::ShipmentStatus;
use kiosque_model::sales::{Rate, Sale, Sold};
use kiosque_model::{Currency, Day, DeviceCode, Minor, UnixMs};
use kiosque_store::{DatedRate, Heartbeat, Incoming};

use crate::chance::Chance;
use crate::test_store::{
    account, aisle, group, group_id, known_account, known_device, number, order, product, record,
    sold,
};

/// In an order that differs from that of most collations.
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
    LogIn(&'static str),
    Switch(&'static str, &'static str),
    LogOut(&'static str),
    Hear(Vec<Heartbeat>),
    WriteActivity,
    SetRates(Vec<DatedRate>),
    Purge(i64),
    Look(&'static str),
}

/// Generates steps.
pub(crate) struct Teller {
    pub(crate) chance: Chance,
    sent: Vec<Incoming>,
}

impl Teller {
    pub(crate) fn new(seed: u64) -> Teller {
        Teller { chance: Chance::new(seed), sent: Vec::new() }
    }

    /// The first step, which the others need.
    pub(crate) fn opening() -> Step {
        let devices = DEVICES[..5].iter().zip(GROUPS[..3].iter().cycle());
        Step::Apply(Fleet {
            groups: GROUPS[..3].iter().map(|id| group(id)).collect(),
            accounts: ACCOUNTS[..2].iter().map(|name| account(name, &GROUPS[..3])).collect(),
            products: PRODUCTS[..3].iter().map(|id| product(id)).collect(),
            devices: devices.map(|(code, id)| crate::test_store::device(code, id)).collect(),
        })
    }

    pub(crate) fn step(&mut self, now: i64) -> Step {
        match self.chance.below(20) {
            0..=3 => Step::Apply(self.fleet(now)),
            4..=10 => Step::Receive(self.batch(now)),
            11 => Step::Archive(self.chance.below(now)),
            12 | 13 => Step::LogIn(self.chance.pick(&ACCOUNTS)),
            14 => Step::Switch(self.chance.pick(&ACCOUNTS), self.chance.pick(&GROUPS)),
            15 if self.chance.once_in(3) => Step::LogOut(self.chance.pick(&ACCOUNTS)),
            15 => Step::Hear(self.beats(now)),
            16 => Step::WriteActivity,
            17 => Step::SetRates(self.rates()),
            18 if self.chance.once_in(3) => Step::Purge(self.chance.below(now)),
            _ => Step::Look(self.chance.pick(&ACCOUNTS)),
        }
    }

    fn fleet(&mut self, now: i64) -> Fleet {
        let chance = &mut self.chance;
        let groups = chance.maybe(|chance| GroupEntry {
            active: chance.maybe(|chance| !chance.once_in(3)),
            ..group(chance.pick(&GROUPS))
        });
        let accounts = chance.maybe(|chance| {
            let groups = chance.maybe(|chance| chance.some(&GROUPS));
            AccountEntry {
                third_party_api: chance.maybe(|chance| !chance.once_in(4)),
                enabled: chance.maybe(|chance| !chance.once_in(4)),
                groups: groups.map(|ids| ids.into_iter().map(group_id).collect()),
                ..known_account(chance.pick(&ACCOUNTS))
            }
        });
        let products = chance.maybe(|chance| ProductEntry {
            default_price: chance.maybe(|chance| Minor(chance.below(900))),
            currency: Currency::parse(chance.pick(&CURRENCIES)).ok(),
            ..product(chance.pick(&PRODUCTS))
        });
        let devices = (0..chance.count(3)).map(|_| device(chance, now)).collect();
        let (groups, accounts) = (groups.into_iter().collect(), accounts.into_iter().collect());
        Fleet { groups, accounts, products: products.into_iter().collect(), devices }
    }

    /// Returns orders that are new, changed, or unchanged; some twice in a batch.
    pub(crate) fn batch(&mut self, now: i64) -> Vec<Incoming> {
        let count = 1 + self.chance.count(14);
        // Many orders with few names: numbers move between orders, and orders occur twice.
        let names = if self.chance.once_in(2) { (5, 8) } else { (40, 20) };
        let batch = (0..count).map(|_| match self.sent.len() {
            sent if sent > 0 && self.chance.once_in(5) => {
                let again = self.chance.count(sent.min(40));
                self.sent[sent - 1 - again].clone()
            }
            _ => {
                let new = incoming(&mut self.chance, names, now);
                self.sent.push(new.clone());
                new
            }
        });
        batch.collect()
    }

    pub(crate) fn beats(&mut self, now: i64) -> Vec<Heartbeat> {
        let beats = (0..=self.chance.count(5)).map(|_| {
            let device_code = DeviceCode::parse(self.chance.pick(&DEVICES)).unwrap();
            Heartbeat { device_code, at: UnixMs(self.chance.below(now)) }
        });
        beats.collect()
    }

    fn rates(&mut self) -> Vec<DatedRate> {
        let rates = (0..=self.chance.count(3)).map(|_| DatedRate {
            day: Day(self.chance.below(5)),
            currency: Currency::parse(self.chance.pick(&CURRENCIES)).unwrap(),
            rate: Rate::parse(self.chance.pick(&["1", "0.5", "1.25"])).unwrap(),
        });
        rates.collect()
    }
}

fn device(chance: &mut Chance, now: i64) -> DeviceEntry {
    let goods = ["1", "2", "A"];
    DeviceEntry {
        name: Some(format!("Device {}", chance.below(9))),
        group: chance.maybe(|chance| group_id(chance.pick(&GROUPS))),
        since: chance.maybe(|chance| UnixMs(chance.below(now + 50))),
        enabled: chance.maybe(|chance| !chance.once_in(2)),
        aisles: chance.maybe(|chance| {
            let codes = chance.some(&goods);
            let aisles = codes.into_iter();
            aisles.map(|code| aisle(code, chance.pick(&PRODUCTS), chance.below(9))).collect()
        }),
        ..known_device(chance.pick(&DEVICES))
    }
}

fn incoming(chance: &mut Chance, (orders, numbers): (usize, i64), now: i64) -> Incoming {
    let place = chance.count(orders);
    let id = format!("o{place}");
    // Mostly the device of the same order before.
    let device = match chance.below(30) {
        0 => "nobody",
        1 | 2 => chance.pick(&DEVICES),
        _ => DEVICES[place % DEVICES.len()],
    };
    let came = Incoming {
        trade_no: chance.maybe(|chance| number(&format!("T{}", chance.below(5)))).flatten(),
        trade_no_in: chance
            .maybe(|chance| number(&format!("I{}", chance.below(numbers))))
            .flatten(),
        record: record(&format!("{id} {}", chance.below(3))),
        ..order(&id, device, chance.below(now + 20))
    };
    if chance.once_in(3) { came } else { sold(came, sale(chance)) }
}

fn sale(chance: &mut Chance) -> Sale {
    let goods = chance.some(&PRODUCTS).into_iter().map(|goods_id| Sold {
        goods_id: goods_id.to_owned(),
        items: 1 + chance.below(3),
        amount: Minor(chance.below(500)),
        name: chance.maybe(|chance| format!("Good {}", chance.below(9))),
    });
    Sale {
        goods: goods.collect(),
        at: UnixMs(chance.below(4 * DAY_MS)),
        currency: Currency::parse(chance.pick(&CURRENCIES)).unwrap(),
        amount: Minor(chance.below(2_000)),
        refund: Minor(chance.below(200)),
        shipment: ShipmentStatus::of(chance.below(3)).unwrap(),
    }
}
