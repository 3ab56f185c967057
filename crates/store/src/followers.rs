//! Requests that wait for the next change of a group: its followers.
//!
//! A commit of this process wakes the followers of its groups at once, and a login wakes the
//! followers of the previous session. Commits of other processes are found by one look-up a second
//! for all followers together, only while there are any. Being woken proves nothing: a follower
//! reads again, and that read proves its session.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::{AccountNo, GroupNo, PresentedToken};
use tokio::sync::watch;

use crate::error::Error;

/// The followers of a process.
#[derive(Debug, Default)]
pub(crate) struct Followers {
    state: Mutex<State>,
    pub(crate) waiting: AtomicUsize,
    pub(crate) look_ups: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// The last known change number of each group with followers; 0 before the first one is known.
    groups: HashMap<GroupNo, watch::Sender<i64>>,
    /// The digest of the last known token of each account with followers; `None` without a session,
    /// and before the first one is known.
    tokens: HashMap<AccountNo, watch::Sender<Option<String>>>,
    /// The waiting requests of each account; `None` for the operator's.
    waiting: HashMap<Option<AccountNo>, usize>,
    /// Whether the look-ups are running.
    is_looking_up: bool,
}

/// The last change numbers of followed groups, and the digests of followed sessions: the known
/// ones, or those found in the store.
#[derive(Default)]
pub(crate) struct Followed {
    pub(crate) groups: HashMap<GroupNo, i64>,
    pub(crate) tokens: HashMap<AccountNo, Option<String>>,
}

/// A request that reads the changes of a group, and waits for more.
#[derive(Debug)]
pub struct Follower {
    followers: Arc<Followers>,
    group: GroupNo,
    changes: watch::Receiver<i64>,
    session: Option<FollowedSession>,
}

/// The session of a follower.
#[derive(Debug)]
struct FollowedSession {
    account: AccountNo,
    digest: String,
    token: watch::Receiver<Option<String>>,
}

/// A waiting request, counted until this is dropped.
#[derive(Debug)]
pub struct ChangeWait {
    followers: Arc<Followers>,
    account: Option<AccountNo>,
}

impl Followers {
    fn state(&self) -> MutexGuard<'_, State> {
        lock_ignoring_poison(&self.state)
    }

    /// Returns a follower of a group, with the session of a token if it is an integrator's, and
    /// whether to start the look-ups.
    pub(crate) fn follow(
        self: &Arc<Self>,
        group: GroupNo,
        token: Option<&PresentedToken>,
    ) -> (Follower, bool) {
        let mut state = self.state();
        let changes = state.groups.entry(group).or_default().subscribe();
        let session = token.map(|token| {
            let account = token.account_hint();
            let token_of = state.tokens.entry(account).or_default().subscribe();
            FollowedSession { account, digest: token.digest().as_str().to_owned(), token: token_of }
        });
        let starts = !std::mem::replace(&mut state.is_looking_up, true);
        drop(state);
        (Follower { followers: Arc::clone(self), group, changes, session }, starts)
    }

    /// Wakes the followers of groups, each with the number of its last change.
    pub(crate) fn changed(&self, changes: &[(GroupNo, i64)]) {
        let state = self.state();
        for (group, change_no) in changes {
            if let Some(known) = state.groups.get(group) {
                known.send_replace(*change_no);
            }
        }
    }

    /// Wakes the followers with another token of an account.
    pub(crate) fn session_changed(&self, account: AccountNo, digest: Option<&str>) {
        if let Some(known) = self.state().tokens.get(&account) {
            known.send_replace(digest.map(str::to_owned));
        }
    }

    /// Returns the known values, to look them up; `None` without followers, which ends the
    /// look-ups. Values without followers are removed.
    pub(crate) fn known(&self) -> Option<Followed> {
        let mut state = self.state();
        state.groups.retain(|_, known| known.receiver_count() > 0);
        state.tokens.retain(|_, known| known.receiver_count() > 0);
        state.is_looking_up = !state.groups.is_empty();
        self.look_ups.fetch_add(u64::from(state.is_looking_up), Ordering::Relaxed);
        let groups = state.groups.iter().map(|(group, known)| (*group, *known.borrow()));
        let tokens = state.tokens.iter().map(|(account, known)| (*account, known.borrow().clone()));
        let followed = Followed { groups: groups.collect(), tokens: tokens.collect() };
        state.is_looking_up.then_some(followed)
    }

    /// Wakes the followers of groups and sessions that differ in the store. A value that was
    /// replaced after the look-up began is newer than the one that was found.
    pub(crate) fn compare(&self, before: &Followed, mut found: Followed) {
        let state = self.state();
        for (group, last_change_no) in found.groups {
            let is_new = |known: &i64| before.groups.get(&group) == Some(known);
            replace_if(state.groups.get(&group), last_change_no, |known| {
                is_new(known) && *known != last_change_no
            });
        }
        for (account, known_before) in &before.tokens {
            let digest = found.tokens.remove(account).flatten();
            let has_ended = digest.is_none();
            replace_if(state.tokens.get(account), digest.clone(), |known| {
                known == known_before && (has_ended || *known != digest)
            });
        }
    }
}

/// Replaces a value that satisfies a condition, and wakes its followers.
fn replace_if<T>(value: Option<&watch::Sender<T>>, new: T, fits: impl Fn(&T) -> bool) {
    let Some(value) = value else { return };
    value.send_if_modified(|old| {
        let replaces = fits(old);
        if replaces {
            *old = new;
        }
        replaces
    });
}

