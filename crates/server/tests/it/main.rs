//! The service from outside: real TLS, real data, one module for each topic of `docs/interface.md`,
//! whose rules the comments name by number.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]
#![allow(dead_code, reason = "the harness has words that only some suites use")]

mod abuse;
mod brute_force;
mod caller;
mod certificate;
mod chance;
mod dashboard;
mod devices;
mod dial;
mod fixture;
mod harness;
mod limits;
mod log_out;
mod login;
mod operator;
mod order_detail;
mod orders;
mod paging;
mod paths;
mod refusals;
mod scope;
mod sessions;
mod several_nodes;
mod shop;
mod simulation;
mod switch_group;
mod test_data;
mod trail;
