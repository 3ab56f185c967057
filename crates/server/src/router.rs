//! The routes of the interface, one line each; the ones of the dashboard are in `dashboard`.
//! Everything else is 404 with `code` 0 (ADDR-3).

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use http::{Method, Request, Response};
use kiosque_contract::Endpoint;
use kiosque_contract::endpoint::{
    DevicePage, LogIn, LogOut, OrderChanges, OrderDetail, QueryOrderList, SwitchGroup,
};
use kiosque_listener::{AnswerFuture, Content};
use kiosque_model::Refusal;

use crate::answer::{self, DataJson, Form};
use crate::app::App;
use crate::call::{Call, Received, SentBody};
use crate::failure::Failure;
use crate::panics::catch_panic;
use crate::refused_requests::Asked;
use crate::remarks::Remarks;
use crate::{auth, changes, dashboard, devices, orders};

/// Answers one request.
pub(crate) async fn answer(
    app: Arc<App>,
    request: Request<SentBody>,
    peer: IpAddr,
) -> Response<Content> {
    let begun = Instant::now();
    let request_id = app.next_request_id();
    let (head, body) = request.into_parts();
    let (now, request_id) = (app.clock.now(), request_id.as_str());
    let call = Call { app: &app, now, peer, request_id, head: &head };
    let (path, locale, mut remarks) = (call.path(), call.locale(), Remarks::default());
    let outcome = catch_panic(route(call, body, &mut remarks)).await;
    tracing::debug!(request.id = request_id, path, refused = ?outcome.as_ref().err(), "answered");
    let code = answer::code(&outcome);
    app.metrics.answered(path, code, begun.elapsed());
    let asked = Asked { call, remarks: &remarks };
    let account = match &outcome {
        Ok(_) => remarks.account,
        Err(failure) => asked.record(failure),
    };
    let answered = (path, i64::from(code.number()));
    app.store.trail().count_request(account, answered, begun.elapsed(), app.clock.now());
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

/// Returns [`answer()`] boxed, for a caller in the console: its future is generated in the program,
/// and would have a copy of the code of all integrators' requests.
pub(crate) fn answer_boxed(
    app: Arc<App>,
    request: Request<SentBody>,
    peer: IpAddr,
) -> AnswerFuture {
    Box::pin(answer(app, request, peer))
}

/// Runs the handler of a path. Every endpoint of [`kiosque_contract::ENDPOINTS`] has a line here or
/// in [`dashboard::route`].
async fn route(call: Call<'_>, body: SentBody, remarks: &mut Remarks) -> Result<DataJson, Failure> {
    let (app, path, is_post) = (call.app, call.path(), call.head.method == Method::POST);
    let call = Received::read(call, body, remarks).await;
    if !is_post {
        return Err(Refusal::NotFound.into());
    }
    match path {
        LogIn::ROUTE => {
            let outcome = call.answer_anyone(LogIn, auth::log_in).await;
            app.metrics.logged_in(&outcome);
            outcome
        }
        SwitchGroup::ROUTE => call.answer(SwitchGroup, auth::switch_group).await,
        LogOut::ROUTE => call.answer(LogOut, auth::log_out).await,
        DevicePage::ROUTE => call.answer_page(DevicePage, devices::device_page).await,
        QueryOrderList::ROUTE => call.answer_page(QueryOrderList, orders::query_order_list).await,
        OrderDetail::ROUTE => call.answer(OrderDetail, orders::order_detail).await,
        OrderChanges::ROUTE => call.answer(OrderChanges, changes::order_changes).await,
        _ => dashboard::route(call, path).await,
    }
}
