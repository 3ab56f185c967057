//! Walks over the orders of devices, one page per turn, so that other processes of the profile get
//! the session in between.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use kiosque_client::{Certificate, History, OrderWalk, UnixMs};
use kiosque_contract::endpoint::QueryOrderList;
use kiosque_contract::{Endpoint, OrderFilter};
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::remote::Remote;

/// Orders per page of a walk.
const PAGE: u64 = 500;

/// The devices whose orders are read.
#[derive(Clone, Debug)]
pub enum DeviceChoice {
    /// These.
    Named(Vec<String>),
    /// All devices that the group owns now.
    All,
}

/// The orders that are read.
#[derive(Clone, Debug)]
pub struct OrderQuery {
    /// The group; by default the one that a login selects.
    pub group: Option<String>,
    /// The devices.
    pub devices: DeviceChoice,
    /// The first instant of the trades.
    pub since: Option<UnixMs>,
    /// The first instant after them.
    pub until: Option<UnixMs>,
    /// Whether archived orders are read.
    pub history: History,
    /// The largest number of orders.
    pub limit: Option<u64>,
    /// The number of newest orders, instead of a walk.
    pub latest: Option<u64>,
}

/// Orders of one device, or the newest ones of several.
#[derive(Clone, Debug)]
pub struct OrderPage {
    /// The group.
    pub group: String,
    /// The records, as the server sent them.
    pub records: Vec<Value>,
}

/// The end of the orders of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceEnd {
    /// All were read.
    Complete(Certificate),
    /// The limit was reached, and there are more.
    Cut,
}

/// A reader of the orders of several devices: the oldest first for each device, or the newest ones
/// of all.
#[derive(Debug)]
pub struct OrderReader {
    query: OrderQuery,
    left: Option<u64>,
    group: Option<String>,
    waiting: Option<VecDeque<String>>,
    walk: Option<(String, OrderWalk)>,
    /// The ordinal and the id of the last order that was returned of each device, for the next
    /// round: also for one that follows a failure in the middle of a walk.
    read_to: BTreeMap<String, (u64, String)>,
    /// The ends of the devices that were read, by device.
    pub ends: Vec<(String, DeviceEnd)>,
}

impl OrderReader {
    /// Returns a reader at the beginning.
    pub fn new(query: OrderQuery) -> OrderReader {
        OrderReader {
            left: query.limit,
            query,
            group: None,
            waiting: None,
            walk: None,
            read_to: BTreeMap::new(),
            ends: Vec::new(),
        }
    }

    /// Returns whether the maximum number of orders has been read.
    pub fn is_at_limit(&self) -> bool {
        self.left == Some(0)
    }

    /// Starts another round, which reads the orders that have arrived since.
    pub fn again(&mut self) {
        self.waiting = None;
        self.walk = None;
        self.ends.clear();
    }

    /// Returns the next page; `None` at the end.
    ///
    /// # Errors
    /// A walk cannot be complete, a call was refused, or there is no session.
    pub async fn next_page(&mut self, remote: &Remote) -> Result<Option<OrderPage>, CommandError> {
        if let Some(count) = self.query.latest {
            return self.newest(remote, count).await;
        }
        loop {
            let Some((device, mut walk)) = self.next_walk(remote).await? else { return Ok(None) };
            let orders = remote.turn(async |_| Ok(walk.next_page().await?)).await?;
            let Some(mut orders) = orders else {
                if let Some(certificate) = walk.certificate() {
                    self.ends.push((device, DeviceEnd::Complete(certificate.clone())));
                }
                continue;
            };
            let count = u64::try_from(orders.len()).unwrap_or(u64::MAX);
            match &mut self.left {
                Some(left) if *left < count => {
                    orders.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                    self.left = Some(0);
                    self.ends.push((device, DeviceEnd::Cut));
                    self.waiting = Some(VecDeque::new());
                    if orders.is_empty() {
                        return Ok(None);
                    }
                }
                left => {
                    *left = left.map(|left| left - count);
                    if let Some(last) = orders.last() {
                        let last = (walk.last_ordinal(), last.id().to_owned());
                        self.read_to.insert(device.clone(), last);
                    }
                    self.walk = Some((device, walk));
                }
            }
            let records = orders.iter().map(|order| order.json().clone()).collect();
            return Ok(Some(OrderPage { group: self.group.clone().unwrap_or_default(), records }));
        }
    }

