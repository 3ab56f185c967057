//! The refused requests of a node that are not stored yet.

use std::sync::{Mutex, MutexGuard};

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::{AccountNo, LoginName, Source, UnixMs};
use serde::{Deserialize, Serialize};

/// Maximum number of waiting requests; at most as many again could not be written.
pub(crate) const WAITING_MAX: usize = 1_000;
/// Maximum number of waiting requests without a proven account, so that guesses leave space for
/// accounts.
const UNPROVEN_MAX: usize = WAITING_MAX / 2;
/// Maximum number of waiting requests of one share.
const SHARE_MAX: usize = 100;
/// The number of shares of sources without a proven account. A source always has the same share,
/// so that a network of addresses has no more rows than this number of accounts.
const SOURCE_SHARES: u32 = 64;
/// The shares of accounts, and of logins with the name of an account, which do not cost it any of
/// its own requests. Shares without a proven account begin with `LOGINS` in the order of the names.
pub(crate) const ACCOUNT: &str = "account";
pub(crate) const LOGINS: &str = "logins";

/// The sender of a request, as far as known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sender {
    /// An account whose token is or was valid.
    Account(AccountNo),
    /// A login with this name, which may not exist.
    Login(LoginName),
    /// A source with a token that refers to an account and proves nothing.
    Claimed(AccountNo),
    /// A source without a token.
    Unknown,
}

/// A request that was refused or that failed. It contains no password, token or key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefusedRequest {
    pub(crate) request_id: String,
    pub(crate) at: UnixMs,
    /// The share, if it is not a login with the name of an account.
    pub(crate) share: String,
    pub(crate) sender: Sender,
    pub(crate) source: Source,
    pub(crate) exchange: Exchange,
}

/// A request and the answer to it, as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Exchange {
    /// The method of HTTP.
    pub method: String,
    /// The path.
    pub path: String,
    /// The page that the query string requested.
    pub page: Option<String>,
    /// The known fields of the function, as JSON; `None` if the body was not read.
    pub body: Option<String>,
    /// The status of HTTP.
    pub status: u16,
    /// The answer, as sent.
    pub answer: String,
    /// The kind of refusal; `None` if the server failed.
    pub refusal: Option<String>,
    /// The cause of a failure of the server, as it is logged, or a remark on the token.
    pub cause: Option<String>,
}

/// The queue. Requests that do not fit are counted and lost.
#[derive(Debug, Default)]
pub struct RefusedQueue(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    requests: Vec<RefusedRequest>,
    dropped: u64,
}

impl RefusedQueue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        lock_ignoring_poison(&self.0)
    }

    /// Adds a request if there is space for it, and counts it as lost otherwise. `exchange` is
    /// called if there is space. Never waits, and writes nothing.
    pub fn add(
        &self,
        request_id: &str,
        at: UnixMs,
        sender: Sender,
        source: Source,
        exchange: impl FnOnce() -> Exchange,
    ) {
        let share = share_of_sender(&sender, source);
        let mut waiting = self.lock();
        if !waiting.has_room(&share) {
            waiting.dropped += 1;
            return;
        }
        let request_id = request_id.to_owned();
        let exchange = exchange();
        waiting.requests.push(RefusedRequest { request_id, at, share, sender, source, exchange });
    }

    /// Returns how many requests did not fit since the start of the process.
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    /// Removes and returns all requests.
    pub(crate) fn take(&self) -> Vec<RefusedRequest> {
        std::mem::take(&mut self.lock().requests)
    }

    /// Puts back requests that could not be written, before the others. The newest ones beyond
    /// twice the maximum are lost.
    pub(crate) fn put_back(&self, mut requests: Vec<RefusedRequest>) {
        let mut waiting = self.lock();
        requests.append(&mut waiting.requests);
        waiting.dropped += requests.drain((2 * WAITING_MAX).min(requests.len())..).count() as u64;
        waiting.requests = requests;
    }
}

