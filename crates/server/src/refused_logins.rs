//! Refused logins to be written to the audit trail. They are written together, so that a guess does
//! not cost a commit, and combined, so that guesses do not fill the disk: the first few of an
//! account and a source in a minute are separate entries, and the others are one entry.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard};

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::audit::{AuditRecord, LoginRefusal};
use kiosque_model::{LoginName, Origin, Source, SourcePrefix, UnixMs};
use kiosque_store::{PendingEvents, Store};

/// Refusals of an account and a source that are separate entries in a period.
const SINGLE_MAX: usize = 3;
/// The period in which further ones are combined.
const PERIOD_MS: i64 = 60_000;
/// Pairs of an account and a source that are distinguished in a period; further sources are
/// combined for each account.
const SOURCES_MAX: usize = 256;
/// Maximum number of tallies; further accounts are combined.
const TALLIES_MAX: usize = 2 * SOURCES_MAX;
/// Entries that wait for the next attempt, besides those of a failed one; further ones are lost.
const READY_MAX: usize = 4_096;

/// Refused logins that are not in the audit trail yet.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    ready: Vec<AuditRecord>,
    /// Entries that the last attempt did not write, or that it may have written.
    pending: Option<PendingEvents>,
    tallies: HashMap<TallyKey, Tally>,
    lost: u64,
}

/// The account, if it exists, and the source of combined refusals; `None` if there are too many.
type TallyKey = (Option<String>, Option<SourcePrefix>);

#[derive(Debug)]
struct Tally {
    since: UnixMs,
    single_left: usize,
    combined: BTreeMap<LoginRefusal, AuditRecord>,
}

impl Refusals {
    /// Adds a refused login, or sign-in to the console; `account` exists.
    pub(crate) fn add(&mut self, account: Option<LoginName>, error: LoginRefusal, origin: &Origin) {
        let account = account.map(|name| name.as_str().to_owned());
        self.end_periods(origin.at);
        let (key, source) = self.tally_key(account, origin.source);
        let happened = AuditRecord {
            source,
            detail: Some(error.name().to_owned()),
            ..AuditRecord::to_account(error.event(), key.0.clone(), origin)
        };
        let single_left = if key.1.is_some() { SINGLE_MAX } else { 0 };
        let tally = self.tallies.entry(key).or_insert_with(|| Tally {
            since: origin.at,
            single_left,
            combined: BTreeMap::new(),
        });
        if tally.single_left > 0 {
            tally.single_left -= 1;
            self.make_ready(happened);
        } else {
            let count = tally.combined.get(&error).map_or(0, |earlier| earlier.count);
            tally.combined.insert(error, AuditRecord { count: count + 1, ..happened });
        }
    }

    /// Removes and returns the entries that are due.
    pub(crate) fn due(&mut self, now: UnixMs) -> Vec<AuditRecord> {
        self.end_periods(now);
        std::mem::take(&mut self.ready)
    }

    fn tally_key(&self, account: Option<String>, source: Source) -> (TallyKey, Option<Source>) {
        let key = (account, Some(source.prefix()));
        if self.tallies.contains_key(&key) || self.tallies.len() < SOURCES_MAX {
            return (key, Some(source));
        }
        let key = (key.0, None);
        if self.tallies.contains_key(&key) || self.tallies.len() < TALLIES_MAX {
            return (key, None);
        }
        ((None, None), None)
    }

    fn end_periods(&mut self, now: UnixMs) {
        // A clock that was set back also ends the period.
        let is_over = |tally: &Tally| !(0..PERIOD_MS).contains(&(now.0 - tally.since.0));
        let over = self.tallies.extract_if(|_, tally| is_over(tally));
        let combined = over.flat_map(|(_, tally)| tally.combined.into_values());
        let mut combined: Vec<AuditRecord> = combined.collect();
        combined.sort_by_key(|happened| happened.at);
        combined.into_iter().for_each(|happened| self.make_ready(happened));
    }

    fn make_ready(&mut self, happened: AuditRecord) {
        if self.ready.len() < READY_MAX {
            self.ready.push(happened);
        } else {
            self.lost += 1;
        }
    }
}

/// The refused logins of a server that are not in the audit trail yet.
#[derive(Debug, Default)]
pub struct RefusedLogins(Mutex<Refusals>);

impl RefusedLogins {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Refusals> {
        lock_ignoring_poison(&self.0)
    }

    /// Writes every entry to the audit trail, even of periods that have not ended.
    pub async fn flush_all(&self, store: &Store) {
        self.flush(store, UnixMs::MAX).await;
    }

    /// Writes the entries that are due to the audit trail, after those of an attempt that failed.
    pub async fn flush(&self, store: &Store, now: UnixMs) {
        let pending = self.lock().pending.take();
        let is_written = match pending {
            Some(events) => self.record(store, events).await,
            None => true,
        };
        if is_written {
            let happened = self.lock().due(now);
            if !happened.is_empty() {
                self.record(store, PendingEvents::new(happened)).await;
            }
        }
        let lost = std::mem::take(&mut self.lock().lost);
        if lost > 0 {
            tracing::error!(lost, "refused logins are missing from the audit trail");
        }
    }

    /// Writes entries, or keeps them for the next attempt; returns whether they were written.
    async fn record(&self, store: &Store, events: PendingEvents) -> bool {
        let Err(error) = store.trail().record_events(&events).await else { return true };
        tracing::warn!(cause = %error, "refused logins could not be written; trying again");
        self.lock().pending = Some(events);
        false
    }
}

#[cfg(test)]
mod tests;
