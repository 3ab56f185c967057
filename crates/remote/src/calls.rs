//! The commands that make a call or a few: groups, devices, an order, and any other call.

use std::sync::Arc;

use bytes::Bytes;
use kiosque_client::session::{Grant, Group, Lane};
use kiosque_client::{Error, GroupClient, NotAnEnvelope, Request};
use kiosque_contract::endpoint::{DevicePage, ENDPOINTS};
use kiosque_contract::{DeviceFilter, Endpoint};
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::listing::{Layout, Listing, Part};
use crate::lists::{ANY, DEVICES, GROUPS, LINES, ORDERS, PROFILES, WHO};
use crate::profile::{Fields, Profiles};
use crate::remote::{Remote, Turn};

/// The paths of the calls that change the session begin with this.
const SESSION_CALLS: &str = "platform-auth/";

/// The groups that a command reads.
#[derive(Clone, Debug)]
pub enum Groups {
    /// The group that a login selects.
    Default,
    /// This group.
    One(String),
    /// All groups of the account.
    All,
}

/// The number by which an order is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TradeNumber {
    /// The `tradeNo`.
    External,
    /// The `tradeNoIn`.
    Internal,
}

impl Profiles {
    /// Returns the profiles as a list.
    pub fn listing(&self) -> Listing {
        let row = |(name, fields): (&String, &Fields)| {
            json!({
                "profile": name, "url": fields.url, "username": fields.username,
                "passwordFile": fields.password_file, "passwordCommand": fields.password_command,
                "caFile": fields.ca_file,
            })
        };
        Listing::of(PROFILES, self.by_name.iter().map(row).collect())
    }
}

/// Returns the current session, after a call in whichever group is selected has proven that it is
/// live. This renews a session that another user has replaced.
async fn proven(turn: &Turn<'_>) -> Result<Arc<Grant>, CommandError> {
    let path = format!("{}?current=1&size=1", DevicePage::PATH);
    let request = Request::new(path, Bytes::from_static(b"{}"));
    let answer = turn.account.read(&Lane::Any, &request).await?;
    match answer.code() {
        Some(_) => Ok(turn.account.session().grant().await?),
        None => Err(Error::NotAnEnvelope(NotAnEnvelope::of(&answer)).into()),
    }
}

/// Returns the account, its selected group, and when the session ends.
///
/// # Errors
/// There is no session.
pub async fn who(remote: &Remote) -> Result<Listing, CommandError> {
    let profile = remote.profile();
    remote
        .turn(async |turn| {
            let grant = proven(turn).await?;
            let name = grant.groups.iter().find(|group| group.id == grant.group.as_str());
            let row = json!({
                "profile": profile.name, "url": profile.url, "username": profile.username,
                "groupId": grant.group.as_str(), "groupName": name.map(|group| &group.name),
                "expiresIn": grant.expires_at.0,
            });
            Ok(Listing::record(WHO, row))
        })
        .await
}

/// Returns the groups of the account, the default one first.
///
/// # Errors
/// There is no session.
pub async fn groups(remote: &Remote) -> Result<Listing, CommandError> {
    remote
        .turn(async |turn| {
            let grant = proven(turn).await?;
            let row = |group: &Group| {
                let is_selected = group.id == grant.group.as_str();
                json!({"groupId": group.id, "groupName": group.name, "isSelected": is_selected})
            };
            Ok(Listing::of(GROUPS, grant.groups.iter().map(row).collect()))
        })
        .await
}

/// Returns the devices of some groups that match a filter.
///
/// # Errors
/// The call was refused, or there is no session.
pub async fn devices(
    remote: &Remote,
    groups: &Groups,
    filter: &DeviceFilter,
) -> Result<Listing, CommandError> {
    remote
        .turn(async |turn| {
            let mut records = Vec::new();
            for group in groups_of(turn, groups).await? {
                let devices = group.devices_matching(filter).await?;
                records.extend(devices.iter().map(|device| device.json().clone()));
            }
            Ok(Listing::of(DEVICES, records))
        })
        .await
}

async fn groups_of(turn: &Turn<'_>, groups: &Groups) -> Result<Vec<GroupClient>, CommandError> {
    match groups {
        Groups::Default => Ok(vec![turn.group(None)?]),
        Groups::One(id) => Ok(vec![turn.group(Some(id))?]),
        Groups::All => {
            let all = turn.account.groups().await?;
            all.iter().map(|group| turn.group(Some(&group.id))).collect()
        }
    }
}

/// Returns an order by one of its numbers.
///
/// # Errors
/// There is no such order in the group, or there is no session.
pub async fn order(
    remote: &Remote,
    group: Option<&str>,
    number: &str,
    which: TradeNumber,
) -> Result<Listing, CommandError> {
    let order = remote
        .turn(async |turn| {
            let group = turn.group(group)?;
            Ok(match which {
                TradeNumber::External => group.order(number).await?,
                TradeNumber::Internal => group.order_by_internal_no(number).await?,
            })
        })
        .await?;
    let mut lines = order.get("detailList").and_then(Value::as_array).cloned().unwrap_or_default();
    for line in lines.iter_mut().filter_map(Value::as_object_mut) {
        // The amounts of a line are in the currency of its order.
        line.insert("currency".to_owned(), order.get("currency").cloned().unwrap_or_default());
    }
    let mut listing = Listing::record(ORDERS, order);
    listing.parts.push(Part { list: LINES, layout: Layout::Rows, rows: lines });
    Ok(listing)
}

/// Makes any call that reads, and returns its `data`. Without a body the call is sent with `{}`,
/// unless it takes none.
///
/// # Errors
/// The call was refused, or it would change the session.
pub async fn call(
    remote: &Remote,
    group: Option<&str>,
    path: &str,
    body: Option<Bytes>,
) -> Result<Listing, CommandError> {
    let path = path.trim_start_matches('/');
    if path.starts_with(SESSION_CALLS) {
        return Err(CommandError::Usage(format!(
            "{path} changes the session, which other commands share; use `kiosque remote login`, \
             `kiosque remote logout` or --group"
        )));
    }
    let name = path.split('?').next().unwrap_or(path);
    let takes_none = ENDPOINTS.iter().any(|one| one.path == name && one.request.is_none());
    let empty = if takes_none { Bytes::new() } else { Bytes::from_static(b"{}") };
    let body = body.unwrap_or(empty);
    let data =
        remote.turn(async |turn| Ok(turn.group(group)?.call_bytes(path, body).await?)).await?;
    let records = data.get("records").or(Some(&data)).and_then(Value::as_array);
    let records = records.cloned().unwrap_or_else(|| vec![data.clone()]);
    let rows = records.iter().map(|record| json!({"data": record.to_string()})).collect();
    let part = Part { list: ANY, layout: Layout::Rows, rows };
    Ok(Listing { data, records, parts: vec![part] })
}