impl Waiting {
    fn has_room(&self, share: &str) -> bool {
        let is_unproven = |share: &str| !share.starts_with(ACCOUNT);
        let shares = || self.requests.iter().map(|request| request.share.as_str());
        self.requests.len() < WAITING_MAX
            && shares().filter(|other| *other == share).count() < SHARE_MAX
            && (!is_unproven(share)
                || shares().filter(|other| is_unproven(other)).count() < UNPROVEN_MAX)
    }
}

fn share_of_sender(sender: &Sender, source: Source) -> String {
    match sender {
        Sender::Account(number) => share_of(ACCOUNT, *number),
        Sender::Login(_) | Sender::Claimed(_) | Sender::Unknown => {
            let source = source.prefix().to_string();
            format!("source {}", crc32fast::hash(source.as_bytes()) % SOURCE_SHARES)
        }
    }
}

/// Returns the share of an account.
pub(crate) fn share_of(kind: &str, account: AccountNo) -> String {
    format!("{kind} {}", account.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(number: usize) -> Source {
        format!("192.0.{}.{}", number / 250, number % 250).parse().expect("an address")
    }

    #[test]
    fn a_sender_has_its_part_of_the_queue_and_guesses_have_half() {
        let queue = RefusedQueue::default();
        let account = |number: usize| Sender::Account(AccountNo(i64::try_from(number).unwrap()));
        let mut before = 0;
        let mut admitted = |sender: &dyn Fn(usize) -> Sender, from: usize| {
            for at in from..from + 2_000 {
                let id = at.to_string();
                queue.add(&id, UnixMs(0), sender(at), source(at), Exchange::default);
            }
            let waiting = queue.lock().requests.len();
            waiting - std::mem::replace(&mut before, waiting)
        };
        assert_eq!(admitted(&|_| Sender::Unknown, 0), UNPROVEN_MAX);
        assert_eq!(admitted(&|_| account(1), 0), SHARE_MAX);
        assert_eq!(admitted(&account, 2), WAITING_MAX - UNPROVEN_MAX - SHARE_MAX);
        assert_eq!(queue.dropped(), 6_000 - u64::try_from(WAITING_MAX).unwrap());
        assert_eq!(queue.take().len(), WAITING_MAX);
        for _ in 0..200 {
            queue.add("id", UnixMs(0), Sender::Unknown, source(1), Exchange::default);
        }
        assert_eq!(queue.take().len(), SHARE_MAX);
    }

    #[test]
    fn sources_have_a_bounded_number_of_shares() {
        let shares: std::collections::BTreeSet<String> =
            (0..4_000).map(|at| share_of_sender(&Sender::Unknown, source(at))).collect();
        assert_eq!(u32::try_from(shares.len()).ok(), Some(SOURCE_SHARES));
    }

    /// More are refused while the store fails.
    #[test]
    fn requests_that_cannot_be_written_are_bounded() {
        let queue = RefusedQueue::default();
        let add_all = |attempt| {
            for at in 0..WAITING_MAX {
                let sender = Sender::Account(AccountNo(i64::try_from(at).unwrap()));
                queue.add("id", UnixMs(attempt), sender, source(at), Exchange::default);
            }
        };
        for attempt in 0..5 {
            add_all(attempt);
            let unwritten = queue.take();
            assert!(unwritten.len() <= 2 * WAITING_MAX, "{} requests", unwritten.len());
            assert_eq!(unwritten[0].at, UnixMs(0));
            add_all(attempt);
            queue.put_back(unwritten);
        }
        let left = u64::try_from(queue.take().len()).unwrap();
        assert_eq!(left + queue.dropped(), 10 * u64::try_from(WAITING_MAX).unwrap());
    }

    #[test]
    fn requests_that_could_not_be_written_are_taken_first() {
        let queue = RefusedQueue::default();
        let add = |id| queue.add(id, UnixMs(0), Sender::Unknown, source(1), Exchange::default);
        add("a");
        let taken = queue.take();
        add("b");
        queue.put_back(taken);
        let ids: Vec<String> = queue.take().into_iter().map(|one| one.request_id).collect();
        assert_eq!(ids, ["a", "b"]);
        assert_eq!(queue.take(), []);
    }
}
