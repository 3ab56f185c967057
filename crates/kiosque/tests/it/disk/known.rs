//! What clients know of the data: what was acknowledged, and what may be there besides.

use std::collections::BTreeMap;
use std::sync::Mutex;

use kiosque_testkit::{DEVICES_PATH, ORDERS_PATH, Sandbox};
use serde_json::{Value, json};

use super::DEVICES;

/// A change that a client requested.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// The first fleet is applied, and a key exists.
    SetUp,
    /// Orders, each with its version.
    Orders(Vec<(String, u64)>),
    /// The session of `walker` is replaced: by a new one, whose token an answer has, or by none.
    Session(Option<String>),
    /// The fleet with this number is applied.
    Fleet(u64),
}

/// A change with the positions in the log of changes when it was requested and when it was answered
/// with success.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(super) asked: u64,
    pub(super) answered: Option<u64>,
    pub(super) change: Change,
}

/// All changes that clients requested.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<Vec<Event>>);

/// The least and the most that can be stored.
#[derive(Debug, Default)]
struct Bounds {
    least: Option<u64>,
    most: u64,
}

impl Bounds {
    fn add(&mut self, number: u64, is_answered: bool) {
        self.most = self.most.max(number);
        self.least = self.least.max(is_answered.then_some(number));
    }
}

/// The total of an order with this id, in minor units.
pub(super) fn total(id: &str) -> u64 {
    id.bytes().fold(0, |total, byte| (total * 31 + u64::from(byte)) % 9_000) + 1_000
}

impl Known {
    pub(super) fn add(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }

    /// Returns all changes, in the order in which they were requested.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events = self.0.lock().unwrap().clone();
        events.sort_by_key(|event| event.asked);
        events
    }
}

/// The counts of a check.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Acknowledged orders that were looked for.
    pub(crate) orders: usize,
    /// Replaced tokens that were tried.
    pub(super) tokens: usize,
}

/// Compares the data of a sandbox with what was known at a position of the log: `verify`, the
/// export of all orders, the pages of a server, and the tokens. Returns a line for each difference.
pub(crate) fn compare(sandbox: &Sandbox, events: &[Event], at: u64) -> (Vec<String>, Counts) {
    let mut found = Vec::new();
    let events: Vec<&Event> = events.iter().filter(|event| event.asked <= at).collect();
    let is_answered = |event: &Event| event.answered.is_some_and(|answered| answered <= at);
    let set_up = |event: &&&Event| matches!(event.change, Change::SetUp);
    if !events.iter().find(set_up).is_some_and(|event| is_answered(event)) {
        // The data of a command that did not end. It can be repeated.
        let ran = sandbox.run(&["apply", &sandbox.file("fleet.toml", super::fleet(0))]);
        found.extend((ran.status != 0).then(|| format!("apply again: {ran:?}")));
        return (found, Counts::default());
    }
    let mut orders: BTreeMap<&str, Bounds> = BTreeMap::new();
    let mut fleets = Bounds { least: Some(0), most: 0 };
    for event in &events {
        match &event.change {
            Change::Orders(versions) => {
                for (id, version) in versions {
                    orders.entry(id).or_default().add(*version, is_answered(event));
                }
            }
            Change::Fleet(number) => fleets.add(*number, is_answered(event)),
            Change::SetUp | Change::Session(_) => {}
        }
    }
    let verified = sandbox.run(&["verify"]);
    if verified.status != 0 || !verified.stdout.ends_with(", no difference\n") {
        found.push(format!("verify: {verified:?}"));
    }
    let exported = sandbox.run(&["orders", "export"]);
    if exported.status != 0 {
        found.push(format!("export: {}", exported.stderr));
    }
    let counted = compare_orders(&exported.stdout, &orders, &mut found);
    let tokens = compare_served(sandbox, &events, (at, &counted, &fleets), &mut found);
    let orders = orders.values().filter(|bounds| bounds.least.is_some()).count();
    (found, Counts { orders, tokens })
}

