//! Import: reads fleet files, order files, CSV reports, exchange rates and streams of orders and
//! heartbeats, and stores them. It is shared by commands and the server, and is independent of both
//! and of HTTP.

mod batch_size;
pub mod csv;
mod error;
pub mod export;
pub mod file_kind;
pub mod fleet;
pub mod given_order;
mod group_commit;
pub mod heartbeats;
pub mod import;
mod inconsistent_data;
pub mod intake_record;
pub mod json_body;
mod json_line;
mod masking;
pub mod ndjson;
mod payment;
pub mod rejected;
mod response_lists;
mod storage_order;
pub mod stream;
mod toml_error;
mod unknown_keys;

pub use error::Error;
pub use toml_error::toml_error;
pub use unknown_keys::UnknownKeys;
