//! What comes in: files of fleets and orders.

pub mod csv;
