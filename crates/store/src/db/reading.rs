//! Readings: statements bound to their parameters, and the values into which their rows are read.
//! The readings of one answer are sent to the engine together.

use std::ops::ControlFlow;

use super::{Read, faults};
use crate::error::{Error, Refused};
use crate::sql::{FromRow, OwnedValue, Row, Sql, Value};

/// A statement bound to its parameters.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(super) sql: &'static Sql,
    pub(super) params: Vec<OwnedValue>,
    /// The rows of a bulk statement; `None` for other statements.
    pub(super) rows: Option<Vec<Vec<OwnedValue>>>,
}

impl Bound {
    pub(crate) fn new<const N: usize>(sql: &'static Sql, params: [Value<'_>; N]) -> Bound {
        Bound { sql, params: params.map(OwnedValue::from).into(), rows: None }
    }

    /// Binds the rows of a bulk statement.
    pub(crate) fn with_rows<'v>(self, rows: impl IntoIterator<Item = Vec<Value<'v>>>) -> Bound {
        let owned = |row: Vec<Value<'_>>| row.into_iter().map(OwnedValue::from).collect();
        Bound { rows: Some(rows.into_iter().map(owned).collect()), ..self }
    }

    /// Returns the rows of a bulk statement; for other statements, one without values.
    pub(super) fn each_row(&self) -> &[Vec<OwnedValue>] {
        static NO_VALUES: [Vec<OwnedValue>; 1] = [Vec::new()];
        self.rows.as_deref().unwrap_or(&NO_VALUES)
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
}

/// A reading, or several: a tuple, a vector or an option.
pub(crate) trait Readings: Send + 'static {
    /// The values into which the rows are read.
    type Rows: Send;

    /// Moves the statements to the end of `all`.
    fn take_statements(&mut self, all: &mut Vec<Bound>);

    /// Returns the number of statements, including those that were taken.
    fn count(&self) -> usize;

    /// Adds a row of a statement, which is given by its position.
    fn add(&mut self, statement: usize, row: &Row<'_>) -> Result<(), Error>;

    /// Returns the values.
    fn into_rows(self) -> Self::Rows;
}

impl<T: Send + 'static> Readings for Reading<T> {
    type Rows = T;

    fn take_statements(&mut self, all: &mut Vec<Bound>) {
        all.append(&mut self.statements);
    }

    fn count(&self) -> usize {
        self.add.len()
    }

    fn add(&mut self, statement: usize, row: &Row<'_>) -> Result<(), Error> {
        let add = self.add.get_mut(statement).ok_or(Error::Gone)?;
        add(&mut self.rows, row)
    }

    fn into_rows(self) -> T {
        self.rows
    }
}

impl<R: Readings> Readings for Vec<R> {
    type Rows = Vec<R::Rows>;

    fn take_statements(&mut self, all: &mut Vec<Bound>) {
        self.iter_mut().for_each(|reading| reading.take_statements(all));
    }

    fn count(&self) -> usize {
        self.iter().map(R::count).sum()
    }

    fn add(&mut self, mut statement: usize, row: &Row<'_>) -> Result<(), Error> {
        for reading in self {
            match statement.checked_sub(reading.count()) {
                None => return reading.add(statement, row),
                Some(later) => statement = later,
            }
        }
        Err(Error::Gone)
    }

    fn into_rows(self) -> Self::Rows {
        self.into_iter().map(R::into_rows).collect()
    }
}

impl<R: Readings> Readings for Option<R> {
    type Rows = Option<R::Rows>;

    fn take_statements(&mut self, all: &mut Vec<Bound>) {
        self.iter_mut().for_each(|reading| reading.take_statements(all));
    }

    fn count(&self) -> usize {
        self.as_ref().map_or(0, R::count)
    }

    fn add(&mut self, statement: usize, row: &Row<'_>) -> Result<(), Error> {
        self.as_mut().ok_or(Error::Gone)?.add(statement, row)
    }

    fn into_rows(self) -> Self::Rows {
        self.map(R::into_rows)
    }
}

/// Nothing is read.
impl Readings for () {
    type Rows = ();

    fn take_statements(&mut self, _: &mut Vec<Bound>) {}

    fn count(&self) -> usize {
        0
    }

    fn add(&mut self, _: usize, _: &Row<'_>) -> Result<(), Error> {
        Err(Error::Gone)
    }

    fn into_rows(self) {}
}

macro_rules! tuples {
    ($(($($reading:ident),*);)*) => {$(
        #[allow(non_snake_case, reason = "a variable has the name of its type parameter")]
        impl<$($reading: Readings),*> Readings for ($($reading,)*) {
            type Rows = ($($reading::Rows,)*);

            fn take_statements(&mut self, all: &mut Vec<Bound>) {
                let ($($reading,)*) = self;
                $($reading.take_statements(all);)*
            }

            fn count(&self) -> usize {
                let ($($reading,)*) = self;
                0 $(+ $reading.count())*
            }

            fn add(&mut self, statement: usize, row: &Row<'_>) -> Result<(), Error> {
                let ($($reading,)*) = self;
                let mut later = statement;
                $(
                    match later.checked_sub($reading.count()) {
                        None => return $reading.add(later, row),
                        Some(rest) => later = rest,
                    }
                )*
                let _ = later;
                Err(Error::Gone)
            }

            fn into_rows(self) -> Self::Rows {
                let ($($reading,)*) = self;
                ($($reading.into_rows(),)*)
            }
        }
    )*};
}
tuples! {
    (A, B);
    (A, B, C);
}

/// An authorization check, and the readings that follow it in its snapshot.
pub(crate) trait CheckedRead: Send {
    /// Moves out the check, which returns at most one row, and the statements.
    fn take_statements(&mut self) -> (Bound, Vec<Bound>);

    /// Proves the caller with the row of the check. `Break` leaves the statements unread.
    fn prove(&mut self, row: Option<&Row<'_>>) -> Result<ControlFlow<()>, Refused>;

    /// Adds a row of a statement, which is given by its position.
    fn add(&mut self, statement: usize, row: &Row<'_>) -> Result<(), Error>;
}

impl Read<'_> {
    /// Reads several statements, which are sent together, for the operator, who has no session.
    pub(crate) async fn together<R: Readings>(&self, mut readings: R) -> Result<R::Rows, Error> {
        faults::check()?;
        let mut statements = Vec::new();
        readings.take_statements(&mut statements);
        match self {
            Read::Postgres(transaction) => {
                transaction.together(&statements, |at, row| readings.add(at, row)).await?;
            }
            Read::Sqlite(snapshot) => {
                for (at, bound) in statements.iter().enumerate() {
                    faults::check()?;
                    let add = |row: &Row<'_>| readings.add(at, row);
                    snapshot.each_row_of(bound.sql, bound.each_row(), &bound.params, add)?;
                }
            }
        }
        Ok(readings.into_rows())
    }
}
