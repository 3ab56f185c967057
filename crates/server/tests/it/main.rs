//! The service from outside: real TLS, real data, one module for each topic of `docs/interface.md`,
//! whose rules the comments name by number.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod abuse;
mod brute_force;
mod catalog;
mod certificate;
mod changes;
mod compression;
mod conformance;
mod console;
mod damaged_orders;
mod dashboard;
mod devices;
mod examples;
mod fairness;
mod limits;
mod login;
mod openapi;
mod operator;
mod order_detail;
mod orders;
mod paging;
mod paths;
mod refusals;
mod remarks;
mod scope;
mod sessions;
mod several_nodes;
mod simulation;
mod switch_group;
mod trail;
