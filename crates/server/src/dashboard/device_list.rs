//! Answers that list the devices of a group: complete if they are short, otherwise in parts
//! (DASH-27). A part is read when the client has received the previous one, so that an unread
//! answer holds no snapshot and no connection to the database.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use kiosque_listener::{BrokenOff, Content, LaterParts};
use kiosque_model::Claim;
use kiosque_store::{DevicePart, Error};
use serde::Serialize;

use crate::answer::Data;
use crate::app::App;
use crate::call::Caller;
use crate::failure::Failure;
use crate::large_answers::{LargeAnswerPermit, PART_BYTES, PARTS_BYTES};
use crate::panics::catch_panic;

/// Number of devices of the first part.
const FIRST_DEVICES: usize = 128;
/// Maximum number of devices of a part.
const DEVICES_MAX: usize = 1_000;

/// A part of a list.
pub(super) struct ListPart {
    /// A comma and the JSON of each element, so that parts can be concatenated.
    pub(super) json: Bytes,
    pub(super) totals: Totals,
    /// The code after which the next part begins.
    pub(super) next: Option<String>,
}

/// The elements of a part under construction.
#[derive(Default)]
pub(super) struct Elements {
    /// A comma and the JSON of each element.
    pub(super) json: Vec<u8>,
    pub(super) totals: Totals,
    last: String,
    /// Whether the part is full, and its last devices belong to the next one.
    is_full: bool,
}

/// The devices of a list so far.
#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    pub(super) devices: i64,
    pub(super) online: i64,
}

/// The text around the elements of a list.
#[derive(Clone, Copy)]
pub(super) enum ListFormat {
    /// The list alone.
    Plain,
    /// An object with the field `list`.
    List,
    /// An object with the counts of the devices and the field `list`: in this order if the list is
    /// complete, otherwise the list first.
    Counted,
}

/// Reads a part of a list.
pub(super) type ReadPart = Box<dyn Fn(Claim, DevicePart) -> ReadingPart + Send + Sync>;
type ReadingPart = BoxFuture<'static, Result<ListPart, Failure>>;

impl Elements {
    /// Begins the element of a device; returns whether it belongs to this part.
    pub(super) fn begin(&mut self, code: &str) -> bool {
        self.is_full |= self.json.len() >= PARTS_BYTES;
        if self.is_full {
            return false;
        }
        self.json.push(b',');
        self.totals.devices += 1;
        self.last.clear();
        self.last.push_str(code);
        true
    }

    /// Appends the element of the device that was begun.
    pub(super) fn add(&mut self, element: &impl Serialize) -> Result<(), Error> {
        serde_json::to_writer(&mut self.json, element)
            .map_err(|error| Error::Data(format!("rendering: {error}")))
    }

    /// Returns the part of a list formed by these elements.
    pub(super) fn into_part(self, next: Option<String>) -> ListPart {
        let next = if self.is_full { Some(self.last) } else { next };
        ListPart { json: Bytes::from(self.json), totals: self.totals, next }
    }
}

impl ListPart {
    /// Returns the JSON of the elements at the beginning of a list.
    fn first(&self) -> Bytes {
        self.json.slice(self.json.len().min(1)..)
    }
}

