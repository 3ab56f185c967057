//! Random histories of devices that move, of moves that are planned, replaced and cancelled, of
//! deletions, archiving, and orders that are late, dated ahead, changed and refunded, against a
//! model that knows who owned what when (SCOPE-6, SCOPE-7). Some steps run at the same time, on two
//! stores. `KIOSQUE_SEED` repeats a run.

mod model;

use std::sync::Arc;

use kiosque_model::fleet::{DeviceEntry, Fleet};
use kiosque_model::order::Order as FullOrder;
use kiosque_model::sales::Sale;
use kiosque_model::{ActedBy, Claim, DeviceCode, Minor, UnixMs};
use kiosque_store::{
    ApplyError, DashboardQuery, DeleteError, History, Incoming, NewHashes, OnlineSince,
    OrderOutcome, Owners, ReceiveOptions, Returning, Store,
};
use kiosque_testkit::entries::{
    account, bare_device, bare_order, group, group_id, product, rendered, sale, sold,
};
use kiosque_testkit::{NOW, Rng, TestStore, clock_at, no_owners, open, runs, seed};
use model::{ArchivedBy, Model, Order, Outcome, Step};
use tokio::sync::Mutex;

const GROUPS: [&str; 4] = ["a", "b", "c", "d"];
const DEVICES: [&str; 3] = ["k0", "k1", "k2"];
const ORDERS: usize = 6;
const STEPS: usize = 40;

/// A store of one process, with its cache of owners.
struct Node {
    store: Store,
    owners: Arc<Mutex<Owners>>,
}

/// A defect that a test injects, to see that a history finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    None,
    /// Fleets are planned with a time that is past.
    StaleTime,
    /// Ledgers of groups that are no owners are not found.
    LostLedgers,
    /// Devices are deleted with the orders that they have in groups that are no owners.
    DeletedOwners,
}

struct Run {
    rng: Rng,
    defect: Defect,
    fixture: TestStore,
    nodes: [Node; 2],
    /// The states that the outcomes so far allow.
    models: Vec<Model>,
    now: i64,
}

impl Run {
    async fn new(seed: u64, defect: Defect) -> Run {
        let fixture = TestStore::new().await;
        let fleet = Fleet {
            groups: GROUPS.map(group).to_vec(),
            accounts: vec![account("ops", &GROUPS)],
            products: vec![product("p")],
            devices: Vec::new(),
        };
        fixture.apply(fleet).await.unwrap();
        let node =
            async || Node { store: open(&fixture.data, None).await.unwrap(), owners: no_owners() };
        let nodes = [node().await, node().await];
        let (rng, models, now) = (Rng::seeded(seed), vec![Model::default()], NOW.0);
        Run { rng, defect, fixture, nodes, models, now }
    }

    fn step(&mut self) -> Step {
        let (rng, now) = (&mut self.rng, self.now);
        let device = rng.below(DEVICES.len());
        match rng.below(12) {
            0..5 => {
                let group = rng.below(GROUPS.len());
                let since = rng.one_in(2).then(|| now + rng.range(-100..600));
                Step::Move { device, group, since }
            }
            5 => Step::Delete { device },
            6 => Step::Archive { before: now - rng.range(0..200), by: ArchivedBy::Server },
            7 => Step::Archive { before: now - rng.range(0..400), by: ArchivedBy::Command },
            _ => {
                let orders = 1 + rng.below(4);
                Step::Receive((0..orders).map(|_| self.order()).collect())
            }
        }
    }

    /// Returns an order, which was sent before, perhaps with another start, or is new.
    fn order(&mut self) -> Order {
        let stored: Vec<Order> =
            self.models[0].ledgers.values().flat_map(|ledger| ledger.orders.clone()).collect();
        let (rng, now) = (&mut self.rng, self.now);
        if !stored.is_empty() && !rng.one_in(3) {
            let order = rng.choose(&stored);
            let version = if rng.one_in(2) { order.version } else { rng.range(0..4) };
            let start = if rng.one_in(4) { now + rng.range(-200..500) } else { order.start };
            return Order { version, start, ..order };
        }
        let (id, device) = (rng.below(ORDERS), rng.below(DEVICES.len()));
        let latest = if rng.one_in(2) { 700 } else { 1 };
        let start = now + rng.range(-200..latest);
        Order { id, device, start, version: rng.range(0..4) }
    }

