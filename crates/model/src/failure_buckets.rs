//! Token buckets for failed logins: one for each pair of login name and source, and two for each
//! login name, shared by all unknown sources. Names without an account have the same buckets; no
//! account is ever locked, and no session ends.
//!
//! The second bucket of a name is reserved for first attempts, one per source and day: sources that
//! guess keep the first bucket empty, and a new source with the right password must still get
//! through.
//!
//! An attempt takes its tokens before the password is verified and returns them unless the password
//! was wrong, so concurrent attempts are limited too. Buckets are kept in memory, under keyed
//! hashes of the login names.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use sha2::{Digest, Sha256};

use crate::time::millis;
use crate::{Limits, Refusal, SourcePrefix, UnixMs};

/// The longest time by which an attempt may be older than the latest one. A larger difference means
/// that the clock was set back.
const REORDER_MAX_MS: i64 = 60_000;
/// The length of the key of the hashes.
pub const KEY_BYTES: usize = 32;

/// The keyed hash of a login name, alone or with a source.
type BucketId = u128;

/// The time after which an attempt of a source counts as its first again.
const FIRST_AGAIN_MS: i64 = 86_400_000;
/// The time in which a name's two buckets admit as many attempts as one of the configured size.
const HOUR_MS: i64 = 3_600_000;

/// The buckets of all login names.
#[derive(Debug)]
pub struct FailureBuckets {
    key: [u8; KEY_BYTES],
    latest: UnixMs,
    by_source: Buckets<BucketId>,
    by_name: Buckets<BucketId>,
    /// One token for each login name and source, which the first attempt takes.
    first_by_source: Buckets<BucketId>,
    /// The tokens of each login name that only first attempts take, once its other bucket is empty.
    first_by_name: Buckets<BucketId>,
}

/// The buckets from which an attempt has taken a token, until it ends.
#[derive(Debug)]
pub struct TakenTokens {
    by_source: BucketId,
    by_name: BucketId,
    is_first: bool,
    is_reserved: bool,
}

/// The refusal of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limited {
    /// The time until the next token.
    pub wait_ms: i64,
    /// Whether attempts in progress may return a token earlier.
    pub may_be_returned: bool,
}

impl TakenTokens {
    /// Returns whether this is the first attempt of its source.
    pub fn is_first(&self) -> bool {
        self.is_first
    }
}

impl From<Limited> for Refusal {
    fn from(limited: Limited) -> Refusal {
        let seconds = limited.wait_ms.div_euclid(1_000) + i64::from(limited.wait_ms % 1_000 > 0);
        let retry_after_s = u32::try_from(seconds.max(1)).unwrap_or(u32::MAX);
        Refusal::TooManyFailures { retry_after_s }
    }
}

impl Limited {
    /// Returns the refusal of an attempt that needs a token of either bucket.
    fn or(self, other: Limited) -> Limited {
        Limited {
            wait_ms: self.wait_ms.min(other.wait_ms),
            may_be_returned: self.may_be_returned || other.may_be_returned,
        }
    }
}

impl FailureBuckets {
    /// Returns full buckets of the configured sizes. The key must be random.
    pub fn new(limits: &Limits, key: [u8; KEY_BYTES]) -> FailureBuckets {
        let count_max = limits.login_failures_kept;
        let refill_ms = millis(limits.login_failure_refill);
        // Half of the attempts of an hour are reserved, of these half at once.
        let unknown_refill_ms = millis(limits.login_failure_unknown_refill);
        let shared_ms = unknown_refill_ms.saturating_mul(2);
        let reserved_ms = unknown_refill_ms.saturating_mul(4);
        let reserved = u32::try_from(HOUR_MS.checked_div(reserved_ms).unwrap_or(1)).unwrap_or(1);
        let shared = limits.login_failures_unknown_free;
        FailureBuckets {
            key,
            latest: UnixMs(0),
            by_source: Buckets::new(limits.login_failures_free, refill_ms, count_max),
            by_name: Buckets::new(shared, shared_ms, count_max),
            first_by_source: Buckets::new(1, FIRST_AGAIN_MS, count_max),
            first_by_name: Buckets::new(reserved.max(1), reserved_ms, count_max),
        }
    }

    /// Takes a token from the bucket of the source and one from a bucket of the name, or none.
    ///
    /// # Errors
    /// One of them is empty.
    pub fn take(
        &mut self,
        typed_name: &str,
        prefix: SourcePrefix,
        now: UnixMs,
    ) -> Result<TakenTokens, Limited> {
        let now = self.monotonic(now);
        let by_source = self.id(typed_name, &prefix.to_string());
        let by_name = self.id(typed_name, "");
        self.by_source.take(&by_source, now)?;
        let first = self.first_by_source.take(&by_source, now);
        let is_first = first.is_ok();
        let shared = self.by_name.take(&by_name, now);
        let reserved = match &shared {
            Err(_) => first.and_then(|()| self.first_by_name.take(&by_name, now)),
            Ok(()) => first,
        };
        if let (Err(shared), Err(reserved)) = (shared, reserved) {
            self.by_source.settle(&by_source, Ended::Otherwise);
            if is_first {
                self.first_by_source.settle(&by_source, Ended::Otherwise);
            }
            return Err(shared.or(reserved));
        }
        Ok(TakenTokens { by_source, by_name, is_first, is_reserved: shared.is_err() })
    }

