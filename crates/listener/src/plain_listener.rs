//! A socket that serves plain HTTP/1 to the programs of this machine.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use tokio::net::TcpListener;

use crate::connection::{self, BoxedAnswer, ConnectionOptions};
use crate::listener::{OpenConnections, serve_each};
use crate::stop::Stop;

/// A socket that serves plain HTTP/1 to the programs of this machine.
#[derive(Debug)]
pub struct PlainListener(TcpListener);

impl PlainListener {
    /// Binds a loopback address.
    ///
    /// # Errors
    /// The address is in use, or is not a loopback address: passwords and tokens would be sent
    /// unencrypted over a network.
    pub async fn bind(address: SocketAddr) -> io::Result<PlainListener> {
        if !address.ip().is_loopback() {
            let message = format!(
                "{address} is not a loopback address; plain HTTP is only served on loopback \
                 addresses"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(PlainListener(TcpListener::bind(address).await?))
    }

    /// Returns the bound address.
    ///
    /// # Errors
    /// The operating system does not know it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Does the same as [`Listener::serve`](crate::Listener::serve), without TLS.
    pub fn serve(
        self,
        options: ConnectionOptions,
        answer: BoxedAnswer,
        stop: Stop,
    ) -> Pin<Box<dyn Future<Output = OpenConnections> + Send>> {
        Box::pin(serve_each(self.0, options, answer, stop, connection::serve_http1))
    }
}
