//! Injected faults for tests: a statement of a store fails. Without debug assertions, none occurs.

use std::sync::Mutex;

use kiosque_locks::lock_ignoring_poison;

use crate::error::Error;

/// The next injected fault of a store, if any.
#[derive(Debug, Default)]
pub struct Faults(Mutex<Option<Fault>>);

#[derive(Debug)]
struct Fault {
    /// The number of statements that succeed first.
    statements: usize,
    error: fn() -> Error,
}

impl Faults {
    /// Counts a statement, and fails if it is the one that fails.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !cfg!(debug_assertions) {
            return Ok(());
        }
        let mut armed = lock_ignoring_poison(&self.0);
        match armed.as_mut() {
            None => Ok(()),
            Some(fault) if fault.statements > 0 => {
                fault.statements -= 1;
                Ok(())
            }
            Some(_) => Err(armed.take().map_or(Error::Gone, |fault| (fault.error)())),
        }
    }

    /// Makes one statement fail after a number that succeed, or none. The end of a transaction
    /// counts as a statement, and the report of a commit as another. Without debug assertions, none
    /// fails. Returns whether an earlier fault has not occurred.
    pub fn arm(&self, fault: Option<(usize, fn() -> Error)>) -> bool {
        let fault = fault.map(|(statements, error)| Fault { statements, error });
        std::mem::replace(&mut *lock_ignoring_poison(&self.0), fault).is_some()
    }
}
