//! The calls that run in one group.

mod changes;
mod walk;

use std::collections::BTreeSet;

use bytes::Bytes;
use http::uri::PathAndQuery;
use kiosque_contract::endpoint::{DevicePage, OrderDetail};
use kiosque_contract::{
    DeviceFilter, Endpoint, GATEWAY_PREFIX, OrderDetailRequest, Request as _, RequestBody,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Account;
use crate::answer::data_of;
use crate::error::Error;
use crate::session::Lane;
use crate::transport::{Request, TransportError};

pub use changes::{Change, OrderChanges, Position};
pub use walk::{Certificate, History, OrderWalk};

/// The calls of an account that run in one group. Cheap to clone.
///
/// ```no_run
/// use kiosque_client::contract::{DashboardFilter, endpoint};
/// # use kiosque_client::{Account, Error, GroupClient};
///
/// # async fn example(account: Account) -> Result<(), Error> {
/// let north = account.group("north")?;
/// let summary = north.call::<endpoint::Summary>(&DashboardFilter::default()).await?;
/// println!("days are those of {}", summary.time_zone);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct GroupClient {
    account: Account,
    lane: Lane,
}

/// A device of a list. It has the field that every server sends, and all others as JSON.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub struct Device {
    code: String,
    json: Value,
}

impl TryFrom<Value> for Device {
    type Error = &'static str;

    fn try_from(json: Value) -> Result<Device, &'static str> {
        let code = json.get("deviceCode").and_then(Value::as_str);
        let code = code.ok_or("a device has no deviceCode")?.to_owned();
        Ok(Device { code, json })
    }
}

impl Serialize for Device {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

impl Device {
    /// Returns its code.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Returns all fields as received.
    pub fn json(&self) -> &Value {
        &self.json
    }

    fn group(&self) -> Option<&str> {
        self.json.get("groupId")?.as_str()
    }
}

/// A page with the numbers of its answer (PAGE-5).
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct PageOf<T> {
    total: u64,
    current: u64,
    size: u64,
    records: Vec<T>,
}

/// Rows per page of devices.
const DEVICES: u64 = 500;
/// How often a list of devices that changes meanwhile is read.
const LIST_TRIES: u32 = 5;

impl GroupClient {
    pub(super) fn new(account: Account, lane: Lane) -> GroupClient {
        GroupClient { account, lane }
    }

    /// Returns the lane in which the calls run.
    pub fn lane(&self) -> &Lane {
        &self.lane
    }

    /// Returns the account.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Makes a call of the interface that reads.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn call<E: Endpoint>(&self, body: &E::Request) -> Result<E::Response, Error> {
        let body = match E::Request::BODY {
            RequestBody::Object => bytes(body)?,
            RequestBody::None => Bytes::new(),
        };
        self.read(E::PATH.to_owned(), body).await
    }

