//! The HTTP server: TLS, the gateway's paths, handlers, the envelope and its languages.
//!
//! A request passes `router` → a handler (`auth`, `devices`, `orders`) → the store → its driver;
//! an operator's passes `operator` instead of the gateway's `router`.
//! There is no SQL here.

mod answer;
mod answer_body;
mod app;
mod audience;
mod auth;
mod call;
mod connection;
mod connection_activity;
mod control_frames;
mod dashboard;
mod devices;
mod failure_buckets;
mod http1_request;
mod json;
mod large_answers;
mod listener;
mod load;
pub mod locale;
mod login_limiter;
mod metrics;
pub mod openapi;
mod operator;
mod orders;
mod panics;
mod password;
mod readiness;
mod refused_logins;
mod request;
mod router;
mod source_limits;
mod stop;
mod stream_deadline;
pub mod tls;
mod unread_answers;

pub use app::{App, Settings};
pub use audience::Audience;
pub use listener::Listener;
#[doc(hidden)]
pub use load::Load;
pub use operator::audit_entry;
pub use refused_logins::RefusedLogins;
pub use stop::Stop;

/// Entry points for the fuzz targets: the parsers that requests go through.
pub mod fuzzing {
    pub use crate::json::{Fields, Json, parse_object};
    pub use crate::request::{Violations, page_of, read};
}
