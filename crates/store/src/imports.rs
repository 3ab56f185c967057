//! Imports: each has a number, and is listed with its user, its files and its counts.

use kiosque_contract::AuditDetails;
use kiosque_contract::inventory::ImportItem;
use kiosque_model::audit::Act;
use kiosque_model::{ActedBy, UnixMs};

use crate::audit::details;
use crate::db::{Deadline, Read, Write};
use crate::sql::{Row, row, statements};
use crate::{Error, Listed, Listing, Store, audit, metadata};

row! {
    struct ImportRow<'r> {
        import_no: i64,
        started_at_ms: UnixMs,
        ended_at_ms: Option<UnixMs>,
        details: &'r str,
    }
}

statements! {
    BEGIN_IMPORT(import_no, started_at_ms, details) = "insert into imports
            (import_no, started_at_ms, details)
        values ($import_no, $started_at_ms, $details)";
    END_IMPORT(import_no, ended_at_ms, details) = "update imports
        set ended_at_ms = $ended_at_ms, details = $details where import_no = $import_no";
    CANCEL_IMPORT(import_no) = "delete from imports
        where import_no = $import_no and ended_at_ms is null";
    IMPORTS(before_no, count) -> ImportRow<'_> = "select import_no, started_at_ms, ended_at_ms,
            details
        from imports where import_no < $before_no order by import_no desc limit $count";
}

impl Store {
    /// Stores that an import begins. Returns its number.
    ///
    /// # Errors
    /// The store failed.
    pub async fn begin_import(&self, by: ActedBy) -> Result<i64, Error> {
        let begin = async move |write: &Write<'_>| {
            let number = metadata::next_import(write).await?;
            let details = json(&details::of_run(&by))?;
            let params = [number.into(), by.at.into(), details.as_str().into()];
            write.execute(&BEGIN_IMPORT, &params).await?;
            Ok(number)
        };
        self.db.write(Deadline::OfRequest, begin).await
    }

    /// Stores the result of an import, and records it in the audit trail.
    ///
    /// # Errors
    /// The store failed.
    pub async fn end_import(&self, number: i64, act: Act, by: ActedBy) -> Result<(), Error> {
        let end = async move |write: &Write<'_>| {
            let details = json(&details::of_act(&act, &by))?;
            let params = [number.into(), by.at.into(), details.as_str().into()];
            write.execute(&END_IMPORT, &params).await?;
            audit::act(write, &act, &by).await
        };
        self.db.write(Deadline::OfRequest, end).await
    }

    /// Removes an import that failed before it stored anything.
    ///
    /// # Errors
    /// The store failed.
    pub async fn cancel_import(&self, number: i64) -> Result<(), Error> {
        let cancel = async move |write: &Write<'_>| {
            write.execute(&CANCEL_IMPORT, &[number.into()]).await.map(|_| ())
        };
        self.db.write(Deadline::OfRequest, cancel).await
    }

    /// Returns a part of the imports, the last one first: those with smaller numbers than `after`.
    ///
    /// # Errors
    /// The store failed.
    pub async fn list_imports(
        &self,
        listing: Listing<i64>,
    ) -> Result<Listed<ImportItem, i64>, Error> {
        let list = async move |read: &Read<'_>| {
            let before = listing.after.unwrap_or(i64::MAX);
            let params = [before.into(), listing.count().into()];
            let imports = read.all(&IMPORTS, &params, item).await?;
            Ok(listing.cut(imports, |(number, _)| *number).map(|(_, item)| item))
        };
        self.db.read(Deadline::OfRequest, list).await
    }
}

fn item(row: &Row<'_>) -> Result<(i64, ImportItem), Error> {
    let ImportRow { import_no, started_at_ms, ended_at_ms, details } = row.read()?;
    let item = ImportItem {
        import_id: import_no.to_string(),
        started_timestamp: started_at_ms.0,
        ended_timestamp: ended_at_ms.map(|at| at.0),
        // A text that a later version wrote in another form is left out.
        details: serde_json::from_str(details).unwrap_or_default(),
    };
    Ok((import_no, item))
}

fn json(details: &AuditDetails) -> Result<String, Error> {
    serde_json::to_string(details).map_err(|error| Error::Data(format!("rendering: {error}")))
}