    /// Takes one step, or two at the same time.
    async fn advance(&mut self) -> Result<(), String> {
        self.now += self.rng.range(0..30);
        let one = self.step();
        let archives = |step: &Step| matches!(step, Step::Archive { .. });
        let two = (self.defect == Defect::None && !archives(&one) && self.rng.one_in(3))
            .then(|| self.step())
            .filter(|two| !archives(two));
        self.inject(&one);
        let applied_at = if self.defect == Defect::StaleTime { self.now - 100 } else { self.now };
        let now = self.now;
        let (first, second) = match &two {
            None => {
                let node = &self.nodes[self.rng.below(2)];
                (take(node, &one, (now, applied_at)).await, None)
            }
            Some(two) => {
                let [left, right] = &self.nodes;
                let (first, second) =
                    tokio::join!(take(left, &one, (now, now)), take(right, two, (now, now)));
                (first, Some((two, second)))
            }
        };
        let mut models: Vec<Model> = Vec::new();
        for model in &self.models {
            let (mut forth, mut back) = (model.clone(), model.clone());
            let mut agrees = forth.take(&one, now) == first;
            if let Some((two, second)) = &second {
                agrees &= forth.take(two, now) == *second;
                let is_back = back.take(two, now) == *second && back.take(&one, now) == first;
                if is_back && !models.contains(&back) {
                    models.push(back);
                }
            }
            if agrees && !models.contains(&forth) {
                models.push(forth);
            }
        }
        if models.is_empty() {
            return Err(format!("{now}: {one:?}: {first:?}, with {second:?}: {:?}", self.models));
        }
        self.models = models;
        Ok(())
    }