    /// Ends an attempt, and returns its tokens unless it failed.
    pub fn settle(&mut self, taken: &TakenTokens, ended: Ended) {
        self.by_source.settle(&taken.by_source, ended);
        if taken.is_first {
            self.first_by_source.settle(&taken.by_source, ended);
        }
        let of_name = if taken.is_reserved { &mut self.first_by_name } else { &mut self.by_name };
        of_name.settle(&taken.by_name, ended);
    }

    /// Returns a time that never decreases unless the clock was set back: at an earlier time, a
    /// bucket would seem fuller than it is.
    fn monotonic(&mut self, now: UnixMs) -> UnixMs {
        let late_ms = self.latest.0.saturating_sub(now.0);
        if !(0..REORDER_MAX_MS).contains(&late_ms) {
            self.latest = now;
        }
        self.latest
    }

    fn id(&self, typed_name: &str, prefix: &str) -> BucketId {
        let length = u64::try_from(typed_name.len()).unwrap_or(u64::MAX);
        let digest = Sha256::new()
            .chain_update(self.key)
            .chain_update(length.to_be_bytes())
            .chain_update(typed_name)
            .chain_update(prefix)
            .finalize();
        digest.iter().take(16).fold(0, |id, byte| id << 8 | u128::from(*byte))
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The password was wrong, or the client disconnected before the result.
    Failed,
    /// The password was right, or was not verified.
    Otherwise,
}

/// Buckets of one size, by key. A bucket is represented by the time at which it will be full
/// again; full buckets are not stored.
#[derive(Debug)]
pub struct Buckets<K> {
    refill_ms: i64,
    /// The time in which an empty bucket fills up.
    capacity_ms: i64,
    count_max: usize,
    full_at: HashMap<K, i64>,
    /// The entries of `full_at`, fullest bucket first.
    by_time: BTreeSet<(i64, K)>,
    /// The attempts in progress of each bucket.
    under_way: HashMap<K, usize>,
}

impl<K: Clone + Hash + Ord> Buckets<K> {
    /// Returns full buckets of `free` tokens that regain one every `refill_ms`; at most `count_max`
    /// that are not full are kept.
    pub fn new(free: u32, refill_ms: i64, count_max: usize) -> Buckets<K> {
        Buckets {
            refill_ms,
            capacity_ms: refill_ms.saturating_mul(free.into()),
            count_max,
            full_at: HashMap::new(),
            by_time: BTreeSet::new(),
            under_way: HashMap::new(),
        }
    }

    /// Takes a token for an attempt, until it is settled.
    ///
    /// # Errors
    /// The bucket is empty.
    pub fn take(&mut self, id: &K, now: UnixMs) -> Result<(), Limited> {
        // After the clock was set back, the wait is at most an empty bucket's.
        let (least, most) = (now.0, now.0.saturating_add(self.capacity_ms));
        let full_at = self.full_at.get(id).copied().unwrap_or(least).clamp(least, most);
        let would_be = full_at.saturating_add(self.refill_ms);
        if would_be > most {
            self.set(id, full_at);
            let may_be_returned = self.under_way.contains_key(id);
            return Err(Limited { wait_ms: would_be - most, may_be_returned });
        }
        self.set(id, would_be);
        *self.under_way.entry(id.clone()).or_default() += 1;
        self.evict(now);
        Ok(())
    }

    /// Ends an attempt, and returns its token unless it failed.
    pub fn settle(&mut self, id: &K, ended: Ended) {
        if let Entry::Occupied(mut count) = self.under_way.entry(id.clone()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        if ended == Ended::Otherwise
            && let Some(full_at) = self.full_at.get(id).copied()
        {
            self.set(id, full_at - self.refill_ms);
        }
    }

    fn set(&mut self, id: &K, full_at: i64) {
        if let Some(was) = self.full_at.insert(id.clone(), full_at) {
            self.by_time.remove(&(was, id.clone()));
        }
        self.by_time.insert((full_at, id.clone()));
    }

    /// Evicts full buckets, then the fullest ones above the maximum. To have an empty bucket
    /// evicted, an attacker must empty that many others.
    fn evict(&mut self, now: UnixMs) {
        while let Some((full_at, _)) = self.by_time.first() {
            if *full_at > now.0 && self.full_at.len() <= self.count_max {
                break;
            }
            if let Some((_, id)) = self.by_time.pop_first() {
                self.full_at.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests;
