//! What the house knows of itself.

use kiosque_model::Zone;

use crate::db::{Db, Length, Read, Write};
use crate::sql::statements;
use crate::{Error, Store};

statements! {
    NOTE = "select value from house where name = $1";
    SET_NOTE = "insert into house (name, value) values ($1, $2)
        on conflict (name) do update set value = excluded.value";
    DROP_NOTES = "delete from house where name = $1 or (name >= $2 and name < $3)";
    LAST = "select last from counters where name = $1";
    COUNT_ON = "update counters set last = last + 1 where name = $1 returning last";
}

const TIME_ZONE: &str = "time_zone";
const FLEET: &str = "fleet";
const AUDIT: &str = "audit";
const RATES: &str = "rates";

pub(crate) async fn settle_zone(write: &Write<'_>, wanted: Option<&Zone>) -> Result<Zone, Error> {
    match (note(write, TIME_ZONE).await?, wanted) {
        (None, wanted) => {
            let zone = wanted.cloned().unwrap_or_else(Zone::utc);
            write.execute(&SET_NOTE, &[TIME_ZONE.into(), zone.name().into()]).await?;
            Ok(zone)
        }
        (Some(recorded), Some(wanted)) if recorded != wanted.name() => Err(Error::Data(format!(
            "the time zone of this data is {recorded}, not {wanted}: date strings are stored in it"
        ))),
        (Some(recorded), _) => Zone::named(&recorded).map_err(Error::Data),
    }
}

/// Grows whenever the fleet changes, so that what was read of it is known to be stale.
pub(crate) async fn fleet_version(read: &Read<'_>) -> Result<i64, Error> {
    let last = read.one(&LAST, &[FLEET.into()], |row| row.int(0)).await?;
    last.ok_or_else(uncounted)
}

/// The same, of this moment.
pub(crate) async fn fleet_version_now(db: &Db) -> Result<i64, Error> {
    db.one(&LAST, &[FLEET.into()], |row| row.int(0)).await?.ok_or_else(uncounted)
}

/// Notes that the fleet changes; until the transaction ends no other changes it.
pub(crate) async fn fleet_changes(write: &Write<'_>) -> Result<(), Error> {
    count_on(write, FLEET).await.map(|_| ())
}

/// Notes that exchange rates change.
pub(crate) async fn rates_change(write: &Write<'_>) -> Result<(), Error> {
    count_on(write, RATES).await.map(|_| ())
}

/// The number of the next entry of the audit trail. Whoever takes it keeps others from theirs until
/// the transaction ends, so it is taken late.
pub(crate) async fn next_audit_entry(write: &Write<'_>) -> Result<i64, Error> {
    count_on(write, AUDIT).await
}

async fn count_on(write: &Write<'_>, name: &str) -> Result<i64, Error> {
    let last = write.one(&COUNT_ON, &[name.into()], |row| row.int(0)).await?;
    last.ok_or_else(uncounted)
}

fn uncounted() -> Error {
    Error::Data("this data has lost one of its counters".to_owned())
}

/// Leaves a note of the store's own.
pub(crate) async fn set_note(write: &Write<'_>, name: &str, value: &str) -> Result<(), Error> {
    write.execute(&SET_NOTE, &[name.into(), value.into()]).await.map(|_| ())
}

/// Takes the note of a name away, and those whose names go on behind it and a colon.
pub(crate) async fn drop_notes(write: &Write<'_>, name: &str) -> Result<(), Error> {
    let (from, to) = (format!("{name}:"), format!("{name};"));
    let params = [name.into(), from.as_str().into(), to.as_str().into()];
    write.execute(&DROP_NOTES, &params).await.map(|_| ())
}

/// A note, as it is at this moment.
pub(crate) async fn note_now(db: &Db, name: &str) -> Result<Option<String>, Error> {
    db.one(&NOTE, &[name.into()], |row| Ok(row.text(0)?.to_owned())).await
}

pub(crate) async fn note(read: &Read<'_>, name: &str) -> Result<Option<String>, Error> {
    read.one(&NOTE, &[name.into()], |row| Ok(row.text(0)?.to_owned())).await
}

impl Store {
    /// A note that a command left with the data, under a name of its own.
    ///
    /// # Errors
    /// The store failed.
    pub async fn note(&self, name: &str) -> Result<Option<String>, Error> {
        note_now(&self.db, &format!("note:{name}")).await
    }

    /// Leaves a note with the data.
    ///
    /// # Errors
    /// The store failed.
    pub async fn set_note(&self, name: &str, value: &str) -> Result<(), Error> {
        let (name, value) = (format!("note:{name}"), value.to_owned());
        let set = async move |write: &Write<'_>| {
            write.execute(&SET_NOTE, &[name.as_str().into(), value.as_str().into()]).await
        };
        self.db.write(Length::Short, set).await.map(|_| ())
    }
}
