//! The dashboard functions.

mod answers;
mod books;
mod days;
mod filters;
pub(crate) mod large;
mod money;
mod recount;

use kiosque_testkit::{Reply, TestServer};
use serde_json::Value;

/// Sends a call that succeeds.
pub(crate) async fn ask(server: &TestServer, token: &str, path: &str, body: &Value) -> Reply {
    crate::catalog::ask(server, token, path, "", &body.to_string()).await
}

/// Returns the value of a KPI of a summary.
pub(crate) fn kpi<'a>(summary: &'a Reply, code: &str) -> &'a str {
    let list = summary.data()["kpiList"].as_array().unwrap();
    list.iter().find(|kpi| kpi["code"] == code).unwrap()["value"].as_str().unwrap()
}
