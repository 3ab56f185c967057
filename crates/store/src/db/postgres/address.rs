//! Addresses of PostgreSQL, and the encryption of connections.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::Error;

/// The schemes of addresses.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
/// The application name in the server's list of connections.
const APPLICATION: &str = "kiosque";
/// The option with the root certificates, named as in libpq.
const ROOT_CERTIFICATES: &str = "sslrootcert";

/// A parsed address.
pub(crate) struct Address {
    pub(super) hosts: Vec<Host>,
    /// The encryption of connections with a verified server certificate. The others are not
    /// encrypted: both ends are on one machine, or in a trusted network.
    pub(super) tls: MakeRustlsConnect,
}

/// One of the servers that may be the primary.
pub(super) struct Host {
    /// The host as written, for messages.
    pub(super) name: String,
    pub(super) config: Config,
}

impl Host {
    /// Returns the role and the database that the address names, for messages. Both are the user of
    /// this process by default.
    pub(super) fn role_and_database(&self) -> (&str, &str) {
        let role = self.config.get_user().unwrap_or("of this user");
        (role, self.config.get_dbname().unwrap_or(role))
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the address itself, which may contain a password.
        f.debug_list().entries(self.hosts.iter().map(|host| &host.name)).finish()
    }
}

impl Address {
    /// Parses `postgres://user:password@host1:5432,host2:5432/database?option=value&…`. Of several
    /// hosts, the one that accepts writes is used.
    ///
    /// Both `sslmode=require` and `verify-full` encrypt the connection and verify the server's name
    /// and certificate against the file `sslrootcert`. There is no unverified encryption.
    pub(super) fn parse(text: &str) -> Result<Address, Error> {
        if !SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
            return Err(invalid(
                "is not an address like postgres://user:password@host:5432/database",
            ));
        }
        let requires_encryption = |option: &&str| option.starts_with("sslmode=");
        let required = text.split(['?', '&']).find(requires_encryption).unwrap_or_default();
        let (text, roots) = without_root_certificates(text);
        let mut hosts = each_host(&text).map(read_host).collect::<Result<Vec<_>, _>>()?;
        let requested = hosts.first().map(|host| host.config.get_ssl_mode());
        let mode = match (requested, &roots) {
            (None | Some(SslMode::Disable | SslMode::Prefer), None) => SslMode::Disable,
            (_, Some(_)) => SslMode::Require,
            (_, None) => {
                return Err(invalid(&format!(
                    "{required} needs {ROOT_CERTIFICATES}=FILE, the root certificates for the \
                     server's"
                )));
            }
        };
        for host in &mut hosts {
            host.config.ssl_mode(mode);
        }
        let roots = roots.as_deref().map_or(Ok(RootCertStore::empty()), root_certificates)?;
        Ok(Address { hosts, tls: MakeRustlsConnect::new(tls(roots)?) })
    }
}

/// Returns the name of a database and its hosts for messages, without the user and the password.
pub fn shown_address(text: &str) -> String {
    let Ok(Address { hosts, .. }) = Address::parse(text) else { return "the database".to_owned() };
    let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
    let of = |config: &Config| config.get_dbname().or(config.get_user()).map(str::to_owned);
    let database = hosts.first().and_then(|host| of(&host.config));
    let database = database.map(|name| format!(" {name}")).unwrap_or_default();
    format!("the database{database} on {}", names.join(", "))
}

/// Returns an error without the address, which may contain a password; the caller adds where it was
/// given.
fn invalid(why: &str) -> Error {
    Error::Data(why.to_owned())
}

/// Returns each host of an address, with the address of that host only. As in the client library,
/// a user and a password end at the first `@`, whatever is before it.
fn each_host(text: &str) -> impl Iterator<Item = (String, String)> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("postgres", text));
    let (user, rest) = rest.split_at(rest.find('@').map_or(0, |at| at + 1));
    let (hosts, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    hosts.split(',').map(move |host| (host.to_owned(), format!("{scheme}://{user}{host}{path}")))
}

