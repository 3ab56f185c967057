//! Time and randomness as values. Everything else takes a [`Clock`] or an [`Entropy`], so that
//! tests decide both; `clippy.toml` forbids reading the system clock anywhere else.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use kiosque_model::UnixMs;

/// A source of the current time.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The system clock.
    System,
    /// A clock that shows the stored milliseconds since 1970, for tests and demonstrations.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> UnixMs {
        match self {
            Clock::System => UnixMs(system_ms()),
            Clock::Manual(ms) => UnixMs(ms.load(Ordering::SeqCst)),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the only place that reads the system clock")]
fn system_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Returns a duration in milliseconds, saturating far above any duration in use.
#[must_use]
pub fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}

/// A source of random bytes.
#[derive(Clone)]
pub struct Entropy(Arc<Fill>);

type Fill = dyn Fn(&mut [u8]) -> Result<(), NoEntropy> + Send + Sync;

/// The source of random bytes failed; no token may be made without it.
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
    #[must_use]
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
