//! Injected faults, for tests.

use crate::error::Error;
use crate::views::Upkeep;

impl Upkeep<'_> {
    /// Makes one statement of this store fail, for tests: `statements` succeed before it. The end
    /// of a transaction counts as a statement, and the report of a commit as another. Without debug
    /// assertions, none fails.
    pub fn arm_fault(self, statements: usize, error: fn() -> Error) {
        self.0.db.faults().arm(Some((statements, error)));
    }

    /// Removes an injected fault that has not occurred. Returns whether there was one.
    #[must_use]
    pub fn disarm_fault(self) -> bool {
        self.0.db.faults().arm(None)
    }
}
