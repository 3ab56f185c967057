//! The answers of the operator's calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of a stream of orders.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrdersReceived {
    /// Orders that are new.
    pub accepted: u64,
    /// Orders that changed.
    pub updated: u64,
    /// Orders that were there already.
    pub unchanged: u64,
    /// Lines that were not taken in.
    pub rejected_count: u64,
    /// The first of them.
    pub rejected: Vec<RejectedOrder>,
}

/// A line that was not taken in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RejectedOrder {
    /// Its number in the stream, from 1; blank lines count.
    pub line: u64,
    /// Its order, if that much could be read.
    pub order_id: Option<String>,
    /// Why, beginning with the field.
    pub reason: String,
}

/// What became of a stream of heartbeats.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivityReceived {
    /// Heartbeats that were taken in.
    pub accepted: u64,
    /// Lines that were not.
    pub rejected_count: u64,
    /// The first of them.
    pub rejected: Vec<RejectedHeartbeat>,
}

/// A line that was not taken in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RejectedHeartbeat {
    /// Its number in the stream, from 1; blank lines count.
    pub line: u64,
    /// Its device, if that much could be read.
    pub device_code: Option<String>,
    /// Why, beginning with the field.
    pub reason: String,
}

/// What a fleet that was applied did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetApplied {
    /// Groups.
    pub groups: Applied,
    /// Accounts.
    pub accounts: Applied,
    /// Products.
    pub products: Applied,
    /// Devices.
    pub devices: Applied,
    /// Sessions that ended because of what was taken away.
    pub sessions_ended: usize,
}

/// How many entries of one kind were made, changed, and found as they were.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Applied {
    /// Made.
    pub created: usize,
    /// Changed.
    pub changed: usize,
    /// As they were.
    pub unchanged: usize,
}
