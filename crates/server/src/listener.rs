//! Accepts connections, as many at a time as are allowed, until told to stop.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::app::App;
use crate::connection;
use crate::tls::Certificate;

/// How long to rest when the machine has no more file descriptors to give.
const REST: Duration = Duration::from_millis(50);

/// What is behind a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// The interface for integrators.
    Gateway,
    /// The operator's own calls.
    Operator,
}

/// Tells a listener to stop.
#[derive(Clone, Debug)]
pub struct Stop(watch::Sender<bool>);

impl Default for Stop {
    fn default() -> Self {
        Stop::new()
    }
}

impl Stop {
    /// Nothing is to stop yet.
    #[must_use]
    pub fn new() -> Stop {
        Stop(watch::Sender::new(false))
    }

    /// Stops: no new connections, and what is under way is answered.
    pub fn now(&self) {
        self.0.send_replace(true);
    }

    fn stopping(&self) -> Stopping {
        Stopping(self.0.subscribe())
    }
}

/// Waits for a stop.
#[derive(Clone, Debug)]
pub(crate) struct Stopping(watch::Receiver<bool>);

impl Stopping {
    pub(crate) async fn wait(&mut self) {
        // A stop that can never come is waited for forever.
        if self.0.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// A socket that HTTPS is served on.
#[derive(Debug)]
pub struct Listener {
    door: Audience,
    socket: TcpListener,
    certificate: Arc<Certificate>,
}

impl Listener {
    /// Binds the address.
    ///
    /// # Errors
    /// The address is taken or is none of this machine's.
    pub async fn bind(
        door: Audience,
        address: impl ToSocketAddrs,
        certificate: Arc<Certificate>,
    ) -> io::Result<Listener> {
        Ok(Listener { door, socket: TcpListener::bind(address).await?, certificate })
    }

    /// What is behind it.
    #[must_use]
    pub fn door(&self) -> Audience {
        self.door
    }

    /// The address that was bound.
    ///
    /// # Errors
    /// The socket is gone.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until `stop`, then waits for what is under way, for as long as the limits allow.
    pub async fn serve(self, app: Arc<App>, stop: Stop) {
        let limits = &app.settings.limits;
        let most = u32::try_from(limits.connections_max).unwrap_or(u32::MAX);
        let places = Arc::new(Semaphore::new(limits.connections_max));
        let mut stopping = stop.stopping();
        loop {
            let accepted = tokio::select! {
                accepted = accept(&self.socket, &places) => accepted,
                () = stopping.wait() => break,
            };
            let Some((place, stream, peer)) = accepted else { continue };
            // Answers are written whole; waiting for more to send would only delay them.
            let _ = stream.set_nodelay(true);
            let connected = app.metrics.connected(self.door);
            let behind = (Arc::clone(&app), self.door, peer.ip().to_canonical());
            let acceptor = TlsAcceptor::from(self.certificate.config());
            let serving = connection::serve(behind, acceptor, stream, stop.stopping());
            tokio::spawn(async move {
                serving.await;
                drop((place, connected));
            });
        }
        app.stop();
        drop(self.socket);
        let all_gone = places.acquire_many(most);
        if tokio::time::timeout(limits.shutdown_deadline, all_gone).await.is_err() {
            tracing::warn!("stopped with connections still open");
        }
    }
}

async fn accept(
    socket: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(OwnedSemaphorePermit, TcpStream, SocketAddr)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match socket.accept().await {
        Ok((stream, peer)) => Some((place, stream, peer)),
        Err(error) => {
            tracing::warn!(cause = %error, "a connection could not be accepted");
            tokio::time::sleep(REST).await;
            None
        }
    }
}
