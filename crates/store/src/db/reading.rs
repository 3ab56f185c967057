//! Readings: statements bound to their parameters, and the values into which their rows are read.
//! The readings of one answer are sent to the engine together.

use std::ops::ControlFlow;

use super::{Read, ReadOf};
use crate::error::{Error, Refused};
use crate::sql::{FromRow, Row, Sql, Value};

/// A statement bound to its parameters.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(super) sql: &'static Sql,
    /// The rows of a bulk statement; for other statements, one without values.
    pub(super) rows: Vec<Vec<Value<'static>>>,
    pub(super) params: Vec<Value<'static>>,
}

impl Bound {
    pub(crate) fn new<const N: usize>(sql: &'static Sql, params: [Value<'_>; N]) -> Bound {
        Bound { sql, rows: vec![Vec::new()], params: params.map(Value::into_owned).into() }
    }

    /// Binds the rows of a bulk statement.
    pub(crate) fn with_rows<'v, R: IntoIterator<Item = Value<'v>>>(
        self,
        rows: impl IntoIterator<Item = R>,
    ) -> Bound {
        let owned = |row: R| row.into_iter().map(Value::into_owned).collect();
        Bound { rows: rows.into_iter().map(owned).collect(), ..self }
    }

    /// Reads the rows into `rows` with `add`.
    pub(crate) fn fold<T>(self, rows: T, add: impl AddsRow<T>) -> Reading<T> {
        Reading::of(rows).then(self, add)
    }

    /// Reads all rows.
    pub(crate) fn all<T: for<'r> FromRow<'r> + 'static>(self) -> Reading<Vec<T>> {
        self.fold(Vec::new(), |all: &mut Vec<T>, row: &Row<'_>| {
            all.push(row.read()?);
            Ok(())
        })
    }

    /// Reads the last row, for a statement that returns at most one.
    pub(crate) fn one<T: for<'r> FromRow<'r> + 'static>(self) -> Reading<Option<T>> {
        self.fold(None, |one: &mut Option<T>, row: &Row<'_>| {
            *one = Some(row.read()?);
            Ok(())
        })
    }
}

/// Adds a row to the value into which rows are read.
pub(crate) trait AddsRow<T>:
    FnMut(&mut T, &Row<'_>) -> Result<(), Error> + Send + 'static
{
}

impl<T, F: FnMut(&mut T, &Row<'_>) -> Result<(), Error> + Send + 'static> AddsRow<T> for F {}

/// The value into which the rows of some statements are read, in the order of the statements.
pub(crate) struct Reading<T> {
    rows: T,
    statements: Vec<Bound>,
    add: Vec<Box<dyn AddsRow<T>>>,
}

impl<T> Reading<T> {
    /// Returns a reading without a statement.
    pub(crate) fn of(rows: T) -> Reading<T> {
        Reading { rows, statements: Vec::new(), add: Vec::new() }
    }

    /// Adds a statement, whose rows arrive after the rows of the previous statements.
    pub(crate) fn then(mut self, statement: Bound, add: impl AddsRow<T>) -> Reading<T> {
        self.statements.push(statement);
        self.add.push(Box::new(add));
        self
    }

    /// Adds the statements of another reading, whose rows are read into a part of this value.
    fn then_into<U: 'static>(
        mut self,
        part: impl Fn(&mut T) -> Option<&mut U> + Copy + Send + 'static,
        statements: Vec<Bound>,
        add: Vec<Box<dyn AddsRow<U>>>,
    ) -> Reading<T>
    where
        T: 'static,
    {
        for (statement, mut add) in statements.into_iter().zip(add) {
            self = self.then(statement, move |rows: &mut T, row: &Row<'_>| {
                add(part(rows).ok_or(Error::Gone)?, row)
            });
        }
        self
    }

    /// Moves out the statements.
    pub(crate) fn take_statements(&mut self) -> Vec<Bound> {
        std::mem::take(&mut self.statements)
    }

    /// Adds a row of a statement, which is given by its position.
    pub(crate) fn add(&mut self, statement: usize, row: &Row<'_>) -> Result<(), Error> {
        let add = self.add.get_mut(statement).ok_or(Error::Gone)?;
        add(&mut self.rows, row)
    }

    /// Returns the value.
    pub(crate) fn into_rows(self) -> T {
        self.rows
    }
}

