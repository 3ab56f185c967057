//! Renders the outcome of a request, and nothing else does.

use std::io::Write;
use std::marker::PhantomData;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use futures_util::{StreamExt, future, stream};
use http::{HeaderValue, Response, StatusCode, header};
use kiosque_contract::{Code, Envelope, Page};
use kiosque_listener::{AnswerMemory, Content, LaterParts, UnreadAnswers};
use kiosque_model::{AccountNo, PageRequest, Refusal};
use kiosque_store::{Error, Refused};
use serde::Serialize;

use kiosque_clock::NoEntropy;
use kiosque_locale::{Locale, Message};

/// The approximate size of a page of ten orders.
const USUAL_PAGE_BYTES: usize = 12 << 10;

/// `data` of a success: a `T`, as JSON.
pub(crate) struct Data<T> {
    json: DataJson,
    of: PhantomData<fn() -> T>,
}

/// `data` of a success.
pub(crate) struct DataJson {
    /// All of it, or its first part.
    first: Vec<u8>,
    later: Option<LaterParts>,
    memory: Option<AnswerMemory>,
}

impl<T> Data<T> {
    /// Returns a `T` that is JSON already.
    pub(crate) fn of_json(json: Vec<u8>) -> Data<T> {
        Data { json: DataJson { first: json, later: None, memory: None }, of: PhantomData }
    }

    /// Takes a `T` of which the first part is JSON already, and the others will be.
    pub(crate) fn in_parts(first: Vec<u8>, later: LaterParts) -> Data<T> {
        Data { json: DataJson { first, later: Some(later), memory: None }, of: PhantomData }
    }

    pub(crate) fn into_json(self) -> DataJson {
        self.json
    }
}

impl DataJson {
    /// Counts the data as unread, unless it is in parts, which have memory of their own.
    ///
    /// # Errors
    /// Too much is unread already.
    pub(crate) fn admitted(
        self,
        answers: &Arc<UnreadAnswers>,
        account: AccountNo,
    ) -> Result<DataJson, Failure> {
        if self.later.is_some() {
            return Ok(self);
        }
        let memory = answers.admit(account, self.first.len());
        let busy = "too many answers have not been read; read them, then try again";
        let memory = memory.ok_or_else(|| Failure::busy(busy))?;
        Ok(DataJson { memory: Some(memory), ..self })
    }
}

impl<T: Serialize> Data<T> {
    pub(crate) fn of(data: &T) -> Result<Data<T>, Failure> {
        let json = serde_json::to_vec(data).map_err(|error| Failure::internal(&error))?;
        Ok(Data::of_json(json))
    }
}

impl Data<()> {
    pub(crate) fn null() -> Data<()> {
        Data::of_json(b"null".to_vec())
    }
}

impl<T> Data<Page<T>> {
    /// Returns a page of records that are JSON already.
    pub(crate) fn page<'r>(
        total: i64,
        page: PageRequest,
        records: impl Iterator<Item = &'r [u8]>,
    ) -> Data<Page<T>> {
        let (current, size) = (page.current(), page.size());
        let mut data = Vec::with_capacity(USUAL_PAGE_BYTES);
        // Writing to a vector does not fail.
        let _ = write!(data, r#"{{"total":{total},"current":{current},"size":{size},"records":["#);
        append_list(&mut data, records);
        Data::of_json(data)
    }
}

/// Appends the rest of an object whose last field is a list that was just opened.
fn append_list<'r>(data: &mut Vec<u8>, records: impl Iterator<Item = &'r [u8]>) {
    for (at, record) in records.enumerate() {
        if at > 0 {
            data.push(b',');
        }
        data.extend_from_slice(record);
    }
    data.extend_from_slice(b"]}");
}

/// Why a request did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was refused.
    Refusal(Refusal),
    /// The server failed: HTTP 500. The cause is only logged.
    System(SystemFault),
}

/// A failure of the server: the diagnostic for the caller, and the cause for the log.
#[derive(Debug)]
pub(crate) struct SystemFault {
    pub(crate) kind: FaultKind,
    pub(crate) message: &'static str,
    pub(crate) cause: String,
    pub(crate) disclosure: Disclosure,
    pub(crate) retry_after_s: Option<u32>,
}

/// The readers of the cause of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disclosure {
    /// It is in the log alone.
    Log,
    /// It is in the answer to an operator's call as well: a fault of files, which the operator can
    /// mend.
    Operator,
}

