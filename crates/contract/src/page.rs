//! A page of records (PAGE-5 in `docs/interface.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Example;

/// `data` of device and order lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct Page<T> {
    /// Number of all matching records, also on a page past the end.
    pub total: i64,
    /// The page that was asked for, from 1.
    pub current: i64,
    /// The page size that was asked for.
    pub size: i64,
    /// The rows of the page.
    pub records: Vec<T>,
}

impl<T: Example> Example for Page<T> {
    fn example() -> Page<T> {
        Page { total: 1, current: 1, size: 10, records: Vec::example() }
    }
}
