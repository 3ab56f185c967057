//! The routes of the interface, one line each. Everything else is 404 with `code` 0 (ADDR-3).

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use kiosque_contract::Endpoint;
use kiosque_contract::endpoint::{
    BestSellingProduct, DeviceAisle, DevicePage, DeviceProfile, LogIn, LogOut, OnlineDevices,
    OrderDetail, QueryOrderList, SalesByDevice, SalesTrend, Summary, SwitchGroup,
};
use kiosque_model::Refusal;

use crate::answer::{self, Data, Failure};
use crate::app::App;
use crate::call::{self, Call};
use crate::{auth, dashboard, devices, orders};

/// Answers one request; there is always an answer.
pub(crate) async fn answer(
    app: &App,
    request: Request<Incoming>,
    peer: IpAddr,
) -> Response<Full<Bytes>> {
    let begun = Instant::now();
    let request_id = app.next_request_id();
    let locale = call::locale_of(request.headers(), app.settings.default_locale);
    let path = request.uri().path().to_owned();
    let outcome = catch_panic(route(app, request, peer, &request_id)).await;
    tracing::debug!(request.id = request_id, path, refused = ?outcome.as_ref().err(), "answered");
    app.metrics.answered(&path, &outcome, begun.elapsed());
    answer::render(outcome, locale, &request_id)
}

async fn route(
    app: &App,
    request: Request<Incoming>,
    peer: IpAddr,
    request_id: &str,
) -> Result<Data, Failure> {
    let call = Call::receive(app, request, peer, request_id).await;
    if call.method() != Method::POST {
        return Err(Refusal::NotFound.into());
    }
    let path = call.path();
    dispatch(&path, call).await
}

/// Runs the handler of a path.
async fn dispatch(path: &str, call: Call<'_>) -> Result<Data, Failure> {
    match path {
        LogIn::ROUTE => log_in(call).await,
        SwitchGroup::ROUTE => auth::switch_group(call).await,
        LogOut::ROUTE => auth::log_out(call).await,
        DevicePage::ROUTE => devices::device_page(call).await,
        QueryOrderList::ROUTE => orders::query_order_list(call).await,
        OrderDetail::ROUTE => orders::order_detail(call).await,
        Summary::ROUTE => dashboard::summary(call).await,
        BestSellingProduct::ROUTE => dashboard::best_selling_product(call).await,
        SalesByDevice::ROUTE => dashboard::sales_by_device(call).await,
        SalesTrend::ROUTE => dashboard::sales_trend(call).await,
        DeviceAisle::ROUTE => dashboard::device_aisle(call).await,
        DeviceProfile::ROUTE => dashboard::device_profile(call).await,
        OnlineDevices::ROUTE => dashboard::online_devices(call).await,
        _ => Err(Refusal::NotFound.into()),
    }
}

/// A login, counted by what became of it.
async fn log_in(call: Call<'_>) -> Result<Data, Failure> {
    let app = call.app;
    let outcome = auth::log_in(call).await;
    app.metrics.logged_in(&outcome);
    outcome
}

/// A panic is our fault and costs its own request alone.
pub(crate) async fn catch_panic<T>(
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(panic) => {
            let said = panic.downcast_ref::<&str>().map(|said| (*said).to_owned());
            let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
            Err(Failure::broken(&format_args!("a panic: {}", said.unwrap_or_default())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locale::Locale;
    use http_body_util::BodyExt;

    /// ENV-11: a panic is answered with HTTP 500 and a diagnostic with the request id; its details
    /// are only in the log.
    #[tokio::test]
    async fn a_panic_is_a_system_error_without_its_details() {
        let outcome = catch_panic::<Data>(async { panic!("secret detail") }).await;
        let response = answer::render(outcome, Locale::En, "abc-1");
        assert_eq!(response.status(), 500);
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        assert_eq!(
            body,
            "{\"code\":500,\"msg\":\"system error\",\"enMsg\":\"system error\",\
             \"data\":\"the request could not be answered (request abc-1)\"}"
        );
    }
}