/// The look-up task. If it panics, the next follower starts another one.
pub(crate) struct LookUps(pub(crate) Arc<Followers>);

impl Drop for LookUps {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().is_looking_up = false;
        }
    }
}

impl Follower {
    /// Returns the followed group.
    pub fn group(&self) -> GroupNo {
        self.group
    }

    /// Reads. [`Follower::woken`] then returns at once if something happened during the read.
    pub async fn read<T>(&mut self, read: impl Future<Output = T>) -> T {
        self.changes.mark_unchanged();
        if let Some(session) = &mut self.session {
            session.token.mark_unchanged();
        }
        read.await
    }

    /// Counts this follower as waiting. At most `max` requests of an account, and of the operator,
    /// wait at a time.
    ///
    /// # Errors
    /// `TooMuchWork` if as many are waiting already.
    pub fn begin_wait(&self, max: usize) -> Result<ChangeWait, Error> {
        let followers = Arc::clone(&self.followers);
        let account = self.session.as_ref().map(|session| session.account);
        let mut state = followers.state();
        let waiting = state.waiting.entry(account).or_default();
        if *waiting >= max {
            return Err(Error::TooMuchWork("too many requests wait for changes"));
        }
        *waiting += 1;
        drop(state);
        followers.waiting.fetch_add(1, Ordering::Relaxed);
        Ok(ChangeWait { followers, account })
    }

    /// Returns when, since the last read began, the group's last change is other than
    /// `last_change_no`, or the session may have ended. The number is lower if changes were lost.
    pub async fn woken(&mut self, last_change_no: i64) {
        let session = self.session.as_mut();
        tokio::select! {
            () = changed(&mut self.changes, |known| *known != last_change_no) => {}
            () = async {
                match session {
                    Some(FollowedSession { token, digest, .. }) => {
                        let is_other = |known: &Option<String>| known.as_ref() != Some(digest);
                        changed(token, is_other).await;
                    }
                    None => std::future::pending().await,
                }
            } => {}
        }
    }
}

/// Returns when a value is replaced by one that satisfies a condition.
async fn changed<T>(value: &mut watch::Receiver<T>, fits: impl Fn(&T) -> bool) {
    // A sender is removed only if it has no receivers.
    while value.changed().await.is_ok() {
        if fits(&value.borrow_and_update()) {
            return;
        }
    }
}

impl Drop for ChangeWait {
    fn drop(&mut self) {
        self.followers.waiting.fetch_sub(1, Ordering::Relaxed);
        let mut state = self.followers.state();
        let waiting = state.waiting.entry(self.account).or_default();
        *waiting = waiting.saturating_sub(1);
        if *waiting == 0 {
            state.waiting.remove(&self.account);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: GroupNo = GroupNo(1);
    const ACCOUNT: AccountNo = AccountNo(2);

    /// Regardless of the order in which they are dropped.
    #[test]
    fn values_without_followers_are_forgotten() {
        let followers = Followers::default();
        let changes = followers.state().groups.entry(GROUP).or_default().subscribe();
        let token = followers.state().tokens.entry(ACCOUNT).or_default().subscribe();
        let others = (changes.clone(), token.clone());
        std::thread::scope(|scope| {
            scope.spawn(move || drop(others));
            assert!(followers.known().is_some());
        });
        drop(token);
        let known = followers.known().expect("a follower of the group");
        assert_eq!((known.groups.len(), known.tokens.len()), (1, 0));
        drop(changes);
        assert!(followers.known().is_none());
        let state = followers.state();
        assert!(state.groups.is_empty() && !state.is_looking_up);
    }

    #[test]
    fn a_panic_ends_the_look_ups() {
        let followers = Arc::new(Followers::default());
        let is_looking_up = || followers.state().is_looking_up;
        followers.state().is_looking_up = true;
        // A task whose runtime is dropped has not panicked: another one may run by then.
        drop(LookUps(Arc::clone(&followers)));
        assert!(is_looking_up());
        let task = LookUps(Arc::clone(&followers));
        let panicked = std::thread::spawn(move || {
            let _task = task;
            panic!("a defect in a look-up");
        });
        assert!(panicked.join().is_err());
        assert!(!is_looking_up());
    }

    /// A slow look-up finds the values from before a commit of this process and a login: it does
    /// not hide them.
    #[test]
    fn a_look_up_replaces_nothing_newer() {
        let followers = Followers::default();
        let changes = followers.state().groups.entry(GROUP).or_default().subscribe();
        let token = followers.state().tokens.entry(ACCOUNT).or_default().subscribe();
        let found = |change_no, digest: &str| Followed {
            groups: [(GROUP, change_no)].into(),
            tokens: [(ACCOUNT, Some(digest.to_owned()))].into(),
        };
        let before = followers.known().expect("followers");
        followers.changed(&[(GROUP, 2)]);
        followers.session_changed(ACCOUNT, Some("new"));
        followers.compare(&before, found(1, "old"));
        assert_eq!((*changes.borrow(), token.borrow().as_deref()), (2, Some("new")));
        // The next one counts again, even if the data has fewer changes after a failover.
        let before = followers.known().expect("followers");
        followers.compare(&before, found(1, "newer"));
        assert_eq!((*changes.borrow(), token.borrow().as_deref()), (1, Some("newer")));
    }
}
