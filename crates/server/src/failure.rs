//! Why a request fails: one type for integrators' calls, operators' calls and pages of the console.
//! [`crate::answer`] decides how each is answered.

use std::borrow::Cow;
use std::fmt;

use http::StatusCode;
use kiosque_clock::NoEntropy;
use kiosque_contract::{OrdersFailed, OrdersReceived};
use kiosque_listener::BodyError;
use kiosque_locale::{Locale, Message};
use kiosque_model::{Refusal, Right};
use kiosque_store::{Error, Refused};
use strum::{IntoStaticStr, VariantArray};

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was refused by a rule of the interface, or its path is unknown.
    Refusal(Refusal),
    /// The server failed.
    System(SystemFailure),
    /// The path only supports these methods.
    Method(&'static str),
    /// The key lacks the right that a page requires.
    Right(Right),
    /// The value of this parameter of a page is invalid.
    Parameter(&'static str),
    /// The page has no parameter with this name.
    UnknownParameter(String),
    /// It was refused by the operator's listener, with a status, a reason and all errors.
    Denied(StatusCode, String, Errors),
}

/// The errors of a request.
#[derive(Default)]
pub(crate) struct Errors(pub(crate) Vec<String>);

impl fmt::Debug for Errors {
    /// Omits the errors: they quote the request, which may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} errors", self.0.len())
    }
}

/// A failure of the server: the diagnostic for the caller, and the cause for the log.
#[derive(Debug)]
pub(crate) struct SystemFailure {
    pub(crate) kind: FailureKind,
    pub(crate) message: Cow<'static, str>,
    pub(crate) cause: String,
    /// Whether an operator's call includes the cause in its answer: the operator can fix it.
    pub(crate) is_disclosed: bool,
    pub(crate) retry_after_s: Option<u32>,
    /// The outcomes of the lines of a stream of orders.
    pub(crate) orders: Option<Box<OrdersFailed>>,
}

/// The cause of a failure, as a label of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum FailureKind {
    /// The store was busy for too long.
    StoreBusy,
    /// The store failed.
    StoreFailed,
    /// A stored order that the answer needs is damaged; requests without it are answered.
    DamagedOrder,
    /// A read took too long, or its account had too many at a time.
    TooMuchWork,
    /// A limit on concurrent work was reached.
    Overloaded,
    /// A defect.
    Internal,
}

impl FailureKind {
    /// The kinds that callers cause by load. Their number is logged once a second, so that callers
    /// cannot fill the log; see [`crate::App::log_failures`].
    pub(crate) const OVERLOAD: [FailureKind; 3] =
        [FailureKind::StoreBusy, FailureKind::TooMuchWork, FailureKind::Overloaded];
}

impl Failure {
    /// Returns a failure that a retry cannot fix.
    pub(crate) fn internal(cause: &dyn fmt::Display) -> Failure {
        let message = "the request could not be answered";
        Failure::system(FailureKind::Internal, message, cause.to_string(), None)
    }

    /// Returns a failure because of a limit on concurrent work.
    pub(crate) fn busy(message: &'static str) -> Failure {
        Failure::system(FailureKind::Overloaded, message, message.to_owned(), Some(1))
    }

    fn system(
        kind: FailureKind,
        message: &'static str,
        cause: String,
        retry_after_s: Option<u32>,
    ) -> Failure {
        Failure::System(SystemFailure {
            kind,
            message: Cow::Borrowed(message),
            cause,
            is_disclosed: false,
            retry_after_s,
            orders: None,
        })
    }

    /// No call, page or entry has the path.
    pub(crate) fn not_found() -> Failure {
        Failure::Refusal(Refusal::NotFound)
    }

    /// Returns the refusal of a request to the operator's listener.
    pub(crate) fn denied(status: StatusCode, reason: impl Into<String>) -> Failure {
        Failure::Denied(status, reason.into(), Errors::default())
    }

    /// The request has no valid key.
    pub(crate) fn unauthorized(reason: &str) -> Failure {
        Failure::denied(StatusCode::UNAUTHORIZED, reason)
    }

