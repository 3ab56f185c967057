//! The errors of streams.

use std::sync::Arc;

/// Why a stream of orders or heartbeats failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// A limit on concurrent work was reached; the stream may be retried soon.
    #[error("{0}")]
    Busy(&'static str),
    /// The store failed. Streams whose orders were written together share the error.
    #[error(transparent)]
    Store(#[from] Arc<kiosque_store::Error>),
    /// A task ended prematurely, which is a defect.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    pub(crate) fn internal(cause: impl std::fmt::Display) -> Error {
        Error::Internal(cause.to_string())
    }
}

impl From<kiosque_store::Error> for Error {
    fn from(error: kiosque_store::Error) -> Self {
        Error::Store(Arc::new(error))
    }
}