/// The cause of a failure, as a label of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// The store was busy for too long.
    StoreBusy,
    /// The store failed.
    StoreFailed,
    /// A stored order that the answer needs is damaged; requests without it are answered.
    DamagedOrder,
    /// A read took too long, or its account had too many at a time.
    TooMuchWork,
    /// A limit on concurrent work is reached.
    Overloaded,
    /// A defect.
    Internal,
}

impl FaultKind {
    /// The kinds that callers cause by load. They are logged once a second, with their number, so
    /// that callers cannot fill the log; see [`crate::App::log_failures`].
    pub(crate) const OVERLOAD: [FaultKind; 3] =
        [FaultKind::StoreBusy, FaultKind::TooMuchWork, FaultKind::Overloaded];
}

impl Failure {
    /// Returns a failure that a retry will not mend.
    pub(crate) fn internal(cause: &dyn std::fmt::Display) -> Failure {
        let message = "the request could not be answered";
        let (kind, cause) = (FaultKind::Internal, cause.to_string());
        let (disclosure, retry_after_s) = (Disclosure::Log, None);
        Failure::System(SystemFault { kind, message, cause, disclosure, retry_after_s })
    }

    /// Returns the seconds after which the caller may try again, if the answer names them.
    const fn retry_after_s(&self) -> Option<u32> {
        match self {
            Failure::Refusal(Refusal::TooManyFailures { retry_after_s }) => Some(*retry_after_s),
            Failure::Refusal(_) => None,
            Failure::System(fault) => fault.retry_after_s,
        }
    }

    /// Returns the failure of a stream of orders or heartbeats. A till is given the reason that
    /// `/readyz/orders` gives: reads may go on. It cannot ask for less.
    fn of_stream(self) -> Failure {
        match self {
            Failure::System(fault) if fault.kind == FaultKind::TooMuchWork => {
                let message = "the store is busy; send the lines again";
                Failure::System(SystemFault { kind: FaultKind::StoreBusy, message, ..fault })
            }
            Failure::System(fault) if fault.disclosure == Disclosure::Operator => {
                Failure::System(SystemFault { message: "orders cannot be stored", ..fault })
            }
            other => other,
        }
    }

