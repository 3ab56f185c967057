//! Imports: each is an arrival, and is listed with its user, its files and its counts, and with its
//! last rejected lines. A running import updates its row every few seconds, so that one whose
//! process was lost can be recognized.

use std::time::Duration;

use kiosque_contract::inventory::{ImportItem, ImportState};
use kiosque_contract::{AuditDetails, RejectedOrder};
use kiosque_model::audit::Interruption;
use kiosque_model::{ActedBy, UnixMs};
use serde::{Deserialize, Serialize};

use crate::audit::{Act, details};
use crate::db::{Bound, Deadline, Read, Write};
use crate::error::Error;
use crate::json_records::json;
use crate::listing::{Listed, Listing};
use crate::sql::{row, statements};
use crate::views::Intake;
use crate::{audit, metadata};

row! {
    struct ImportRow {
        arrival_no: i64,
        at_ms: UnixMs,
        ended_at_ms: Option<UnixMs>,
        active_at_ms: UnixMs,
        stored_orders: i64,
        details: String,
    }
    struct LostImport { arrival_no: i64, active_at_ms: UnixMs, details: String }
}

statements! {
    BEGIN_IMPORT(arrival_no, at_ms, details) = "insert into arrivals
            (arrival_no, at_ms, active_at_ms, stored_orders, details)
        values ($arrival_no, $at_ms, $at_ms, 0, $details)";
    SHOW_ACTIVE(arrival_no, active_at_ms, stored_orders) = "update arrivals
        set active_at_ms = $active_at_ms, stored_orders = $stored_orders
        where arrival_no = $arrival_no and ended_at_ms is null";
    END_IMPORT(arrival_no, ended_at_ms, details) = "update arrivals
        set ended_at_ms = $ended_at_ms, details = $details where arrival_no = $arrival_no";
    /// The row stays: numbers of arrivals have no gaps.
    CANCEL_IMPORT(arrival_no) = "update arrivals set details = null
        where arrival_no = $arrival_no and ended_at_ms is null";
    LOST_IMPORTS(active_at_ms) -> LostImport = "select arrival_no, active_at_ms, details
        from arrivals where details is not null and ended_at_ms is null
            and active_at_ms < $active_at_ms
        order by arrival_no";
    END_LOST_IMPORT(arrival_no, active_at_ms, details) = "update arrivals
        set ended_at_ms = active_at_ms, details = $details
        where arrival_no = $arrival_no and ended_at_ms is null and active_at_ms = $active_at_ms";
    IMPORTS(before_no, count) -> ImportRow = "select arrival_no, at_ms, ended_at_ms,
            active_at_ms, stored_orders, details
        from arrivals where details is not null and arrival_no < $before_no
        order by arrival_no desc limit $count";
}

/// The interval at which a running import updates its row.
pub const IMPORT_ACTIVE_INTERVAL: Duration = Duration::from_secs(10);
/// The time without an update after which an import was interrupted: longer than a command waits
/// for the store.
const LOST_AFTER_MS: i64 = 60_000;
/// The maximum number of rejected lines of an import that are stored.
pub const IMPORT_REJECTED_MAX: usize = 50;

/// The stored details.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct StoredDetails {
    #[serde(flatten)]
    shown: AuditDetails,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rejected_lines: Vec<RejectedOrder>,
}

/// The last rejected lines of an import.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportRejections {
    /// The number of the import.
    pub import: i64,
    /// When it ended.
    pub at: UnixMs,
    /// The lines, in their order.
    pub lines: Vec<RejectedOrder>,
}

