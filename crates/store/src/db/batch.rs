//! A batch: an authorization check and the statements of an answer, sent to the engine together.

use kiosque_model::AccountNo;

use super::Read;
use crate::sql::{Row, Sql, Value};
use crate::{Error, Refused};

/// A statement bound to its parameters.
pub(crate) struct Bound<'a> {
    pub(super) sql: &'static Sql,
    pub(super) params: Vec<Value<'a>>,
    /// The rows of a bulk statement; `None` for other statements.
    pub(super) rows: Option<Vec<Vec<Value<'a>>>>,
}

impl<'a> Bound<'a> {
    pub(crate) fn new(sql: &'static Sql, params: impl Into<Vec<Value<'a>>>) -> Bound<'a> {
        Bound { sql, params: params.into(), rows: None }
    }

    /// Binds the rows of a bulk statement.
    pub(crate) fn with_rows(self, rows: Vec<Vec<Value<'a>>>) -> Bound<'a> {
        Bound { rows: Some(rows), ..self }
    }

    /// Makes this statement a step of a batch.
    pub(crate) fn step<K>(self, kind: K) -> Step<'a, K> {
        Step { statement: self, kind }
    }
}

/// A statement of a batch, and how its rows are read.
pub(crate) struct Step<'a, K> {
    pub(super) statement: Bound<'a>,
    /// Passed to [`Batch::on_row`] with each row of the statement.
    pub(super) kind: K,
}

impl<'a, K> Step<'a, K> {
    /// Returns the kind of the step.
    pub(crate) fn kind(&self) -> &K {
        &self.kind
    }

    /// Changes the kind of a step.
    pub(crate) fn map<L>(self, map: impl FnOnce(K) -> L) -> Step<'a, L> {
        Step { statement: self.statement, kind: map(self.kind) }
    }
}

/// An authorization check and statements that all are known before the first row arrives: one
/// round trip to PostgreSQL, and one snapshot on both engines.
pub(crate) trait Batch: Send + Sync + 'static {
    /// The result of the check. Running a batch returns one, and only [`Batch::prove`] makes it, so
    /// that no way to run a batch leaves out the check.
    type Proof: Send;
    /// An accumulator for the rows.
    type Rows: Send;
    /// The purpose of a statement of the batch.
    type Step: Send + Sync;

    /// Returns the account whose share of long reads the batch takes.
    fn account(&self) -> AccountNo;

    /// The authorization check. It returns at most one row.
    fn check(&self) -> Bound<'_>;

    /// Returns whether the row of the check authorizes the caller. No row is no authorization.
    fn prove(&self, row: Option<&Row<'_>>) -> Result<Self::Proof, Refused>;

    /// Returns an empty accumulator.
    fn rows(&self) -> Self::Rows;

    /// Returns the statements, in the order in which their rows arrive.
    fn steps(&self) -> Vec<Step<'_, Self::Step>>;

    /// Adds a row of a step.
    fn on_row(&self, rows: &mut Self::Rows, step: &Self::Step, row: &Row<'_>) -> Result<(), Error>;

    /// Returns a statement that reads the version of cached rows, to run before the steps. SQLite
    /// only: on PostgreSQL the extra statement costs as much as it saves.
    fn cache_check(&self) -> Option<Step<'_, Self::Step>> {
        None
    }

    /// Decides whether to run a step, by the rows before it. SQLite only: on PostgreSQL all
    /// statements are sent before the first row arrives.
    fn decide(&self, _: &Self::Rows, _: &Self::Step) -> Decision {
        Decision::Run
    }
}

/// Whether to run a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Run,
    /// Its rows are known, or not needed.
    Skip,
    /// Run it on the blocking pool: stop, and run the whole batch again there.
    RunBlocking,
}

/// The cost class of a batch: where it runs. A request waits equally long for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    /// Short key ranges, which cost the same in data of any size. SQLite runs it on the calling
    /// thread, up to a limit of work, beyond which it begins again on the blocking pool.
    Inline,
    /// Known from the first rows; see [`Decision::RunBlocking`]. On PostgreSQL it is taken for
    /// `Blocking`.
    Unknown,
    /// Statements that count, or scan, or return many records. It takes a permit of its account.
    /// SQLite runs it on the blocking pool, and PostgreSQL on a connection of its own.
    Blocking,
}

/// The largest page that costs no more than other short reads. A longer one takes milliseconds:
/// several connections of one account would delay the reads of all others.
const INLINE_RECORDS_MAX: i64 = 100;

impl Cost {
    /// Returns the cost of a key range with at most this number of records.
    pub(crate) fn of_records(most: i64) -> Cost {
        if most <= INLINE_RECORDS_MAX { Cost::Inline } else { Cost::Blocking }
    }
}

impl Read<'_> {
    /// Visits each row of a step.
    pub(crate) async fn each_of_step<K>(
        &self,
        step: &Step<'_, K>,
        visit: impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Bound { sql, params, rows } = &step.statement;
        match rows {
            Some(rows) => self.each_of(sql, rows, params, visit).await,
            None => self.each(sql, params, visit).await,
        }
    }
}
