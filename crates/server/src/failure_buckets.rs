//! How many logins may fail: so many for each login name and place, and so many for a login name
//! from all places together that never logged in with it. Whether such an account exists makes no
//! difference, no account is ever locked, and no session is touched.
//!
//! An attempt takes its token before the password is looked at, and gives it back unless the
//! password was wrong, so that no number of attempts at once gets further than that. Buckets are
//! few numbers in memory, under keyed hashes of what people typed.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use kiosque_model::{Limits, Place, UnixMs};
use sha2::{Digest, Sha256};

use kiosque_clock::millis;

/// How far requests may be out of turn, each with the time at which it was looked at; a clock that
/// is further back was set back.
const OUT_OF_TURN_MS: i64 = 60_000;
/// Bytes of the key that names are hashed with.
pub(crate) const KEY_BYTES: usize = 32;

/// The bucket of a login name, alone or with a place.
type BucketId = u128;

/// The failed logins that count.
#[derive(Debug)]
pub(crate) struct FailureBuckets {
    key: [u8; KEY_BYTES],
    latest: UnixMs,
    of_places: Buckets,
    of_strangers: Buckets,
}

/// What an attempt has taken, until it is known how it ended.
#[derive(Debug)]
pub(crate) struct Taken {
    of_place: BucketId,
    of_strangers: BucketId,
}

/// Why an attempt may not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limited {
    /// How long until one may be made.
    pub(crate) wait_ms: i64,
    /// Others are under way, which may yet give back what they took.
    pub(crate) others_under_way: bool,
}

impl FailureBuckets {
    pub(crate) fn new(limits: &Limits, key: [u8; KEY_BYTES]) -> FailureBuckets {
        let kept = limits.login_failures_kept;
        let refill_ms = millis(limits.login_failure_refill);
        let stranger_refill_ms = millis(limits.login_failure_unknown_refill);
        FailureBuckets {
            key,
            latest: UnixMs(0),
            of_places: Buckets::new(limits.login_failures_free, refill_ms, kept),
            of_strangers: Buckets::new(
                limits.login_failures_unknown_free,
                stranger_refill_ms,
                kept,
            ),
        }
    }

    /// Takes what an attempt costs, from both buckets or from none.
    pub(crate) fn take(
        &mut self,
        typed_name: &str,
        place: Place,
        now: UnixMs,
    ) -> Result<Taken, Limited> {
        let now = self.in_turn(now);
        let taken = Taken {
            of_place: self.id(typed_name, &place.to_string()),
            of_strangers: self.id(typed_name, ""),
        };
        self.of_places.take(taken.of_place, now)?;
        if let Err(limited) = self.of_strangers.take(taken.of_strangers, now) {
            self.of_places.settle(taken.of_place, Ended::Otherwise);
            return Err(limited);
        }
        Ok(taken)
    }

    /// An attempt has ended.
    pub(crate) fn settle(&mut self, taken: &Taken, ended: Ended) {
        self.of_places.settle(taken.of_place, ended);
        self.of_strangers.settle(taken.of_strangers, ended);
    }

    /// Time never goes back by a little: a bucket that is looked at from earlier on would seem
    /// fuller than it is.
    fn in_turn(&mut self, now: UnixMs) -> UnixMs {
        let late_ms = self.latest.0.saturating_sub(now.0);
        if !(0..OUT_OF_TURN_MS).contains(&late_ms) {
            self.latest = now;
        }
        self.latest
    }

    fn id(&self, typed_name: &str, place: &str) -> BucketId {
        let length = u64::try_from(typed_name.len()).unwrap_or(u64::MAX);
        let digest = Sha256::new()
            .chain_update(self.key)
            .chain_update(length.to_be_bytes())
            .chain_update(typed_name)
            .chain_update(place)
            .finalize();
        digest.iter().take(16).fold(0, |id, byte| id << 8 | u128::from(*byte))
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The password was wrong, or the caller went away before the result.
    Failed,
    /// The password was right, or was never looked at.
    Otherwise,
}

/// Buckets of one size. A bucket is known by the moment at which it will be full again; one that is
/// full is not kept.
#[derive(Debug)]
struct Buckets {
    refill_ms: i64,
    /// How long an empty one takes to be full.
    whole_ms: i64,
    most: usize,
    full_at: HashMap<BucketId, i64>,
    /// The same, the fullest first.
    by_time: BTreeSet<(i64, BucketId)>,
    under_way: HashMap<BucketId, usize>,
}

impl Buckets {
    fn new(free: u32, refill_ms: i64, most: usize) -> Buckets {
        Buckets {
            refill_ms,
            whole_ms: refill_ms.saturating_mul(free.into()),
            most,
            full_at: HashMap::new(),
            by_time: BTreeSet::new(),
            under_way: HashMap::new(),
        }
    }

    fn take(&mut self, id: BucketId, now: UnixMs) -> Result<(), Limited> {
        // After the clock was set back, no caller waits longer than for an empty bucket.
        let (least, most) = (now.0, now.0.saturating_add(self.whole_ms));
        let full_at = self.full_at.get(&id).copied().unwrap_or(least).clamp(least, most);
        let would_be = full_at.saturating_add(self.refill_ms);
        if would_be > most {
            self.set(id, full_at);
            let others_under_way = self.under_way.contains_key(&id);
            return Err(Limited { wait_ms: would_be - most, others_under_way });
        }
        self.set(id, would_be);
        *self.under_way.entry(id).or_default() += 1;
        self.forget(now);
        Ok(())
    }

    fn settle(&mut self, id: BucketId, ended: Ended) {
        if let Entry::Occupied(mut count) = self.under_way.entry(id) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        if ended == Ended::Otherwise
            && let Some(full_at) = self.full_at.get(&id).copied()
        {
            self.set(id, full_at - self.refill_ms);
        }
    }

    fn set(&mut self, id: BucketId, full_at: i64) {
        if let Some(was) = self.full_at.insert(id, full_at) {
            self.by_time.remove(&(was, id));
        }
        self.by_time.insert((full_at, id));
    }

    /// Forgets what is full; and beyond the bound what is nearest to it, which is least worth
    /// knowing: to have an empty bucket forgotten, a guesser must empty as many others.
    fn forget(&mut self, now: UnixMs) {
        while let Some((full_at, id)) = self.by_time.first().copied() {
            if full_at > now.0 && self.full_at.len() <= self.most {
                break;
            }
            self.by_time.pop_first();
            self.full_at.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests;
