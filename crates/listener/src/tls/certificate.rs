//! The certificate of the listeners: read when they open, and reloaded when its files change.
//! Connections stay open.
//!
//! rustls has no certificate that changes: its `ResolvesServerCert` would need the same lock, and
//! would leave the session tickets of the old certificate valid.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::{Duration, SystemTime};

use kiosque_clock::Clock;
use kiosque_locks::{read_ignoring_poison, write_ignoring_poison};
use kiosque_model::UnixMs;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{InconsistentKeys, ServerConfig};
use tokio::sync::Notify;

use super::validity::{Validity, Warning};
use super::{Identity, TlsError};

/// The time between two warnings about the same certificate.
const WARNING_INTERVAL_MS: i64 = 86_400_000;
/// The message for a private key that the TLS library does not accept.
const UNSUPPORTED_KEY: &str = "the private key cannot be used; expected RSA with 2048 to 4096 \
    bits, ECDSA with P-256 or P-384, or Ed25519";

/// A certificate in use.
///
/// A new certificate has new session tickets: TLS sessions of the old one are not resumed, so that
/// callers verify the new one.
#[derive(Debug)]
pub struct Certificate {
    /// The files, with their stamps from just before they were first read. `None` for a certificate
    /// in memory, which does not change.
    files: Option<(Identity, Stamps)>,
    current: RwLock<Current>,
}

/// The content of the files when they were last read.
#[derive(Debug)]
struct Current {
    config: Arc<ServerConfig>,
    /// `None` if the certificate is not X.509 according to RFC 5280.
    validity: Option<Validity>,
}

/// The stamps of both files.
type Stamps = [Option<Stamp>; 2];

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
        Some(Stamp { modified: found.modified().ok(), bytes: found.len(), file_no: found.ino() })
    }
}

impl Certificate {
    /// Reads a certificate and its key.
    ///
    /// # Errors
    /// The files cannot be read, or do not match.
    pub fn open(identity: Identity) -> Result<Arc<Certificate>, TlsError> {
        // The stamps come first, so that a file that changes while it is read is read again.
        let stamps = stamps(&identity);
        let current = RwLock::new(read(&identity)?);
        Ok(Arc::new(Certificate { files: Some((identity, stamps)), current }))
    }

    /// Returns a certificate made of PEM texts, without files.
    ///
    /// # Errors
    /// The texts are not a certificate and its key.
    pub fn in_memory(cert_pem: &str, key_pem: &str) -> Result<Arc<Certificate>, TlsError> {
        let place = Identity { cert: "certificate".into(), key: "key".into() };
        let chain = CertificateDer::pem_slice_iter(cert_pem.as_bytes()).collect();
        let key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes());
        let current = RwLock::new(configured(&place, chain, key)?);
        Ok(Arc::new(Certificate { files: None, current }))
    }

    /// Returns the TLS configuration of the next connection.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&read_ignoring_poison(&self.current).config)
    }

    /// Returns the end of the validity period; `None` if the certificate is not X.509 according to
    /// RFC 5280.
    pub fn not_after(&self) -> Option<UnixMs> {
        let current = read_ignoring_poison(&self.current);
        current.validity.as_ref().map(|validity| validity.not_after)
    }

    /// Returns the host names and addresses of the certificate.
    pub fn names(&self) -> Vec<String> {
        let current = read_ignoring_poison(&self.current);
        current.validity.as_ref().map(|validity| validity.names.clone()).unwrap_or_default()
    }

    /// Reloads the certificate when its files have changed, which is checked at each `interval`,
    /// and at each `reload`. If the new files cannot be used, for example because they are
    /// incomplete, the current certificate stays in use until they change again.
    ///
    /// Warns about a certificate that is not valid, or not for long: at first, after each change,
    /// and daily.
    pub async fn follow(&self, interval: Duration, reload: &Notify, clock: &Clock) {
        let Some((identity, stamps_at_open)) = &self.files else { return };
        let mut last_read = *stamps_at_open;
        loop {
            let next_warning = self.warn(identity, clock.now());
            loop {
                let is_reload = tokio::select! {
                    () = tokio::time::sleep(interval) => false,
                    () = reload.notified() => true,
                };
                let stamps = stamps(identity);
                let is_due = is_reload || stamps != last_read;
                last_read = stamps;
                if is_due && self.reload(identity) || clock.now() >= next_warning {
                    break;
                }
            }
        }
    }

    /// Warns if the certificate is not valid at `now`, or expires soon. Returns the time of the
    /// next warning.
    fn warn(&self, identity: &Identity, now: UnixMs) -> UnixMs {
        let current = read_ignoring_poison(&self.current);
        if let Some(validity) = &current.validity
            && let Some(warning) = validity.warning(now)
        {
            let path = identity.cert.display();
            let names = validity.names.join(", ");
            let days_left = validity.days_left(now);
            match warning {
                Warning::Expired => {
                    tracing::warn!(%path, names, ended = %validity, "the certificate has expired");
                }
                Warning::NotYetValid => {
                    tracing::warn!(%path, names, "the certificate is not valid yet");
                }
                Warning::EndsSoon => tracing::warn!(
                    %path, names, valid_until = %validity, days_left, "the certificate expires soon"
                ),
            }
        }
        now.plus_ms(WARNING_INTERVAL_MS)
    }

    /// Reads the files again. Returns whether their certificate is in use now.
    fn reload(&self, identity: &Identity) -> bool {
        match read_again(identity) {
            Ok(current) => {
                let path = identity.cert.display();
                let names = current.validity.as_ref().map(|validity| validity.names.join(", "));
                let valid_until = current.validity.as_ref().map(ToString::to_string);
                tracing::info!(%path, names, valid_until, "the certificate was reloaded");
                *write_ignoring_poison(&self.current) = current;
                true
            }
            Err(error) => {
                let message = "the new certificate cannot be used; the current one stays in use";
                tracing::warn!(%error, "{message}");
                false
            }
        }
    }
}

