//! The certificates that a client trusts.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::bounded::read_file;

/// The certificates to trust, and the versions of TLS.
pub type TlsConfig = Arc<ClientConfig>;

/// Why no certificate can be trusted, or TLS cannot be configured.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TrustError(String);

/// Returns the TLS configuration of a client that trusts the certificates of a PEM file, or the
/// system's.
///
/// # Errors
/// The file cannot be read or has no certificate, or the system trusts none.
pub fn trust(ca_file: Option<&Path>) -> Result<TlsConfig, TrustError> {
    match ca_file {
        Some(path) => trusting(of_file(path)?),
        None => trusting(of_system()?),
    }
}

/// Returns the TLS configuration of a client that only trusts the certificates of a PEM text.
///
/// # Errors
/// The text has no certificate.
pub fn trust_pem(pem: &str) -> Result<TlsConfig, TrustError> {
    let unusable = |text| TrustError(format!("the certificate: {text}"));
    trusting(of_pem(pem.as_bytes()).map_err(unusable)?)
}

fn trusting(roots: RootCertStore) -> Result<TlsConfig, TrustError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(|error| TrustError(format!("TLS cannot be configured: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn of_file(path: &Path) -> Result<RootCertStore, TrustError> {
    let unusable = |text: String| TrustError(format!("{}: {text}", path.display()));
    let pem = read_file(path).map_err(|error| unusable(error.to_string()))?;
    of_pem(&pem).map_err(unusable)
}

fn of_pem(pem: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() {
        return Err("expected a certificate in PEM, found none".to_owned());
    }
    Ok(roots)
}

fn of_system() -> Result<RootCertStore, TrustError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let reason = found.errors.first().map(|error| format!(": {error}"));
        return Err(TrustError(format!(
            "this system has no trusted certificates{}; specify the certificate of the server, or \
             of its CA, as the CA file",
            reason.unwrap_or_default()
        )));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_certificate_is_named() {
        let absent = trust(Some(Path::new("absent.pem"))).expect_err("no such file").to_string();
        assert!(absent.starts_with("absent.pem: No such file"), "{absent}");
        let none = trust(Some(Path::new("Cargo.toml"))).expect_err("not PEM").to_string();
        assert_eq!(none, "Cargo.toml: expected a certificate in PEM, found none");
        let endless = trust(Some(Path::new("/dev/zero"))).expect_err("no end").to_string();
        let reason = "it has more than 4194304 bytes, the limit; check that it is the intended one";
        assert_eq!(endless, format!("/dev/zero: {reason}"));
    }
}
