//! Accepts connections, up to a limit of open ones, until it is stopped.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;

use crate::app::App;
use crate::audience::Audience;
use crate::connection;
use crate::source_limits::SourceLimits;
use crate::stop::Stop;
use crate::tls::Certificate;

/// The pause after a failed accept: usually there are no file descriptors left.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// Failed accepts from one line of the log to the next: one line a second.
const FAILURES_PER_LINE: u64 = 20;

/// A socket that serves HTTPS.
#[derive(Debug)]
pub struct Listener {
    audience: Audience,
    socket: TcpListener,
    certificate: Arc<Certificate>,
}

impl Listener {
    /// Binds the address.
    ///
    /// # Errors
    /// The address is in use, or is not an address of this machine.
    pub async fn bind(
        audience: Audience,
        address: impl ToSocketAddrs,
        certificate: Arc<Certificate>,
    ) -> io::Result<Listener> {
        Ok(Listener { audience, socket: TcpListener::bind(address).await?, certificate })
    }

    /// Returns the audience that it serves.
    #[must_use]
    pub fn audience(&self) -> Audience {
        self.audience
    }

    /// Returns the bound address.
    ///
    /// # Errors
    /// The operating system does not know it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until `stop`, then waits for open connections to end, up to the shutdown deadline.
    pub async fn serve(self, app: Arc<App>, stop: Stop) {
        app.certificate.get_or_init(|| Arc::clone(&self.certificate));
        let limits = &app.settings.limits;
        let most = u32::try_from(limits.connections_max).unwrap_or(u32::MAX);
        let permits = Arc::new(Semaphore::new(limits.connections_max));
        let sources = SourceLimits::new(limits.connections_per_source_max);
        let mut stopping = stop.stopping();
        let mut failures = 0;
        loop {
            let accepted = tokio::select! {
                accepted = accept(&self.socket, &permits, &mut failures) => accepted,
                () = stopping.wait() => break,
            };
            let Some((permit, stream, peer)) = accepted else { continue };
            let peer = peer.ip().to_canonical();
            let Some(of_source) = sources.connect(peer, &app.settings.trusted_proxies) else {
                app.metrics.connection_refused(self.audience);
                continue;
            };
            // Responses are written whole; Nagle's algorithm would only delay them.
            let _ = stream.set_nodelay(true);
            let connected = app.metrics.connected(self.audience);
            let context = (Arc::clone(&app), self.audience, peer);
            let acceptor = TlsAcceptor::from(self.certificate.config());
            let serving = connection::serve(context, acceptor, stream, stop.stopping());
            tokio::spawn(async move {
                serving.await;
                drop((permit, of_source, connected));
            });
        }
        app.stop();
        drop(self.socket);
        let all_closed = permits.acquire_many(most);
        if tokio::time::timeout(limits.shutdown_deadline, all_closed).await.is_err() {
            tracing::warn!("stopped with connections still open");
        }
    }
}

async fn accept(
    socket: &TcpListener,
    permits: &Arc<Semaphore>,
    failures: &mut u64,
) -> Option<(OwnedSemaphorePermit, TcpStream, SocketAddr)> {
    let permit = Arc::clone(permits).acquire_owned().await.ok()?;
    match socket.accept().await {
        Ok((stream, peer)) => Some((permit, stream, peer)),
        Err(error) => {
            if failures.is_multiple_of(FAILURES_PER_LINE) {
                tracing::warn!(cause = %error, failures, "connections could not be accepted");
            }
            *failures += 1;
            tokio::time::sleep(ACCEPT_RETRY).await;
            None
        }
    }
}
