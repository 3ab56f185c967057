//! Failures of the store, and refusals.

use std::time::Duration;

use kiosque_model::money::MoneyError;
use kiosque_model::{DeviceNo, GroupNo, Refusal};

/// A failure of the store; never caused by the request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Other work kept the store busy for longer than a request waits.
    #[error("the store was busy for {0:?}")]
    Busy(Duration),
    /// A read took longer than a request waits, or the account's other reads took its share for as
    /// long.
    #[error("too much work for one request: {0}")]
    TooMuchWork(&'static str),
    /// SQLite failed.
    #[error("the store failed: {0}")]
    Sqlite(rusqlite::Error),
    /// A file cannot be opened, read or written: no space, no permission, or a failing device.
    #[error("{0}")]
    File(String),
    /// A file of the data was replaced, moved or removed while this program had it open.
    #[error("{0}")]
    FileChanged(String),
    /// The database file is damaged, according to SQLite or to the check of a backup.
    #[error("{0}")]
    Damaged(String),
    /// Another server uses the directory.
    #[error("{0}")]
    InUse(String),
    /// There is no data where some was expected.
    #[error(
        "has no data; check the name, or create data with `kiosque init --timezone ZONE` or \
         `kiosque apply`"
    )]
    NoData,
    /// PostgreSQL reported an error.
    #[error("the database failed: {}", describe(.0))]
    Postgres(tokio_postgres::Error),
    /// PostgreSQL does not answer, or its answers cannot be trusted now.
    #[error("the database cannot be relied on at the moment: {0}")]
    Unreachable(String),
    /// PostgreSQL refuses the role, or has no such database or schema: waiting does not help.
    #[error("{0}")]
    NoAccess(String),
    /// The outcome of a commit is unknown.
    #[error("it is not known whether this was done: {0}")]
    Unknown(String),
    /// The data was not written by this program, or the request does not fit this data.
    #[error("{0}")]
    Data(String),
    /// The record of an order is damaged. Other orders can be read.
    #[error("{0}")]
    UnreadableOrder(Box<UnreadableOrder>),
    /// The data was moved to a database while this program had it open.
    #[error("this data was moved to a database; stop this program, and start it with --store")]
    Closed,
    /// A worker of the store ended without an answer.
    #[error("a worker of the store ended without an answer")]
    Gone,
}

/// An order whose record cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "order {order_id} is damaged: {error} (group number {}, device number {}, sequence number \
     {seq}); `kiosque verify` lists what cannot be read",
    group.0, device.0
)]
pub struct UnreadableOrder {
    pub(crate) group: GroupNo,
    pub(crate) device: DeviceNo,
    pub(crate) seq: i64,
    pub(crate) order_id: String,
    pub(crate) error: RecordError,
}

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RecordError {
    #[error("its checksum does not match its columns and its record")]
    Checksum,
    #[error("its record claims to have {0} bytes, which is too many")]
    Length(u64),
    #[error("its record needs dictionary {0}, which is missing or damaged")]
    Dictionary(u32),
    #[error("its record cannot be unpacked")]
    Text,
}

/// Why a request has no answer.
#[derive(Debug)]
pub enum Refused {
    /// The caller is not authorized, or the subject of the request does not exist.
    Refusal(Refusal),
    /// The store failed.
    Store(Error),
}

impl Error {
    /// Returns what is wrong, without identifying a damaged order.
    pub(crate) fn reason(&self) -> String {
        match self {
            Error::UnreadableOrder(order) => order.error.to_string(),
            other => other.to_string(),
        }
    }

    /// Returns whether the record of an order has a dictionary that this process has not read.
    pub(crate) fn lacks_dictionary(&self) -> bool {
        matches!(self, Error::UnreadableOrder(order)
            if matches!(order.error, RecordError::Dictionary(_)))
    }

    /// Returns whether stored data is damaged. On PostgreSQL, a statement that fails because of
    /// damage also ends its transaction.
    pub(crate) fn is_damage(&self) -> bool {
        use rusqlite::{Error as SqliteError, ErrorCode};
        use tokio_postgres::error::SqlState;
        match self {
            Error::Data(_) | Error::UnreadableOrder(_) => true,
            Error::Sqlite(error) => match error.sqlite_error_code() {
                Some(code) => matches!(code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase),
                None => matches!(
                    error,
                    SqliteError::FromSqlConversionFailure(..)
                        | SqliteError::IntegralValueOutOfRange(..)
                        | SqliteError::InvalidColumnType(..)
                        | SqliteError::Utf8Error(..)
                ),
            },
            Error::Postgres(error) => error.code().is_some_and(|code| {
                let damage = [
                    SqlState::DATA_CORRUPTED,
                    SqlState::INDEX_CORRUPTED,
                    SqlState::CHARACTER_NOT_IN_REPERTOIRE,
                    SqlState::IN_FAILED_SQL_TRANSACTION,
                ];
                damage.contains(code)
            }),
            _ => false,
        }
    }
}

/// Formats a PostgreSQL error: its message and SQLSTATE, or the transport error.
pub(crate) fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => format!("{} ({})", error.message(), error.code().code()),
        None => {
            let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
            format!("{error}{}", cause.unwrap_or_default())
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => {
                Error::TooMuchWork("a statement was cancelled at its time limit")
            }
            _ => Error::Sqlite(error),
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        use tokio_postgres::error::SqlState;
        let code = error.code();
        // The server cancelled the statement, or could not start it.
        let unavailable = [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::TOO_MANY_CONNECTIONS,
            SqlState::READ_ONLY_SQL_TRANSACTION,
        ];
        match code {
            None => Error::Unreachable(describe(&error)),
            Some(&SqlState::QUERY_CANCELED) => {
                Error::TooMuchWork("the database cancelled a statement at its time limit")
            }
            Some(code) if unavailable.contains(code) => Error::Unreachable(describe(&error)),
            Some(&SqlState::DISK_FULL) => Error::File(Error::Postgres(error).to_string()),
            Some(_) => Error::Postgres(error),
        }
    }
}

/// A deadline by which PostgreSQL had not answered.
impl From<tokio::time::error::Elapsed> for Error {
    fn from(_: tokio::time::error::Elapsed) -> Self {
        Error::Unreachable("no answer in time".to_owned())
    }
}

impl From<MoneyError> for Error {
    fn from(error: MoneyError) -> Self {
        Error::Data(error.to_string())
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Refused::Refusal(refusal)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Refused::Store(error)
    }
}
