//! The dashboard functions.

mod answers;
mod books;
mod days;
mod filters;
mod first_layout;
mod money;
mod recount;

use serde_json::Value;

use crate::harness::{Reply, TestServer};

/// The sums that are not zero.
const SUMS: &str = include_str!("../../../store/tests/sql/sums.sql");
/// The names under which goods were reported.
const NAMES: &str = include_str!("../../../store/tests/sql/names.sql");

/// Sends a call that succeeds.
async fn ask(server: &TestServer, token: &str, path: &str, body: &Value) -> Reply {
    crate::shop::ask(server, token, path, "", &body.to_string()).await
}

/// Returns the value of a KPI of a summary.
fn kpi<'a>(summary: &'a Reply, code: &str) -> &'a str {
    let list = summary.data()["kpiList"].as_array().unwrap();
    list.iter().find(|kpi| kpi["code"] == code).unwrap()["value"].as_str().unwrap()
}
