//! Memory of complete answers that are not read yet, in total and by account.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kiosque_model::{AccountNo, Limits};

/// One account may use this fraction of the memory.
const SHARES: usize = 4;
/// Number of account counters. Accounts whose numbers have the same remainder share one.
const COUNTERS: usize = 1_024;

/// The bytes of answers that have not been sent.
#[derive(Debug)]
pub struct UnreadAnswers {
    all: AtomicUsize,
    by_account: [AtomicUsize; COUNTERS],
    max_bytes: usize,
}

impl UnreadAnswers {
    /// Returns a counter of no answers.
    pub fn new(limits: &Limits) -> Arc<UnreadAnswers> {
        Arc::new(UnreadAnswers {
            all: AtomicUsize::new(0),
            by_account: [const { AtomicUsize::new(0) }; COUNTERS],
            max_bytes: limits.unread_answers_max_bytes,
        })
    }

    /// Counts an answer until the returned value is dropped; `None` if its account, or all accounts
    /// together, already have too many bytes. The only answer of an account may have any length.
    #[must_use]
    pub fn admit(self: &Arc<Self>, account: AccountNo, bytes: usize) -> Option<AnswerMemory> {
        let memory = AnswerMemory { answers: Arc::clone(self), account, bytes };
        let of_account = memory.counter().fetch_add(bytes, Ordering::Relaxed);
        let all = self.all.fetch_add(bytes, Ordering::Relaxed);
        let fits = |used: usize, max| used == 0 || used.saturating_add(bytes) <= max;
        let is_admitted = fits(of_account, self.max_bytes / SHARES) && fits(all, self.max_bytes);
        is_admitted.then_some(memory)
    }

    /// Returns the bytes of all answers that have not been sent.
    pub fn bytes(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }
}

/// The memory of an answer that has not been sent.
#[derive(Debug)]
pub struct AnswerMemory {
    answers: Arc<UnreadAnswers>,
    account: AccountNo,
    bytes: usize,
}

impl AnswerMemory {
    /// Returns this memory, reduced to what a shorter answer takes.
    pub(crate) fn reduced_to(mut self, bytes: usize) -> AnswerMemory {
        let less = self.bytes.saturating_sub(bytes);
        self.release(less);
        self.bytes -= less;
        self
    }

    fn release(&self, bytes: usize) {
        self.counter().fetch_sub(bytes, Ordering::Relaxed);
        self.answers.all.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn counter(&self) -> &AtomicUsize {
        let index = usize::try_from(self.account.0.rem_euclid(COUNTERS as i64));
        &self.answers.by_account[index.unwrap_or_default()]
    }
}

impl Drop for AnswerMemory {
    fn drop(&mut self) {
        self.release(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_account_leaves_most_of_the_memory_to_others() {
        let limits = Limits { unread_answers_max_bytes: 400, ..Limits::default() };
        let answers = UnreadAnswers::new(&limits);
        let [one, two] = [AccountNo(1), AccountNo(2)];
        let first = answers.admit(one, 60).expect("a quarter is 100 bytes");
        assert!(answers.admit(one, 41).is_none());
        let second = answers.admit(one, 40).expect("a quarter is 100 bytes");
        assert!(answers.admit(one, 1).is_none());
        let long = answers.admit(two, 290).expect("the only answer of its account");
        assert!(answers.admit(two, 1).is_none());
        assert!(answers.admit(AccountNo(3), 11).is_none(), "the memory of all is bounded");
        drop((first, long));
        assert!(answers.admit(one, 60).is_some());
        drop(second);
        assert_eq!(answers.bytes(), 0);
    }

    #[test]
    fn a_compressed_answer_leaves_memory_to_others() {
        let limits = Limits { unread_answers_max_bytes: 400, ..Limits::default() };
        let answers = UnreadAnswers::new(&limits);
        let one = AccountNo(1);
        let compressed = answers.admit(one, 90).expect("a quarter is 100 bytes").reduced_to(9);
        assert_eq!(answers.bytes(), 9);
        let other = answers.admit(one, 91).expect("the rest of the quarter");
        assert!(answers.admit(one, 1).is_none());
        drop((compressed, other));
        assert_eq!(answers.bytes(), 0);
    }
}
