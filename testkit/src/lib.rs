//! Support for the integration tests of the other crates; only tests depend on it.
//!
//! Each part is a feature, named after the crate whose tests use it, so that they build no crate
//! above their own:
//!
//! - always: fleets ([`FleetToml`]), a seeded generator ([`Rng`]), the soak switch ([`size`]),
//!   waiting for conditions ([`wait_until`]), and statements ([`sql()`]) for access that the store
//!   does not offer;
//! - `store`: the location of a test's data on either engine (`TestData`), a store on it
//!   (`TestStore`), and `entries` of fleets and orders;
//! - `server`: a server in the test's process (`TestServer`), and asynchronous clients of it;
//! - `program`: the program in a separate process (`Sandbox`, `Served`), a blocking client, and a
//!   browser (`Chromium`).
//!
//! `client` is the common part of the last two: paths, orders, responses, parts of pages and TLS.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod fleet;
mod rng;
mod soak;
mod sql;

#[cfg(feature = "program")]
pub mod blocking;
#[cfg(feature = "program")]
mod chromium;
#[cfg(feature = "server")]
mod client;
#[cfg(feature = "store")]
mod data;
#[cfg(feature = "store")]
pub mod entries;
#[cfg(feature = "client")]
mod html;
#[cfg(feature = "client")]
mod order_line;
#[cfg(feature = "client")]
mod paths;
#[cfg(feature = "program")]
mod program;
#[cfg(feature = "store")]
mod refused_updates;
#[cfg(feature = "client")]
mod reply;
#[cfg(feature = "server")]
mod request;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "store")]
mod store;
#[cfg(feature = "client")]
mod tls;
mod wait;

pub use fleet::FleetToml;
#[cfg(feature = "client")]
pub use html::{between, card, grouped};
#[cfg(feature = "client")]
pub use order_line::OrderLine;
#[cfg(feature = "client")]
pub use paths::{
    AISLE_PATH, BEST_PATH, BY_DEVICE_PATH, CHANGES_PATH, DETAIL_PATH, DEVICES_PATH, LOGOUT_PATH,
    ONLINE_PATH, ORDERS_CALL, ORDERS_PATH, PROFILE_PATH, SUMMARY_PATH, SWITCH_PATH, TOKEN_PATH,
    TREND_PATH, dashboard_paths, dashboards,
};
pub use rng::{Rng, seed};
pub use soak::{is_soak, runs, size};
pub use sql::sql;

#[cfg(feature = "program")]
pub use chromium::{Chromium, Key, Scripts, Window};
#[cfg(feature = "server")]
pub use client::{Client, Http2Client, LoggedIn, post};
#[cfg(feature = "store")]
pub use data::{Fingerprint, NOW, TestData, WriteLock, is_citus, open_options};
#[cfg(feature = "program")]
pub use program::{Program, Ran, SERVE, Sandbox, Served};
#[cfg(feature = "client")]
pub use reply::{Reply, assert_common_headers, decompress, parse_response, snapshot};
#[cfg(feature = "server")]
pub use request::{Connection, TestRequest};
#[cfg(feature = "server")]
pub use server::{START_MS, ServerOptions, TestServer, cheap_hash};
#[cfg(feature = "store")]
pub use store::{TestStore, clock_at, no_owners, open, origin, receive_at};
#[cfg(feature = "client")]
pub use tls::client_config;
#[cfg(feature = "server")]
pub use tls::tls_over;
#[cfg(feature = "store")]
pub use wait::eventually;
pub use wait::{WAIT_MAX, wait_until};
