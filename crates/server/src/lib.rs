//! The HTTP server: the gateway's paths, handlers, the envelope and its languages.
//!
//! A request passes `router` → a handler (`auth`, `devices`, `orders`) → the store → its driver; an
//! operator's passes `operator` instead of the gateway's `router`, or `console` if it is for a
//! page. There is no SQL here.

mod answer;
mod app;
mod audience;
mod auth;
mod call;
mod changes;
mod console;
mod dashboard;
mod devices;
mod failure;
mod failure_log;
mod large_answers;
mod load;
mod login_limiter;
mod metrics;
mod once_per_second;
mod operator;
mod orders;
mod panics;
mod password;
mod readiness;
mod refused_logins;
mod refused_requests;
mod remarks;
mod request;
mod router;
mod self_signed;
mod serve;

pub use app::{App, Settings};
pub use audience::Audience;
pub use console::link as console_link;
#[doc(hidden)]
pub use load::Load;
pub use refused_logins::RefusedLogins;
pub use self_signed::{SelfSignedError, SelfSignedPem, self_signed, self_signed_identity};

/// Entry points for the fuzz targets: the parsers that requests go through.
pub mod fuzzing {
    pub use crate::operator::rewritten_cursors;
    pub use crate::remarks::IgnoredKeys;
    pub use crate::request::{Violations, page_of, read};
    pub use kiosque_listener::fuzzing::stream_window_after;
    pub use kiosque_listener::json::{Fields, Json, parse_object};
}