fn read_host((name, text): (String, String)) -> Result<Host, Error> {
    if name.contains('@') {
        return Err(invalid("has more than one @; in a password, write it as %40"));
    }
    let mut config: Config = text.parse().map_err(|error: tokio_postgres::Error| {
        let why = std::error::Error::source(&error).map(ToString::to_string);
        invalid(&why.unwrap_or_else(|| error.to_string()))
    })?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(invalid("has no host"));
    }
    config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    if config.get_application_name().is_none() {
        config.application_name(APPLICATION);
    }
    Ok(Host { name, config })
}

/// Removes the option that the client library does not support, and returns its value.
fn without_root_certificates(text: &str) -> (String, Option<String>) {
    let Some((base, query)) = text.split_once('?') else { return (text.to_owned(), None) };
    let is_root = |option: &&str| option.starts_with(&format!("{ROOT_CERTIFICATES}="));
    let roots = query.split('&').find(is_root).and_then(|option| option.split_once('='));
    let others: Vec<&str> = query.split('&').filter(|option| !is_root(option)).collect();
    let others = others.join("&").replace("sslmode=verify-full", "sslmode=require");
    (format!("{base}?{others}"), roots.map(|(_, file)| file.to_owned()))
}

/// Returns the configuration of encrypted connections to servers with these root certificates.
fn tls(roots: RootCertStore) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid(&error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

fn root_certificates(file: &str) -> Result<RootCertStore, Error> {
    let unusable =
        |why: &dyn std::fmt::Display| invalid(&format!("{ROOT_CERTIFICATES}: {file}: {why}"));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unusable(&error))? {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() { Err(unusable(&"contains no certificate")) } else { Ok(roots) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_an_address_of_its_own_and_no_password_is_shown() {
        let text = "postgres://ops:p%40ss@one:5433,two:5434,[::1]/kiosque?connect_timeout=2";
        let address = Address::parse(text).expect("an address");
        assert_eq!(format!("{address:?}"), r#"["one:5433", "two:5434", "[::1]"]"#);
        let ports: Vec<u16> =
            address.hosts.iter().flat_map(|host| host.config.get_ports().to_vec()).collect();
        assert_eq!(ports, [5433, 5434, 5432]);
        assert!(address.hosts.iter().all(|host| host.config.get_password() == Some(b"p@ss")));
    }

    #[test]
    fn a_database_is_shown_without_its_password() {
        let text = "postgres://ops:p%40ss@one:5433,two/kiosque?connect_timeout=2";
        assert_eq!(shown_address(text), "the database kiosque on one:5433, two");
        assert_eq!(shown_address("postgres://ops@one"), "the database ops on one");
        for text in ["postgres://ops:se/cret@one/db", "postgres://ops:se?cret@one/db"] {
            assert_eq!(shown_address(text), "the database db on one");
        }
        assert_eq!(shown_address("secret"), "the database");
    }

    #[test]
    fn errors_do_not_show_the_address() {
        for (text, expected) in [
            ("postgres://ops:secret@one/db?sslmode=require", "sslmode=require needs sslrootcert"),
            ("postgres://a:secret@b?sslmode=verify-full", "sslmode=verify-full needs sslrootcert"),
            ("postgre://ops:secret@one/db", "postgres://"),
            ("", "postgres://"),
            ("host=one user=ops password=secret", "postgres://"),
            ("ops:secret@one/db", "postgres://"),
            ("postgres://ops:s@secret@one/db", "%40"),
            ("postgres:///db", "has no host"),
            ("postgres://ops:secret@/db", "has no host"),
            ("postgres://ops:secret@one/db?colour=red", "colour"),
            ("postgres://ops:secret@one/db?sslrootcert=/none.pem", "/none.pem"),
        ] {
            let Err(Error::Data(error)) = Address::parse(text) else { panic!("{text} was parsed") };
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
