//! The workers: who may log in to the broker, and the sessions that it has opened for them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kiosque_clock::{Entropy, NoEntropy};
use kiosque_locks::lock_ignoring_poison;
use kiosque_model::{GroupId, UnixMs};
use sha2::{Digest as _, Sha256};

/// The maximum number of sessions of workers. Each login name has an equal share, in which the
/// session that ends first makes room for a new one.
const SESSIONS_MAX: usize = 10_000;

/// A SHA-256 digest. Secrets are kept and compared as digests: the time of a comparison reveals
/// nothing about the secret.
pub(crate) type Digest = [u8; 32];

pub(crate) fn digest(secret: &str) -> Digest {
    Sha256::digest(secret).into()
}

/// The login name of workers and their password. Its `Debug` omits the password.
#[derive(Clone)]
pub struct WorkerLogin {
    pub(crate) name: Arc<str>,
    pub(crate) password: Digest,
}

impl fmt::Debug for WorkerLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WorkerLogin").field(&self.name).finish()
    }
}

impl WorkerLogin {
    /// Returns a login name with its password.
    pub fn new(name: &str, password: &str) -> WorkerLogin {
        WorkerLogin { name: name.into(), password: digest(password) }
    }
}

/// The session of a worker. Several workers may log in with one name; each has a separate session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkerSession {
    pub(crate) name: Arc<str>,
    pub(crate) group: GroupId,
    pub(crate) expires_at: UnixMs,
}

/// The sessions of all workers, by the digest of their tokens.
#[derive(Debug)]
pub(crate) struct WorkerSessions {
    by_token: Mutex<BTreeMap<Digest, WorkerSession>>,
    /// The maximum number of sessions of a login name.
    share: usize,
    entropy: Entropy,
}

impl WorkerSessions {
    /// Returns no sessions, for this number of login names.
    pub(crate) fn new(names: usize, entropy: Entropy) -> WorkerSessions {
        let share = SESSIONS_MAX.checked_div(names).unwrap_or(SESSIONS_MAX).max(1);
        WorkerSessions { by_token: Mutex::default(), share, entropy }
    }

    /// Opens a session, and returns its token.
    pub(crate) fn open(&self, now: UnixMs, session: WorkerSession) -> Result<String, NoEntropy> {
        let token = URL_SAFE_NO_PAD.encode(self.entropy.bytes::<32>()?);
        let mut sessions = self.lock();
        if sessions.len() >= self.share {
            sessions.retain(|_, session| session.expires_at > now);
            let of_name = sessions.iter().filter(|(_, other)| other.name == session.name);
            let (count, first) = of_name.fold((0, None), |(count, first), (token, other)| {
                let end = (other.expires_at, *token);
                (count + 1, Some(first.map_or(end, |first: (UnixMs, Digest)| first.min(end))))
            });
            if let Some((_, token)) = first.filter(|_| count >= self.share) {
                sessions.remove(&token);
            }
        }
        sessions.insert(digest(&token), session);
        Ok(token)
    }

    /// Returns the session of a token that is valid now.
    pub(crate) fn find(&self, now: UnixMs, token: &str) -> Option<WorkerSession> {
        let sessions = self.lock();
        sessions.get(&digest(token)).filter(|session| session.expires_at > now).cloned()
    }

    /// Ends the session of a token. Returns whether it existed.
    pub(crate) fn end(&self, now: UnixMs, token: &str) -> bool {
        self.lock().remove(&digest(token)).is_some_and(|session| session.expires_at > now)
    }

    /// Returns the number of valid sessions by login name.
    pub(crate) fn counts(&self, now: UnixMs) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for session in self.lock().values().filter(|session| session.expires_at > now) {
            *counts.entry(session.name.to_string()).or_default() += 1;
        }
        counts
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Digest, WorkerSession>> {
        lock_ignoring_poison(&self.by_token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(expires_at: i64) -> WorkerSession {
        let group = GroupId::parse("north").expect("an id");
        WorkerSession { name: "acme".into(), group, expires_at: UnixMs(expires_at) }
    }

    /// AUTH-6, AUTH-21: a session ends at its time or by a log out, and no other one with it.
    #[test]
    fn a_session_ends_alone() {
        let sessions = WorkerSessions::new(1, Entropy::system());
        let [first, second] =
            [100, 200].map(|end| sessions.open(UnixMs(0), session(end)).expect("entropy"));
        assert_ne!(first, second);
        assert_eq!(sessions.find(UnixMs(99), &first), Some(session(100)));
        assert_eq!(sessions.find(UnixMs(100), &first), None);
        assert!(!sessions.end(UnixMs(100), &first));
        assert_eq!(sessions.find(UnixMs(100), &second), Some(session(200)));
        assert_eq!(sessions.counts(UnixMs(100)), BTreeMap::from([("acme".to_owned(), 1)]));
        assert!(sessions.end(UnixMs(100), &second));
        assert_eq!(sessions.find(UnixMs(100), &second), None);
    }

    /// AUTH-6: a name that logs in repeatedly only ends its own sessions.
    #[test]
    fn the_number_of_sessions_is_bounded_by_name() {
        let sessions = WorkerSessions::new(2, Entropy::system());
        let open = |name: &str, end| {
            let session = WorkerSession { name: name.into(), ..session(end) };
            sessions.open(UnixMs(0), session).expect("entropy")
        };
        let other = open("other", 5);
        let [first, second] = [10, 20].map(|end| open("acme", end));
        for _ in 2..=SESSIONS_MAX / 2 {
            open("acme", 30);
        }
        let expected = [("acme", SESSIONS_MAX / 2), ("other", 1)];
        let expected = expected.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(sessions.counts(UnixMs(1)), BTreeMap::from(expected));
        assert_eq!(sessions.find(UnixMs(1), &first), None);
        for token in [second, other] {
            assert!(sessions.find(UnixMs(1), &token).is_some());
        }
    }
}
