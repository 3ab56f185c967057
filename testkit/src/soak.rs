//! The environment's soak switch, which `cargo xtask soak` sets.

/// Returns whether this run is a soak.
#[must_use]
pub fn is_soak() -> bool {
    std::env::var_os("KIOSQUE_SOAK").is_some()
}

/// Returns `full` in a soak and `small` elsewhere.
#[must_use]
pub fn size(small: usize, full: usize) -> usize {
    if is_soak() { full } else { small }
}
