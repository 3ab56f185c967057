//! The certificate that listeners show: read when they open, and again when its files change,
//! while connections go on.

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
/// A new one comes with new tickets: a session that the old one began is not resumed, so that its
/// caller judges the new one.
#[derive(Debug)]
pub struct Certificate {
    identity: Identity,
    config: RwLock<Arc<ServerConfig>>,
    files: Mutex<Files>,
}

/// Both files as they were just before they were last read.
type Files = [Option<Stamp>; 2];

/// What changes when a file does, in place or by being replaced.
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
    /// Reads a certificate to be shown.
    ///
    /// # Errors
    /// The files cannot be read, or do not belong together.
    pub fn open(identity: Identity) -> Result<Arc<Certificate>, TlsError> {
        // In this order: what changes while it is being read is read again.
        let files = Mutex::new(stamps(&identity));
        let config = RwLock::new(server_config(&identity)?);
        Ok(Arc::new(Certificate { identity, config, files }))
    }

    /// The server's side of TLS for the next connection.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&read_ignoring_poison(&self.config))
    }

    /// Reads the certificate again whenever a look at its files, once in a while, finds them
    /// changed, and whenever it is asked for. One that cannot be used, such as a half written one,
    /// leaves the last good one in use until the files change again.
    pub async fn follow(&self, every: Duration, asked: &Notify) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(every) => {
                    if stamps(&self.identity) == *self.files() {
                        continue;
                    }
                }
                () = asked.notified() => {}
            }
            self.read_again();
        }
    }

    fn read_again(&self) {
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
    // Tickets spare a returning caller most of the handshake.
    config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(unusable)?;
    Ok(Arc::new(config))
}

fn unreadable(path: &Path, what: &str, error: &PemError) -> TlsError {
    let said = match error {
        PemError::NoItemsFound => format!("holds no {what} in PEM"),
        other => other.to_string(),
    };
    TlsError::Pem(path.to_owned(), said)
}
