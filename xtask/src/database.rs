//! The PostgreSQL server that the tests of one run share.

use std::env;
use std::process::Command;

use anyhow::{Context, Result};
use kiosque_testdb::{Durability, SETTING, Server};

use crate::packages;

/// A server that ends when this is dropped; none if the environment specifies one.
pub(crate) struct Database(Option<Server>);

impl Database {
    /// Installs the programs that the tests need and starts the server, unless the environment
    /// specifies one.
    pub(crate) fn start() -> Result<Database> {
        packages::ensure(packages::FOR_TESTS)?;
        if env::var_os(SETTING).is_some() {
            return Ok(Database(None));
        }
        let server = Server::start(Durability::Off).context("the tests' PostgreSQL server")?;
        Ok(Database(Some(server)))
    }

    /// Sets the server's address in the environment of the tests.
    pub(crate) fn share(&self, tests: &mut Command) {
        if let Some(server) = &self.0 {
            tests.env(SETTING, server.url());
        }
    }
}
