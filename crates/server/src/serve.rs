//! Answers the requests of a listener.

use std::net::IpAddr;
use std::sync::Arc;

use http::{Request, Response};
use http_body_util::Either;
use hyper::body::Incoming;
use kiosque_listener::{BoxedAnswer, ConnectionOptions, Content, Listener, Stop, WhenFull};

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
            when_full: WhenFull::Refused,
        };
        if let (Audience::Gateway, Ok(address)) = (audience, listener.address()) {
            self.gateway_address.get_or_init(|| address);
        }
        let app = Arc::clone(&self);
        // The operator's futures are created here, so that their code is generated in the program.
        let answer: BoxedAnswer = match audience {
            Audience::Gateway => Box::new(move |request, peer| {
                router::answer(Arc::clone(&app), request.map(Either::Left), peer)
            }),
            Audience::Operator => Box::new(move |request, peer| {
                Box::pin(answer_operator(Arc::clone(&app), request, peer))
            }),
        };
        let open = listener.serve(options, answer, stop).await;
        self.stopping.now();
        open.drain().await;
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
