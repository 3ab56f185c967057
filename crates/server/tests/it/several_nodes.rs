//! Several nodes on one PostgreSQL.

mod histories;
mod linear;