impl ListFormat {
    /// Returns the text before the elements, with the totals if the list is complete.
    fn opening(self, whole: Option<Totals>) -> String {
        match (self, whole) {
            (ListFormat::Plain, _) => "[".to_owned(),
            (ListFormat::Counted, Some(totals)) => format!(r#"{{{},"list":["#, counts(totals)),
            (ListFormat::List | ListFormat::Counted, _) => r#"{"list":["#.to_owned(),
        }
    }

    /// Returns the text after the elements, with the totals if the list was sent in parts.
    fn closing(self, in_parts: Option<Totals>) -> String {
        match (self, in_parts) {
            (ListFormat::Plain, _) => "]".to_owned(),
            (ListFormat::Counted, Some(totals)) => format!("],{}}}", counts(totals)),
            (ListFormat::List | ListFormat::Counted, _) => "]}".to_owned(),
        }
    }
}

fn counts(Totals { devices, online }: Totals) -> String {
    let offline = devices - online;
    format!(r#""totalCount":{devices},"onlineCount":{online},"offlineCount":{offline}"#)
}

/// Answers with a list.
pub(super) async fn answer<T>(
    caller: Caller<'_>,
    format: ListFormat,
    read: ReadPart,
) -> Result<Data<T>, Failure> {
    let Caller { call, claim } = caller;
    let begin = DevicePart::first(FIRST_DEVICES);
    let mut first = read(claim.clone(), begin.clone()).await?;
    if first.next.is_none() {
        return Ok(Data::of_json(whole(format, &first)));
    }

    let (answers, account) = (&call.app.large_answers, claim.token.account_hint());
    let permit = match answers.try_admit(account, PARTS_BYTES) {
        Some(permit) => permit,
        None => {
            // While this request waits, it occupies no memory.
            drop(first);
            let permit = answers.admit(account, PARTS_BYTES).await?;
            first = read(claim.clone(), begin.clone()).await?;
            permit
        }
    };
    let (app, request_id) = (Arc::clone(call.app), call.request_id.to_owned());
    let mut rest = Rest {
        app,
        request_id,
        claim,
        format,
        read,
        part: begin,
        totals: Totals::default(),
        is_complete: false,
        _permit: permit,
    };
    let mut json = format.opening(None).into_bytes();
    json.extend_from_slice(&first.first());
    rest.count(first);
    Ok(Data::of_json(Content::in_parts(json.into(), rest.into_parts())))
}

fn whole(format: ListFormat, part: &ListPart) -> Vec<u8> {
    let (opening, closing) = (format.opening(Some(part.totals)), format.closing(None));
    let mut json = Vec::with_capacity(opening.len() + part.json.len() + closing.len());
    json.extend_from_slice(opening.as_bytes());
    json.extend_from_slice(&part.first());
    json.extend_from_slice(closing.as_bytes());
    json
}

/// The rest of an answer whose first part has been read.
struct Rest {
    app: Arc<App>,
    request_id: String,
    claim: Claim,
    format: ListFormat,
    read: ReadPart,
    /// The next part.
    part: DevicePart,
    totals: Totals,
    /// Whether the last device has been read.
    is_complete: bool,
    _permit: LargeAnswerPermit,
}

impl Rest {
    fn into_parts(self) -> LaterParts {
        Box::pin(stream::try_unfold(Some(Box::new(self)), |rest| async move {
            let Some(rest) = rest else { return Ok(None) };
            rest.next().await.map(Some)
        }))
    }

    /// Returns the next part, and the rest, unless the part is the text after the elements.
    async fn next(mut self: Box<Self>) -> Result<(Bytes, Option<Box<Self>>), BrokenOff> {
        if self.is_complete {
            return Ok((self.format.closing(Some(self.totals)).into(), None));
        }
        // Each part proves the session again, at its own time.
        self.claim.now = self.app.clock.now();
        let reading = (self.read)(self.claim.clone(), self.part.clone());
        let part = catch_panic(reading).await.map_err(|failure| self.broken_off(&failure))?;
        let is_first = self.totals.devices == 0;
        let json = if is_first { part.first() } else { part.json.clone() };
        self.count(part);
        Ok((json, Some(self)))
    }

    /// Counts a part, and determines the next one.
    fn count(&mut self, part: ListPart) {
        let ListPart { json, totals, next } = part;
        self.totals.devices += totals.devices;
        self.totals.online += totals.online;
        self.is_complete = next.is_none();
        self.part.after = next.unwrap_or_default();
        let devices = usize::try_from(totals.devices).unwrap_or_default();
        if let Some(fitting) = devices.saturating_mul(PART_BYTES).checked_div(json.len()) {
            self.part.size = fitting.clamp(1, DEVICES_MAX);
        }
    }

    fn broken_off(&self, failure: &Failure) -> BrokenOff {
        match failure {
            Failure::System(error) => {
                self.app.metrics.failed(error.kind);
                let (log, cause) = (&self.app.failure_log, &error.cause);
                log.log(error.kind, "an answer was aborted", cause, &self.request_id);
            }
            refused => {
                tracing::debug!(request.id = self.request_id, ?refused, "an answer was aborted");
            }
        }
        BrokenOff
    }
}
