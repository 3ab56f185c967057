//! A planted bug, on the wire and not in the product, which has no cache that could be switched on:
//! whoever asks one node is told what that node told of the same token a moment ago. It forgets no
//! expiry: that would be found sooner, and by easier tests.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use kiosque_model::UnixMs;

pub(super) struct Copy {
    lasts: Duration,
    seen: Mutex<HashMap<String, Seen>>,
}

/// What was seen with a token, and when.
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