/// A reading, or several: a pair, a vector or an option.
pub(crate) trait Readings: Send + 'static {
    /// The values into which the rows are read.
    type Rows: Send + 'static;

    /// Returns one reading of all values.
    fn into_one(self) -> Reading<Self::Rows>;
}

impl<T: Send + 'static> Readings for Reading<T> {
    type Rows = T;

    fn into_one(self) -> Reading<T> {
        self
    }
}

impl<R: Readings> Readings for Vec<R> {
    type Rows = Vec<R::Rows>;

    fn into_one(self) -> Reading<Self::Rows> {
        let mut all: Reading<Self::Rows> = Reading::of(Vec::new());
        for (at, reading) in self.into_iter().enumerate() {
            let Reading { rows, statements, add } = reading.into_one();
            all.rows.push(rows);
            all = all.then_into(move |rows| rows.get_mut(at), statements, add);
        }
        all
    }
}

impl<R: Readings> Readings for Option<R> {
    type Rows = Option<R::Rows>;

    fn into_one(self) -> Reading<Self::Rows> {
        match self.map(R::into_one) {
            Some(Reading { rows, statements, add }) => {
                Reading::of(Some(rows)).then_into(Option::as_mut, statements, add)
            }
            None => Reading::of(None),
        }
    }
}

/// Nothing is read.
impl Readings for () {
    type Rows = ();

    fn into_one(self) -> Reading<()> {
        Reading::of(())
    }
}

impl<A: Readings, B: Readings> Readings for (A, B) {
    type Rows = (A::Rows, B::Rows);

    fn into_one(self) -> Reading<Self::Rows> {
        let (a, b) = (self.0.into_one(), self.1.into_one());
        Reading::of((a.rows, b.rows))
            .then_into(|rows| Some(&mut rows.0), a.statements, a.add)
            .then_into(|rows| Some(&mut rows.1), b.statements, b.add)
    }
}

/// An authorization check, the statements that follow it in its snapshot, and the answer, to which
/// their rows are added.
pub(crate) struct CheckedRead<T> {
    /// The check, which returns at most one row, and then the statements.
    pub(crate) statements: Vec<Bound>,
    pub(crate) answer: T,
    /// Adds a row of a statement, which is given by its position. The statements are only read
    /// after the row of the check, unless visiting it returns `Break`.
    pub(crate) visit: fn(&mut T, usize, &Row<'_>) -> Result<ControlFlow<()>, Refused>,
}

/// The visitor of a checked read without the type of the answer, so that the code of the engines is
/// generated once.
pub(super) type VisitChecked<'a> =
    dyn FnMut(usize, &Row<'_>) -> Result<ControlFlow<()>, Refused> + Send + 'a;

impl Read<'_> {
    /// Reads several statements, which are sent together.
    pub(crate) async fn together<R: Readings>(&self, readings: R) -> Result<R::Rows, Error> {
        self.in_unions(readings, 1).await
    }

    /// Reads several statements about one group; on PostgreSQL, they run as one.
    pub(crate) async fn as_one<R: Readings>(&self, readings: R) -> Result<R::Rows, Error> {
        self.in_unions(readings, usize::MAX).await
    }

    /// Reads several statements; on PostgreSQL, up to `union_max` of them run as one.
    async fn in_unions<R: Readings>(
        &self,
        readings: R,
        union_max: usize,
    ) -> Result<R::Rows, Error> {
        self.faults.check()?;
        let mut reading = readings.into_one();
        let statements = reading.take_statements();
        match &self.of_engine {
            ReadOf::Postgres(transaction) => {
                let add = |at, row: &Row<'_>| reading.add(at, row);
                transaction.together(&statements, union_max, add).await?;
            }
            ReadOf::Sqlite(snapshot) => {
                for (at, bound) in statements.iter().enumerate() {
                    self.faults.check()?;
                    let add = |row: &Row<'_>| reading.add(at, row);
                    snapshot.each_of(bound.sql, &bound.rows, &bound.params, add)?;
                }
            }
        }
        Ok(reading.into_rows())
    }
}
