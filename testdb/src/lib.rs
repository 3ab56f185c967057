//! PostgreSQL for tests, from the system's packages: whole servers that can be killed, frozen and
//! followed by a standby ([`Server`]), and schemas in one server that a run shares ([`Schema`]).
//!
//! A server has its own temporary directory and port, and ends with the process that started it,
//! however that process ends.

mod ports;
mod processes;
mod programs;
mod schema;
mod server;
mod server_directory;
mod wait;

pub use processes::cpu_time;
pub use programs::is_installed;
pub use schema::{SETTING, Schema};
pub use server::{Durability, Server};
