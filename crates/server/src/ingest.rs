//! The one module that reads fleet and order files and renders records, shared by the server and
//! the commands.

pub mod csv;
pub mod fleet;
mod group_commit;
pub(crate) mod heartbeats;
pub mod import;
pub mod line;
pub mod ndjson;
pub mod rejected;
pub(crate) mod stream;
