//! A device moves between groups at random, now, later and retroactively, while its orders arrive
//! in time and late. Each group sees the orders traded while it owned the device, and no others
//! (SCOPE-6).

use std::time::Duration;

use kiosque_model::{UnixMs, Zone};
use kiosque_server::Settings;
use kiosque_testkit::{
    BY_DEVICE_PATH, DEVICES_PATH, FleetToml, ORDERS_PATH, Rng, START_MS, TestServer, seed, size,
};
use serde_json::json;

use super::Worker;

const GROUPS: usize = 3;
const ONLINE_MS: i64 = 600_000;

/// The state that the answers must show.
struct Model {
    now: i64,
    /// The owners, each with the start of its ownership.
    periods: Vec<(usize, i64)>,
    /// For each group: its orders in the order of their arrival, with the start of their trades.
    orders: [Vec<(String, i64)>; GROUPS],
}

impl Model {
    fn owner_at(&self, at: i64) -> usize {
        self.periods.iter().rev().find(|(_, since)| *since <= at).unwrap().0
    }

    /// Makes the move if it is possible, and returns whether it was. It replaces moves that have
    /// not begun: those from its time on, and the last one if it is to the same group.
    fn give(&mut self, group: usize, since: Option<i64>) -> bool {
        let from = since.unwrap_or(self.now);
        let is_replaced = |(owner, begins): &(usize, i64)| {
            *begins > self.now && (*begins >= from || *owner == group)
        };
        let replaced = self.periods.iter().rev().take_while(|one| is_replaced(one)).count();
        let kept = self.periods.len() - replaced;
        let (owner, owner_since) = self.periods[kept - 1];
        // A move without a time follows one in the same millisecond.
        let starts = since.unwrap_or(self.now.max(owner_since + 1));
        let possible = if owner == group {
            since.is_none_or(|since| owner_since == 0 || since == owner_since)
        } else {
            // A move in the past follows the orders of the owner before it.
            let is_past = since.is_some_and(|since| since <= self.now);
            let latest = self.orders[owner].iter().map(|(_, start)| *start).max().unwrap_or(0);
            starts > owner_since && (!is_past || starts > latest)
        };
        if possible {
            self.periods.truncate(kept);
            if owner != group {
                self.periods.push((group, starts));
            }
        }
        possible
    }

    /// Returns the group's orders, newest first, if it owns the device or ever did.
    fn listed(&self, group: usize) -> Option<Vec<&str>> {
        self.periods.iter().find(|(owner, since)| *owner == group && *since <= self.now)?;
        Some(self.orders[group].iter().rev().map(|(id, _)| id.as_str()).collect())
    }
}

struct Walk {
    server: TestServer,
    workers: Vec<Worker>,
    code: String,
    model: Model,
    arrived: usize,
}

impl Walk {
    async fn step(&mut self, rng: &mut Rng) {
        match rng.below(4) {
            0 => {
                let ms = rng.range(1..20 * 60_000);
                self.model.now += ms;
                self.server.advance(Duration::from_millis(u64::try_from(ms).unwrap()));
            }
            1 => self.give(rng).await,
            _ => self.trade(rng).await,
        }
    }

    async fn give(&mut self, rng: &mut Rng) {
        let group = rng.below(GROUPS);
        let now = self.model.now;
        let since = match rng.below(4) {
            0 => Some(now + rng.range(1..30 * 60_000)),
            1 => Some(now - rng.range(0..30 * 60_000)),
            _ => None,
        };
        // Fleet files have times in seconds.
        let since = since.map(|since| since / 1_000 * 1_000);
        let mut fleet = format!("[[device]]\ncode = \"{}\"\ngroup = \"g{group}\"\n", self.code);
        if let Some(since) = since {
            fleet += &format!("since = \"{}\"\n", Zone::utc().text(UnixMs(since)));
        }
        let given = self.server.apply(&fleet).await;
        assert_eq!(given.is_ok(), self.model.give(group, since), "{fleet}: {given:?}");
    }