    fn inject(&self, step: &Step) {
        let orphans = "last_seq >= first_seq and not exists (select 1 from device_owners o
            where o.group_no = ledger.group_no and o.device_code = ledger.device_code)";
        match (self.defect, step) {
            (Defect::LostLedgers, _) => self.fixture.data.execute(&format!(
                "update ledger set device_code = device_code || '-' || cast(group_no as text)
                    where {orphans}"
            )),
            (Defect::DeletedOwners, Step::Delete { device }) => {
                let code = DEVICES[*device];
                let of = format!("from ledger where device_code = '{code}' and {orphans}");
                if !self.fixture.query(&format!("select 1 {of}")).is_empty() {
                    for table in ["device_owners", "devices"] {
                        let delete = format!("delete from {table} where device_code = '{code}'");
                        self.fixture.data.execute(&delete);
                    }
                }
            }
            _ => {}
        }
    }

    /// Compares pages, sums and the recount with a state that the outcomes allow.
    async fn check(&self) -> Result<(), String> {
        let differences = self.fixture.differences().await;
        if !differences.is_empty() {
            return Err(format!("{differences:#?}"));
        }
        let mut seen = Vec::new();
        for group in 0..GROUPS.len() {
            seen.push(self.group(group).await);
        }
        let is_expected = |model: &&Model| {
            let groups = seen.iter().enumerate();
            groups.into_iter().all(|(group, seen)| *seen == expected(model, group))
        };
        match self.models.iter().find(is_expected) {
            Some(_) => Ok(()),
            None => Err(format!("{seen:#?}\nare none of {:#?}", self.models)),
        }
    }

    /// Returns the orders that a group sees of each device, without and with archived ones, and its
    /// sales: their number, what was paid and what was refunded.
    async fn group(&self, group: usize) -> Seen {
        let now = UnixMs(self.now);
        let mut pages = Vec::new();
        for device in DEVICES {
            for history in [History::Left, History::Included] {
                let page = self.fixture.list(GROUPS[group], device, history, now).await;
                pages.push(page.unwrap_or_default());
            }
        }
        let token = self.fixture.log_in("ops").await.unwrap();
        let token = self.fixture.switch(token, GROUPS[group]).await;
        let (start, end) = (UnixMs(0), UnixMs(NOW.0 * 10));
        let all = DashboardQuery { group: None, devices: Vec::new(), start, end };
        let claim = Claim { token, now };
        let turnover = self
            .fixture
            .store
            .reports()
            .summary(claim, OnlineSince(now), all)
            .await
            .unwrap()
            .turnover;
        let (paid, refunded) = (turnover.amount.cents(), turnover.refund.cents());
        Seen { pages, sales: format!("{} {paid} {refunded}", turnover.orders) }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Seen {
    pages: Vec<Vec<String>>,
    sales: String,
}

fn expected(model: &Model, group: usize) -> Seen {
    let mut pages = Vec::new();
    let (mut orders, mut paid, mut refunded) = (0, 0, 0);
    for device in 0..DEVICES.len() {
        let ledger = model.ledgers.get(&(group, device)).cloned().unwrap_or_default();
        for archived in [ledger.archived, 0] {
            pages.push(ledger.orders[archived..].iter().rev().map(title).collect());
        }
        orders += ledger.orders.len();
        paid += ledger.orders.iter().map(|order| amounts(order).0).sum::<i64>();
        refunded += ledger.orders.iter().map(|order| amounts(order).1).sum::<i64>();
    }
    Seen { pages, sales: format!("{orders} {paid} {refunded}") }
}

fn title(order: &Order) -> String {
    format!("o{} of {} at {}, version {}", order.id, order.device, order.start, order.version)
}

/// Returns what was paid and what was refunded.
fn amounts(order: &Order) -> (i64, i64) {
    (100 + order.version, if order.version % 2 == 1 { 50 + order.version } else { 0 })
}

fn incoming(order: &Order) -> Incoming {
    let bare = bare_order(&format!("o{}", order.id), DEVICES[order.device], order.start);
    let text = rendered(FullOrder { pay_channel_name: Some(title(order)), ..bare });
    let (amount, refund) = amounts(order);
    let sale = sale(order.start, "USD", &[("p", 1, amount)]);
    sold(text, Sale { refund: Minor(refund), ..sale })
}

/// Takes a step at a time; a fleet at another one, if a test injects that.
async fn take(node: &Node, step: &Step, (now, applied_at): (i64, i64)) -> Vec<Outcome> {
    let (store, by) = (&node.store, ActedBy::command(UnixMs(now)));
    match step {
        Step::Move { device, group, since } => {
            let group = Some(group_id(GROUPS[*group]));
            let name = Some("K".to_owned());
            let since = since.map(UnixMs);
            let entry = DeviceEntry { name, group, since, ..bare_device(DEVICES[*device]) };
            let fleet = Fleet { devices: vec![entry], ..Fleet::default() };
            let clock = clock_at(UnixMs(applied_at));
            match store.fleet().apply(fleet, NewHashes::new(), by, &clock).await {
                Ok(_) => vec![Outcome::Done],
                Err(ApplyError::Invalid(_)) => vec![Outcome::Refused],
                Err(error) => panic!("{error}"),
            }
        }
        Step::Delete { device } => {
            let code = DeviceCode::parse(DEVICES[*device]).unwrap();
            match store.fleet().delete_device(code, by).await {
                Ok(()) => vec![Outcome::Done],
                Err(DeleteError::Store(error)) => panic!("{error}"),
                Err(_) => vec![Outcome::Refused],
            }
        }
        Step::Receive(orders) => {
            let batch: Vec<Incoming> = orders.iter().map(incoming).collect();
            let options = ReceiveOptions::at(UnixMs(now));
            let owners = Arc::clone(&node.owners);
            let received = store.intake().receive(Arc::new(batch), owners, options).await.unwrap();
            received.outcomes.into_iter().map(outcome).collect()
        }
        Step::Archive { before, by: ArchivedBy::Server } => {
            store.upkeep().archive(UnixMs(*before), UnixMs(now)).await.unwrap();
            vec![Outcome::Done]
        }
        Step::Archive { before, by: ArchivedBy::Command } => {
            let (before, now) = (UnixMs(*before), UnixMs(now));
            store.upkeep().archive_exactly(before, now, Returning::Allowed).await.unwrap();
            vec![Outcome::Done]
        }
    }
}

fn outcome(outcome: OrderOutcome) -> Outcome {
    match outcome {
        OrderOutcome::Accepted => Outcome::Accepted,
        OrderOutcome::Updated => Outcome::Updated,
        OrderOutcome::Unchanged => Outcome::Unchanged,
        OrderOutcome::Rejected(_) => Outcome::Rejected,
        undecided => panic!("{undecided:?}"),
    }
}

/// Plays a history. Returns how it differs from the model, if it does.
async fn play(seed: u64, defect: Defect) -> Result<(), String> {
    let mut run = Run::new(seed, defect).await;
    for _ in 0..STEPS {
        run.advance().await?;
    }
    run.check().await
}

/// SCOPE-6: the outcome of each step, the pages and the sums of each group, and the recount equal
/// the model's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_histories_agree_with_the_model() {
    let first = seed();
    let histories = runs(8, 2_000);
    println!("{histories} histories from KIOSQUE_SEED={first} on");
    for number in 0..histories {
        let seed = first + u64::try_from(number).unwrap();
        if let Err(difference) = play(seed, Defect::None).await {
            panic!("KIOSQUE_SEED={seed}: {difference}");
        }
    }
}

/// Each defect is found by one of the first histories.
#[tokio::test]
async fn random_histories_find_injected_defects() {
    for defect in [Defect::StaleTime, Defect::LostLedgers, Defect::DeletedOwners] {
        let mut seed = 0;
        while play(seed, defect).await.is_ok() {
            seed += 1;
            assert!(seed < 40, "{defect:?} is not found");
        }
    }
}
