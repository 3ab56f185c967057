//! A bound on the work of a read: SQLite calls a handler every so many instructions of its virtual
//! machine, which interrupts the statement when its budget is spent.

use std::cell::Cell;
use std::time::Instant;

use rusqlite::Connection;

use crate::Error;
use crate::cooperative::yield_if_due;

/// Instructions between two calls of the handler: some 20 us.
const INSTRUCTIONS_PER_TICK: i32 = 1_000;
/// Ticks that a read may take on a serving thread. The longest page that is read there, of 100
/// devices, takes about 5.
const INLINE_TICKS_MAX: u32 = 64;

/// How much work the reads of this thread may do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Budget {
    /// As much as they need.
    Unlimited,
    /// So many ticks.
    Ticks(u32),
    /// As much as they can do until then.
    Until(Instant),
}

thread_local! {
    static BUDGET: Cell<Budget> = const { Cell::new(Budget::Unlimited) };
}

impl Budget {
    /// The budget of a read on a serving thread. It counts work, not time: a thread that waits for
    /// its core spends nothing.
    pub(super) const INLINE: Budget = Budget::Ticks(INLINE_TICKS_MAX);

    /// Runs `work`, whose statements fail with [`Error::TooMuchWork`] once the budget is spent.
    pub(super) fn limit<T>(self, work: impl FnOnce() -> T) -> T {
        let _reset = Reset(BUDGET.replace(self));
        work()
    }

    /// Returns whether the budget is spent, after one more tick.
    fn is_spent() -> bool {
        match BUDGET.get() {
            Budget::Ticks(left) => {
                BUDGET.set(Budget::Ticks(left.saturating_sub(1)));
                left == 0
            }
            Budget::Until(ends) => {
                yield_if_due();
                Instant::now() >= ends
            }
            Budget::Unlimited => {
                yield_if_due();
                false
            }
        }
    }
}

/// Restores the earlier budget.
struct Reset(Budget);

impl Drop for Reset {
    fn drop(&mut self) {
        BUDGET.set(self.0);
    }
}

/// Makes the statements of a connection keep to the budget of the thread that runs them.
pub(super) fn install(connection: &mut Connection) -> Result<(), Error> {
    connection.progress_handler(INSTRUCTIONS_PER_TICK, Some(Budget::is_spent))?;
    Ok(())
}