    /// No group has the id.
    pub(crate) fn unknown_group(id: &str) -> Failure {
        Failure::denied(StatusCode::NOT_FOUND, format!("no group {id} is known"))
    }

    /// The form of a page could not be read.
    pub(crate) fn bad_form(error: &dyn fmt::Display) -> Failure {
        Failure::denied(StatusCode::BAD_REQUEST, format!("The form could not be read: {error}"))
    }

    /// The query string of a call is invalid.
    pub(crate) fn bad_query(errors: Vec<String>) -> Failure {
        let reason = "the query string is not valid".to_owned();
        Failure::Denied(StatusCode::BAD_REQUEST, reason, Errors(errors))
    }

    /// Returns the failure of a stream some of whose lines are already stored, which it says.
    pub(crate) fn after_lines(mut self) -> Failure {
        const REMAIN: &str = "; the lines that were stored before remain";
        match &mut self {
            Failure::System(error) => error.message.to_mut().push_str(REMAIN),
            Failure::Denied(_, reason, _) => reason.push_str(REMAIN),
            _ => {}
        }
        self
    }

    /// Returns the same failure with the outcomes of a stream's lines, if any line was stored or
    /// rejected, and others could not be stored or may be sent again.
    pub(crate) fn with_orders(mut self, outcomes: OrdersFailed) -> Failure {
        let OrdersReceived { accepted, updated, unchanged, rejected_count, .. } = outcomes.received;
        if let Failure::System(SystemFailure { orders, retry_after_s, .. }) = &mut self
            && (outcomes.failed_count > 0 || retry_after_s.is_some())
            && accepted + updated + unchanged + rejected_count > 0
        {
            *orders = Some(Box::new(outcomes));
        }
        self
    }

    /// Returns the failure of the server, if it is one.
    pub(crate) fn system_error(&self) -> Option<&SystemFailure> {
        match self {
            Failure::System(error) => Some(error),
            _ => None,
        }
    }

    /// Returns whether the caller stopped sending.
    pub(crate) fn is_timeout(&self) -> bool {
        matches!(self, Failure::Denied(StatusCode::REQUEST_TIMEOUT, ..))
    }

    /// Returns the seconds after which the caller may try again, if the answer specifies them.
    pub(crate) fn retry_after_s(&self) -> Option<u32> {
        match self {
            Failure::Refusal(Refusal::TooManyFailures { retry_after_s }) => Some(*retry_after_s),
            other => other.system_error().and_then(|error| error.retry_after_s),
        }
    }

    /// Returns the status of an answer by the operator's listener.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Failure::Refusal(Refusal::NotFound) => StatusCode::NOT_FOUND,
            Failure::Refusal(_) | Failure::Parameter(_) | Failure::UnknownParameter(_) => {
                StatusCode::BAD_REQUEST
            }
            Failure::System(SystemFailure { retry_after_s: Some(_), .. }) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Failure::System(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Failure::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Failure::Right(_) => StatusCode::FORBIDDEN,
            Failure::Denied(status, ..) => *status,
        }
    }

    /// Returns the reason for an operator's call.
    pub(crate) fn reason(&self) -> Cow<'_, str> {
        match self {
            Failure::Refusal(Refusal::NotFound) => "there is no such call".into(),
            Failure::Refusal(refusal) => Message::of(refusal).text(Locale::En).into(),
            Failure::System(error) => Cow::Borrowed(&error.message),
            Failure::Method(allowed) => format!("the call takes {allowed}").into(),
            Failure::Denied(_, reason, _) => reason.into(),
            // Pages have separate texts.
            Failure::Right(_) | Failure::Parameter(_) | Failure::UnknownParameter(_) => {
                self.status().canonical_reason().unwrap_or_default().into()
            }
        }
    }

    /// Returns the failure of a stream of orders or heartbeats. A till receives the reason that
    /// `/readyz/orders` reports: reads may still work, and it cannot request less.
    fn of_stream(mut self) -> Failure {
        match &mut self {
            Failure::System(error) if error.kind == FailureKind::TooMuchWork => {
                error.kind = FailureKind::StoreBusy;
                error.message = "the store is busy; send the lines again".into();
            }
            Failure::System(error) if error.is_disclosed => {
                error.message = "orders cannot be stored".into();
            }
            _ => {}
        }
        self
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Failure::Refusal(refusal)
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Refusal(refusal) => Failure::Refusal(refusal),
            Refused::Store(error) => error.into(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::from(&error)
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        const UNAVAILABLE: &str = "the store is not available";
        let (kind, message, is_disclosed) = match error {
            Error::Busy(_) => (FailureKind::StoreBusy, "the store is busy; try again", false),
            // ENV-13.
            Error::TooMuchWork(_) => (
                FailureKind::TooMuchWork,
                "too much work: request a shorter range, fewer devices, or less at a time",
                false,
            ),
            Error::UnreadableOrder(_) => {
                (FailureKind::DamagedOrder, "a stored order of this answer is damaged", true)
            }
            Error::Unknown(_) => (
                FailureKind::StoreFailed,
                "it is not known whether this was done; check before you try again",
                false,
            ),
            Error::File(_)
            | Error::FileChanged(_)
            | Error::Damaged(_)
            | Error::Unreachable(_)
            | Error::NoAccess(_)
            | Error::Closed => (FailureKind::StoreFailed, UNAVAILABLE, true),
            Error::Sqlite(_)
            | Error::InUse(_)
            | Error::NoData
            | Error::Postgres(_)
            | Error::Data(_)
            | Error::Gone => (FailureKind::StoreFailed, UNAVAILABLE, false),
        };
        Failure::System(SystemFailure {
            kind,
            message: message.into(),
            cause: error.to_string(),
            is_disclosed,
            // A damaged order stays damaged.
            retry_after_s: Some(1).filter(|_| kind != FailureKind::DamagedOrder),
            orders: None,
        })
    }
}

