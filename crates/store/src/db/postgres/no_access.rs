//! Why a database server gives this program no access, with the role, the database and the remedy.

use std::error::Error as _;
use std::io;

use tokio_postgres::error::SqlState;

use super::address::{Address, Host};
use crate::error::{Error, describe};

/// The required encoding: it can store every text, and searches can ignore the case of all letters.
const ENCODING: &str = "UTF8";

/// The client library's message if the server requests a password and the address has none.
const NO_PASSWORD: &str = "password missing";

/// Returns the failure of a connection to a host: [`Error::NoAccess`] if it remains until the
/// address or the settings of the server are changed.
pub(super) fn of_host(host: &Host, error: tokio_postgres::Error) -> Error {
    if let Some(why) = certificate_error(&error) {
        return Error::Unreachable(format!(
            "the server's certificate cannot be verified ({why}); the file of sslrootcert must \
             have the root certificate of the server, and its certificate the host of the address"
        ));
    }
    let remedy = match error.code() {
        Some(&SqlState::INVALID_PASSWORD) => "correct the password in the address",
        Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => {
            "the role must exist with LOGIN, and pg_hba.conf of the server must allow it from this \
             machine with the sslmode of the address"
        }
        Some(&SqlState::INVALID_CATALOG_NAME) => {
            "create the database, or correct its name in the address"
        }
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => "grant the role CONNECT on the database",
        None if lacks_password(&error) => "add it to the address",
        _ => return error.into(),
    };
    let (role, database) = host.role_and_database();
    let why = describe(&error);
    Error::NoAccess(format!("role {role} has no access to database {database}: {why}; {remedy}"))
}

/// Returns the failure to open the data: [`Error::NoAccess`] if the role lacks a right or a schema.
pub(super) fn of_opening(address: &Address, error: Error) -> Error {
    let (Error::Postgres(cause), Some(host)) = (&error, address.hosts.first()) else {
        return error;
    };
    let remedy = match cause.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            "the role must own the database, or its schema and all tables in it"
        }
        Some(&SqlState::INVALID_SCHEMA_NAME) => {
            "create a schema of its search_path that the role owns, or correct search_path in the \
             options of the address"
        }
        _ => return error,
    };
    let (role, database) = host.role_and_database();
    let why = describe(cause);
    let hosts: Vec<&str> = address.hosts.iter().map(|host| host.name.as_str()).collect();
    let hosts = hosts.join(", ");
    Error::NoAccess(format!(
        "role {role} cannot use database {database} on {hosts}: {why}; {remedy}"
    ))
}

/// Fails unless the database has the encoding that Kiosque requires.
pub(super) fn check_encoding(host: &Host, encoding: Option<&str>) -> Result<(), Error> {
    let encoding = encoding.unwrap_or("unknown");
    let (_, database) = host.role_and_database();
    if encoding == ENCODING {
        return Ok(());
    }
    Err(Error::NoAccess(format!(
        "database {database} has the encoding {encoding}, and must have {ENCODING}; create one \
         with `create database NAME encoding '{ENCODING}' locale 'C' template template0`"
    )))
}

fn lacks_password(error: &tokio_postgres::Error) -> bool {
    error.source().is_some_and(|cause| cause.to_string() == NO_PASSWORD)
}

/// Returns why the server's certificate was not accepted.
fn certificate_error(error: &tokio_postgres::Error) -> Option<&rustls::Error> {
    let cause = error.source()?.downcast_ref::<io::Error>()?.get_ref()?;
    let error = cause.downcast_ref::<rustls::Error>()?;
    matches!(error, rustls::Error::InvalidCertificate(_)).then_some(error)
}
