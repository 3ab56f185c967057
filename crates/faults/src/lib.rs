//! A proxy for developers of clients: it forwards the calls of integrators to a server, and injects
//! faults into some of the answers, as specified by the texts of `--fault` ([`Fault`]) and a seed:
//! the same calls in the same order get the same faults.
//!
//! A call passes `proxy` → `plan`, which decides its faults → the server → `rows`, which alters its
//! answer. Answers without a call to the server are in `made`.

mod calls;
mod fault;
mod forward;
mod grammar;
mod made;
mod plan;
mod proxy;
mod rows;
mod sessions;
mod shifted;

pub use fault::Fault;
pub use grammar::{FaultError, reference};
pub use plan::Faults;
pub use proxy::FaultProxy;

/// The header of an answer with a fault: the names of its faults.
pub const FAULT_HEADER: &str = "kiosque-fault";
