//! The present session.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kiosque_model::UnixMs;

use super::grant::{Grant, Granted};
use super::pace::Pace;

/// The present session.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) grant: Arc<Grant>,
    /// When the session began, by the client's clock.
    pub(super) logged_in_at: UnixMs,
    since: Instant,
    /// When it is renewed, and when it ends.
    ends: Option<(Instant, Instant)>,
}

impl Held {
    pub(super) fn new(now: Instant, granted: Granted, pace: &Pace) -> Held {
        let ends = granted.lifetime.map(|lifetime| {
            let early = pace.renew_before.min(lifetime / 10);
            (now + lifetime.saturating_sub(early), now + lifetime)
        });
        let since = now.checked_sub(granted.age).unwrap_or(now);
        let grant = Arc::new(granted.grant);
        let logged_in_at = granted.logged_in_at;
        Held { grant, logged_in_at, since, ends }
    }

    /// Continues a session with the token of a switch: it is as old as before.
    pub(super) fn after_switch(self, before: &Held) -> Held {
        Held { since: before.since, logged_in_at: before.logged_in_at, ..self }
    }

    /// Returns whether it is time to renew it.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.ends.is_some_and(|(renewal, _)| renewal <= now)
    }

    /// Returns how long it was live; `None` if it has expired.
    pub(super) fn lived(&self, now: Instant) -> Option<Duration> {
        let has_ended = self.ends.is_some_and(|(_, end)| end <= now);
        (!has_ended).then(|| now.saturating_duration_since(self.since))
    }
}
