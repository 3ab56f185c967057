//! The operator's calls: ordinary HTTP statuses, and failures as `application/problem+json` (RFC
//! 9457).

mod activity;
mod audit;
mod call;
mod changes;
mod cursor;
mod fleet;
mod inventory;
mod key;
mod lines;
mod orders;
mod query;
mod watch;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use http::{Request, Response};
use kiosque_contract::operator_call::{
    ApplyFleet, ListAccounts, ListAudit, ListChanges, ListDevices, ListGroups, ListImports,
    ListOrders, ListProducts, ListRates, ListSessions, Livez, Metrics, OperatorCall, ReadFleet,
    ReadStatus, Readyz, ReadyzOrders, ReceiveActivity, ReceiveOrders, ShowDevice,
};
use kiosque_listener::Content;

use crate::answer::{Form, render};
use crate::app::App;
use crate::call::{Call, SentBody};
use crate::failure::Failure;
use crate::panics::catch_panic;
use call::Received;
pub(crate) use cursor::read_place;
pub use cursor::rewritten_cursors;
pub(crate) use key::Proof;

/// The outcome of a call.
type Answer = Result<Response<Content>, Failure>;

/// Answers one request.
pub(crate) async fn answer(
    app: Arc<App>,
    request: Request<SentBody>,
    peer: IpAddr,
    proof: Proof,
) -> Response<Content> {
    let is_stream = [ReceiveOrders::PATH, ReceiveActivity::PATH].contains(&request.uri().path());
    let answering = answer_here(app, request, peer, proof);
    if !is_stream {
        return answering.await;
    }
    // The connection drops the future of an aborted request. The task continues, and stores the
    // lines that arrived before.
    let answered = tokio::spawn(answering).await;
    answered.unwrap_or_else(|ended| render(Err(Failure::internal(&ended)), &Form::Call, ""))
}

async fn answer_here(
    app: Arc<App>,
    request: Request<SentBody>,
    peer: IpAddr,
    proof: Proof,
) -> Response<Content> {
    let begun = Instant::now();
    let request_id = app.next_request_id();
    let (head, body) = request.into_parts();
    let now = app.clock.now();
    let request_id = request_id.as_str();
    let call = Call { app: &app, now, peer, request_id, head: &head };
    let mut received = Received { call, body, proof, is_authorized: false };
    let outcome = catch_panic(route(&mut received)).await;
    if outcome.as_ref().is_err_and(|failure| !failure.is_timeout()) {
        received.drain().await;
    }
    received.call.finish(outcome, &Form::Call, begun)
}

/// Runs the handler of a path. Every call of [`kiosque_contract::OPERATOR_CALLS`] has a line here.
async fn route(call: &mut Received<'_>) -> Answer {
    match call.call.path() {
        Livez::PATH => call.answer(Livez, watch::livez).await,
        Metrics::PATH => call.answer(Metrics, watch::metrics).await,
        ReceiveActivity::PATH => call.answer_json(ReceiveActivity, activity::receive).await,
        ListAudit::PATH => call.answer_json(ListAudit, audit::list).await,
        ListChanges::PATH => call.answer_lines(ListChanges, changes::list).await,
        ReadFleet::PATH if call.call.reads() => call.answer_json(ReadFleet, inventory::fleet).await,
        ApplyFleet::PATH => call.answer_json(ApplyFleet, fleet::apply).await,
        ListOrders::PATH if call.call.reads() => {
            call.answer_json(ListOrders, inventory::orders).await
        }
        ReceiveOrders::PATH => call.answer_json(ReceiveOrders, orders::receive).await,
        ListAccounts::PATH => call.answer_json(ListAccounts, inventory::accounts).await,
        ListDevices::PATH => call.answer_json(ListDevices, inventory::devices).await,
        ListGroups::PATH => call.answer_json(ListGroups, inventory::groups).await,
        ListImports::PATH => call.answer_json(ListImports, inventory::imports).await,
        ListProducts::PATH => call.answer_json(ListProducts, inventory::products).await,
        ListRates::PATH => call.answer_json(ListRates, inventory::rates).await,
        ListSessions::PATH => call.answer_json(ListSessions, inventory::sessions).await,
        ReadStatus::PATH => call.answer_json(ReadStatus, inventory::status).await,
        ShowDevice::PATH => call.answer_json(ShowDevice, inventory::device).await,
        Readyz::PATH => call.answer(Readyz, watch::readyz).await,
        ReadyzOrders::PATH => call.answer(ReadyzOrders, watch::readyz_orders).await,
        _ => Err(Failure::not_found()),
    }
}
