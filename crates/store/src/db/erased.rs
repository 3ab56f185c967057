//! The work of a transaction with its types erased: the code that runs transactions is generated
//! once, instead of for each read and each change.

use std::any::Any;
use std::pin::Pin;

use super::{Read, Write};
use crate::error::Error;

/// A result or an error of the work, of the type that its caller expects.
pub(super) type Erased = Box<dyn Any + Send>;

/// The failure of a transaction.
pub(super) enum Failure {
    /// Its work returned an error.
    OfWork(Erased),
    /// The engine failed.
    OfEngine(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::OfEngine(error)
    }
}

/// The outcome of a transaction.
pub(super) type Done = Result<Erased, Failure>;
/// The work while it runs. It need not be [`Send`]: one thread runs it to its end.
pub(super) type Running<'a> = Pin<Box<dyn Future<Output = Done> + 'a>>;

/// A read of a snapshot.
pub(super) type Ask = Box<dyn for<'a> FnOnce(&'a Read<'a>) -> Running<'a> + Send>;

/// A change in a transaction that writes. It runs again after a conflict.
pub(super) trait Change: Send {
    fn run<'a>(&'a self, write: &'a Write<'a>) -> Running<'a>;
}

/// Erases the types of a read.
pub(super) fn ask<T: Send + 'static, E: From<Error> + Send + 'static>(
    ask: impl AsyncFnOnce(&Read<'_>) -> Result<T, E> + Send + 'static,
) -> Ask {
    Box::new(move |read| Box::pin(async move { erase(ask(read).await, read) }))
}

/// Erases the types of a change.
pub(super) fn change<T: Send + 'static, E: From<Error> + Send + 'static>(
    change: impl AsyncFn(&Write<'_>) -> Result<T, E> + Send + 'static,
) -> Box<dyn Change> {
    Box::new(TypedChange(change))
}

struct TypedChange<F>(F);

impl<F, T, E> Change for TypedChange<F>
where
    F: AsyncFn(&Write<'_>) -> Result<T, E> + Send,
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    fn run<'a>(&'a self, write: &'a Write<'a>) -> Running<'a> {
        Box::pin(async move { erase((self.0)(write).await, write) })
    }
}

/// Erases the types of an outcome. An injected fault may occur at the end of the work.
fn erase<T: Send + 'static, E: From<Error> + Send + 'static>(
    done: Result<T, E>,
    read: &Read<'_>,
) -> Done {
    match done.and_then(|done| read.faults.check().map(|()| done).map_err(E::from)) {
        Ok(result) => Ok(Box::new(result)),
        Err(error) => Err(Failure::OfWork(Box::new(error))),
    }
}

/// Returns an outcome with the types that the work returned.
pub(super) fn restore<T: 'static, E: From<Error> + 'static>(done: Done) -> Result<T, E> {
    match done {
        Ok(result) => result.downcast().map(|result| *result).map_err(|_| Error::Gone.into()),
        Err(Failure::OfWork(error)) => {
            Err(error.downcast().map_or_else(|_| Error::Gone.into(), |error| *error))
        }
        Err(Failure::OfEngine(error)) => Err(error.into()),
    }
}

/// Runs work on the blocking pool, as a task of one type. Fails if it panicked.
pub(super) async fn on_blocking_pool<T: Send + 'static, E: From<Error> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    let work: Box<dyn FnOnce() -> Erased + Send> = Box::new(move || Box::new(work()));
    let done = tokio::task::spawn_blocking(work).await.ok();
    let done = done.and_then(|done| done.downcast::<Result<T, E>>().ok());
    done.map_or_else(|| Err(Error::Gone.into()), |done| *done)
}
