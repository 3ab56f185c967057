//! The failure of an operator's call.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::OrdersFailed;

/// The content type of a [`Problem`].
pub const PROBLEM_CONTENT_TYPE: &str = "application/problem+json";

/// A failure of an operator's call, as RFC 9457 has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// `about:blank`: the status is the kind of problem.
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// The name of the status.
    pub title: Option<Cow<'static, str>>,
    /// The HTTP status.
    pub status: u16,
    /// A sentence for people.
    pub detail: Cow<'static, str>,
    /// The id of the request, as in the log.
    pub request_id: String,
    /// Every error of the request, of a call that reports several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// The outcomes of the lines of a stream of orders, if not all of them failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orders: Option<Box<OrdersFailed>>,
}
