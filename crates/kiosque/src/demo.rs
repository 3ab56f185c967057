//! A believable fleet, always the same.

pub(crate) mod fleet;
mod kiosks;
mod products;
mod random;
mod rhythm;
mod sites;
