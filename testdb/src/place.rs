//! A schema for each test, in a server that many share.

use std::collections::hash_map::RandomState;
use std::env;
use std::hash::BuildHasher;
use std::sync::Mutex;

use anyhow::{Context, Result};
use kiosque_locks::lock_ignoring_poison;

use crate::programs::psql;
use crate::server::{Durability, Server};

/// The environment variable with the URL of the server that a run's tests share, without `options`.
/// Its user may make schemas. Unset: each process starts a server when it first needs one.
pub const SETTING: &str = "KIOSQUE_TEST_POSTGRES";

/// How many schemas are made together: starting `psql` costs far more than a schema.
const TOGETHER: u64 = 32;

/// A schema of its own in the server that this run's tests share. It is empty, nothing else knows
/// it, and it stays until the server ends: to remove it would cost more than to make it.
pub struct Place {
    url: String,
}

impl Place {
    /// Takes a new schema.
    ///
    /// # Panics
    ///
    /// When there is no server and none can be started: a test that needs one cannot be skipped.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "each is another, so there is no default")]
    pub fn new() -> Place {
        match Place::take() {
            Ok(place) => place,
            Err(error) => panic!("this test needs PostgreSQL: {error:#}"),
        }
    }

    /// A URL that selects the schema by its `options`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs statements in the schema by `psql` and returns their rows alone: one a line, values
    /// apart by `|`.
    ///
    /// # Panics
    ///
    /// With what the server says when a statement fails.
    pub fn sql(&self, text: &str) -> String {
        match psql(&self.url, [text]) {
            Ok(rows) => rows,
            Err(error) => panic!("{error:#}\nin: {text}"),
        }
    }

    fn take() -> Result<Place> {
        static SHARED: Mutex<Option<Shared>> = Mutex::new(None);
        let mut shared = lock_ignoring_poison(&SHARED);
        let shared = match &mut *shared {
            Some(shared) => shared,
            none => none.insert(Shared::find()?),
        };
        if shared.schemas.is_empty() {
            shared.schemas = make_schemas(&shared.url)?;
        }
        let schema = shared.schemas.pop().context("some were just made")?;
        Ok(Place { url: in_schema(&shared.url, &schema) })
    }
}

/// The server that the tests of a run share, as one process knows it.
struct Shared {
    url: String,
    /// Empty ones that no place has yet.
    schemas: Vec<String>,
    /// The server, if this process has started it. A static is not dropped: the server's keeper
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

/// Schemas with names that no other process takes, today or in a server that is kept for long.
fn make_schemas(base: &str) -> Result<Vec<String>> {
    let chance = RandomState::new();
    let names = (0..TOGETHER).map(|number| format!("place_{:016x}", chance.hash_one(number)));
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