/// Compares an export with the orders that can be stored. Returns the number of each device.
fn compare_orders(
    exported: &str,
    orders: &BTreeMap<&str, Bounds>,
    found: &mut Vec<String>,
) -> BTreeMap<String, usize> {
    let (mut versions, mut counted) = (BTreeMap::new(), BTreeMap::<String, usize>::new());
    for line in exported.lines() {
        let order: Value = serde_json::from_str(line).unwrap();
        let id = order["orderId"].as_str().unwrap().to_owned();
        *counted.entry(order["deviceCode"].as_str().unwrap().to_owned()).or_default() += 1;
        let version = order["refundAmount"].as_u64().unwrap_or(0);
        let most = orders.get(id.as_str()).map(|bounds| bounds.most);
        if most.is_none_or(|most| version > most) || order["totalAmount"] != total(&id) {
            found.push(format!("an order that was not sent: {line}"));
        }
        if versions.insert(id, version).is_some() {
            found.push(format!("an order twice: {line}"));
        }
    }
    let lost = orders.iter().filter(|(id, bounds)| versions.get(**id).copied() < bounds.least);
    let lost: Vec<_> = lost.map(|(id, bounds)| (*id, versions.get(*id), bounds)).collect();
    if let Some((first, version, bounds)) = lost.first() {
        let what = format!("{first} first, with version {version:?} of {bounds:?}");
        found.push(format!("{} acknowledged orders are lost, {what}", lost.len()));
    }
    counted
}

/// Serves the data, and compares the tokens, the name of the first device and the numbers of
/// orders. Returns the number of replaced tokens that were tried.
fn compare_served(
    sandbox: &Sandbox,
    events: &[&Event],
    (at, counted, fleets): (u64, &BTreeMap<String, usize>, &Bounds),
    found: &mut Vec<String>,
) -> usize {
    let served = sandbox.serve();
    let mut caller = served.connect();
    let mut use_of = |token: &str| caller.call(DEVICES_PATH, Some(token), "{}").code();
    let sessions: Vec<(bool, &Option<String>)> = events
        .iter()
        .filter_map(|event| match &event.change {
            Change::Session(token) => {
                Some((event.answered.is_some_and(|answered| answered <= at), token))
            }
            _ => None,
        })
        .collect();
    let last = sessions.iter().rposition(|(is_answered, _)| *is_answered);
    let mut tried = 0;
    for (_, token) in sessions.get(..last.unwrap_or(0)).unwrap_or_default().iter().rev().take(4) {
        let Some(token) = token else { continue };
        tried += 1;
        if use_of(token) != -4 {
            found.push("a replaced token is accepted".to_owned());
        }
    }
    if let Some(last) = last
        && last + 1 == sessions.len()
        && let Some(token) = sessions[last].1
        && use_of(token) != 200
    {
        found.push("the last token is refused".to_owned());
    }
    let token = caller.log_in("guest", "secret");
    let reply = caller.call(DEVICES_PATH, Some(&token), "{}");
    let devices = reply.success()["records"].as_array().unwrap();
    let first = devices.iter().find(|device| device["deviceCode"] == "D0").unwrap();
    let name = first["deviceName"].as_str().unwrap();
    let number: u64 = name.strip_prefix("Device ").unwrap().parse().unwrap();
    if Some(number) < fleets.least || number > fleets.most {
        found.push(format!("the fleet {number} is not one of {fleets:?}"));
    }
    for device in 0..DEVICES {
        let code = format!("D{device}");
        let body = json!({"deviceCode": code, "includeHistory": true}).to_string();
        let reply = caller.call(ORDERS_PATH, Some(&token), &body);
        let expected = counted.get(&code).copied().unwrap_or(0);
        if reply.success()["total"] != expected {
            found.push(format!("{code}: {expected} orders, {} are shown", reply.data()["total"]));
        }
    }
    tried
}
