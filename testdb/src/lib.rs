//! PostgreSQL for tests, from the packages of the system: whole servers that may be killed, frozen
//! and followed by a standby ([`Server`]), and schemas in one server that a run shares ([`Place`]).
//!
//! A server lives in a temporary folder of its own, on a port of its own, and ends with the process
//! that started it, however that process ends.

mod home;
mod patience;
mod place;
mod ports;
mod processes;
mod programs;
mod server;

pub use place::{Place, SETTING};
pub use programs::is_installed;
pub use server::{Durability, Server};
