//! The console: pages for people, on the operator's listener under `/console/`.
//!
//! Each page has a file here, which reads the store and fills a view, and a file in
//! `kiosque_console`, which renders the view. A request for a page passes `answer` → its session
//! (`request.rs`), which needs a live key → the page, which needs a [`kiosque_store::Oversight`] of
//! the right for its data. A caller without a session is redirected to the sign-in (`sign_in.rs`).
//!
//! To add a page, add its section to [`page`], or its path with its right to [`entry`].

mod api;
mod assets;
mod audit;
mod choices;
mod cookies;
mod devices;
mod fields;
mod intake;
mod integrators;
mod keys;
mod orders;
mod origin;
mod overview;
mod preferences;
mod refill;
mod refused;
mod reply;
mod request;
mod return_path;
mod search;
mod service;
mod sign_in;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use kiosque_console::{ACCOUNT_PATH, SEARCH_PATH, Section};
use kiosque_listener::{BodyError, Content, read_body};
use kiosque_model::{ConsoleSecret, Refusal, Right};
use percent_encoding::percent_decode_str;

use crate::answer::Form;
use crate::app::App;
use crate::call::{Call, read_permit};
use crate::failure::Failure;
use crate::panics::catch_panic;
use fields::Fields;
use reply::Reply;
use request::SignedIn;
use return_path::{ReturnPath, sign_in_address};

/// The maximum size of a posted form.
const FORM_MAX_BYTES: usize = 16 << 10;
/// The refusal of a post that no page of this console sent.
const OTHER_SITE: &str = "This form was sent by another site, or by a browser that does not say \
                          which site sent it. Open the page again and repeat it.";
const ROOT: &str = "/console";

