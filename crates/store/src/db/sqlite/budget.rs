//! A limit on the work of a read: SQLite calls a handler after 1,000 instructions of its virtual
//! machine, which interrupts the statement when its budget is spent.

use std::cell::Cell;
use std::time::Instant;

use rusqlite::{Connection, Row};

use crate::cooperative::yield_if_due;
use crate::error::Error;

/// Instructions between two calls of the handler: about 20 us.
const INSTRUCTIONS_PER_TICK: i32 = 1_000;
/// The work limit of a read on a serving thread, one to two milliseconds. A page of 100 orders,
/// whose records are unpacked, takes about 120, and the best sellers of a month of 50 devices about
/// 200.
const INLINE_WORK_MAX: u32 = 1_024;
/// The work of a tick. Reading a row takes a quarter of it, or half if its record is unpacked, and
/// two kilobytes of sums take as long again. A row of a key and figures takes a sixteenth.
const WORK_OF_TICK: u32 = 16;
const WORK_OF_ROW: u32 = 4;
const BYTES_OF_WORK: usize = 2_048;
const WORK_OF_FIGURES: u32 = 1;
const FIGURES_COLUMNS_MAX: usize = 2;
const FIGURES_BYTES_MAX: usize = 64;

/// The work that the reads of this thread may do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Budget {
    /// As much as they need.
    Unlimited,
    /// So much work.
    Work(u32),
    /// Unlimited until then.
    Until(Instant),
}

thread_local! {
    static BUDGET: Cell<Budget> = const { Cell::new(Budget::Unlimited) };
}

impl Budget {
    /// The budget of a read on a serving thread. It counts work, not time: a thread that waits for
    /// its core spends nothing.
    pub(super) const INLINE: Budget = Budget::Work(INLINE_WORK_MAX);

    /// Runs `work`, whose statements fail with [`Error::TooMuchWork`] once the budget is spent.
    pub(super) fn limit<T>(self, work: impl FnOnce() -> T) -> T {
        let _reset = Reset(BUDGET.replace(self));
        work()
    }

    /// Returns whether the budget is spent, after more work.
    fn is_spent_by(work: u32) -> bool {
        match BUDGET.get() {
            Budget::Work(left) => {
                BUDGET.set(Budget::Work(left.saturating_sub(work)));
                left < work
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

/// Applies to the statements of a connection the budget of the thread that runs them.
pub(super) fn install(connection: &mut Connection) -> Result<(), Error> {
    let is_spent = || Budget::is_spent_by(WORK_OF_TICK);
    connection.progress_handler(INSTRUCTIONS_PER_TICK, Some(is_spent))?;
    Ok(())
}

/// Counts a row that is read. Records and sums, which can be long, are in the last column.
///
/// # Errors
/// [`Error::TooMuchWork`] if the budget is spent.
pub(super) fn spend_row(row: &Row<'_>) -> Result<(), Error> {
    let columns = row.as_ref().column_count();
    let length = row.get_ref(columns.saturating_sub(1))?.as_bytes().map_or(0, <[u8]>::len);
    let work = if columns <= FIGURES_COLUMNS_MAX && length <= FIGURES_BYTES_MAX {
        WORK_OF_FIGURES
    } else {
        let parts = u32::try_from(1 + length / BYTES_OF_WORK).unwrap_or(u32::MAX);
        WORK_OF_ROW.saturating_mul(parts)
    };
    if Budget::is_spent_by(work) {
        return Err(Error::TooMuchWork("a read returned too many rows"));
    }
    Ok(())
}