    /// Some orders arrive in one file, which numbers them by the start of their trades.
    async fn trade(&mut self, rng: &mut Rng) {
        let mut arriving = Vec::new();
        let mut file = String::new();
        for _ in 0..1 + rng.below(4) {
            let ago = if rng.one_in(2) { 1 } else { rng.range(1..90 * 60_000) };
            let start = (self.model.now - ago) / 1_000 * 1_000;
            let id = format!("o{}", self.arrived);
            self.arrived += 1;
            let time = Zone::utc().text(UnixMs(start));
            file += &json!({
                "orderId": id, "deviceCode": self.code, "currency": "USD", "totalAmount": 100,
                "tradeStartTime": time, "payEndTime": time,
            })
            .to_string();
            file.push('\n');
            arriving.push((id, start));
        }
        self.server.import_valid(file).await;
        arriving.sort_by_key(|(_, start)| *start);
        for (id, start) in arriving {
            self.model.orders[self.model.owner_at(start)].push((id, start));
        }
    }

    async fn check(&mut self) {
        for (group, worker) in self.workers.iter_mut().enumerate() {
            let body = json!({"deviceCode": self.code, "includeHistory": true});
            let reply = worker.ask(&format!("{ORDERS_PATH}?size=1000"), &body).await;
            let ids = reply.data()["records"].as_array().map(|records| {
                records.iter().map(|record| record["orderId"].as_str().unwrap()).collect()
            });
            assert_eq!(ids, self.model.listed(group), "group {group}: {reply:?}");

            // Of a device that the group once owned, it sees its own sales alone.
            let body = json!({"deviceCodes": [self.code], "startTimestamp": START_MS - 86_400_000});
            let sold = worker.ask(BY_DEVICE_PATH, &body).await;
            let want = self.model.listed(group).map(|orders| match orders.len() {
                0 => json!([]),
                count => json!([{
                    "deviceCode": self.code, "deviceName": "K", "orderCount": count,
                    "salesCount": 0, "salesAmount": count as f64,
                }]),
            });
            assert_eq!((sold.code() == 200).then(|| sold.data()), want.as_ref(), "group {group}");

            let page = worker.ask(DEVICES_PATH, &json!({"deviceCode": self.code})).await;
            let owns = self.model.owner_at(self.model.now) == group;
            // For a group that never owned it, the device does not exist.
            let total = self.model.listed(group).map(|_| i64::from(owns));
            assert_eq!(page.data()["total"].as_i64(), total, "group {group}: {page:?}");
            if owns {
                let last = self.model.orders[group].iter().map(|(_, start)| *start).max();
                let record = &page.data()["records"][0];
                assert_eq!(record["lastActiveTimestamp"], json!(last));
                let online = last.is_some_and(|last| last >= self.model.now - ONLINE_MS);
                assert_eq!(record["isOnline"], i64::from(online));
            }
        }
    }
}

#[tokio::test]
async fn each_group_sees_the_trades_of_its_ownership() {
    let (seed, kiosks) = (seed(), size(30, 600));
    println!("{kiosks} kiosks wander from seed {seed}");
    let mut fleet = FleetToml::new();
    for number in 0..GROUPS {
        let group = format!("g{number}");
        fleet = fleet
            .group(&group, &format!("Group {number}"))
            .cheap_account(&format!("a{number}"), &[&group]);
    }
    let mut rng = Rng::seeded(seed);
    for kiosk in 0..kiosks {
        let code = format!("K{kiosk}");
        let fleet = fleet.clone().device(&code, "K", "g0");
        // Sessions must outlast the run.
        let a_day = |settings: &mut Settings| {
            settings.token_validity = Duration::from_secs(86_400);
        };
        let server = TestServer::start_with(fleet, a_day).await;
        let mut workers = Vec::new();
        for group in 0..GROUPS {
            workers.push(Worker::of(&server, &format!("a{group}")).await);
        }
        let model = Model { now: START_MS, periods: vec![(0, 0)], orders: Default::default() };
        let mut walk = Walk { server, workers, code, model, arrived: 0 };
        for _ in 0..20 {
            walk.step(&mut rng).await;
            walk.check().await;
        }
        let verified = walk.server.store.upkeep().verify().await.unwrap();
        assert_eq!(verified.differences, [""; 0]);
    }
}
