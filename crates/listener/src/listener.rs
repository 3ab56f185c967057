//! Accepts connections, up to a limit of open ones, until it is stopped.

use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;

use crate::compression::Compressor;
use crate::connection::{self, BoxedAnswer, ConnectionOptions, Peer, Shared};
use crate::source_limits::SourceLimits;
use crate::stop::Stop;
use crate::tls::Certificate;

/// The pause after a failed accept, which usually means that there are no file descriptors left.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// Number of failed accepts between two lines of the log: one line a second.
const FAILURES_PER_LINE: u64 = 20;

/// A socket that serves HTTPS.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    certificate: Arc<Certificate>,
    /// The address of a proxy in front of it.
    public: Option<SocketAddr>,
    /// Whether it does not support HTTP/2.
    is_http1_only: bool,
}

/// The connections that were open when their listener was stopped.
#[derive(Debug)]
pub struct OpenConnections {
    permits: Arc<Semaphore>,
    max: u32,
    deadline: Duration,
}

impl Listener {
    /// Binds the address.
    ///
    /// # Errors
    /// The address is in use, or is not an address of this machine.
    pub async fn bind(
        address: impl ToSocketAddrs,
        certificate: Arc<Certificate>,
    ) -> io::Result<Listener> {
        let socket = TcpListener::bind(address).await?;
        Ok(Listener { socket, certificate, public: None, is_http1_only: false })
    }

    /// Disables HTTP/2 for this listener.
    #[must_use]
    pub fn http1_only(self) -> Listener {
        Listener { is_http1_only: true, ..self }
    }

    /// Sets a proxy in front of this listener, whose address callers use.
    #[must_use]
    pub fn behind(self, proxy: SocketAddr) -> Listener {
        Listener { public: Some(proxy), ..self }
    }

    /// Returns the address that callers use: the bound one, or the one of a proxy in front of it.
    ///
    /// # Errors
    /// The operating system does not know it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.public.map_or_else(|| self.socket.local_addr(), Ok)
    }

    /// Returns the certificate of its connections.
    pub fn certificate(&self) -> &Arc<Certificate> {
        &self.certificate
    }

    /// Accepts connections and answers their requests with `answer`. Once `stop` is set, it closes
    /// the socket and returns the connections that are still open.
    pub fn serve(
        self,
        options: ConnectionOptions,
        answer: BoxedAnswer,
        stop: Stop,
    ) -> Pin<Box<dyn Future<Output = OpenConnections> + Send>> {
        let Listener { socket, certificate, is_http1_only, .. } = self;
        Box::pin(serve_each(socket, options, answer, stop, move |shared, peer, stream, stop| {
            let mut config = certificate.config();
            if is_http1_only {
                Arc::make_mut(&mut config).alpn_protocols = vec![b"http/1.1".to_vec()];
            }
            connection::serve(shared, peer, TlsAcceptor::from(config), stream, stop)
        }))
    }
}

impl OpenConnections {
    /// Waits for the connections to end, up to the shutdown deadline.
    pub async fn drain(self) {
        let all_closed = self.permits.acquire_many(self.max);
        if tokio::time::timeout(self.deadline, all_closed).await.is_err() {
            tracing::warn!("stopped with connections still open");
        }
    }
}

/// Accepts connections within the limits, and serves each with `connection`, until `stop` is set.
/// Returns the connections that are still open.
pub(crate) async fn serve_each<F>(
    socket: TcpListener,
    options: ConnectionOptions,
    answer: BoxedAnswer,
    stop: Stop,
    connection: impl Fn(Arc<Shared>, Peer, TcpStream, Stop) -> F,
) -> OpenConnections
where
    F: Future<Output = ()> + Send + 'static,
{
    let shared = Arc::new(Shared { options, answer, compressor: Compressor::new() });
    let options = &shared.options;
    let limits = &options.limits;
    let permits = Arc::new(Semaphore::new(limits.connections_max));
    let sources = SourceLimits::new(limits.connections_per_source_max, options.when_full);
    let open = OpenConnections {
        permits: Arc::clone(&permits),
        max: u32::try_from(limits.connections_max).unwrap_or(u32::MAX),
        deadline: limits.shutdown_deadline,
    };
    let mut stopped = pin!(stop.wait());
    let mut failures = 0;
    loop {
        let accepted = tokio::select! {
            accepted = accept(&socket, &permits, &mut failures) => accepted,
            () = &mut stopped => return open,
        };
        let Some((permit, stream, peer)) = accepted else { continue };
        let address = peer.ip().to_canonical();
        let Some(of_source) = sources.connect(address, &options.trusted_proxies) else {
            options.metrics.refused.inc();
            continue;
        };
        // Responses are written as a whole; Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        let connected = options.metrics.connected();
        let peer = Peer { address, kept: of_source.kept() };
        let serving = connection(Arc::clone(&shared), peer, stream, stop.clone());
        tokio::spawn(async move {
            of_source.run(serving).await;
            drop((permit, of_source, connected));
        });
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
