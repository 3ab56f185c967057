//! Ends sessions, including console sessions, that a clock passed before it was set back, and
//! those that were opened while it was ahead (AUTH-25). No activity of a device is left later than
//! the clock (DEV-7), and no use of an account. The latest time of the clock is stored
//! periodically, so that a restart does not forget it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use kiosque_model::UnixMs;

use crate::db::{Deadline, Write};
use crate::error::Error;
use crate::sql::statements;
use crate::views::Sessions;
use crate::{account_use, console, metadata};

/// The smallest step back that ends sessions and caps activity.
const STEP_MIN_MS: i64 = 100;
/// The interval at which the time is stored.
const STORE_INTERVAL_MS: i64 = 60_000;

statements! {
    END_PASSED(latest_ms, end_max_ms) = "delete from sessions
        where expires_at_ms <= $latest_ms or expires_at_ms > $end_max_ms";
    CAP_ACTIVITY(now_ms) = "update ledger set last_active_ms = $now_ms
        where last_active_ms > $now_ms";
}

impl Sessions<'_> {
    /// Observes the time of this node's clock. The program calls this about once a second. If the
    /// clock has been set back, ends all sessions that had expired before, and those that were
    /// opened while it was ahead, which end later than a session of `validity` opened now, and caps
    /// the activity of devices and the uses of accounts at `now`. Returns the number of ended
    /// sessions. Times of a clock that differs too much from the database's are ignored.
    ///
    /// # Errors
    /// The store failed; the next call tries again.
    pub async fn observe_time(self, now: UnixMs, validity: Duration) -> Result<u64, Error> {
        if self.0.db.check_clock(now).is_some_and(|clock| clock.is_off) {
            return Ok(0);
        }
        let clock = &self.0.session_clock;
        // A session that has expired now stays ended, even if nothing can be written.
        let latest = clock.latest_ms.fetch_max(now.0, Ordering::Relaxed);
        let ended = if now.0 + STEP_MIN_MS < latest {
            self.0.activity.cap(now);
            self.0.usage.cap(now);
            let validity_ms = i64::try_from(validity.as_millis()).unwrap_or(i64::MAX);
            self.write_time(now, Some((UnixMs(latest), now.plus_ms(validity_ms)))).await?
        } else if now.0 >= clock.stored_ms.load(Ordering::Relaxed) + STORE_INTERVAL_MS {
            self.write_time(now, None).await?
        } else {
            return Ok(0);
        };
        clock.latest_ms.store(now.0, Ordering::Relaxed);
        clock.stored_ms.store(now.0, Ordering::Relaxed);
        Ok(ended)
    }

    /// Stores the latest observed time, before the program ends.
    ///
    /// # Errors
    /// The store failed.
    pub async fn store_time(self) -> Result<(), Error> {
        let latest = UnixMs(self.0.session_clock.latest_ms.load(Ordering::Relaxed));
        self.write_time(latest, None).await.map(|_| ())
    }

    /// Stores the time of the clock. If it was set back, caps the stored activity and uses, and
    /// ends the sessions that end until the latest time or after the latest end of a new session.
    /// Returns their number.
    async fn write_time(
        self,
        now: UnixMs,
        set_back: Option<(UnixMs, UnixMs)>,
    ) -> Result<u64, Error> {
        let change = async move |write: &Write<'_>| {
            metadata::set(write, metadata::CLOCK, now.0).await?;
            match set_back {
                Some((latest, end_max)) => {
                    write.execute(&CAP_ACTIVITY, &[now.into()]).await?;
                    account_use::cap_uses(write, now).await?;
                    let params = [latest.into(), end_max.into()];
                    let ended = write.execute(&END_PASSED, &params).await?;
                    Ok(ended + console::end_passed(write, latest, now).await?)
                }
                None => Ok(0),
            }
        };
        self.0.db.write(Deadline::OfRequest, change).await
    }
}
