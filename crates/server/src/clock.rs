//! Time and chance are parameters: everything else asks these two.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use kiosque_model::UnixMs;

/// Tells the time.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The machine's clock.
    System,
    /// A clock that stands until somebody sets it, for tests.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// The time now.
    #[must_use]
    pub fn now(&self) -> UnixMs {
        match self {
            Clock::System => UnixMs(system_ms()),
            Clock::Manual(ms) => UnixMs(ms.load(Ordering::SeqCst)),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
fn system_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Gives random bytes.
#[derive(Clone)]
pub struct Entropy(Arc<Fill>);

type Fill = dyn Fn(&mut [u8]) -> Result<(), NoEntropy> + Send + Sync;

/// The source of random bytes failed; no token may be made without it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the machine gave no random bytes")]
pub struct NoEntropy;

impl std::fmt::Debug for Entropy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Entropy")
    }
}

impl Entropy {
    /// The machine's source.
    #[must_use]
    pub fn system() -> Entropy {
        Entropy::from_fn(|bytes| getrandom::fill(bytes).map_err(|_| NoEntropy))
    }

    /// A source of one's own, for tests.
    pub fn from_fn(
        fill: impl Fn(&mut [u8]) -> Result<(), NoEntropy> + Send + Sync + 'static,
    ) -> Entropy {
        Entropy(Arc::new(fill))
    }

    /// `N` random bytes.
    ///
    /// # Errors
    /// The source failed.
    pub fn bytes<const N: usize>(&self) -> Result<[u8; N], NoEntropy> {
        let mut bytes = [0; N];
        (self.0)(&mut bytes)?;
        Ok(bytes)
    }
}
