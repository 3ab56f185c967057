//! The environment's soak switch, which `cargo xtask soak` sets.

/// Returns whether this run is a soak.
pub fn is_soak() -> bool {
    std::env::var_os("KIOSQUE_SOAK").is_some()
}

/// Returns `full` in a soak and `small` otherwise.
pub fn size(small: usize, full: usize) -> usize {
    if is_soak() { full } else { small }
}

/// Returns the same for the number of runs of a test, for which a soak may set another value in
/// `KIOSQUE_RUNS`. The results of runs with other seeds add up.
pub fn runs(small: usize, full: usize) -> usize {
    match std::env::var("KIOSQUE_RUNS") {
        Ok(runs) => runs.parse().unwrap(),
        Err(_) => size(small, full),
    }
}
