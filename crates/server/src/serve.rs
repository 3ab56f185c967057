//! Answers the requests of a listener.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use http::{Request, Response};
use http_body_util::Either;
use hyper::body::Incoming;
use kiosque_listener::{ConnectionOptions, Content, Listener, OpenConnections, Stop};

use crate::app::App;
use crate::audience::Audience;
use crate::operator::Proof;
use crate::{console, operator, router};

impl App {
    /// Answers the requests of a listener until `stop`, then refuses new work and waits for open
    /// connections to end, up to the shutdown deadline.
    pub async fn serve(self: Arc<Self>, audience: Audience, listener: Listener, stop: Stop) {
        self.certificate.get_or_init(|| Arc::clone(listener.certificate()));
        let options = ConnectionOptions {
            limits: self.settings.limits.clone(),
            trusted_proxies: self.settings.trusted_proxies.clone(),
            metrics: self.metrics.connections(audience),
        };
        let app = Arc::clone(&self);
        let open = match audience {
            Audience::Gateway => {
                if let Ok(address) = listener.address() {
                    self.gateway_address.get_or_init(|| address);
                }
                app.serve_integrators(listener, options, stop).await
            }
            Audience::Operator => {
                let answer = move |request, peer| answer_operator(Arc::clone(&app), request, peer);
                listener.serve(options, answer, &stop).await
            }
        };
        self.stop();
        open.drain().await;
    }

    /// Answers the requests of integrators.
    ///
    /// The future is boxed here, so that its code is generated with this crate, which is optimized
    /// for speed, and not with the program, which is optimized for size.
    fn serve_integrators(
        self: Arc<Self>,
        listener: Listener,
        options: ConnectionOptions,
        stop: Stop,
    ) -> Pin<Box<dyn Future<Output = OpenConnections> + Send>> {
        let answer = move |request: Request<Incoming>, peer| {
            router::answer(Arc::clone(&self), request.map(Either::Left), peer)
        };
        Box::pin(async move { listener.serve(options, answer, &stop).await })
    }
}

/// Answers a request of the operator: a call of a program, or a page for a person.
async fn answer_operator(
    app: Arc<App>,
    request: Request<Incoming>,
    peer: IpAddr,
) -> Response<Content> {
    if console::serves(request.uri().path()) {
        // Boxed, so that it does not enlarge the future of the calls.
        Box::pin(console::answer(app, request, peer)).await
    } else {
        operator::answer(app, request.map(Either::Left), peer, Proof::Key).await
    }
}
