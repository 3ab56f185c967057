//! Dials a house: real TLS that trusts the one certificate.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A TLS connection that trusts the house's own certificate.
pub(crate) async fn tls_stream(
    address: SocketAddr,
    folder: &Path,
    alpn: &[&[u8]],
) -> TlsStream<TcpStream> {
    tls_over(TcpStream::connect(address).await.unwrap(), folder, alpn).await.unwrap()
}

/// The same over a connection that there is.
pub(crate) async fn tls_over(
    stream: TcpStream,
    folder: &Path,
    alpn: &[&[u8]],
) -> std::io::Result<TlsStream<TcpStream>> {
    let cert = CertificateDer::from_pem_file(folder.join("tls/cert.pem")).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(cert).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    stream.set_nodelay(true)?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}
