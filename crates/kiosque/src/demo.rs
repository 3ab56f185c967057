//! A believable fleet with sixty days of orders, the same each time but for their dates.

pub(crate) mod fleet;
mod kiosks;
pub(crate) mod orders;
mod products;
mod random;
mod rhythm;
mod sites;
mod trade;
