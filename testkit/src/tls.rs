//! TLS connections that trust one certificate.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
#[cfg(feature = "server")]
use tokio::net::TcpStream;
#[cfg(feature = "server")]
use tokio_rustls::TlsConnector;
#[cfg(feature = "server")]
use tokio_rustls::client::TlsStream;

/// The versions that the server supports.
pub(crate) const VERSIONS: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];

/// Returns the configuration of a client that only trusts the certificate of a PEM file, and offers
/// the protocol `alpn`, if any.
pub fn client_config(
    certificate: &Path,
    versions: &[&'static SupportedProtocolVersion],
    alpn: Option<&[u8]>,
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.map(<[u8]>::to_vec).into_iter().collect();
    Arc::new(config)
}

/// Returns the name in the server's own certificate.
pub(crate) fn server_name() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

/// Starts TLS over a connection.
///
/// # Errors
/// The handshake failed.
#[cfg(feature = "server")]
pub async fn tls_over(
    stream: TcpStream,
    config: &Arc<ClientConfig>,
) -> std::io::Result<TlsStream<TcpStream>> {
    stream.set_nodelay(true)?;
    TlsConnector::from(Arc::clone(config)).connect(server_name(), stream).await
}