/// Returns whether a path belongs to the console.
pub(crate) fn serves(path: &str) -> bool {
    path.strip_prefix(ROOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the one-time sign-in link of a server, given the base URL of the operator's listener.
pub fn link(server: &str, token: &ConsoleSecret) -> String {
    format!("{server}{}?link={}", return_path::SIGN_IN, token.reveal())
}

/// Answers one request.
pub(crate) async fn answer(
    app: Arc<App>,
    request: Request<Incoming>,
    peer: IpAddr,
) -> Response<Content> {
    let begun = Instant::now();
    let request_id = app.next_request_id();
    let (head, mut body) = request.into_parts();
    let form = match head.method == Method::POST {
        true => read_body(&mut body, FORM_MAX_BYTES, &app.settings.limits).await,
        false => Ok(Bytes::new()),
    };
    let now = app.clock.now();
    let request_id = request_id.as_str();
    let call = Call { app: &app, now, peer, request_id, head: &head };
    let mut caller = None;
    let outcome = catch_panic(route(&call, form, &mut caller)).await;
    let frame = caller.as_ref().map(SignedIn::frame);
    call.finish(outcome.map(|Reply(response)| response), &Form::Page(frame), begun)
}

/// Answers requests that need no session. Finds the session of all others, and the number of checks
/// of the service that are not ok, which every frame of the session shows.
async fn route<'a>(
    call: &'a Call<'a>,
    form: Result<Bytes, BodyError>,
    caller: &mut Option<SignedIn<'a>>,
) -> Result<Reply, Failure> {
    let path = call.path();
    let is_post = call.head.method == Method::POST;
    if !is_post && !call.reads() {
        return Err(Failure::Method("GET, HEAD, POST"));
    }
    if is_post && !origin::is_own_post(call.head) {
        return Err(Failure::denied(StatusCode::FORBIDDEN, OTHER_SITE));
    }
    let form = form.map_err(|error| Failure::bad_form(&error))?;
    let form = Fields::of(&String::from_utf8_lossy(&form));
    match path {
        return_path::SIGN_IN if is_post => return sign_in::sign_in(call, &form).await,
        return_path::SIGN_IN => return sign_in::show(call).await,
        "/console/preferences" if is_post => return Ok(preferences::set(&form)),
        _ => {}
    }
    if let Some(name) = path.strip_prefix(kiosque_console::assets::DIRECTORY) {
        return assets::file(name);
    }
    let Some(session) = call.session().await? else {
        // A form that was sent after the end of the session is not repeated.
        let page = ReturnPath::of(&call.head.uri).filter(|_| !is_post);
        return Ok(Reply::see_other(&sign_in_address(page.as_ref())));
    };
    let caller = caller.insert(SignedIn { call, session, failed_checks: 0 });
    // Only a few reads run at a time, so that they do not delay the streams of the listener. A form
    // is not refused because of others' reads.
    let _permit = if is_post { None } else { Some(read_permit(call.app).await?) };
    caller.failed_checks = service::failed_checks(caller).await;
    if is_post { change(caller, &form).await } else { page(caller).await }
}

/// Shows a page. The first page of a section has the path and the right of the navigation.
async fn page(caller: &SignedIn<'_>) -> Result<Reply, Failure> {
    let path = caller.call.path();
    let Some(section) = Section::ALL.iter().find(|section| section.path() == path) else {
        return entry(caller, path).await;
    };
    let oversight = caller.oversight(section.right())?;
    match section {
        Section::Overview => overview::show(caller, oversight).await,
        Section::Devices => devices::list(caller, oversight).await,
        Section::Refill => refill::show(caller, oversight).await,
        Section::Orders => orders::list(caller, oversight).await,
        Section::Integrators => integrators::page(caller, oversight).await,
        Section::Intake => intake::page(caller, oversight).await,
        Section::Audit => audit::page(caller, oversight).await,
        Section::Keys => keys::page(caller, oversight).await,
        Section::Service => service::page(caller, oversight).await,
        Section::Api => api::list(caller, oversight),
    }
}

/// Shows a page that is not in the navigation, such as one whose path identifies a device.
async fn entry(caller: &SignedIn<'_>, path: &str) -> Result<Reply, Failure> {
    let reader = || caller.oversight(Right::Read);
    match path {
        ROOT => return Ok(Reply::see_other(Section::Overview.path())),
        ACCOUNT_PATH => return integrators::history(caller, reader()?).await,
        SEARCH_PATH => return search::show(caller, reader()?).await,
        "/console/logout" | "/console/preferences" => return Err(Failure::Method("POST")),
        _ => {}
    }
    let name =
        |segment| percent_decode_str(segment).decode_utf8().map_err(|_| Failure::not_found());
    match segments(path).as_slice() {
        ["devices", code] => devices::one(caller, reader()?, &name(code)?).await,
        ["orders", group, order] => {
            orders::one(caller, reader()?, &name(group)?, &name(order)?).await
        }
        ["api", file] => api::file(caller, reader()?, file),
        ["api", document, call] => api::one(caller, reader()?, (document, call)),
        _ => Err(Failure::not_found()),
    }
}

/// Performs the action of a form. Every form of a signed-in person has a line here.
async fn change(caller: &SignedIn<'_>, form: &Fields) -> Result<Reply, Failure> {
    match caller.call.path() {
        "/console/keys" => keys::change(caller, caller.oversight(Right::Keys)?, form).await,
        "/console/logout" => sign_in::sign_out(caller).await,
        ACCOUNT_PATH => {
            integrators::end_session(caller, caller.oversight(Right::Fleet)?, form).await
        }
        path => match segments(path).as_slice() {
            ["api", document, call] => {
                api::try_call(caller, caller.oversight(Right::Read)?, (document, call), form).await
            }
            _ => {
                let _permit = read_permit(caller.call.app).await?;
                match page(caller).await {
                    Err(absent @ Failure::Refusal(Refusal::NotFound)) => Err(absent),
                    _ => Err(Failure::Method("GET, HEAD")),
                }
            }
        },
    }
}

/// Returns the segments of a path below the root of the console.
fn segments(path: &str) -> Vec<&str> {
    path.strip_prefix("/console/").unwrap_or_default().split('/').collect()
}
