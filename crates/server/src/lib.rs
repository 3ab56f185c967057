//! How it is served: TLS, the gateway's paths, handlers, the envelope and its languages; and
//! [`ingest`], the one module that reads fleet and order files and renders records.
//!
//! A request passes `router` → a handler (`auth`, `devices`, `orders`) → the store → its driver;
//! an operator's passes `operator` instead of the gateway's `router`.
//! There is no SQL here.

mod answer;
mod app;
mod attempts;
mod auth;
mod body;
mod call;
pub mod clock;
mod connection;
mod dashboard;
mod devices;
mod form;
mod gate;
pub mod ingest;
mod json;
mod listener;
pub mod locale;
mod metrics;
pub mod openapi;
mod operator;
mod orders;
pub mod password;
mod pulse;
mod query;
mod records;
mod router;
pub mod tls;
mod trail;

pub use app::{App, Settings};
pub use listener::{Door, Listener, Stop};

/// The doors that fuzzing knocks at; the service itself enters by them, too.
pub mod doors {
    pub use crate::form::Form;
    pub use crate::json::{Fields, Json, parse_object};
    pub use crate::query::page_of;
}
