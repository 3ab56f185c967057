//! Following the orders of a group.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use kiosque_contract::{Endpoint, OrderChangesRequest, endpoint};
use serde::{Deserialize, Serialize};

use crate::answer::data_of;
use crate::error::Error;
use crate::order::Order;
use crate::transport::Request;

use super::{GroupClient, bytes};

/// The maximum wait of one request: an answer must come well before the time limit of a call.
const WAIT_MAX: Duration = Duration::from_secs(20);
/// The wait between two walks at a server without a feed, and after an interrupted request.
const PAUSE: Duration = Duration::from_secs(1);

/// A position in the changes of a group. Store it together with the changes that were read: a
/// follower that continues from its last stored position misses none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Position {
    /// In the feed of changes; `None` before the first change.
    Feed(Option<String>),
    /// At a server without a feed: the last ordinal that was read of each device.
    Walk(BTreeMap<String, u64>),
}

impl Default for Position {
    /// Returns the position before the first change.
    fn default() -> Position {
        Position::Feed(None)
    }
}

/// An order as of its latest change.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Change {
    /// The number of the change, which increases in a group. `None` at a server without a feed.
    #[serde(default)]
    pub change_no: Option<i64>,
    /// The order.
    pub order: Order,
}

/// A follower of the orders of a group.
///
/// A server with a feed sends each order at its latest change, so that a follower also sees refunds
/// and late shipments. At another server the follower walks over the orders of each device: it sees
/// each new order once, and no change of an order that it has read.
///
/// ```no_run
/// use std::time::Duration;
/// use kiosque_client::Position;
/// # use kiosque_client::{Error, GroupClient};
///
/// # async fn example(north: GroupClient, stored: Position) -> Result<(), Error> {
/// let mut changes = north.changes(stored);
/// loop {
///     for change in changes.read(Duration::from_secs(20)).await? {
///         println!("{}", change.order.id());
///     }
///     // Store the changes and `changes.position()` in one transaction.
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct OrderChanges {
    group: GroupClient,
    position: Position,
    size: u64,
    /// Devices that the current round of walks has not read yet.
    round: VecDeque<String>,
}

/// `data` of a request for changes.
#[derive(Deserialize)]
struct Batch {
    records: Vec<Change>,
    next: String,
}

impl OrderChanges {
    pub(super) fn new(group: GroupClient, position: Position) -> OrderChanges {
        OrderChanges { group, position, size: 500, round: VecDeque::new() }
    }

    /// Reads at most this many changes at a time, and at least one; by default 500. At a server
    /// without a feed, as [`OrderWalk::page_size`](super::OrderWalk::page_size).
    #[must_use]
    pub fn size(mut self, size: u64) -> OrderChanges {
        self.size = size.max(1);
        self
    }

    /// Returns the position after the changes that were read.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// Returns the next changes. If there are none yet, it waits at most `wait`, rounded up to
    /// seconds, for the first one, and returns none if none came.
    ///
    /// # Errors
    /// See [`Error`]. The position is unchanged.
    pub async fn read(&mut self, wait: Duration) -> Result<Vec<Change>, Error> {
        if let Position::Feed(after) = self.position.clone() {
            match self.feed(after.as_deref(), wait.min(WAIT_MAX)).await {
                Ok(Batch { records, next }) => {
                    self.position = Position::Feed(Some(next));
                    return Ok(records);
                }
                // Only a follower that has read nothing can begin with walks instead.
                Err(error) if error.is_unknown_call() && after.is_none() => {
                    self.position = Position::Walk(BTreeMap::new());
                }
                Err(error) => return Err(error),
            }
        }
        let changes = self.walk().await?;
        if !changes.is_empty() || wait.is_zero() {
            return Ok(changes);
        }
        tokio::time::sleep(wait.min(PAUSE)).await;
        self.walk().await
    }

    async fn feed(&self, after: Option<&str>, wait: Duration) -> Result<Batch, Error> {
        let account = self.group.account();
        loop {
            let size = account.page_size(self.size);
            match self.batch(size, after, wait).await {
                Err(error) if account.is_page_too_large(size, &error) => {}
                batch => return batch,
            }
        }
    }

