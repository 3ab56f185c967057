//! What the house knows of itself.

use kiosque_model::Zone;

use crate::db::{Read, Write};
use crate::sql::statements;
use crate::{Error, Store};

statements! {
    NOTE = "select value from house where name = $1";
    SET_NOTE = "insert into house (name, value) values ($1, $2)
        on conflict (name) do update set value = excluded.value";
}

const TIME_ZONE: &str = "time_zone";
const FLEET_VERSION: &str = "fleet_version";
const AUDIT_PURGED_TO: &str = "audit_purged_to";

pub(crate) fn settle_zone(write: &Write<'_>, wanted: Option<&Zone>) -> Result<Zone, Error> {
    match (note(write, TIME_ZONE)?, wanted) {
        (None, wanted) => {
            let zone = wanted.cloned().unwrap_or_else(Zone::utc);
            write.execute(&SET_NOTE, &[TIME_ZONE.into(), zone.name().into()])?;
            Ok(zone)
        }
        (Some(recorded), Some(wanted)) if recorded != wanted.name() => Err(Error::Data(format!(
            "the time zone of this data is {recorded}, not {wanted}: date strings are stored in it"
        ))),
        (Some(recorded), _) => Zone::named(&recorded).map_err(Error::Data),
    }
}

/// Grows whenever the fleet changes, so that what was read of it is known to be stale.
pub(crate) fn fleet_version(read: &Read<'_>) -> Result<i64, Error> {
    number(read, FLEET_VERSION)
}

pub(crate) fn fleet_changed(write: &Write<'_>) -> Result<(), Error> {
    let next = (fleet_version(write)? + 1).to_string();
    write.execute(&SET_NOTE, &[FLEET_VERSION.into(), next.as_str().into()])?;
    Ok(())
}

/// The last number of an audit entry that was purged.
pub(crate) fn audit_purged_to(read: &Read<'_>) -> Result<i64, Error> {
    number(read, AUDIT_PURGED_TO)
}

pub(crate) fn set_audit_purged_to(write: &Write<'_>, entry_no: i64) -> Result<(), Error> {
    let text = entry_no.to_string();
    write.execute(&SET_NOTE, &[AUDIT_PURGED_TO.into(), text.as_str().into()])?;
    Ok(())
}

fn number(read: &Read<'_>, name: &str) -> Result<i64, Error> {
    Ok(note(read, name)?.and_then(|number| number.parse().ok()).unwrap_or(0))
}

fn note(read: &Read<'_>, name: &str) -> Result<Option<String>, Error> {
    read.one(&NOTE, &[name.into()], |row| Ok(row.text(0)?.to_owned()))
}

impl Store {
    /// A note that a command left with the data, under a name of its own.
    ///
    /// # Errors
    /// The store failed.
    pub fn note(&self, name: &str) -> Result<Option<String>, Error> {
        self.db.read(|read| note(read, &format!("note:{name}")))
    }

    /// Leaves a note with the data.
    ///
    /// # Errors
    /// The store failed.
    pub async fn set_note(&self, name: &str, value: &str) -> Result<(), Error> {
        let (name, value) = (format!("note:{name}"), value.to_owned());
        let set = move |write: &Write<'_>| {
            write.execute(&SET_NOTE, &[name.as_str().into(), value.as_str().into()])
        };
        self.db.write(set).await.map(|_| ())
    }
}
