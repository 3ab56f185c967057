//! A schema for each test, in a server that many tests share.

use std::collections::hash_map::RandomState;
use std::env;
use std::hash::BuildHasher;
use std::sync::Mutex;

use anyhow::{Context, Result};
use kiosque_locks::lock_ignoring_poison;

use crate::programs::{psql, psql_script};
use crate::server::{Durability, Server};

/// The environment variable with the URL of the server that a run's tests share, without `options`.
/// Its user may create schemas. If unset, each process starts a server when it first needs one.
pub const SETTING: &str = "KIOSQUE_TEST_POSTGRES";

/// The number of schemas that are created at a time: starting `psql` costs far more than a schema.
const BATCH: u64 = 32;

/// A separate schema in the server that the tests of this run share. It is empty, no other test
/// uses it, and it remains until the server ends: dropping it would cost more than creating it.
pub struct Schema {
    url: String,
}

impl Schema {
    /// Returns a new schema.
    ///
    /// # Panics
    ///
    /// There is no server and none can be started: a test that needs one cannot be skipped.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "each is another, so there is no default")]
    pub fn new() -> Schema {
        Schema::take().unwrap_or_else(|error| panic!("this test needs PostgreSQL: {error:#}"))
    }

    /// Returns the schema that a URL selects, in a server that the test has started.
    #[must_use]
    pub fn at(url: String) -> Schema {
        Schema { url }
    }

    /// Returns a URL that selects the schema by its `options`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs statements in the schema with `psql` and returns only their rows: one per line, values
    /// separated by `|`.
    ///
    /// # Panics
    ///
    /// A statement fails; the panic has the server's message.
    pub fn sql(&self, text: &str) -> String {
        psql(&self.url, [text]).unwrap_or_else(|error| panic!("{error:#}\nin: {text}"))
    }

    /// Runs a `psql` script in the schema.
    ///
    /// # Panics
    ///
    /// A statement fails; the panic has the server's message.
    pub fn script(&self, text: &str) {
        if let Err(error) = psql_script(&self.url, text) {
            panic!("{error:#}");
        }
    }

    fn take() -> Result<Schema> {
        static SHARED: Mutex<Option<Shared>> = Mutex::new(None);
        let mut shared = lock_ignoring_poison(&SHARED);
        let shared = match &mut *shared {
            Some(shared) => shared,
            none => none.insert(Shared::find()?),
        };
        if shared.schemas.is_empty() {
            shared.schemas = create_schemas(&shared.url)?;
        }
        let schema = shared.schemas.pop().context("some were just made")?;
        Ok(Schema { url: in_schema(&shared.url, &schema) })
    }
}

/// The server that the tests of a run share, as used by one process.
struct Shared {
    url: String,
    /// Empty schemas that no test has taken yet.
    schemas: Vec<String>,
    /// The server, if this process has started it. A static is not dropped: the server's watchdog
    /// ends it with the process.
    _own: Option<Server>,
}

impl Shared {
    fn find() -> Result<Shared> {
        let own = match env::var(SETTING) {
            Ok(url) => return Ok(Shared { url, schemas: Vec::new(), _own: None }),
            Err(_) => Server::start(Durability::Off)?,
        };
        Ok(Shared { url: own.url(), schemas: Vec::new(), _own: Some(own) })
    }
}

/// Creates schemas with names that no other process uses, even on a long-running server.
fn create_schemas(base: &str) -> Result<Vec<String>> {
    let random = RandomState::new();
    let names = (0..BATCH).map(|number| format!("test_{:016x}", random.hash_one(number)));
    let names: Vec<String> = names.collect();
    let texts: Vec<String> = names.iter().map(|name| format!("create schema {name};")).collect();
    psql(base, [texts.concat().as_str()])?;
    Ok(names)
}

fn in_schema(base: &str, schema: &str) -> String {
    let joint = if base.contains('?') { '&' } else { '?' };
    format!("{base}{joint}options=-c%20search_path%3D{schema}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_one_more_option() {
        let options = "options=-c%20search_path%3Dp";
        assert_eq!(in_schema("postgres://a@b:1/c", "p"), format!("postgres://a@b:1/c?{options}"));
        let secure = "postgres://a@b:1/c?sslmode=require";
        assert_eq!(in_schema(secure, "p"), format!("{secure}&{options}"));
    }
}