    async fn batch(&self, size: u64, after: Option<&str>, wait: Duration) -> Result<Batch, Error> {
        // Whole seconds, rounded up: a shorter wait would be none.
        let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
        let request = |seconds: u64| {
            let number = |number: u64| Some(i64::try_from(number).unwrap_or(i64::MAX));
            let body = OrderChangesRequest {
                after: after.map(str::to_owned),
                size: number(size),
                wait_seconds: number(seconds),
                include_totals: None,
            };
            Ok::<_, Error>(Request::new(endpoint::OrderChanges::PATH.to_owned(), bytes(&body)?))
        };
        let (account, lane) = (self.group.account(), self.group.lane());
        let answer = match seconds {
            0 => None,
            seconds => {
                let answer = account.read_long(lane, &request(seconds)?).await?;
                if answer.is_none() {
                    // Another group needs the session, and gets it for a while.
                    tokio::time::sleep(PAUSE).await;
                }
                answer
            }
        };
        match answer {
            Some(answer) => data_of(&answer),
            None => data_of(&account.read(lane, &request(0)?).await?),
        }
    }

    /// Returns the new orders of the first device that has any, in a round over all devices.
    async fn walk(&mut self) -> Result<Vec<Change>, Error> {
        if self.round.is_empty() {
            let devices = self.group.devices().await?;
            self.round = devices.iter().map(|device| device.code().to_owned()).collect();
        }
        while let Some(device) = self.round.front() {
            let Position::Walk(read_to) = &mut self.position else { return Ok(Vec::new()) };
            let ordinal = read_to.get(device).copied().unwrap_or_default();
            let mut walk = self.group.orders(device).page_size(self.size).after(ordinal);
            let orders = walk.next_page().await?;
            read_to.insert(device.clone(), walk.last_ordinal());
            let Some(orders) = orders else {
                self.round.pop_front();
                continue;
            };
            let changes = orders.into_iter().map(|order| Change { change_no: None, order });
            return Ok(changes.collect());
        }
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use kiosque_contract::endpoint::{DevicePage, LogIn, QueryOrderList};
    use serde_json::{Value, json};

    use super::*;
    use crate::scripted::{account, granted, success};

    fn order(id: &str) -> Value {
        json!({
            "orderId": id, "tradeNo": "", "currency": "EUR", "totalAmount": 1, "payAmount": 1,
            "tradeStartTime": "2026-03-02 10:00:00", "payEndTime": null
        })
    }

    fn ids(changes: &[Change]) -> Vec<(Option<i64>, &str)> {
        changes.iter().map(|change| (change.change_no, change.order.id())).collect()
    }

    #[tokio::test]
    async fn a_feed_is_followed_where_there_is_one() {
        let (account, _) = account(move |path, before| match (path, before) {
            (LogIn::PATH, _) => granted("t", "north"),
            (endpoint::OrderChanges::PATH, 0) => success(&json!({
                "records": [{"changeNo": 7, "order": order("o1")}], "next": "c7", "more": false
            })),
            _ => success(&json!({"records": [], "next": "c7", "more": false})),
        });
        let mut changes = account.default_group().changes(Position::default());
        assert_eq!(ids(&changes.read(Duration::ZERO).await.expect("changes")), [(Some(7), "o1")]);
        assert_eq!(*changes.position(), Position::Feed(Some("c7".to_owned())));
        assert_eq!(changes.read(WAIT_MAX).await.expect("none"), []);
    }

    #[tokio::test]
    async fn orders_are_walked_over_where_there_is_no_feed() {
        let (account, _) = account(move |path, before| match path {
            LogIn::PATH => granted("t", "north"),
            DevicePage::PATH => success(&json!({
                "total": 1, "current": 1, "size": 500, "records": [{"deviceCode": "d1"}]
            })),
            QueryOrderList::PATH => {
                let ids: &[&str] = if before < 2 { &["o1"] } else { &["o2", "o1"] };
                let records: Vec<Value> = ids.iter().copied().map(order).collect();
                let total = records.len();
                success(&json!({"total": total, "current": 1, "size": 500, "records": records}))
            }
            _ => crate::scripted::json(404, r#"{"code":0,"msg":"Not found","data":null}"#),
        });
        let mut changes = account.default_group().changes(Position::default());
        let read = changes.read(Duration::ZERO).await.expect("changes");
        assert_eq!(ids(&read), [(None, "o1")]);
        assert_eq!(changes.read(Duration::ZERO).await.expect("none"), []);
        let stored = serde_json::to_string(changes.position()).expect("JSON");
        assert_eq!(stored, r#"{"walk":{"d1":1}}"#);

        let stored = serde_json::from_str(&stored).expect("a position");
        let mut resumed = account.default_group().changes(stored);
        assert_eq!(ids(&resumed.read(Duration::ZERO).await.expect("changes")), [(None, "o2")]);
    }
}
