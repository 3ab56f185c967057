//! The calls that need no key: liveness, readiness and metrics.

use http::StatusCode;
use kiosque_contract::operator_call::Text;

use crate::app::App;
use crate::failure::Failure;

/// `GET /livez`
pub(super) async fn livez(_: &App) -> Result<Text, Failure> {
    Ok("ok\n".into())
}

/// `GET /readyz`
pub(super) async fn readyz(app: &App) -> Result<Text, Failure> {
    refuse_if_stopping(app)?;
    app.store.upkeep().answers(app.clock.now()).await?;
    Ok("ready\n".into())
}

/// `GET /readyz/orders`
pub(super) async fn readyz_orders(app: &App) -> Result<Text, Failure> {
    refuse_if_stopping(app)?;
    // Changes of the state are logged, not each of these answers.
    let unavailable = |error| {
        let reason = format!("orders cannot be stored: {error}");
        Failure::denied(StatusCode::SERVICE_UNAVAILABLE, reason)
    };
    app.store.upkeep().takes_orders().await.map_err(unavailable)?;
    Ok("ready\n".into())
}

fn refuse_if_stopping(app: &App) -> Result<(), Failure> {
    match app.stopping.is_set() {
        true => Err(Failure::denied(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping")),
        false => Ok(()),
    }
}

/// `GET /metrics`
pub(super) async fn metrics(app: &App) -> Result<Text, Failure> {
    let certificate_end = app.certificate.get().and_then(|of| of.not_after());
    Ok(app.metrics.text(&app.store, &app.intake, certificate_end)?.into())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use kiosque_store::{Changes, OpenOptions, SessionLease, Store, StoreLocation, WhenAbsent};

    use super::*;
    use crate::{Audience, self_signed};
    use kiosque_clock::{Clock, Entropy};
    use kiosque_listener::tls::Certificate;
    use kiosque_listener::{Listener, Stop};
    use kiosque_model::setting;

    /// A stopping server answers 503.
    #[tokio::test]
    async fn a_server_that_stops_is_not_ready() {
        let directory = tempfile::tempdir().expect("a directory");
        let now = Clock::System.now();
        let opening = OpenOptions {
            place: StoreLocation::Directory(directory.path()),
            when_absent: WhenAbsent::Create,
            changes: Changes::Stored,
            zone: None,
            wait: Duration::from_secs(5),
            lease: SessionLease::default(),
            now,
            random: Entropy::system().bytes().expect("random bytes"),
        };
        let store = Store::open(&opening).await.expect("a store");
        let app =
            App::new(store, setting::defaults(), Clock::System, Entropy::system()).expect("an app");
        let app = Arc::new(app);
        assert!(readyz(&app).await.is_ok());
        let identity = self_signed(directory.path(), now).expect("a certificate");
        let certificate = Certificate::open(identity).expect("a certificate");
        let listener = Listener::bind("127.0.0.1:0", certificate).await;
        let stop = Stop::default();
        stop.now();
        let listener = listener.expect("a port");
        Arc::clone(&app).serve(Audience::Gateway, listener, stop).await;
        let refused = readyz(&app).await.expect_err("it is stopping");
        assert!(format!("{refused:?}").contains("the server is stopping"), "{refused:?}");
    }
}
