//! The routes of the interface, one line each; the ones of the dashboard are in `dashboard`.
//! Everything else is 404 with `code` 0 (ADDR-3).

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use http::{Method, Request, Response};
use kiosque_contract::Endpoint;
use kiosque_contract::endpoint::{
    DevicePage, LogIn, LogOut, OrderChanges, OrderDetail, QueryOrderList, SwitchGroup,
};
use kiosque_listener::{AnswerFuture, Content};

use crate::answer::{self, Form};
use crate::app::App;
use crate::call::{Call, Received, SentBody};
use crate::failure::Failure;
use crate::panics::catch_panic;
use crate::refused_requests::Asked;
use crate::remarks::Remarks;
use crate::{auth, changes, dashboard, devices, orders};

/// Answers one request.
///
/// The future is boxed here, so that its code is generated in this crate, which is optimized for
/// speed, not in the program, which is optimized for size.
pub(crate) fn answer(app: Arc<App>, request: Request<SentBody>, peer: IpAddr) -> AnswerFuture {
    Box::pin(answer_here(app, request, peer))
}

async fn answer_here(app: Arc<App>, request: Request<SentBody>, peer: IpAddr) -> Response<Content> {
    let begun = Instant::now();
    let request_id = app.next_request_id();
    let (head, body) = request.into_parts();
    let now = app.clock.now();
    let request_id = request_id.as_str();
    let call = Call { app: &app, now, peer, request_id, head: &head };
    let path = call.path();
    let locale = call.locale();
    let mut remarks = Remarks::default();
    let outcome = catch_panic(outcome_of(call, body, &mut remarks)).await;
    tracing::debug!(request.id = request_id, path, refused = ?outcome.as_ref().err(), "answered");
    let code = answer::code(&outcome);
    app.metrics.answered(path, code, begun.elapsed());
    let asked = Asked { call, remarks: &remarks };
    let account = match &outcome {
        Ok(_) => remarks.account,
        Err(failure) => asked.record(failure),
    };
    let number = i64::from(code.number());
    app.store.trail().usage().count(account, path, number, begun.elapsed(), app.clock.now());
    if let Err(Failure::System(error)) = &outcome {
        app.failed(error, request_id);
    }
    let outcome = outcome.map(|data| answer::success(data, locale));
    let mut response = answer::render(outcome, &Form::Envelope(locale), request_id);
    remarks.add_to(response.headers_mut(), code);
    match path {
        LogIn::ROUTE | SwitchGroup::ROUTE => response.map(Content::secret),
        _ => response,
    }
}

/// Reads a request, and runs the handler of its path.
async fn outcome_of(
    call: Call<'_>,
    body: SentBody,
    remarks: &mut Remarks,
) -> Result<Content, Failure> {
    let app = call.app;
    let path = call.path();
    let is_post = call.head.method == Method::POST;
    let call = Received::read(call, body, remarks).await;
    if !is_post {
        return Err(Failure::not_found());
    }
    let outcome = route(call, path).await;
    if path == LogIn::ROUTE {
        app.metrics.logged_in(&outcome);
    }
    outcome
}

/// Returns the outcome of the handler of a path. Every endpoint of [`kiosque_contract::ENDPOINTS`]
/// has a line here or in [`dashboard::route`]. The future of each handler is boxed: otherwise the
/// code that drops a request would contain the code that drops every handler's future.
fn route<'a>(call: Received<'a>, path: &str) -> BoxFuture<'a, Result<Content, Failure>> {
    match path {
        LogIn::ROUTE => Box::pin(call.answer_anyone(LogIn, auth::log_in)),
        SwitchGroup::ROUTE => Box::pin(call.answer(SwitchGroup, auth::switch_group)),
        LogOut::ROUTE => Box::pin(call.answer(LogOut, auth::log_out)),
        DevicePage::ROUTE => Box::pin(call.answer(DevicePage, devices::device_page)),
        QueryOrderList::ROUTE => Box::pin(call.answer(QueryOrderList, orders::query_order_list)),
        OrderDetail::ROUTE => Box::pin(call.answer(OrderDetail, orders::order_detail)),
        OrderChanges::ROUTE => Box::pin(call.answer(OrderChanges, changes::order_changes)),
        _ => dashboard::route(call, path),
    }
}
