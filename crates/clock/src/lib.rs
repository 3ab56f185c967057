//! Time and randomness as values. Everything else takes a [`Clock`] or an [`Entropy`], so that
//! tests control both; `clippy.toml` forbids reading the system clock anywhere else.

mod virtual_clock;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use kiosque_model::UnixMs;

pub use kiosque_model::time::millis;
pub use virtual_clock::VirtualClock;

/// A source of the current time.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The system clock.
    System,
    /// A clock that shows the stored milliseconds since 1970, for tests and demonstrations.
    Manual(Arc<AtomicI64>),
    /// A clock that runs at its own speed, for demonstrations.
    Virtual(VirtualClock),
}

impl Clock {
    /// Returns the current time.
    pub fn now(&self) -> UnixMs {
        match self {
            Clock::System => UnixMs(system_ms()),
            Clock::Manual(ms) => UnixMs(ms.load(Ordering::SeqCst)),
            Clock::Virtual(clock) => clock.now(),
        }
    }

    /// Returns how long to wait until this clock has advanced by a duration.
    pub fn lasts(&self, duration: Duration) -> Duration {
        match self {
            Clock::System | Clock::Manual(_) => duration,
            Clock::Virtual(clock) => clock.lasts(duration),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the only place that reads the system clock")]
fn system_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Mixes the bits of a number (splitmix64): for seeded sequences, never for secrets. The function
/// is a bijection.
pub const fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The increment of a sequence of numbers for [`mixed`]: 2^64 divided by the golden ratio.
pub const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A source of random bytes.
#[derive(Clone)]
pub struct Entropy(Arc<Fill>);

type Fill = dyn Fn(&mut [u8]) -> Result<(), NoEntropy> + Send + Sync;

/// The source of random bytes failed; no token may be created without it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the operating system returned no random bytes")]
pub struct NoEntropy;

impl std::fmt::Debug for Entropy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Entropy")
    }
}

impl Entropy {
    /// Returns the operating system's source.
    pub fn system() -> Entropy {
        Entropy::from_fn(|bytes| getrandom::fill(bytes).map_err(|_| NoEntropy))
    }

    /// Returns a source that calls `fill`, for tests.
    pub fn from_fn(
        fill: impl Fn(&mut [u8]) -> Result<(), NoEntropy> + Send + Sync + 'static,
    ) -> Entropy {
        Entropy(Arc::new(fill))
    }

    /// Returns `N` random bytes.
    ///
    /// # Errors
    /// The source failed.
    pub fn bytes<const N: usize>(&self) -> Result<[u8; N], NoEntropy> {
        let mut bytes = [0; N];
        (self.0)(&mut bytes)?;
        Ok(bytes)
    }
}
