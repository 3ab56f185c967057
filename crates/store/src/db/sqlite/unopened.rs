//! Reads an entry of a database that may be of another version, or of another program, without
//! changing its files.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};

use super::files::database_files;
use crate::error::Error;
use crate::file_system::io_error;
use crate::sql::Sql;

const READ_ONLY: OpenFlags =
    OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// Returns the text that the statement `entry` selects by a name; `None` also if its table does not
/// exist, or the file is not a database.
pub(crate) fn unopened_entry(
    database: &Path,
    entry: &'static Sql,
    name: &str,
) -> Result<Option<String>, Error> {
    let linked = fs::canonicalize(database).map_err(|error| io_error(database, &error))?;
    fs::File::open(&linked).map_err(|error| io_error(database, &error))?;
    match read(&linked, entry.for_sqlite()?, name) {
        Err(error) => match error.sqlite_error_code() {
            // `Unknown`: the statement refers to a table or a column that does not exist.
            Some(ErrorCode::NotADatabase | ErrorCode::Unknown) => Ok(None),
            _ => Err(error.into()),
        },
        Ok(value) => Ok(value),
    }
}

fn read(database: &Path, entry: &str, name: &str) -> rusqlite::Result<Option<String>> {
    let [_, log, _] = database_files(database);
    let is_logged = fs::metadata(log).is_ok_and(|log| log.len() > 0);
    let connection = match is_logged {
        true => Connection::open_with_flags(database, READ_ONLY)?,
        // Without its log, a database is read as an immutable file: SQLite would create a log and
        // its index otherwise.
        false => immutable(database)?,
    };
    connection.query_row(entry, [name], |row| row.get(0)).optional()
}

/// Returns whether a database has a table, without its log, if it has one.
pub(crate) fn has_table(database: &Path, name: &str) -> Result<bool, Error> {
    let find = "select count(*) from sqlite_master where type = 'table' and name = ?1";
    let tables: i64 = immutable(database)?.query_row(find, [name], |row| row.get(0))?;
    Ok(tables > 0)
}

fn immutable(database: &Path) -> rusqlite::Result<Connection> {
    let uri = format!("file:{}?immutable=1", escaped(database));
    Connection::open_with_flags(uri, READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
}

/// Returns a path as it is written in a URI.
fn escaped(path: &Path) -> String {
    let byte = |byte: &u8| match byte {
        b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    path.as_os_str().as_bytes().iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    static NOTE: Sql =
        Sql::declared("NOTE", "select value from notes where name = $name", &["name"], None);

    #[test]
    fn a_file_is_read_as_it_is_and_no_other_is_made() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a %3F?#é.db");
        let read = |name: &str| unopened_entry(&path, &NOTE, name).expect("it is read");
        for text in ["", "no database, and longer than the header of one is, by some bytes"] {
            fs::write(&path, text.repeat(100)).expect("a file");
            assert_eq!(read("a"), None);
        }
        fs::remove_file(&path).expect("a file");
        let database = Connection::open(&path).expect("a database");
        database.pragma_update(None, "journal_mode", "wal").expect("a mode");
        database.execute_batch("create table photos (name text)").expect("a table");
        assert_eq!(read("a"), None);
        let notes =
            "create table notes (name text, value text); insert into notes values ('a', 'b')";
        database.execute_batch(notes).expect("a note");
        // It is in the log only.
        assert_eq!(read("a").as_deref(), Some("b"));
        drop(database);
        let before = fs::read(&path).expect("a file");
        assert_eq!((read("a").as_deref(), read("b")), (Some("b"), None));
        assert!(fs::read(&path).expect("a file") == before);
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 1);
        let absent = unopened_entry(&directory.path().join("c"), &NOTE, "a");
        assert!(matches!(absent, Err(Error::File(_))), "{absent:?}");
    }
}
