//! Answers that list the devices of a group: complete if they are short, otherwise in parts
//! (DASH-27). A part is read when the client has received the previous one, so that an unread
//! answer holds no snapshot and no connection to the database.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use kiosque_listener::{BrokenOff, Content, LaterParts};
use kiosque_model::Claim;
use kiosque_store::{DashboardQuery, DevicePart, DevicesRead};

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

/// The devices of a list so far.
#[derive(Clone, Copy, Default)]
struct Totals {
    devices: i64,
    online: i64,
}

/// What is listed of each device, and the text around the elements of the list.
#[derive(Clone, Copy)]
pub(super) enum DeviceList {
    /// Its aisles: the list alone.
    Aisles,
    /// Its profile: an object with the field `list`.
    Profile,
    /// Whether it is online: an object with the counts of the devices and the field `list`, in this
    /// order if the list is complete, otherwise the list first.
    Online,
}

impl DeviceList {
    /// Reads a part of the list.
    async fn read(
        self,
        app: &App,
        claim: Claim,
        query: DashboardQuery,
        part: DevicePart,
    ) -> Result<DevicesRead, Failure> {
        let reports = app.store.reports();
        let online = app.online_since(claim.now);
        Ok(match self {
            DeviceList::Aisles => reports.device_aisles(claim, query, part).await?,
            DeviceList::Profile => reports.device_profile(claim, query, part, online).await?,
            DeviceList::Online => reports.online_devices(claim, query, part, online).await?,
        })
    }

    /// Returns the text before the elements, with the totals if the list is complete.
    fn opening(self, whole: Option<Totals>) -> String {
        match (self, whole) {
            (DeviceList::Aisles, _) => "[".to_owned(),
            (DeviceList::Online, Some(totals)) => format!(r#"{{{},"list":["#, counts(totals)),
            (DeviceList::Profile | DeviceList::Online, _) => r#"{"list":["#.to_owned(),
        }
    }

    /// Returns the text after the elements, with the totals if the list was sent in parts.
    fn closing(self, in_parts: Option<Totals>) -> String {
        match (self, in_parts) {
            (DeviceList::Aisles, _) => "]".to_owned(),
            (DeviceList::Online, Some(totals)) => format!("],{}}}", counts(totals)),
            (DeviceList::Profile | DeviceList::Online, _) => "]}".to_owned(),
        }
    }
}

fn counts(Totals { devices, online }: Totals) -> String {
    let offline = devices - online;
    format!(r#""totalCount":{devices},"onlineCount":{online},"offlineCount":{offline}"#)
}

/// Returns the JSON of the elements at the beginning of a list.
fn without_comma(json: &Bytes) -> Bytes {
    json.slice(json.len().min(1)..)
}

/// Answers with a list.
pub(super) async fn answer<T>(
    caller: Caller<'_>,
    query: DashboardQuery,
    list: DeviceList,
) -> Result<Data<T>, Failure> {
    let Caller { call, claim, .. } = caller;
    let begin = DevicePart { after: String::new(), size: FIRST_DEVICES, most_bytes: PARTS_BYTES };
    let read = || list.read(call.app, claim.clone(), query.clone(), begin.clone());
    let mut first = read().await?;
    if first.next.is_none() {
        return Ok(Data::of_json(whole(list, &first)));
    }

    let answers = &call.app.large_answers;
    let account = claim.token.account_hint();
    let permit = match answers.try_admit(account, PARTS_BYTES) {
        Some(permit) => permit,
        None => {
            // While this request waits, it occupies no memory.
            drop(first);
            let permit = answers.admit(account, PARTS_BYTES).await?;
            first = read().await?;
            permit
        }
    };
    let app = Arc::clone(call.app);
    let request_id = call.request_id.to_owned();
    let mut rest = Rest {
        app,
        request_id,
        claim,
        query,
        list,
        part: begin,
        totals: Totals::default(),
        is_complete: false,
        _permit: permit,
    };
    let mut json = list.opening(None).into_bytes();
    json.extend_from_slice(&without_comma(&first.json));
    rest.count(first);
    Ok(Data::of_json(Content::in_parts(json.into(), rest.into_parts())))
}

fn whole(list: DeviceList, part: &DevicesRead) -> Vec<u8> {
    let totals = Totals { devices: part.devices, online: part.online };
    let (opening, closing) = (list.opening(Some(totals)), list.closing(None));
    let mut json = Vec::with_capacity(opening.len() + part.json.len() + closing.len());
    json.extend_from_slice(opening.as_bytes());
    json.extend_from_slice(&without_comma(&part.json));
    json.extend_from_slice(closing.as_bytes());
    json
}

/// The rest of an answer whose first part has been read.
struct Rest {
    app: Arc<App>,
    request_id: String,
    claim: Claim,
    query: DashboardQuery,
    list: DeviceList,
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
            return Ok((self.list.closing(Some(self.totals)).into(), None));
        }
        // Each part proves the session again, at its own time.
        self.claim.now = self.app.clock.now();
        let claim = self.claim.clone();
        let query = self.query.clone();
        let part = self.part.clone();
        let reading = self.list.read(&self.app, claim, query, part);
        let part = catch_panic(reading).await.map_err(|failure| self.broken_off(&failure))?;
        let is_first = self.totals.devices == 0;
        let json = if is_first { without_comma(&part.json) } else { part.json.clone() };
        self.count(part);
        Ok((json, Some(self)))
    }

    /// Counts a part, and determines the next one.
    fn count(&mut self, part: DevicesRead) {
        let DevicesRead { json, devices, online, next } = part;
        self.totals.devices += devices;
        self.totals.online += online;
        self.is_complete = next.is_none();
        self.part.after = next.unwrap_or_default();
        let devices = usize::try_from(devices).unwrap_or_default();
        if let Some(fitting) = devices.saturating_mul(PART_BYTES).checked_div(json.len()) {
            self.part.size = fitting.clamp(1, DEVICES_MAX);
        }
    }

    fn broken_off(&self, failure: &Failure) -> BrokenOff {
        match failure {
            Failure::System(error) => {
                self.app.failed_with("an answer was aborted", error, &self.request_id);
            }
            refused => {
                tracing::debug!(request.id = self.request_id, ?refused, "an answer was aborted");
            }
        }
        BrokenOff
    }
}