    /// Returns the newest orders, latest trade start first: of each device, the last arrivals, as
    /// many as are needed in total. `None` once they have been returned.
    async fn newest(
        &mut self,
        remote: &Remote,
        count: u64,
    ) -> Result<Option<OrderPage>, CommandError> {
        if self.waiting.is_some() {
            return Ok(None);
        }
        let mut records: Vec<Value> = Vec::new();
        while let Some(device_code) = self.next_device(remote).await? {
            let OrderQuery { group, since, until, history, .. } = &self.query;
            let filter = json!(OrderFilter {
                device_code,
                include_history: Some(*history == History::Included),
                start_timestamp: since.map(|since| since.0),
                end_timestamp: until.map(|until| until.0),
            });
            let path = format!("{}?current=1&size={count}", QueryOrderList::PATH);
            let mut page = remote
                .turn(async |turn| {
                    Ok(turn.group(group.as_deref())?.call_path(&path, &filter).await?)
                })
                .await?;
            let of_device = page.get_mut("records").and_then(Value::as_array_mut);
            records.append(of_device.unwrap_or(&mut Vec::new()));
        }
        let start = |order: &Value| order.get("tradeStartTime")?.as_str().map(str::to_owned);
        records.sort_by_cached_key(|order| Reverse(start(order)));
        records.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        Ok(Some(OrderPage { group: self.group.clone().unwrap_or_default(), records }))
    }

    /// Returns the current walk, or a walk over the orders of the next device.
    async fn next_walk(
        &mut self,
        remote: &Remote,
    ) -> Result<Option<(String, OrderWalk)>, CommandError> {
        if let Some(walk) = self.walk.take() {
            return Ok(Some(walk));
        }
        let Some(device) = self.next_device(remote).await? else { return Ok(None) };
        let OrderQuery { group, since, until, history, .. } = &self.query;
        let after = self.read_to.get(&device);
        // One more, to see whether there are further ones.
        let size = self.left.map_or(PAGE, |left| left.saturating_add(1).min(PAGE));
        let walk = remote
            .turn(async |turn| {
                let mut walk = turn.group(group.as_deref())?.orders(&device).history(*history);
                if let Some(since) = since {
                    walk = walk.since(*since);
                }
                if let Some(until) = until {
                    walk = walk.until(*until);
                }
                if let Some((ordinal, id)) = after {
                    walk = walk.after(*ordinal).after_id(id);
                }
                Ok(walk.page_size(size))
            })
            .await?;
        Ok(Some((device, walk)))
    }

    /// Returns the next device of the query; `None` after the last one.
    async fn next_device(&mut self, remote: &Remote) -> Result<Option<String>, CommandError> {
        let OrderQuery { group, devices, .. } = &self.query;
        if self.waiting.is_none() {
            let (named, codes) = remote
                .turn(async |turn| {
                    let client = turn.group(group.as_deref())?;
                    let codes: VecDeque<String> = match devices {
                        DeviceChoice::Named(codes) => {
                            let mut named = BTreeSet::new();
                            codes.iter().filter(|code| named.insert(*code)).cloned().collect()
                        }
                        DeviceChoice::All => {
                            let all = client.devices().await?;
                            all.iter().map(|device| device.code().to_owned()).collect()
                        }
                    };
                    let default = turn.account.groups().await?.first().map(|it| it.id.clone());
                    Ok((group.clone().or(default), codes))
                })
                .await?;
            self.group = named;
            self.waiting = Some(codes);
        }
        Ok(self.waiting.as_mut().and_then(VecDeque::pop_front))
    }
}
