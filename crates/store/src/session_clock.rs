//! Ends sessions that a clock has passed before it was set back (AUTH-25), those of the console
//! too. The latest time of the clock is stored now and then, so that a restart does not forget it.

use std::sync::atomic::{AtomicI64, Ordering};

use kiosque_model::UnixMs;

use crate::db::{Deadline, Write};
use crate::sql::statements;
use crate::{Error, Store, console, metadata};

/// The smallest step back that ends sessions.
const STEP_MIN_MS: i64 = 100;
/// The interval at which the time is stored.
const STORE_INTERVAL_MS: i64 = 60_000;

statements! {
    END_PASSED(latest_ms) = "delete from sessions where expires_at_ms <= $latest_ms";
}

/// The latest time that this node's clock has shown, and the latest that is stored.
#[derive(Debug)]
pub(crate) struct SessionClock {
    latest_ms: AtomicI64,
    stored_ms: AtomicI64,
}

impl SessionClock {
    pub(crate) fn new(stored_ms: i64) -> SessionClock {
        SessionClock { latest_ms: AtomicI64::new(stored_ms), stored_ms: AtomicI64::new(stored_ms) }
    }
}

impl Store {
    /// Observes the time of this node's clock. The program does so about once a second. If the
    /// clock has been set back, all sessions that had expired before are ended, and their number is
    /// returned. Times of a clock that differs too much from the database's do not count.
    ///
    /// # Errors
    /// The store failed; the next call tries again.
    pub async fn observe_time(&self, now: UnixMs) -> Result<u64, Error> {
        if self.check_clock(now).is_some_and(|clock| clock.is_off) {
            return Ok(0);
        }
        let clock = &self.session_clock;
        let latest = clock.latest_ms.load(Ordering::Relaxed);
        let ended = if now.0 + STEP_MIN_MS < latest {
            self.write_time(now, Some(UnixMs(latest))).await?
        } else if now.0 >= clock.stored_ms.load(Ordering::Relaxed) + STORE_INTERVAL_MS {
            self.write_time(now, None).await?
        } else {
            clock.latest_ms.store(now.0.max(latest), Ordering::Relaxed);
            return Ok(0);
        };
        clock.latest_ms.store(now.0, Ordering::Relaxed);
        clock.stored_ms.store(now.0, Ordering::Relaxed);
        Ok(ended)
    }

    /// Stores the latest time that was observed, before the program ends.
    ///
    /// # Errors
    /// The store failed.
    pub async fn store_time(&self) -> Result<(), Error> {
        let latest = UnixMs(self.session_clock.latest_ms.load(Ordering::Relaxed));
        self.write_time(latest, None).await.map(|_| ())
    }

    /// Stores the time of the clock, and ends the sessions that it had passed. Returns how many.
    async fn write_time(&self, now: UnixMs, passed: Option<UnixMs>) -> Result<u64, Error> {
        let change = async move |write: &Write<'_>| {
            metadata::set_clock(write, now).await?;
            match passed {
                Some(latest) => {
                    let ended = write.execute(&END_PASSED, &[latest.into()]).await?;
                    Ok(ended + console::end_passed(write, latest).await?)
                }
                None => Ok(0),
            }
        };
        self.db.write(Deadline::OfRequest, change).await
    }
}
