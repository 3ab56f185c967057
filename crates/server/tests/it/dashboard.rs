//! The dashboard functions: "dashboard monetary statistics are USD"; "calendar days use the
//! statistics timezone".

mod answers;
mod books;
mod days;
mod filters;
mod first_layout;
mod money;
mod recount;

use serde_json::Value;

use crate::harness::{Reply, TestServer};

/// The sums that say something.
const SUMS: &str = include_str!("../../../store/tests/sql/sums.sql");
/// The names that goods came with.
const NAMES: &str = include_str!("../../../store/tests/sql/names.sql");

/// A call that succeeds.
async fn ask(server: &TestServer, token: &str, path: &str, body: &Value) -> Reply {
    crate::shop::ask(server, token, path, "", &body.to_string()).await
}

/// The value of a figure of a summary.
fn kpi<'a>(summary: &'a Reply, code: &str) -> &'a str {
    let list = summary.data()["kpiList"].as_array().unwrap();
    list.iter().find(|kpi| kpi["code"] == code).unwrap()["value"].as_str().unwrap()
}
