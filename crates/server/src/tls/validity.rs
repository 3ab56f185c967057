//! The validity of certificates.

use std::path::Path;

use kiosque_model::UnixMs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_cert::Certificate;
use x509_cert::der::Decode;

use super::TlsError;

/// Returns the end of the validity of a certificate: of the first one in a PEM file.
///
/// # Errors
/// The file cannot be read, or does not begin with a certificate.
pub fn not_after(file: &Path) -> Result<UnixMs, TlsError> {
    let fault = |fault: String| TlsError::Pem(file.to_owned(), fault);
    let der = CertificateDer::from_pem_file(file).map_err(|error| fault(error.to_string()))?;
    let certificate = Certificate::from_der(&der).map_err(|error| fault(error.to_string()))?;
    let end = certificate.tbs_certificate.validity.not_after.to_unix_duration();
    Ok(UnixMs(i64::try_from(end.as_millis()).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use kiosque_model::Zone;

    use super::*;
    use crate::tls::self_signed;

    #[test]
    fn the_end_of_a_certificate_is_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let identity =
            self_signed(directory.path(), UnixMs(1_767_225_600_000)).expect("a certificate");
        let end = not_after(&identity.cert).expect("a certificate");
        assert_eq!(end, Zone::utc().parse("2035-12-28 00:00:00").expect("a time"));
        let fault = not_after(&identity.key).expect_err("a key").to_string();
        assert!(fault.contains("key.pem"), "{fault}");
    }
}