    /// Returns a failure because of a limit on concurrent work.
    pub(crate) fn busy(message: &'static str) -> Failure {
        let (kind, cause) = (FaultKind::Overloaded, message.to_owned());
        let (disclosure, retry_after_s) = (Disclosure::Log, Some(1));
        Failure::System(SystemFault { kind, message, cause, disclosure, retry_after_s })
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
        let (kind, message) = match error {
            Error::Busy(_) => (FaultKind::StoreBusy, "the store is busy; try again"),
            // ENV-13.
            Error::TooMuchWork(_) => (
                FaultKind::TooMuchWork,
                "too much work: ask for a shorter range, for fewer devices, or for less at a time",
            ),
            Error::UnreadableOrder(_) => {
                (FaultKind::DamagedOrder, "a stored order of this answer is damaged")
            }
            Error::Unknown(_) => (
                FaultKind::StoreFailed,
                "it is not known whether this was done; look before you try again",
            ),
            Error::Sqlite(_)
            | Error::File(_)
            | Error::FileChanged(_)
            | Error::Damaged(_)
            | Error::InUse(_)
            | Error::NoData
            | Error::Postgres(_)
            | Error::Unreachable(_)
            | Error::Data(_)
            | Error::Closed
            | Error::Gone => (FaultKind::StoreFailed, "the store is not available"),
        };
        Failure::System(SystemFault {
            kind,
            message,
            cause: error.to_string(),
            disclosure: match error {
                Error::File(_)
                | Error::FileChanged(_)
                | Error::Damaged(_)
                | Error::UnreadableOrder(_) => Disclosure::Operator,
                _ => Disclosure::Log,
            },
            // A damaged order stays damaged.
            retry_after_s: Some(1).filter(|_| !matches!(error, Error::UnreadableOrder(_))),
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

impl From<NoEntropy> for Failure {
    fn from(error: NoEntropy) -> Self {
        Failure::internal(&error)
    }
}

/// Returns the `code` of an outcome.
pub(crate) fn code(outcome: &Result<DataJson, Failure>) -> Code {
    match outcome {
        Ok(_) => Code::Success,
        Err(Failure::Refusal(refusal)) => Message::of(refusal).code(),
        Err(Failure::System(_)) => Message::System.code(),
    }
}

/// Renders the outcome of a request.
pub(crate) fn render(
    outcome: Result<DataJson, Failure>,
    locale: Locale,
    request_id: &str,
) -> Response<Content> {
    let (status, content, retry_after_s) = match outcome {
        Ok(data) => (StatusCode::OK, success(data, locale), None),
        Err(failure) => {
            let (status, body) = failed(&failure, locale, request_id);
            (status, body.into(), failure.retry_after_s())
        }
    };
    let mut response = Response::new(content);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kiosque_contract::CONTENT_TYPE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert(kiosque_contract::REQUEST_ID_HEADER, id);
    }
    if let Some(seconds) = retry_after_s {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn success(data: DataJson, locale: Locale) -> Content {
    static HEADS: LazyLock<[String; 2]> =
        LazyLock::new(|| [Locale::En, Locale::ZhCn].map(success_head));
    /// The end of the envelope.
    const END: &[u8] = b"}";
    let [en, zh_cn] = &*HEADS;
    let head = match locale {
        Locale::En => en,
        Locale::ZhCn => zh_cn,
    };
    let DataJson { first, later, memory } = data;
    // Exactly as long as the body, so that it is not copied again.
    let mut body = Vec::with_capacity(head.len() + first.len() + END.len());
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(&first);
    match later {
        None => {
            body.extend_from_slice(END);
            Content::from(body).counted(memory)
        }
        Some(later) => {
            let end = stream::once(future::ready(Ok(Bytes::from_static(END))));
            Content::in_parts(body.into(), Box::pin(later.chain(end)))
        }
    }
}

/// Returns the envelope of a success up to its data.
fn success_head(locale: Locale) -> String {
    let (code, message) = (Code::Success.number(), Message::Success.text(locale));
    format!(r#"{{"code":{code},"msg":"{message}","enMsg":null,"data":"#)
}

/// Renders the status and the envelope of a request that did not succeed.
pub(crate) fn failed(failure: &Failure, locale: Locale, request_id: &str) -> (StatusCode, Vec<u8>) {
    match failure {
        Failure::Refusal(refusal @ Refusal::NotFound) => {
            (StatusCode::NOT_FOUND, refused(refusal, locale))
        }
        Failure::Refusal(refusal) => (StatusCode::OK, refused(refusal, locale)),
        Failure::System(fault) => {
            let data = format!("{} (request {request_id})", fault.message);
            let body = self::failure(Message::System, locale, &data);
            (StatusCode::INTERNAL_SERVER_ERROR, body)
        }
    }
}

/// Renders a refusal; ENV-7 says which shape its `data` has.
fn refused(refusal: &Refusal, locale: Locale) -> Vec<u8> {
    let message = Message::of(refusal);
    match refusal {
        Refusal::Invalid(violations) => {
            let texts: Vec<String> =
                violations.iter().map(|one| kiosque_locale::violation(one, locale)).collect();
            failure(message, locale, &texts)
        }
        Refusal::Unreadable(diagnostic) => failure(message, locale, diagnostic),
        Refusal::NotFound => failure(message, locale, &None::<&str>),
        _ => failure(message, locale, &message.text(locale)),
    }
}

fn failure(message: Message, locale: Locale, data: &impl Serialize) -> Vec<u8> {
    let envelope = Envelope {
        code: message.code().number(),
        msg: message.text(locale).into(),
        en_msg: Some(message.text(Locale::En).into()),
        data,
    };
    serde_json::to_vec(&envelope).unwrap_or_else(|_| EMERGENCY.as_bytes().to_vec())
}

/// Strings and lists of strings always render; the fallback exists so that nothing can panic.
const EMERGENCY: &str = r#"{"code":500,"msg":"system error","enMsg":"system error","data":null}"#;

#[cfg(test)]
mod tests {
    use super::*;

    /// A read of the fleet that ends at its limit is no fault of the lines: a till can only send
    /// them again.
    #[test]
    fn a_stream_is_not_asked_for_a_shorter_range() {
        let error = kiosque_ingest::Error::from(Error::TooMuchWork("at its limit"));
        let Failure::System(fault) = Failure::from(error) else { panic!("no failure") };
        assert_eq!((fault.kind, fault.retry_after_s), (FaultKind::StoreBusy, Some(1)));
        assert_eq!(fault.message, "the store is busy; send the lines again");
    }

    #[test]
    fn the_emergency_answer_is_an_envelope() {
        let envelope: Envelope<Option<String>> =
            serde_json::from_str(EMERGENCY).expect("an envelope");
        assert_eq!(envelope.code, Code::System.number());
    }
}