    /// Makes any call that reads, by its path below the base URL, and returns its `data`.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn call_path(&self, path: &str, body: &Value) -> Result<Value, Error> {
        self.call_bytes(path, bytes(body)?).await
    }

    /// Makes any call that reads, with a body that is sent unchanged, and returns its `data`.
    ///
    /// # Errors
    /// See [`Error`]. [`Error::Setup`] for a path that no request can have.
    pub async fn call_bytes(&self, path: &str, body: Bytes) -> Result<Value, Error> {
        if format!("{GATEWAY_PREFIX}/{path}").parse::<PathAndQuery>().is_err() {
            return Err(Error::Setup(format!(
                "{path:?} is not a path with a query; write characters that a URL cannot have as \
                 in %20, which is a space"
            )));
        }
        self.read(path.to_owned(), body).await
    }

    async fn read<T: DeserializeOwned>(&self, path: String, body: Bytes) -> Result<T, Error> {
        let answer = self.account.read(&self.lane, &Request::new(path, body)).await?;
        data_of(&answer)
    }

    /// Returns all devices of the group.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn devices(&self) -> Result<Vec<Device>, Error> {
        self.devices_matching(&DeviceFilter::default()).await
    }

    /// Returns all devices of the group that match a filter, each once. If the list changes while
    /// it is read, it is read again from the beginning.
    ///
    /// # Errors
    /// See [`Error`]. [`Error::WrongGroup`] if a device of another group is listed than the one of
    /// the filter, or of this value.
    pub async fn devices_matching(&self, filter: &DeviceFilter) -> Result<Vec<Device>, Error> {
        for _ in 0..LIST_TRIES {
            if let Some(devices) = self.devices_once(filter).await? {
                return Ok(devices);
            }
        }
        let cause = "the list of devices changed whenever it was read".to_owned();
        let to = DevicePage::PATH.to_owned();
        let last = TransportError { to, cause, is_final: false };
        Err(Error::gave_up(LIST_TRIES, Error::Transport(last)))
    }

    /// Returns `None` if the list changed between two pages.
    async fn devices_once(&self, filter: &DeviceFilter) -> Result<Option<Vec<Device>>, Error> {
        let body = bytes(filter)?;
        let of_lane = match &self.lane {
            Lane::Group(group) => Some(group.as_str()),
            _ => None,
        };
        let wanted = filter.group_id.as_deref().or(of_lane);
        let mut devices = Vec::new();
        let mut codes = BTreeSet::new();
        let mut total = None;
        let mut current = 1_u64;
        loop {
            let size = self.account.page_size(DEVICES);
            let path = format!("{}?current={current}&size={size}", DevicePage::PATH);
            let page: PageOf<Device> = match self.read(path, body.clone()).await {
                Err(error) if self.account.is_page_too_large(size, &error) => continue,
                page => page?,
            };
            if *total.get_or_insert(page.total) != page.total {
                return Ok(None);
            }
            let is_last =
                page.records.is_empty() || current.saturating_mul(page.size) >= page.total;
            for device in page.records {
                if let Some((wanted, got)) = wanted.zip(device.group()).filter(|(a, b)| a != b) {
                    let (wanted, got) = (wanted.to_owned(), got.to_owned());
                    return Err(Error::WrongGroup { wanted, got });
                }
                if codes.insert(device.code.clone()) {
                    devices.push(device);
                }
            }
            if is_last {
                break;
            }
            current += 1;
        }
        let is_whole = u64::try_from(devices.len()).is_ok_and(|count| Some(count) == total);
        Ok(is_whole.then_some(devices))
    }

    /// Returns a walk over the orders of a device, the oldest first.
    pub fn orders(&self, device: &str) -> OrderWalk {
        OrderWalk::new(self.clone(), device)
    }

    /// Returns a follower of the orders of the group, from a position on.
    pub fn changes(&self, from: Position) -> OrderChanges {
        OrderChanges::new(self.clone(), from)
    }

    /// Returns an order by its `tradeNo`, as JSON.
    ///
    /// # Errors
    /// See [`Error`]. An unknown trade number is refused (ORD-20).
    pub async fn order(&self, trade_no: &str) -> Result<Value, Error> {
        let trade_no_out = Some(trade_no.to_owned());
        self.detail(OrderDetailRequest { trade_no_out, trade_no_in: None }).await
    }

    /// Returns an order by its internal trade number, `tradeNoIn`, as JSON.
    ///
    /// # Errors
    /// As [`GroupClient::order`].
    pub async fn order_by_internal_no(&self, trade_no: &str) -> Result<Value, Error> {
        let trade_no_in = Some(trade_no.to_owned());
        self.detail(OrderDetailRequest { trade_no_out: None, trade_no_in }).await
    }

    async fn detail(&self, request: OrderDetailRequest) -> Result<Value, Error> {
        self.read(OrderDetail::PATH.to_owned(), bytes(&request)?).await
    }
}

/// Returns a body as JSON.
fn bytes(body: &impl Serialize) -> Result<Bytes, Error> {
    let body = serde_json::to_vec(body).map_err(|error| Error::Setup(error.to_string()))?;
    Ok(body.into())
}
