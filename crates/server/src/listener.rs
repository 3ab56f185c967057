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
use crate::stop::Stop;
use crate::tls::Certificate;

/// The pause after a failed accept: usually there are no file descriptors left.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

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
        let limits = &app.settings.limits;
        let most = u32::try_from(limits.connections_max).unwrap_or(u32::MAX);
        let permits = Arc::new(Semaphore::new(limits.connections_max));
        let mut stopping = stop.stopping();
        loop {
            let accepted = tokio::select! {
                accepted = accept(&self.socket, &permits) => accepted,
                () = stopping.wait() => break,
            };
            let Some((permit, stream, peer)) = accepted else { continue };
            // Responses are written whole; Nagle's algorithm would only delay them.
            let _ = stream.set_nodelay(true);
            let connected = app.metrics.connected(self.audience);
            let context = (Arc::clone(&app), self.audience, peer.ip().to_canonical());
            let acceptor = TlsAcceptor::from(self.certificate.config());
            let serving = connection::serve(context, acceptor, stream, stop.stopping());
            tokio::spawn(async move {
                serving.await;
                drop((permit, connected));
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
) -> Option<(OwnedSemaphorePermit, TcpStream, SocketAddr)> {
    let permit = Arc::clone(permits).acquire_owned().await.ok()?;
    match socket.accept().await {
        Ok((stream, peer)) => Some((permit, stream, peer)),
        Err(error) => {
            tracing::warn!(cause = %error, "a connection could not be accepted");
            tokio::time::sleep(ACCEPT_RETRY).await;
            None
        }
    }
}
