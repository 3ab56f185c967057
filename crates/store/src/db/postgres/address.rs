//! Where a PostgreSQL is, and how it is spoken to.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Error;

/// How an address begins.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
/// Named in the server's list of connections.
const APPLICATION: &str = "kiosque";
/// The certificates that the server's own must lead to: as libpq calls it.
const ROOT_CERTIFICATES: &str = "sslrootcert";

/// An address, read.
pub(crate) struct Address {
    pub(super) hosts: Vec<Host>,
    pub(super) encryption: Encryption,
}

/// One of the servers that may be the primary.
pub(super) struct Host {
    /// As it was written, for people.
    pub(super) name: String,
    pub(super) config: Config,
}

/// Whether what travels is encrypted.
#[derive(Clone)]
pub(super) enum Encryption {
    /// It is not: both ends are on one machine, or in a network of their own.
    None,
    /// The server is known by its certificate.
    Tls(MakeRustlsConnect),
}

impl std::fmt::Debug for Encryption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Encryption::None => "None",
            Encryption::Tls(_) => "Tls",
        })
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not what it was read from, which may have a password in it.
        f.debug_list().entries(self.hosts.iter().map(|host| &host.name)).finish()
    }
}

impl Address {
    /// Reads `postgres://user:password@host1:5432,host2:5432/database?option=value&…`. Whatever
    /// its hosts, the one that takes writes is meant.
    ///
    /// With `sslmode=require`, or `verify-full`, which is the same here, the connection is
    /// encrypted, and the server's certificate must be its own and lead to one of the file
    /// `sslrootcert`; there is no encryption that does not look at it.
    pub(super) fn parse(text: &str) -> Result<Address, Error> {
        if !SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
            return Err(fault("is no address like postgres://user:password@host:5432/database"));
        }
        let (text, roots) = without_root_certificates(text);
        let mut hosts = each_host(&text).map(read_host).collect::<Result<Vec<_>, _>>()?;
        let asked = hosts.first().map(|host| host.config.get_ssl_mode());
        let (mode, encryption) = match (asked, roots) {
            (None, _) => return Err(fault("names no host")),
            (Some(SslMode::Disable | SslMode::Prefer), None) => {
                (SslMode::Disable, Encryption::None)
            }
            (_, Some(file)) => (SslMode::Require, Encryption::Tls(tls(&file)?)),
            (_, None) => {
                return Err(fault(
                    "sslmode=require needs sslrootcert=FILE, the certificates that the server's \
                     must lead to",
                ));
            }
        };
        for host in &mut hosts {
            host.config.ssl_mode(mode);
        }
        Ok(Address { hosts, encryption })
    }
}

/// Whoever told the address says where it stood; it may have a password in it.
fn fault(why: &str) -> Error {
    Error::Data(why.to_owned())
}

/// Each host of an address, and the address with that host alone.
fn each_host(text: &str) -> impl Iterator<Item = (String, String)> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("postgres", text));
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let user = if user.is_empty() { String::new() } else { format!("{user}@") };
    hosts.split(',').map(move |host| (host.to_owned(), format!("{scheme}://{user}{host}{path}")))
}

fn read_host((name, text): (String, String)) -> Result<Host, Error> {
    let mut config: Config = text.parse().map_err(|error: tokio_postgres::Error| {
        let why = std::error::Error::source(&error).map(ToString::to_string);
        fault(&why.unwrap_or_else(|| error.to_string()))
    })?;
    config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    if config.get_application_name().is_none() {
        config.application_name(APPLICATION);
    }
    Ok(Host { name, config })
}

/// Takes what the driver does not know out.
fn without_root_certificates(text: &str) -> (String, Option<String>) {
    let Some((base, query)) = text.split_once('?') else { return (text.to_owned(), None) };
    let is_root = |option: &&str| option.starts_with(&format!("{ROOT_CERTIFICATES}="));
    let roots = query.split('&').find(is_root).and_then(|option| option.split_once('='));
    let others: Vec<&str> = query.split('&').filter(|option| !is_root(option)).collect();
    let others = others.join("&").replace("sslmode=verify-full", "sslmode=require");
    (format!("{base}?{others}"), roots.map(|(_, file)| file.to_owned()))
}

fn tls(file: &str) -> Result<MakeRustlsConnect, Error> {
    let fault = |why: &dyn std::fmt::Display| fault(&format!("{ROOT_CERTIFICATES}: {file}: {why}"));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| fault(&error))? {
        let certificate = certificate.map_err(|error| fault(&error))?;
        roots.add(certificate).map_err(|error| fault(&error))?;
    }
    if roots.is_empty() {
        return Err(fault(&"holds no certificate"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| fault(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_is_asked_alone_and_no_password_is_told() {
        let text = "postgres://ops:p%40ss@one:5433,two:5434,[::1]/kiosque?connect_timeout=2";
        let address = Address::parse(text).expect("an address");
        assert_eq!(format!("{address:?}"), r#"["one:5433", "two:5434", "[::1]"]"#);
        let ports: Vec<u16> =
            address.hosts.iter().flat_map(|host| host.config.get_ports().to_vec()).collect();
        assert_eq!(ports, [5433, 5434, 5432]);
        assert!(address.hosts.iter().all(|host| host.config.get_password() == Some(b"p@ss")));
    }

    #[test]
    fn what_cannot_be_meant_is_told_without_the_address() {
        for (text, said) in [
            ("postgres://ops:secret@one/db?sslmode=require", "sslrootcert=FILE"),
            ("postgres://ops:secret@one/db?sslmode=verify-full", "sslrootcert=FILE"),
            ("postgre://ops:secret@one/db", "postgres://"),
            ("", "postgres://"),
            ("postgres://ops:secret@one/db?colour=red", "colour"),
            ("postgres://ops:secret@one/db?sslrootcert=/none.pem", "/none.pem"),
        ] {
            let Err(Error::Data(told)) = Address::parse(text) else { panic!("{text} was read") };
            assert!(told.contains(said), "{told}");
            assert!(!told.contains("secret"), "{told}");
        }
    }
}
