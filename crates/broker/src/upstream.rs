//! The server behind the broker: the content of its answers to logins, and its response times.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kiosque_client::session::Grant;
use kiosque_client::{Answer, Transport};
use kiosque_clock::Clock;
use kiosque_contract::Endpoint;
use kiosque_contract::endpoint::{LogIn, SwitchGroup};
use kiosque_locks::lock_ignoring_poison;
use kiosque_model::{GroupId, UnixMs};

use crate::durations::Durations;
use crate::metrics::Metrics;

/// The session of the account, from the latest answer to a login or a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The group that the last login selected.
    pub(crate) default_group: GroupId,
    /// The selected group.
    pub(crate) group: GroupId,
    /// When the token ends, by the server's clock.
    pub(crate) expires_at: UnixMs,
    /// How long tokens are valid.
    pub(crate) validity_ms: i64,
}

/// Returns how long a token that was just received is valid. Two hours, if the server's clock is so
/// far behind that its tokens seem to have ended.
fn validity_ms(expires_at: UnixMs, now: UnixMs) -> i64 {
    const USUAL_MS: i64 = 7_200_000;
    let left = expires_at.0.saturating_sub(now.0);
    if left > 0 { left } else { USUAL_MS }
}

/// Observes the exchanges with the server.
#[derive(Debug)]
pub(crate) struct Upstream {
    seen: Mutex<Option<Seen>>,
    durations: Mutex<Durations>,
    metrics: Arc<Metrics>,
    clock: Clock,
}

impl Upstream {
    pub(crate) fn new(metrics: Arc<Metrics>, clock: Clock) -> Upstream {
        Upstream { seen: Mutex::default(), durations: Mutex::default(), metrics, clock }
    }

    /// Returns the transport, observed.
    pub(crate) fn observe(self: &Arc<Self>, transport: Transport) -> Transport {
        let upstream = Arc::clone(self);
        Transport::from_fn(move |request, token| {
            let (upstream, transport) = (Arc::clone(&upstream), transport.clone());
            Box::pin(async move {
                let path = request.path.clone();
                match &*path {
                    LogIn::PATH => upstream.metrics.log_ins.inc(),
                    SwitchGroup::PATH => upstream.metrics.switches.inc(),
                    _ => {}
                }
                let begun = Instant::now();
                let result = transport.send(request, token).await;
                upstream.took(begun.elapsed());
                if let Ok(answer) = &result {
                    upstream.look_at(&path, answer);
                }
                result
            })
        })
    }

    fn took(&self, duration: Duration) {
        self.metrics.upstream.observe(duration.as_secs_f64());
        lock_ignoring_poison(&self.durations).add(duration);
    }

    fn look_at(&self, path: &str, answer: &Answer) {
        let is_log_in = path == LogIn::PATH;
        if !is_log_in && path != SwitchGroup::PATH {
            return;
        }
        let Ok(data) = answer.data::<Grant>() else { return };
        let mut seen = lock_ignoring_poison(&self.seen);
        let default_group = seen.take().filter(|_| !is_log_in).map(|seen| seen.default_group);
        *seen = Some(Seen {
            default_group: default_group.unwrap_or_else(|| data.group.clone()),
            group: data.group,
            expires_at: data.expires_at,
            validity_ms: validity_ms(data.expires_at, self.clock.now()),
        });
    }

    /// Returns the content of the latest answer to a login or a switch.
    pub(crate) fn seen(&self) -> Option<Seen> {
        lock_ignoring_poison(&self.seen).clone()
    }

    /// Returns the median duration of the latest answers.
    pub(crate) fn median(&self) -> Option<Duration> {
        lock_ignoring_poison(&self.durations).median()
    }
}