fn stamps(identity: &Identity) -> Stamps {
    [Stamp::of(&identity.cert), Stamp::of(&identity.key)]
}

/// Reads the files of a server that runs, unless one is a pipe: opening it could wait for ever.
fn read_again(identity: &Identity) -> Result<Current, TlsError> {
    let is_other = |path: &&PathBuf| fs::metadata(path).is_ok_and(|found| !found.is_file());
    match [&identity.cert, &identity.key].into_iter().find(is_other) {
        Some(path) => Err(TlsError::Pem(path.clone(), "is not a file".to_owned())),
        None => read(identity),
    }
}

fn read(identity: &Identity) -> Result<Current, TlsError> {
    let chain = CertificateDer::pem_file_iter(&identity.cert).and_then(Iterator::collect);
    configured(identity, chain, PrivateKeyDer::from_pem_file(&identity.key))
}

/// Returns the TLS configuration of a certificate and its key; `identity` is for messages.
fn configured(
    identity: &Identity,
    chain: Result<Vec<CertificateDer<'static>>, PemError>,
    key: Result<PrivateKeyDer<'static>, PemError>,
) -> Result<Current, TlsError> {
    let chain = match chain {
        Ok(chain) if chain.is_empty() => Err(PemError::NoItemsFound),
        other => other,
    };
    let chain = chain.map_err(|error| unreadable(&identity.cert, "certificate", &error))?;
    let key = key.map_err(|error| unreadable_key(&identity.key, &error))?;
    let validity = chain.first().and_then(Validity::of);
    let unusable = |error| unusable(identity, &error);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    // Otherwise an error would not say that it is about the key.
    let loaded = provider.key_provider.load_private_key(key.clone_key());
    loaded.map_err(|_| TlsError::Pem(identity.key.clone(), UNSUPPORTED_KEY.to_owned()))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Tickets shorten the handshake of a returning caller.
    config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(unusable)?;
    Ok(Current { config: Arc::new(config), validity })
}

fn unusable(identity: &Identity, error: &rustls::Error) -> TlsError {
    let Identity { cert, key } = identity;
    match error {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            TlsError::KeyMismatch(key.clone(), cert.clone())
        }
        rustls::Error::InvalidCertificate(_) => TlsError::Config(
            cert.clone(),
            "its first certificate is not valid X.509, version 3".to_owned(),
        ),
        other => TlsError::Config(cert.clone(), other.to_string()),
    }
}

/// Returns the error of a private key that cannot be read, which may be encrypted.
fn unreadable_key(path: &Path, error: &PemError) -> TlsError {
    // In both forms of PEM, the lines of an encrypted key say so.
    let text = fs::read(path).unwrap_or_default();
    if !String::from_utf8_lossy(&text).contains("ENCRYPTED") {
        return unreadable(path, "private key", error);
    }
    let message = "the private key is encrypted; decrypt it with `openssl pkey -in FILE -out NEW`, \
                   and specify the new file";
    TlsError::Pem(path.to_owned(), message.to_owned())
}

fn unreadable(path: &Path, what: &str, error: &PemError) -> TlsError {
    let message = match error {
        PemError::NoItemsFound => format!("expected a {what} in PEM, found none"),
        PemError::MissingSectionEnd { end_marker } => {
            let marker = String::from_utf8_lossy(end_marker);
            format!("the file is incomplete: it has no line -----END {}-----", marker.trim())
        }
        PemError::IllegalSectionStart { line } => {
            let line = String::from_utf8_lossy(line);
            format!("the line {:?} does not begin a section of PEM", line.trim_end())
        }
        PemError::Base64Decode(reason) => format!("a section of PEM is not base64: {reason}"),
        PemError::Io(error) => error.to_string(),
        other => other.to_string(),
    };
    TlsError::Pem(path.to_owned(), message)
}