impl Intake<'_> {
    /// Stores the start of an import. Returns its number.
    ///
    /// # Errors
    /// The store failed.
    pub async fn begin_import(self, by: ActedBy) -> Result<i64, Error> {
        let begin = async move |write: &Write<'_>| {
            let number = metadata::take(write, metadata::ARRIVALS, 1).await?;
            let shown = details::with_run(AuditDetails::default(), &by);
            let details = json(&StoredDetails { shown, ..StoredDetails::default() })?;
            let params = [number.into(), by.at.into(), details.as_str().into()];
            write.execute(&BEGIN_IMPORT, &params).await?;
            Ok(number)
        };
        self.0.db.write(Deadline::OfRequest, begin).await
    }

    /// Stores that an import is running, and how many orders it has stored so far. To be called
    /// every [`IMPORT_ACTIVE_INTERVAL`].
    ///
    /// # Errors
    /// The store failed.
    pub async fn show_import_active(
        self,
        number: i64,
        now: UnixMs,
        orders: i64,
    ) -> Result<(), Error> {
        let show = Bound::new(&SHOW_ACTIVE, [number.into(), now.into(), orders.into()]);
        self.0.db.execute(show).await.map(|_| ())
    }

    /// Ends the imports whose processes were lost, and records this in the audit trail. Returns
    /// their number.
    ///
    /// # Errors
    /// The store failed.
    pub async fn end_lost_imports(self, by: ActedBy) -> Result<usize, Error> {
        let find = async move |read: &Read<'_>| {
            let active_at = by.at.plus_ms(-LOST_AFTER_MS);
            read.all::<LostImport>(&LOST_IMPORTS, &[active_at.into()]).await
        };
        let lost: Vec<LostImport> = self.0.db.read::<_, Error>(Deadline::OfRequest, find).await?;
        let mut ended = 0;
        for import in lost {
            let by = by.clone();
            let end = async move |write: &Write<'_>| end_lost(write, &import, &by).await;
            ended += usize::from(self.0.db.write::<_, Error>(Deadline::OfRequest, end).await?);
        }
        Ok(ended)
    }

    /// Stores the result of an import with its last rejected lines, at most
    /// [`IMPORT_REJECTED_MAX`], and records it in the audit trail.
    ///
    /// # Errors
    /// The store failed.
    pub async fn end_import(
        self,
        number: i64,
        act: Act,
        rejected_lines: Vec<RejectedOrder>,
        by: ActedBy,
    ) -> Result<(), Error> {
        let end = async move |write: &Write<'_>| {
            let rejected_lines = rejected_lines.clone();
            let details = json(&StoredDetails {
                shown: details::with_run(act.details.clone(), &by),
                rejected_lines,
            })?;
            let params = [number.into(), by.at.into(), details.as_str().into()];
            write.execute(&END_IMPORT, &params).await?;
            audit::act(write, &act, &by).await
        };
        self.0.db.write(Deadline::OfRequest, end).await
    }

    /// Removes an import that failed before it stored anything.
    ///
    /// # Errors
    /// The store failed.
    pub async fn cancel_import(self, number: i64) -> Result<(), Error> {
        self.0.db.execute(Bound::new(&CANCEL_IMPORT, [number.into()])).await.map(|_| ())
    }

    /// Returns a part of the imports as of `now`, the last one first: those with smaller numbers
    /// than `after`.
    ///
    /// # Errors
    /// The store failed.
    pub async fn imports(
        self,
        listing: Listing<i64>,
        now: UnixMs,
    ) -> Result<Listed<ImportItem, i64>, Error> {
        let list = async move |read: &Read<'_>| {
            let before = listing.after.unwrap_or(i64::MAX);
            let params = [before.into(), listing.count().into()];
            let imports: Vec<ImportRow> = read.all(&IMPORTS, &params).await?;
            Ok(listing.cut(imports, |row| row.arrival_no).map(|row| item(row, now)))
        };
        self.0.db.read(Deadline::OfRequest, list).await
    }

    /// Returns the last rejected lines of each of the last `count` imports, the last import first.
    /// Imports without any, and running ones, are left out.
    ///
    /// # Errors
    /// The store failed.
    pub async fn rejected_by_imports(self, count: i64) -> Result<Vec<ImportRejections>, Error> {
        let list = async move |read: &Read<'_>| {
            let params = [i64::MAX.into(), count.into()];
            let imports = read.all(&IMPORTS, &params).await?.into_iter();
            Ok::<_, Error>(imports.filter_map(rejections).collect())
        };
        self.0.db.read(Deadline::OfRequest, list).await
    }
}

fn rejections(row: ImportRow) -> Option<ImportRejections> {
    let StoredDetails { rejected_lines: lines, .. } =
        serde_json::from_str(&row.details).unwrap_or_default();
    let ended = row.ended_at_ms.filter(|_| !lines.is_empty());
    ended.map(|at| ImportRejections { import: row.arrival_no, at, lines })
}

/// Ends an import unless it has been updated since. Returns whether it ended it.
async fn end_lost(write: &Write<'_>, lost: &LostImport, by: &ActedBy) -> Result<bool, Error> {
    let LostImport { arrival_no, active_at_ms, details } = lost;
    let reason = Interruption::ProcessLost;
    let mut details: StoredDetails = serde_json::from_str(details).unwrap_or_default();
    details.shown.reason = Some(reason.name().to_owned());
    let details = json(&details)?;
    let params = [(*arrival_no).into(), (*active_at_ms).into(), details.as_str().into()];
    if write.execute(&END_LOST_IMPORT, &params).await? == 0 {
        return Ok(false);
    }
    audit::act(write, &Act::import_interrupted(*arrival_no, reason, None), by).await?;
    Ok(true)
}

fn item(row: ImportRow, now: UnixMs) -> ImportItem {
    let ImportRow { arrival_no, at_ms, ended_at_ms, active_at_ms, stored_orders, details } = row;
    // Details that a later version wrote in another form are left out.
    let details: AuditDetails = serde_json::from_str(&details).unwrap_or_default();
    let so_far = Some(stored_orders)
        .filter(|orders| (ended_at_ms.is_none() || details.reason.is_some()) && *orders > 0);
    let details = AuditDetails { orders: details.orders.or(so_far), ..details };
    let is_lost = active_at_ms < now.plus_ms(-LOST_AFTER_MS);
    ImportItem {
        import_id: arrival_no.to_string(),
        started_timestamp: at_ms.0,
        ended_timestamp: ended_at_ms.map(|at| at.0),
        state: match (ended_at_ms, &details.reason) {
            (None, _) if !is_lost => ImportState::Running,
            (Some(_), None) => ImportState::Complete,
            (None, _) | (Some(_), Some(_)) => ImportState::Interrupted,
        },
        details,
    }
}
