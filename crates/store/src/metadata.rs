//! Store-wide metadata: the time zone, version counters, and markers.

use std::path::Path;

use kiosque_model::{UnixMs, Zone};

use crate::db::{DATABASE, Db, Read, Write, unopened_entry};
use crate::error::Error;
use crate::sql::statements;

statements! {
    ENTRY(name) -> String = "select value from metadata where name = $name";
    SET_ENTRY(name, value) = "insert into metadata (name, value) values ($name, $value)
        on conflict (name) do update set value = excluded.value";
    DELETE_ENTRY(name) = "delete from metadata where name = $name";
    COUNTER(name) -> i64 = "select last from counters where name = $name";
    SET_COUNTER(name, last) = "insert into counters (name, last) values ($name, $last)
        on conflict (name) do update set last = excluded.last";
    RAISE_COUNTER(name, last) = "insert into counters (name, last) values ($name, $last)
        on conflict (name) do update set last = case when counters.last < excluded.last
            then excluded.last else counters.last end";
    REPLACE_COUNTER(name, old, last) = "update counters set last = $last
        where name = $name and last = $old";
    TAKE(name, count) -> i64 = "update counters set last = last + $count where name = $name
        returning last";
}

/// The table of entries and markers.
pub(crate) const TABLE: &str = "metadata";

/// The counter that is locked while a fleet is applied. Its number is the version of the fleet, to
/// validate caches; it is replaced whenever owners of devices or names of products change.
pub(crate) const FLEET: &str = "fleet";
/// The counter of audit entries. Taking a number locks it, so a transaction does that late.
pub(crate) const AUDIT: &str = "audit";
/// The counter that is locked while exchange rates change.
pub(crate) const RATES: &str = "rates";
/// The counter of arrivals of orders, imports among them.
pub(crate) const ARRIVALS: &str = "arrivals";
/// The counter of refused requests.
pub(crate) const REFUSED_REQUESTS: &str = "refused_requests";
/// The counter whose number is the highest of a deleted device.
pub(crate) const DELETED_DEVICES: &str = "deleted_devices";
/// The latest time of the clock that a server has stored.
pub(crate) const CLOCK: &str = "clock";
/// The time before which orders were last archived.
pub(crate) const ARCHIVED_BEFORE: &str = "archived_before";
const TIME_ZONE: &str = "time_zone";

/// Returns the recorded time zone. New data records `wanted`, or UTC.
pub(crate) async fn settle_zone(write: &Write<'_>, wanted: Option<&Zone>) -> Result<Zone, Error> {
    let Some(recorded) = entry(write, TIME_ZONE).await? else {
        let zone = wanted.cloned().unwrap_or_else(Zone::utc);
        set_entry(write, TIME_ZONE, zone.name()).await?;
        return Ok(zone);
    };
    let recorded = Zone::named(&recorded).map_err(Error::Data)?;
    match wanted {
        Some(wanted) if !recorded.has_rules_of(wanted) => Err(Error::Data(format!(
            "the time zone of this data is {recorded}, not {wanted}, and cannot be changed: date \
             strings are stored in it; omit --timezone, or create other data with `kiosque init \
             --timezone {wanted}` in another place"
        ))),
        _ => Ok(recorded),
    }
}

/// Returns the version of the fleet, outside a transaction.
pub(crate) async fn fleet_version_now(db: &Db) -> Result<i64, Error> {
    db.one(&COUNTER, &[FLEET.into()]).await?.ok_or_else(missing_counter)
}

/// Returns the last number of a counter.
pub(crate) async fn last(read: &Read<'_>, counter: &str) -> Result<i64, Error> {
    read.one(&COUNTER, &[counter.into()]).await?.ok_or_else(missing_counter)
}

/// Returns the last of the next `count` numbers of a counter, and locks the counter until the
/// transaction ends.
pub(crate) async fn take(write: &Write<'_>, counter: &str, count: i64) -> Result<i64, Error> {
    let params = [counter.into(), count.into()];
    write.one(&TAKE, &params).await?.ok_or_else(missing_counter)
}

/// Locks a counter until the transaction ends.
pub(crate) async fn lock(write: &Write<'_>, counter: &str) -> Result<(), Error> {
    take(write, counter, 0).await.map(drop)
}

/// Returns the number of a counter that may not exist yet; then 0.
pub(crate) async fn last_or_zero(read: &Read<'_>, counter: &str) -> Result<i64, Error> {
    Ok(read.one(&COUNTER, &[counter.into()]).await?.unwrap_or(0))
}

/// Replaces the number of a counter.
pub(crate) async fn set(write: &Write<'_>, counter: &str, last: i64) -> Result<(), Error> {
    write.execute(&SET_COUNTER, &[counter.into(), last.into()]).await.map(|_| ())
}

/// Replaces the number of a counter, unless it is higher.
pub(crate) async fn raise(write: &Write<'_>, counter: &str, last: i64) -> Result<(), Error> {
    write.execute(&RAISE_COUNTER, &[counter.into(), last.into()]).await.map(|_| ())
}

/// Records that orders that started at a time or later are restored, unless another process has
/// archived some meanwhile.
pub(crate) async fn lower_archived_before(
    write: &Write<'_>,
    old: UnixMs,
    at: UnixMs,
) -> Result<(), Error> {
    let params = [ARCHIVED_BEFORE.into(), old.into(), at.into()];
    write.execute(&REPLACE_COUNTER, &params).await.map(|_| ())
}

/// Writes a row and restores it. The engine does not notice that nothing has changed, so the commit
/// succeeds only if the data can be written.
pub(crate) async fn change_nothing(write: &Write<'_>) -> Result<(), Error> {
    for count in [1, -1] {
        take(write, AUDIT, count).await?;
    }
    Ok(())
}

fn missing_counter() -> Error {
    Error::Data("the data lacks one of its counters; restore a backup".to_owned())
}

/// Sets an entry.
pub(crate) async fn set_entry(write: &Write<'_>, name: &str, value: &str) -> Result<(), Error> {
    write.execute(&SET_ENTRY, &[name.into(), value.into()]).await.map(|_| ())
}

/// Deletes an entry.
pub(crate) async fn delete_entry(write: &Write<'_>, name: &str) -> Result<(), Error> {
    write.execute(&DELETE_ENTRY, &[name.into()]).await.map(|_| ())
}

/// Returns an entry, outside a transaction.
pub(crate) async fn entry_now(db: &Db, name: &str) -> Result<Option<String>, Error> {
    db.one(&ENTRY, &[name.into()]).await
}

/// Returns an entry.
pub(crate) async fn entry(read: &Read<'_>, name: &str) -> Result<Option<String>, Error> {
    read.one(&ENTRY, &[name.into()]).await
}

/// Stores a marker with the data.
pub(crate) async fn set_marker(write: &Write<'_>, name: &str, value: &str) -> Result<(), Error> {
    set_entry(write, &marker_entry(name), value).await
}

/// Returns the entry of a marker.
pub(crate) fn marker_entry(name: &str) -> String {
    format!("note:{name}")
}

/// Returns the value of a marker of data that is not opened: it may be of another version, or of
/// another program, and is not changed. `None` if it has no such marker.
///
/// # Errors
/// There is no database in the directory, or it cannot be read.
pub fn marker_of_unopened(directory: &Path, name: &str) -> Result<Option<String>, Error> {
    unopened_entry(&directory.join(DATABASE), &ENTRY, &marker_entry(name))
}
