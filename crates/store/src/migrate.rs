//! Migrations of the layout. Until a version is released, the first one is edited. A released
//! migration is never edited: its checksum is stored with its number, and a program whose migration
//! has another checksum refuses the data.

#[cfg(test)]
mod tests;

use kiosque_model::UnixMs;
use sha2::{Digest, Sha256};

use crate::db::{WhenAbsent, Write};
use crate::error::Error;
use crate::sql::statements;

struct Migration {
    number: i64,
    name: &'static str,
    text: &'static str,
}

const FIRST: Migration =
    Migration { number: 1, name: "first", text: include_str!("../migrations/0001_first.sql") };

const MIGRATIONS: &[Migration] = &[FIRST];

statements! {
    RECORD(number, name, checksum, applied_at_ms) = "insert into migrations
            (number, name, checksum, applied_at_ms)
        values ($number, $name, $checksum, $applied_at_ms)";
    APPLIED() -> (i64, String) = "select number, checksum from migrations order by number";
}

/// Creates the table of migrations.
pub(crate) const CREATE_REGISTER: &str = "create table if not exists migrations (
    number bigint primary key,
    name text not null,
    checksum text not null,
    applied_at_ms bigint not null
)";

/// The table of migrations, which every database of this program has.
pub(crate) const REGISTER: &str = "migrations";

/// Why data with another migration of the same number is refused: it was written before the first
/// release.
const EARLIER_LAYOUT: &str = "this data has an earlier layout, which this program does not read; \
    it is unchanged. Export it with the program that wrote it (`kiosque fleet export`, `kiosque \
    orders export`), and import the files into new data with this one";

/// Returns the text of every migration, for tests of the layout.
#[cfg(test)]
pub(crate) fn texts() -> String {
    MIGRATIONS.iter().map(|migration| migration.text).collect()
}

/// Runs the migrations that have not run yet, all or none. Returns whether there was no data.
///
/// # Errors
/// `NoData` if there is none and none should be created, data of an earlier layout or of a newer
/// program, or the store failed.
pub(crate) async fn up(
    write: &Write<'_>,
    when_absent: WhenAbsent,
    now: UnixMs,
) -> Result<bool, Error> {
    run(write, MIGRATIONS, when_absent, now).await
}

async fn run(
    write: &Write<'_>,
    migrations: &[Migration],
    when_absent: WhenAbsent,
    now: UnixMs,
) -> Result<bool, Error> {
    write.take_layout_lock().await?;
    write.script(CREATE_REGISTER).await?;
    let done: Vec<(i64, String)> = write.all(&APPLIED, &[]).await?;
    if done.is_empty() && when_absent == WhenAbsent::Refuse {
        return Err(Error::NoData);
    }
    for (number, checksum) in &done {
        let known = migrations.iter().find(|migration| migration.number == *number);
        match known {
            Some(known) if checksum_of(known.text) == *checksum => {}
            Some(_) => return Err(Error::Data(EARLIER_LAYOUT.to_owned())),
            None => {
                return Err(Error::Data(format!(
                    "this data was made by a newer program (migration {number} is unknown here); \
                     use that one"
                )));
            }
        }
    }
    let new = migrations.get(done.len()..).unwrap_or_default();
    for migration in new {
        write.script(migration.text).await?;
        let checksum = checksum_of(migration.text);
        let params =
            [migration.number.into(), migration.name.into(), checksum.as_str().into(), now.into()];
        write.execute(&RECORD, &params).await?;
    }
    Ok(done.is_empty())
}

fn checksum_of(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
