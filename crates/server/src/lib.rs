//! How it is served.

pub mod ingest;
