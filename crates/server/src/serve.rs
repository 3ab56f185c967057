//! Answers the requests of a listener.

use std::sync::Arc;

use kiosque_listener::{ConnectionOptions, Listener, Stop};

use crate::app::App;
use crate::audience::Audience;
use crate::{operator, router};

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
                let answer = move |request, peer| router::answer(Arc::clone(&app), request, peer);
                listener.serve(options, answer, &stop).await
            }
            Audience::Operator => {
                let answer = move |request, peer| operator::answer(Arc::clone(&app), request, peer);
                listener.serve(options, answer, &stop).await
            }
        };
        self.stop();
        open.drain().await;
    }
}
