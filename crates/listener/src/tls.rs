//! TLS 1.2 and 1.3, with a certificate that is reloaded when its files change.

mod certificate;
mod validity;

use std::path::PathBuf;

pub use certificate::Certificate;
pub use validity::not_after;

/// The PEM files of a certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The certificate, followed by its chain, if any.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Why TLS cannot be configured.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or has no usable certificate or key in PEM.
    #[error("{0}: {1}")]
    Pem(PathBuf, String),
    /// The private key, the first path, does not belong to the certificate.
    #[error("the private key {0} does not belong to the certificate {1}")]
    KeyMismatch(PathBuf, PathBuf),
    /// The certificate or its key is not supported.
    #[error("the certificate {0} cannot be used: {1}")]
    Config(PathBuf, String),
}
