//! What is asked without a key, by whoever keeps the server running: whether it lives, whether it
//! is ready, and what it counts.

use http::StatusCode;

use super::call::Call;
use super::problem::Problem;
use super::{Answer, of_type};
use crate::answer::Failure;
use crate::app::App;
use crate::metrics::{self, Standing};

const TEXT: &str = "text/plain; charset=utf-8";

/// `GET /livez`: it answers, so it lives.
pub(super) async fn livez(_: &mut Call<'_>) -> Answer {
    Ok(of_type(TEXT, "ok\n"))
}

/// `GET /readyz`: whether the next request would be served.
pub(super) async fn readyz(call: &mut Call<'_>) -> Answer {
    ready(call.app).await?;
    Ok(of_type(TEXT, "ready\n"))
}

async fn ready(app: &App) -> Result<(), Problem> {
    if app.is_stopping() {
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping"));
    }
    Ok(app.store.answers().await.map_err(Failure::from)?)
}

/// `GET /metrics`: counters, in Prometheus' text format.
pub(super) async fn metrics(call: &mut Call<'_>) -> Answer {
    let app = call.app;
    let standing = Standing {
        store: app.store.file_sizes(),
        heartbeats_waiting: app.store.unwritten_activity(),
        streams_open: app.intake.streams_open(),
        queue_bytes: app.intake.queue_bytes(),
    };
    Ok(of_type(metrics::CONTENT_TYPE, app.metrics.text(standing)?))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use kiosque_store::{OpenOptions, SessionLease, Store, StoreLocation, WhenAbsent};

    use super::*;
    use crate::tls::{self, Certificate};
    use crate::{Audience, Listener, Settings, Stop};
    use kiosque_clock::{Clock, Entropy};

    /// A server that is stopping answers 503.
    #[tokio::test]
    async fn a_server_that_stops_is_not_ready() {
        let folder = tempfile::tempdir().expect("a folder");
        let now = Clock::System.now();
        let opening = OpenOptions {
            place: StoreLocation::Folder(folder.path()),
            when_absent: WhenAbsent::Create,
            zone: None,
            wait: Duration::from_secs(5),
            lease: SessionLease::default(),
            now,
        };
        let store = Store::open(&opening).await.expect("a store");
        let settings = Settings::for_cores(1);
        let app = App::new(store, settings, Clock::System, Entropy::system()).expect("an app");
        let app = Arc::new(app);
        assert!(ready(&app).await.is_ok());
        let identity = tls::self_signed(folder.path(), now).expect("a certificate");
        let certificate = Certificate::open(identity).expect("a certificate");
        let listener = Listener::bind(Audience::Gateway, "127.0.0.1:0", certificate).await;
        let stop = Stop::new();
        stop.now();
        listener.expect("a port").serve(Arc::clone(&app), stop).await;
        let refused = ready(&app).await.expect_err("it is stopping");
        assert!(format!("{refused:?}").contains("the server is stopping"), "{refused:?}");
    }
}
