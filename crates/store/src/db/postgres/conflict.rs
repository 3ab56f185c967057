//! Conflicts with other transactions, and waits for their locks.

use tokio_postgres::error::SqlState;

use crate::error::Error;

/// Returns whether an error is a conflict with another transaction: a serialization failure, a
/// deadlock, or a key that was free a moment ago. When several statements are sent together, the
/// failure of a later one may be reported before the conflict that caused it.
pub(super) fn is_conflict(error: &Error) -> bool {
    let Error::Postgres(error) = error else { return false };
    let Some(code) = error.code() else { return false };
    [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::UNIQUE_VIOLATION,
        SqlState::IN_FAILED_SQL_TRANSACTION,
    ]
    .contains(code)
}

/// Returns whether a statement has waited for a lock as long as it may.
pub(super) fn is_lock_timeout(error: &Error) -> bool {
    let Error::Postgres(error) = error else { return false };
    error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE)
}
