//! A planted bug, on the wire and not in the product, which has no such cache: a request to one
//! node is answered with that node's answer to the same token a moment ago. The cache respects the
//! expiry; the opposite would be found sooner, and by simpler tests.

use std::collections::HashMap;
use std::sync::Mutex;

use kiosque_model::UnixMs;

/// The cache. The age of an answer is the number of lookups since then, so that the bug does not
/// depend on the speed of the machine.
pub(super) struct Copy {
    lasts: u64,
    cache: Mutex<Cache>,
}

#[derive(Default)]
struct Cache {
    lookups: u64,
    seen: HashMap<String, Seen>,
}

/// The answer to a token, and its age.
struct Seen {
    group: usize,
    at: u64,
    now: UnixMs,
}

impl Copy {
    /// Returns a cache whose answers last for this many lookups.
    pub(super) fn lasting(lasts: u64) -> Copy {
        Copy { lasts, cache: Mutex::default() }
    }

    pub(super) fn group_of(&self, token: &str, now: UnixMs) -> Option<usize> {
        let mut cache = self.cache.lock().unwrap();
        cache.lookups += 1;
        let seen = cache.seen.get(token)?;
        let is_fresh = cache.lookups - seen.at <= self.lasts;
        (is_fresh && seen.now == now).then_some(seen.group)
    }

    pub(super) fn keep(&self, token: &str, group: usize, now: UnixMs) {
        let mut cache = self.cache.lock().unwrap();
        let seen = Seen { group, at: cache.lookups, now };
        cache.seen.insert(token.to_owned(), seen);
    }
}
