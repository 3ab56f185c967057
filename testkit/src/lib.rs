//! Support for the integration tests of the other crates; nothing but tests depends on it.
//!
//! Each part is a feature, named after the lowest crate whose tests use it:
//!
//! - always: a seeded generator ([`Rng`]), the soak switch ([`size`]), the paths of the calls and
//!   [`sql`] for what the store offers no function for;
//! - `store`: the location of a test's data on either engine (`TestData`), a store on it
//!   (`TestStore`), and `entries` of fleets and orders;
//! - `server`: a server in the test's process (`TestServer`), and clients of it.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod paths;
mod rng;
mod soak;
pub mod sql;

#[cfg(feature = "server")]
mod client;
#[cfg(feature = "server")]
mod clock;
#[cfg(feature = "store")]
mod data;
#[cfg(feature = "store")]
pub mod entries;
#[cfg(feature = "server")]
mod reply;
#[cfg(feature = "server")]
mod request;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "store")]
mod store;
#[cfg(feature = "server")]
mod tls;

pub use paths::{
    AISLE_PATH, BEST_PATH, BY_DEVICE_PATH, DASHBOARD_PATHS, DETAIL_PATH, DEVICES_PATH, LOGOUT_PATH,
    ONLINE_PATH, ORDERS_PATH, PROFILE_PATH, SUMMARY_PATH, SWITCH_PATH, TOKEN_PATH, TREND_PATH,
};
pub use rng::{Rng, seed};
pub use soak::{is_soak, size};

#[cfg(feature = "server")]
pub use client::{Client, Http2Client, LoggedIn, post};
#[cfg(feature = "server")]
pub use clock::ManualClock;
#[cfg(feature = "store")]
pub use data::{Fingerprint, TestData, WriteLock};
#[cfg(feature = "server")]
pub use reply::{Reply, assert_common_headers, parse_response, snapshot};
#[cfg(feature = "server")]
pub use request::{Connection, TestRequest};
#[cfg(feature = "server")]
pub use server::{START_MS, ServerOptions, TestServer, cheap_hash};
#[cfg(feature = "store")]
pub use store::{NOW, TestShape, TestStore, no_owners, open, open_options, origin};
#[cfg(feature = "server")]
pub use tls::{client_config, tls_over};
