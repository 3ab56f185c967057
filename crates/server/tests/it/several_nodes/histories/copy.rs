//! A planted bug, on the wire and not in the product, which has no such cache: a request to one
//! node is answered with that node's answer to the same token a moment ago. The cache respects the
//! expiry; the opposite would be found sooner, and by simpler tests.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use kiosque_model::UnixMs;

pub(super) struct Copy {
    lasts: Duration,
    seen: Mutex<HashMap<String, Seen>>,
}

/// The answer to a token, and its time.
struct Seen {
    group: usize,
    at: Instant,
    now: UnixMs,
}

impl Copy {
    pub(super) fn lasting(lasts: Duration) -> Copy {
        Copy { lasts, seen: Mutex::default() }
    }

    pub(super) fn group_of(&self, token: &str, now: UnixMs) -> Option<usize> {
        let all = self.seen.lock().unwrap();
        let seen = all.get(token)?;
        (seen.at.elapsed() < self.lasts && seen.now == now).then_some(seen.group)
    }

    pub(super) fn keep(&self, token: &str, group: usize, now: UnixMs) {
        let seen = Seen { group, at: Instant::now(), now };
        self.seen.lock().unwrap().insert(token.to_owned(), seen);
    }
}
