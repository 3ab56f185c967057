//! The self-signed certificate that the first start generates.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use kiosque_listener::tls::Identity;
use kiosque_model::{UnixMs, Zone};
use kiosque_store::create_directory;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose};

/// Why there is no self-signed certificate.
#[derive(Debug, thiserror::Error)]
pub enum SelfSignedError {
    /// A file cannot be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    /// The directory cannot be created.
    #[error("{0}")]
    Directory(kiosque_store::Error),
    /// The certificate could not be generated.
    #[error("a self-signed certificate could not be generated: {0}")]
    Generate(#[from] rcgen::Error),
}

/// The mode of files that only their owner may read.
const PRIVATE_FILE: u32 = 0o600;
/// The validity of a self-signed certificate, in years.
const VALIDITY_YEARS: i16 = 10;

/// The directory of the self-signed identity, in the data directory.
const TLS: &str = "tls";

/// Returns the paths of the self-signed identity of a data directory, whether they exist or not.
pub fn self_signed_identity(directory: &Path) -> Identity {
    let tls = directory.join(TLS);
    Identity { cert: tls.join("cert.pem"), key: tls.join("key.pem") }
}

/// Returns the self-signed identity of a data directory, and generates it if there is none.
///
/// # Errors
/// The directory cannot be written, or no certificate could be generated.
pub fn self_signed(directory: &Path, now: UnixMs) -> Result<Identity, SelfSignedError> {
    let tls = directory.join(TLS);
    let identity = self_signed_identity(directory);
    let is_complete = || identity.cert.is_file() && identity.key.is_file();
    if is_complete() {
        return Ok(identity);
    }
    for directory in [directory, &tls] {
        create_directory(directory).map_err(SelfSignedError::Directory)?;
    }
    // Several servers may share the directory. The lock is released when the file is closed.
    let lock = File::open(&tls).map_err(|error| SelfSignedError::File(tls.clone(), error))?;
    lock.lock().map_err(|error| SelfSignedError::File(tls.clone(), error))?;
    if is_complete() {
        return Ok(identity);
    }
    let pem = SelfSignedPem::generate(now)?;
    // The key is written first, so that a certificate always has its key.
    write_private(&identity.key, &pem.key)?;
    write_private(&identity.cert, &pem.cert)?;
    // Clients may trust the certificate from now on, so a power loss must not lose it.
    lock.sync_all().map_err(|error| SelfSignedError::File(tls, error))?;
    Ok(identity)
}

/// A self-signed certificate and its key, in PEM.
pub struct SelfSignedPem {
    /// The certificate.
    pub cert: String,
    /// Its private key.
    pub key: String,
}

impl SelfSignedPem {
    /// Generates a certificate for this machine.
    ///
    /// # Errors
    /// No certificate could be generated.
    pub fn generate(now: UnixMs) -> Result<SelfSignedPem, SelfSignedError> {
        let key = KeyPair::generate()?;
        let cert = certificate(now)?.self_signed(&key)?;
        Ok(SelfSignedPem { cert: cert.pem(), key: key.serialize_pem() })
    }
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

/// Writes a file that only its owner may read. It gets its name when it is durable.
fn write_private(path: &Path, text: &str) -> Result<(), SelfSignedError> {
    let partial = path.with_extension("partial");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(PRIVATE_FILE);
    let write = || {
        let mut file = options.open(&partial)?;
        file.set_permissions(fs::Permissions::from_mode(PRIVATE_FILE))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&partial, path)
    };
    write().map_err(|error| SelfSignedError::File(path.to_owned(), error))
}
