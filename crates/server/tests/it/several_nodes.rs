//! Sessions under concurrency: on one node, and on several on one PostgreSQL.

mod histories;
mod linear;
