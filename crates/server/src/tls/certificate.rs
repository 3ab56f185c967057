//! The certificate of the listeners: read when they open, and reloaded when its files change.
//! Connections stay open.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, SystemTime};

use kiosque_locks::{lock_ignoring_poison, read_ignoring_poison, write_ignoring_poison};
use rustls::ServerConfig;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::sync::Notify;

use super::{Identity, TlsError};

/// A certificate in use.
///
/// A new certificate has new session tickets: TLS sessions of the old one are not resumed, so that
/// callers verify the new one.
#[derive(Debug)]
pub struct Certificate {
    identity: Identity,
    config: RwLock<Arc<ServerConfig>>,
    files: Mutex<Files>,
}

/// The stamps of both files, taken just before they were last read.
type Files = [Option<Stamp>; 2];

/// The metadata by which a change of a file is detected, in place or by replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    file_no: u64,
}

impl Stamp {
    fn of(path: &Path) -> Option<Stamp> {
        let found = fs::metadata(path).ok()?;
        #[cfg(unix)]
        let file_no = std::os::unix::fs::MetadataExt::ino(&found);
        #[cfg(not(unix))]
        let file_no = 0;
        Some(Stamp { modified: found.modified().ok(), bytes: found.len(), file_no })
    }
}

impl Certificate {
    /// Reads a certificate and its key.
    ///
    /// # Errors
    /// The files cannot be read, or do not match.
    pub fn open(identity: Identity) -> Result<Arc<Certificate>, TlsError> {
        // The stamps come first: a file that changes while it is read is read again.
        let files = Mutex::new(stamps(&identity));
        let config = RwLock::new(server_config(&identity)?);
        Ok(Arc::new(Certificate { identity, config, files }))
    }

    /// Returns the TLS configuration of the next connection.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&read_ignoring_poison(&self.config))
    }

    /// Reloads the certificate when its files have changed, which is checked at each `interval`,
    /// and at each `reload`. If the new files cannot be used, such as half written ones, the
    /// current certificate stays in use until they change again.
    pub async fn follow(&self, interval: Duration, reload: &Notify) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(interval) => {
                    if stamps(&self.identity) == *self.files() {
                        continue;
                    }
                }
                () = reload.notified() => {}
            }
            self.reload();
        }
    }

    fn reload(&self) {
        let stamps = stamps(&self.identity);
        *self.files() = stamps;
        match server_config(&self.identity) {
            Ok(config) => {
                *write_ignoring_poison(&self.config) = config;
                let path = self.identity.cert.display();
                tracing::info!(%path, "the certificate was reloaded");
            }
            Err(error) => {
                let message = "the new certificate cannot be used; the current one stays in use";
                tracing::warn!(%error, "{message}");
            }
        }
    }

    fn files(&self) -> std::sync::MutexGuard<'_, Files> {
        lock_ignoring_poison(&self.files)
    }
}

fn stamps(identity: &Identity) -> Files {
    [Stamp::of(&identity.cert), Stamp::of(&identity.key)]
}

fn server_config(identity: &Identity) -> Result<Arc<ServerConfig>, TlsError> {
    let chain: Result<Vec<CertificateDer<'static>>, PemError> =
        CertificateDer::pem_file_iter(&identity.cert).and_then(Iterator::collect);
    let chain = match chain {
        Ok(chain) if chain.is_empty() => Err(PemError::NoItemsFound),
        other => other,
    };
    let chain = chain.map_err(|error| unreadable(&identity.cert, "certificate", &error))?;
    let key = PrivateKeyDer::from_pem_file(&identity.key);
    let key = key.map_err(|error| unreadable(&identity.key, "private key", &error))?;
    let unusable = |error| TlsError::Config(identity.cert.clone(), error);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Tickets shorten the handshake of a returning caller.
    config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(unusable)?;
    Ok(Arc::new(config))
}

fn unreadable(path: &Path, what: &str, error: &PemError) -> TlsError {
    let message = match error {
        PemError::NoItemsFound => format!("expected a {what} in PEM, found none"),
        other => other.to_string(),
    };
    TlsError::Pem(path.to_owned(), message)
}