impl From<kiosque_ingest::Error> for Failure {
    fn from(error: kiosque_ingest::Error) -> Self {
        match error {
            kiosque_ingest::Error::Busy(detail) => Failure::busy(detail),
            kiosque_ingest::Error::Store(error) => Failure::from(&*error).of_stream(),
            kiosque_ingest::Error::Internal(cause) => Failure::internal(&cause),
        }
    }
}

impl From<BodyError> for Failure {
    fn from(error: BodyError) -> Self {
        let status = match error {
            BodyError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            BodyError::Late(_) => StatusCode::REQUEST_TIMEOUT,
            BodyError::Broken | BodyError::Malformed => StatusCode::BAD_REQUEST,
        };
        Failure::denied(status, error.to_string())
    }
}

impl From<NoEntropy> for Failure {
    fn from(error: NoEntropy) -> Self {
        Failure::internal(&error)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A read of the fleet that ends at its limit is not caused by the lines: a till can only send
    /// them again.
    #[test]
    fn a_stream_is_not_asked_for_a_shorter_range() {
        let error = kiosque_ingest::Error::from(Error::TooMuchWork("at its limit"));
        let Failure::System(error) = Failure::from(error) else { panic!("no failure") };
        assert_eq!((error.kind, error.retry_after_s), (FailureKind::StoreBusy, Some(1)));
        assert_eq!(error.message, "the store is busy; send the lines again");
    }

    /// A failure after which the stream may be sent again has the outcomes of its lines, if any.
    #[test]
    fn a_failure_of_a_stream_has_the_outcomes_of_its_lines() {
        let busy = || Failure::from(Error::Busy(Duration::ZERO));
        let outcomes = |accepted, failed_count| {
            let received = OrdersReceived { accepted, ..OrdersReceived::default() };
            OrdersFailed { last_line: 2, received, failed_count, failed: Vec::new() }
        };
        let orders_of = |failure: Failure| failure.system_error().and_then(|it| it.orders.clone());
        let orders = orders_of(busy().with_orders(outcomes(1, 0))).expect("orders");
        assert_eq!(*orders, outcomes(1, 0));
        assert!(orders_of(busy().with_orders(outcomes(0, 1))).is_none());
        let internal = || Failure::internal(&"x");
        assert!(orders_of(internal().with_orders(outcomes(1, 0))).is_none());
        assert!(orders_of(internal().with_orders(outcomes(1, 1))).is_some());
    }
}
