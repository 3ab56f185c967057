//! Answers the requests of a listener.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::future;
use http::{Request, Response};
use http_body_util::Either;
use hyper::body::Incoming;
use kiosque_listener::{
    AnswerFuture, ConnectionOptions, Content, Listener, OpenConnections, Stop, WhenFull,
};

use crate::app::App;
use crate::audience::Audience;
use crate::operator::Proof;
use crate::{console, operator, router};

/// Answers a request of the operator. [`App::serve`] creates it, so that the code of the operator's
/// futures is generated with the program.
type AnswerOperator = fn(Arc<App>, Request<Incoming>, IpAddr) -> AnswerFuture;

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
        let operator: AnswerOperator =
            |app, request, peer| Box::pin(answer_operator(app, request, peer));
        let app = Arc::clone(&self);
        let open = app.serve_both((audience, operator), listener, options, stop).await;
        self.stopping.now();
        open.drain().await;
    }

    /// Answers the requests of either audience.
    ///
    /// The future is boxed here, so that its code is generated in this crate, which is optimized
    /// for speed, not in the program, which is optimized for size. There is one type of service for
    /// both audiences: each type has its own copy of the code of connections.
    fn serve_both(
        self: Arc<Self>,
        (audience, operator): (Audience, AnswerOperator),
        listener: Listener,
        options: ConnectionOptions,
        stop: Stop,
    ) -> Pin<Box<dyn Future<Output = OpenConnections> + Send>> {
        let answer = move |request: Request<Incoming>, peer| {
            let app = Arc::clone(&self);
            match audience {
                Audience::Gateway => {
                    let request = request.map(Either::Left);
                    future::Either::Left(router::answer(app, request, peer))
                }
                Audience::Operator => future::Either::Right(operator(app, request, peer)),
            }
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
