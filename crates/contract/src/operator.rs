//! The answers of the operator's calls.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The outcome of a stream of orders.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrdersReceived {
    /// New orders.
    pub accepted: u64,
    /// Changed orders.
    pub updated: u64,
    /// Orders that were stored already.
    pub unchanged: u64,
    /// Rejected lines.
    pub rejected_count: u64,
    /// The first of them.
    pub rejected: Vec<RejectedOrder>,
    /// Keys that no field has, which were ignored; each once, without the positions of lines, with
    /// characters that cannot be printed escaped. At most 100 keys of at most 64 characters.
    pub ignored_keys: Vec<String>,
}

/// The outcome of a stream of orders that has ended since some could not be stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrdersFailed {
    /// The last line that is counted. Later ones are not stored.
    pub last_line: u64,
    /// The outcomes of the lines that have not failed.
    #[serde(flatten)]
    pub received: OrdersReceived,
    /// Lines that were not stored, or whose outcome is unknown. They may be sent again.
    pub failed_count: u64,
    /// The first of them.
    pub failed: Vec<FailedOrder>,
}

/// A line of a stream of orders that could not be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedOrder {
    /// Its number in the stream, from 1; blank lines count. In an array, the element's position,
    /// from 1.
    pub line: u64,
    /// The id of its order.
    pub order_id: String,
}

/// A rejected line of a stream of orders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RejectedOrder {
    /// Its number in the stream, from 1; blank lines count. In an array, the element's position,
    /// from 1.
    pub line: u64,
    /// The id of its order, if it could be read.
    pub order_id: Option<String>,
    /// The errors, each beginning with the field. In an array, the element's index, such as `[0]`,
    /// comes first.
    pub reason: String,
}

/// The outcome of a stream of heartbeats.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivityReceived {
    /// Accepted heartbeats.
    pub accepted: u64,
    /// Rejected lines.
    pub rejected_count: u64,
    /// The first of them.
    pub rejected: Vec<RejectedHeartbeat>,
    /// Keys that no field has, which were ignored, as in the answer to a stream of orders.
    pub ignored_keys: Vec<String>,
}

/// A rejected line of a stream of heartbeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RejectedHeartbeat {
    /// Its number in the stream, from 1; blank lines count. In an array, the element's position,
    /// from 1.
    pub line: u64,
    /// The code of its device, if it could be read.
    pub device_code: Option<String>,
    /// The error, beginning with the field. In an array, the element's index, such as `[0]`, comes
    /// first.
    pub reason: String,
}

/// The numbers of changes that a fleet made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetCounts {
    /// Groups.
    pub groups: ChangeCounts,
    /// Accounts.
    pub accounts: ChangeCounts,
    /// Products.
    pub products: ChangeCounts,
    /// Devices.
    pub devices: ChangeCounts,
    /// Sessions that ended because their account or its access changed.
    pub sessions_ended: usize,
}

/// The changes that a fleet made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetApplied {
    /// Their numbers.
    #[serde(flatten)]
    pub counts: FleetCounts,
    /// Moves of devices that take effect at another time than now.
    pub moves: Vec<DatedMove>,
    /// Values that are valid and likely wrong, such as a stock above the capacity; at most 51
    /// lines.
    pub warnings: Vec<String>,
}

/// A move of a device that takes effect at another time than now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatedMove {
    /// The code of the device.
    pub device_code: String,
    /// The group that it moves to.
    pub group_id: String,
    /// The start of the group's ownership, in milliseconds since 1970-01-01T00:00:00Z.
    pub since_timestamp: i64,
}

/// The entries of one kind, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Applied")]
pub struct ChangeCounts {
    /// New entries.
    pub created: usize,
    /// Changed entries.
    pub changed: usize,
    /// Unchanged entries.
    pub unchanged: usize,
}

impl fmt::Display for ChangeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} created, {} changed, {} unchanged",
            self.created, self.changed, self.unchanged
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_an_apply_are_shown_in_one_line() {
        let counts = ChangeCounts { created: 1, changed: 2, unchanged: 3 };
        assert_eq!(counts.to_string(), "1 created, 2 changed, 3 unchanged");
    }
}
