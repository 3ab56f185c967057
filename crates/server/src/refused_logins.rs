//! Refused logins on their way to the audit trail. A guesser must not cost a commit a guess, nor
//! fill the disk: refusals are collected and written together, the first few of an account and a
//! place in a minute one by one, and what follows within it as one entry.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::audit::{AuditEvent, AuditRecord, LoginFault};
use kiosque_model::{LoginName, Origin, Place, Source, UnixMs};

use crate::app::App;

/// Refusals of an account and a place that are told one by one.
const ONE_BY_ONE: usize = 3;
/// How long what follows is told together.
const TOGETHER_MS: i64 = 60_000;
/// Places and accounts told apart in a minute; further places are told together for each account.
const PLACES_MAX: usize = 256;
/// With those; further accounts are told together.
const TALLIES_MAX: usize = 2 * PLACES_MAX;
/// Entries that wait for a store that is busy.
const READY_MAX: usize = 4_096;

/// Refused logins that are not in the trail yet.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    ready: Vec<AuditRecord>,
    tallies: HashMap<Teller, Tally>,
    lost: u64,
}

/// Whose refusals are told together: an account's, if there is one, from a place, unless there are
/// too many.
type Teller = (Option<String>, Option<Place>);

#[derive(Debug)]
struct Tally {
    since: UnixMs,
    one_by_one_left: usize,
    together: BTreeMap<LoginFault, AuditRecord>,
}

impl Refusals {
    /// A login was refused; `account` is one that exists.
    pub(crate) fn add(&mut self, account: Option<LoginName>, fault: LoginFault, origin: &Origin) {
        let account = account.map(|name| name.as_str().to_owned());
        self.end_minutes(origin.at);
        let (teller, source) = self.teller(account, origin.source);
        let happened = AuditRecord {
            source,
            detail: Some(fault.name().to_owned()),
            ..AuditRecord::to_account(AuditEvent::LoginRefused, teller.0.clone(), origin)
        };
        let one_by_one_left = if teller.1.is_some() { ONE_BY_ONE } else { 0 };
        let tally = self.tallies.entry(teller).or_insert_with(|| Tally {
            since: origin.at,
            one_by_one_left,
            together: BTreeMap::new(),
        });
        if tally.one_by_one_left > 0 {
            tally.one_by_one_left -= 1;
            self.make_ready(happened);
        } else {
            let count = tally.together.get(&fault).map_or(0, |earlier| earlier.count);
            tally.together.insert(fault, AuditRecord { count: count + 1, ..happened });
        }
    }

    /// What is to be written now.
    pub(crate) fn due(&mut self, now: UnixMs) -> Vec<AuditRecord> {
        self.end_minutes(now);
        std::mem::take(&mut self.ready)
    }

    /// Everything, for no more will come.
    pub(crate) fn all(&mut self) -> Vec<AuditRecord> {
        let tallies: Vec<Tally> = self.tallies.drain().map(|(_, tally)| tally).collect();
        self.make_all_ready(tallies);
        std::mem::take(&mut self.ready)
    }

    /// What could not be written waits for the next time.
    fn put_back(&mut self, mut happened: Vec<AuditRecord>) {
        happened.append(&mut self.ready);
        let beyond = happened.len().saturating_sub(READY_MAX);
        happened.truncate(READY_MAX);
        self.ready = happened;
        self.lost += u64::try_from(beyond).unwrap_or(u64::MAX);
    }

    fn teller(&self, account: Option<String>, source: Source) -> (Teller, Option<Source>) {
        let teller = (account, Some(source.place()));
        if self.tallies.contains_key(&teller) || self.tallies.len() < PLACES_MAX {
            return (teller, Some(source));
        }
        let teller = (teller.0, None);
        if self.tallies.contains_key(&teller) || self.tallies.len() < TALLIES_MAX {
            return (teller, None);
        }
        ((None, None), None)
    }

    fn end_minutes(&mut self, now: UnixMs) {
        // A clock that was set back ends a minute, too.
        let is_over = |tally: &Tally| !(0..TOGETHER_MS).contains(&(now.0 - tally.since.0));
        let over: Vec<Tally> =
            self.tallies.extract_if(|_, tally| is_over(tally)).map(|(_, tally)| tally).collect();
        self.make_all_ready(over);
    }

    fn make_all_ready(&mut self, tallies: Vec<Tally>) {
        let together = tallies.into_iter().flat_map(|tally| tally.together.into_values());
        let mut together: Vec<AuditRecord> = together.collect();
        together.sort_by_key(|happened| happened.at);
        together.into_iter().for_each(|happened| self.make_ready(happened));
    }

    fn make_ready(&mut self, happened: AuditRecord) {
        if self.ready.len() < READY_MAX {
            self.ready.push(happened);
        } else {
            self.lost += 1;
        }
    }
}

/// Refusals that requests share.
#[derive(Debug, Default)]
pub(crate) struct RefusedLogins(Mutex<Refusals>);

impl RefusedLogins {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Refusals> {
        lock_ignoring_poison(&self.0)
    }
}

impl App {
    /// Writes refused logins to the trail, each time that `every` has passed, until `over`; then
    /// what is left.
    pub async fn keep_trail(&self, every: Duration, over: impl Future) {
        let mut over = std::pin::pin!(over);
        loop {
            tokio::select! {
                _ = &mut over => break,
                () = tokio::time::sleep(every) => self.tell_refusals().await,
            }
        }
        self.tell_all_refusals().await;
    }

    /// Writes to the trail what is due of the refused logins.
    pub async fn tell_refusals(&self) {
        let due = self.refused_logins.lock().due(self.clock.now());
        self.tell(due).await;
    }

    /// Writes every refused login to the trail: no more will come.
    pub async fn tell_all_refusals(&self) {
        let all = self.refused_logins.lock().all();
        self.tell(all).await;
    }

    async fn tell(&self, happened: Vec<AuditRecord>) {
        if happened.is_empty() {
            return;
        }
        if let Err(error) = self.store.record_events(happened.clone()).await {
            tracing::warn!(cause = %error, "refused logins are not in the trail yet");
            self.refused_logins.lock().put_back(happened);
        }
        let lost = std::mem::take(&mut self.refused_logins.lock().lost);
        if lost > 0 {
            tracing::error!(lost, "refused logins will not be in the trail");
        }
    }
}

#[cfg(test)]
mod tests;
