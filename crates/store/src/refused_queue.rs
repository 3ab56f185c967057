//! The refused requests of a node that are not stored yet.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::{AccountNo, LoginName, Source, SourcePrefix, UnixMs};
use serde::{Deserialize, Serialize};

/// Requests that wait at most.
const WAITING_MAX: usize = 1_000;
/// Requests without a proven account that wait at most, so that guesses leave room for accounts.
const UNPROVEN_MAX: usize = WAITING_MAX / 2;
/// Requests of one account, or of one source, that wait at most.
const SENDER_MAX: usize = 100;
/// How often old requests are deleted without new ones.
const DELETE_INTERVAL_MS: i64 = 60_000;

/// The sender of a request, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sender {
    /// An account whose token was valid, or was given to it before.
    Account(AccountNo),
    /// A login with this name, which may not exist.
    Login(LoginName),
    /// A source with a token that names an account and proves nothing.
    Claimed(AccountNo),
    /// A source without a token.
    Unknown,
}

/// A request that was refused or that failed. It has no password, token or key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRequest {
    /// The id in the header of the answer.
    pub request_id: String,
    /// When it arrived.
    pub at: UnixMs,
    /// Its sender.
    pub sender: Sender,
    /// Its address.
    pub source: Source,
    /// The request, and the answer to it.
    pub exchange: Exchange,
}

/// A request and the answer to it, as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Exchange {
    /// The method of HTTP.
    pub method: String,
    /// The path.
    pub path: String,
    /// The page that the query string asked for.
    pub page: Option<String>,
    /// The fields that the function knows, as JSON; `None` if the body was not read.
    pub body: Option<String>,
    /// The status of HTTP.
    pub status: u16,
    /// The answer, as it was sent.
    pub answer: String,
    /// The kind of refusal; `None` if the server failed.
    pub refusal: Option<String>,
    /// The cause of a failure of the server, as it is logged, or a remark on the token.
    pub cause: Option<String>,
}

/// The queue. Requests that have no room are counted and lost.
#[derive(Debug, Default)]
pub(crate) struct RefusedQueue(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    requests: Vec<RefusedRequest>,
    /// Requests of a batch that could not be written; they are written before the others.
    unwritten: Vec<RefusedRequest>,
    reserved: usize,
    unproven: usize,
    of_sender: HashMap<Part, usize>,
    dropped: u64,
    taken_at: Option<UnixMs>,
}

/// A sender with a limit of its own in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    Account(AccountNo),
    Source(SourcePrefix),
}

impl RefusedQueue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        lock_ignoring_poison(&self.0)
    }

    /// Reserves room for a request; without room, the request is counted as lost.
    pub(crate) fn reserve(&self, sender: &Sender, source: Source) -> bool {
        let mut waiting = self.lock();
        let has_room = waiting.reserve(sender, source);
        waiting.dropped += u64::from(!has_room);
        has_room
    }

    /// Adds a request for which room is reserved.
    pub(crate) fn add(&self, request: RefusedRequest) {
        self.lock().requests.push(request);
    }

    /// Returns how many requests had no room.
    pub(crate) fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    /// Removes and returns the requests to write next; `None` if there is nothing to do.
    pub(crate) fn take(&self, now: UnixMs) -> Option<Vec<RefusedRequest>> {
        let mut waiting = self.lock();
        if !waiting.unwritten.is_empty() {
            return Some(std::mem::take(&mut waiting.unwritten));
        }
        let since = waiting.taken_at.map(|at| now.0.saturating_sub(at.0));
        let is_due = since.is_none_or(|since| !(0..DELETE_INTERVAL_MS).contains(&since));
        if waiting.requests.is_empty() && !is_due {
            return None;
        }
        waiting.taken_at = Some(now);
        waiting.reserved = 0;
        waiting.unproven = 0;
        waiting.of_sender.clear();
        Some(std::mem::take(&mut waiting.requests))
    }

    /// Puts back requests that could not be written.
    pub(crate) fn put_back(&self, requests: Vec<RefusedRequest>) {
        self.lock().unwritten = requests;
    }
}

impl Waiting {
    fn reserve(&mut self, sender: &Sender, source: Source) -> bool {
        let part = match sender {
            Sender::Account(account) => Part::Account(*account),
            _ => Part::Source(source.prefix()),
        };
        let is_unproven = matches!(part, Part::Source(_));
        if self.reserved >= WAITING_MAX || (is_unproven && self.unproven >= UNPROVEN_MAX) {
            return false;
        }
        let of_sender = self.of_sender.entry(part).or_default();
        if *of_sender >= SENDER_MAX {
            return false;
        }
        *of_sender += 1;
        self.reserved += 1;
        self.unproven += usize::from(is_unproven);
        true
    }
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
        let admitted = |sender: &dyn Fn(usize) -> Sender, from: usize, requests: usize| {
            let all = from..from + requests;
            all.filter(|number| queue.reserve(&sender(*number), source(*number))).count()
        };
        assert_eq!(admitted(&|_| Sender::Unknown, 0, 2_000), UNPROVEN_MAX);
        assert_eq!(admitted(&|_| account(1), 0, 2_000), SENDER_MAX);
        assert_eq!(admitted(&account, 2, 2_000), WAITING_MAX - UNPROVEN_MAX - SENDER_MAX);
        assert_eq!(queue.dropped(), 6_000 - u64::try_from(WAITING_MAX).unwrap());
        assert!(queue.take(UnixMs(0)).is_some());
        let one = source(1);
        let of_one = (0..200).filter(|_| queue.reserve(&Sender::Unknown, one)).count();
        assert_eq!(of_one, SENDER_MAX);
    }

    #[test]
    fn unwritten_requests_are_taken_first_and_nothing_without_need() {
        let queue = RefusedQueue::default();
        let request = |id: &str| RefusedRequest {
            request_id: id.to_owned(),
            at: UnixMs(0),
            sender: Sender::Unknown,
            source: source(1),
            exchange: Exchange::default(),
        };
        assert_eq!(queue.take(UnixMs(0)), Some(Vec::new()), "old ones are deleted after a start");
        assert_eq!(queue.take(UnixMs(59_999)), None);
        queue.add(request("b"));
        queue.put_back(vec![request("a")]);
        assert_eq!(queue.take(UnixMs(1)), Some(vec![request("a")]));
        assert_eq!(queue.take(UnixMs(1)), Some(vec![request("b")]));
        assert_eq!(queue.take(UnixMs(2)), None);
        assert_eq!(queue.take(UnixMs(60_001)), Some(Vec::new()));
    }
}
