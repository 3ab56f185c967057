//! The names and the validity period of a certificate.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;

use kiosque_model::{DAY_MS, UnixMs, Zone};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::time::Time;

use super::TlsError;

/// A warning is due this long before the end of a certificate.
const WARNED_BEFORE_MS: i64 = 30 * DAY_MS;

/// The names and the validity period of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Validity {
    /// Host names and addresses, in the order of the certificate.
    pub(super) names: Vec<String>,
    not_before: UnixMs,
    pub(super) not_after: UnixMs,
}

/// A reason to warn about a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Warning {
    NotYetValid,
    EndsSoon,
    Expired,
}

/// Returns the end of the validity of a certificate: the first one in a PEM file.
///
/// # Errors
/// The file cannot be read, or does not begin with a certificate.
pub fn not_after(file: &Path) -> Result<UnixMs, TlsError> {
    let invalid = |reason: String| TlsError::Pem(file.to_owned(), reason);
    let der = CertificateDer::from_pem_file(file).map_err(|error| invalid(error.to_string()))?;
    let validity = Validity::of(&der);
    Ok(validity.ok_or_else(|| invalid("is not an X.509 certificate".to_owned()))?.not_after)
}

impl Validity {
    /// Reads the certificate. `None` if it is not X.509 according to RFC 5280; its users may still
    /// accept it.
    pub(super) fn of(certificate: &CertificateDer<'_>) -> Option<Validity> {
        let certificate = Certificate::from_der(certificate).ok()?.tbs_certificate;
        let names = certificate.get::<SubjectAltName>().ok().flatten();
        let names = names.map(|(_, names)| names.0).unwrap_or_default();
        Some(Validity {
            names: names.iter().filter_map(name).collect(),
            not_before: unix_ms(certificate.validity.not_before),
            not_after: unix_ms(certificate.validity.not_after),
        })
    }

    /// Returns the warning that is due at `now`, if any.
    pub(super) fn warning(&self, now: UnixMs) -> Option<Warning> {
        if now >= self.not_after {
            Some(Warning::Expired)
        } else if now < self.not_before {
            Some(Warning::NotYetValid)
        } else if now.plus_ms(WARNED_BEFORE_MS) >= self.not_after {
            Some(Warning::EndsSoon)
        } else {
            None
        }
    }

    /// Returns the whole days from `now` to the end, 0 after it.
    pub(super) fn days_left(&self, now: UnixMs) -> i64 {
        (self.not_after.0.saturating_sub(now.0) / DAY_MS).max(0)
    }
}

impl fmt::Display for Validity {
    /// Formats the end of the validity period.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} UTC", Zone::utc().text(self.not_after))
    }
}

fn unix_ms(time: Time) -> UnixMs {
    UnixMs(i64::try_from(time.to_unix_duration().as_millis()).unwrap_or(i64::MAX))
}

fn name(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::DnsName(name) => Some(name.as_str().to_owned()),
        GeneralName::IpAddress(address) => {
            let bytes = address.as_bytes();
            let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
            let v6 = <[u8; 16]>::try_from(bytes).map(IpAddr::from);
            v4.or(v6).ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

    /// Writes a certificate valid from 2026 to 2035 and its key; returns both files.
    fn files(directory: &Path) -> [std::path::PathBuf; 2] {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(NAMES.map(str::to_owned)).expect("names");
        params.not_before = date_time_ymd(2025, 12, 31);
        params.not_after = date_time_ymd(2035, 12, 28);
        let cert = params.self_signed(&key).expect("a certificate");
        [("cert.pem", cert.pem()), ("key.pem", key.serialize_pem())].map(|(name, text)| {
            let path = directory.join(name);
            std::fs::write(&path, text).expect("a file");
            path
        })
    }

    #[test]
    fn the_end_of_a_certificate_is_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let [cert, key] = files(directory.path());
        let end = not_after(&cert).expect("a certificate");
        assert_eq!(end, Zone::utc().parse("2035-12-28 00:00:00").expect("a time"));
        let error = not_after(&key).expect_err("a key").to_string();
        assert!(error.contains("key.pem"), "{error}");
    }

    #[test]
    fn warnings_begin_thirty_days_before_the_end() {
        let directory = tempfile::tempdir().expect("a directory");
        let made = UnixMs(1_767_225_600_000);
        let [cert, _] = files(directory.path());
        let der = CertificateDer::from_pem_file(&cert).expect("a certificate");
        let validity = Validity::of(&der).expect("a validity period");
        assert_eq!(validity.names, NAMES);
        assert_eq!(validity.to_string(), "2035-12-28 00:00:00 UTC");
        let (end, before) = (validity.not_after, validity.not_before.plus_ms(-1));
        for (at, warning, days) in [
            (made, None, 3_648),
            (end.plus_ms(-30 * DAY_MS - 1), None, 30),
            (end.plus_ms(-30 * DAY_MS), Some(Warning::EndsSoon), 30),
            (end.plus_ms(-1), Some(Warning::EndsSoon), 0),
            (end, Some(Warning::Expired), 0),
            (before, Some(Warning::NotYetValid), (end.0 - before.0) / DAY_MS),
        ] {
            assert_eq!((validity.warning(at), validity.days_left(at)), (warning, days), "{at:?}");
        }
        assert_eq!(Validity::of(&CertificateDer::from(b"no certificate".to_vec())), None);
    }
}
