//! The storage engine of the measured program: a file, or a PostgreSQL server of the bench with
//! every commit durable.

use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use kiosque_testdb::{Durability, Server};

/// Which engine to measure on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, ValueEnum)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Store {
    /// The program's own file, which is the default.
    Sqlite,
    /// A PostgreSQL server, whose CPU time counts as the server's.
    Postgres,
}

/// The engine of one run. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Engine(Option<Arc<Server>>);

impl Engine {
    /// Starts the processes that the engine needs.
    ///
    /// # Errors
    /// When PostgreSQL does not start.
    pub(crate) fn start(store: Store) -> anyhow::Result<Engine> {
        Ok(Engine(match store {
            Store::Sqlite => None,
            Store::Postgres => Some(Arc::new(Server::start(Durability::Full)?)),
        }))
    }

    /// Returns whether the data is in the program's own files.
    pub(crate) fn has_files(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the address of a database with that name; `None` if the data is in a file.
    pub(crate) fn address(&self, name: &str) -> Option<String> {
        let server = self.0.as_ref()?;
        Some(format!("postgres://kiosque@127.0.0.1:{}/{name}", server.port()))
    }

    /// Replaces the database with that name by an empty one.
    ///
    /// # Errors
    /// When the server refuses.
    pub(crate) fn replace_database(&self, name: &str) -> anyhow::Result<()> {
        if let Some(server) = &self.0 {
            server.sql(&format!("drop database if exists {name} with (force)"))?;
            server.sql(&format!("create database {name}"))?;
        }
        Ok(())
    }

    /// Writes a checkpoint, so that none is due while reads are measured.
    ///
    /// # Errors
    /// When the server refuses.
    pub(crate) fn settle(&self) -> anyhow::Result<()> {
        if let Some(server) = &self.0 {
            server.sql("checkpoint")?;
        }
        Ok(())
    }

    /// Bytes of a database, without its log.
    ///
    /// # Errors
    /// When the server refuses.
    pub(crate) fn bytes(&self, name: &str) -> anyhow::Result<Option<u64>> {
        let Some(server) = &self.0 else { return Ok(None) };
        Ok(Some(server.sql(&format!("select pg_database_size('{name}')"))?.trim().parse()?))
    }

    /// Returns the CPU time of the engine's own processes.
    ///
    /// # Errors
    /// When they are gone.
    pub(crate) fn cpu_time(&self) -> anyhow::Result<Duration> {
        self.0.as_ref().map_or(Ok(Duration::ZERO), |server| server.cpu_time())
    }
}
