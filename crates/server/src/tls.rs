//! TLS 1.2 and 1.3, with the operator's certificate or a self-signed one that the first start
//! generates.

mod certificate;
mod validity;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use kiosque_model::{UnixMs, Zone};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose};

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
    /// A file cannot be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    /// A file has no certificate or key in PEM.
    #[error("{0}: {1}")]
    Pem(PathBuf, String),
    /// The certificate and the key do not match, or are not supported.
    #[error("the certificate {0} cannot be used: {1}")]
    Config(PathBuf, rustls::Error),
    /// A self-signed certificate could not be generated.
    #[error("a self-signed certificate could not be generated: {0}")]
    Generate(#[from] rcgen::Error),
}

/// The validity of a self-signed certificate, in years.
const VALIDITY_YEARS: i16 = 10;

/// Returns the self-signed identity of a data directory, and generates it if there is none.
///
/// # Errors
/// The directory cannot be written, or no certificate could be generated.
pub fn self_signed(directory: &Path, now: UnixMs) -> Result<Identity, TlsError> {
    let tls = directory.join("tls");
    let identity = Identity { cert: tls.join("cert.pem"), key: tls.join("key.pem") };
    if identity.cert.is_file() && identity.key.is_file() {
        return Ok(identity);
    }
    fs::create_dir_all(&tls).map_err(|error| TlsError::File(tls.clone(), error))?;
    let key = KeyPair::generate()?;
    let cert = certificate(now)?.self_signed(&key)?;
    // The key is written first, so that a certificate always has its key.
    write_private(&identity.key, &key.serialize_pem())?;
    fs::write(&identity.cert, cert.pem())
        .map_err(|error| TlsError::File(identity.cert.clone(), error))?;
    Ok(identity)
}

/// Returns the parameters of an end-entity certificate, which both `curl --cacert` and rustls
/// accept as a trust anchor.
fn certificate(now: UnixMs) -> Result<CertificateParams, rcgen::Error> {
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "Kiosque, self-signed");
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // Valid from a day ago, for callers whose clocks are behind. No month has fewer than 28 days.
    let start = Zone::utc().civil(now.plus_ms(-86_400_000));
    let (month, day) = (start.month().unsigned_abs(), start.day().unsigned_abs().min(28));
    params.not_before = rcgen::date_time_ymd(start.year().into(), month, day);
    params.not_after = rcgen::date_time_ymd((start.year() + VALIDITY_YEARS).into(), month, day);
    Ok(params)
}

fn write_private(path: &Path, text: &str) -> Result<(), TlsError> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| TlsError::File(path.to_owned(), error))
}
