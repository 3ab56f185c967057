//! A local service that implements the interface of `docs/interface.md` and shares one session of
//! an account among any number of workers.
//!
//! An account has one session with one selected group (AUTH-12), so that workers that each log in
//! end each other's sessions. A worker of the broker logs in here instead, and gets a session of
//! the broker's own: logging in, switching and logging out are local. Every other call is sent in
//! the session of the account, in the group that the worker has selected, by
//! [`kiosque_client::session`]; its answer is passed on unchanged.
//!
//! A request passes `serve` → `Broker::answer` → `Session::call`.

mod answer;
mod broker;
mod changes;
mod durations;
mod fields;
mod guesses;
mod lanes;
mod metrics;
mod serve;
mod status;
mod upstream;
mod worker;

pub use broker::{Broker, BrokerOptions, DeviceLists};
pub use serve::{Listeners, broker_limits, serve};
pub use worker::WorkerLogin;
