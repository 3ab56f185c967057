//! Events that are recorded once, even if the outcome of an attempt is unknown.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use kiosque_contract::AuditDetails;
use kiosque_model::UnixMs;
use kiosque_model::audit::AuditRecord;

use super::{insert, insert_as};
use crate::db::Write;
use crate::error::Error;
use crate::metadata;
use crate::sql::statements;

statements! {
    RECORDED_EVENT(entry_no) -> (UnixMs, Option<String>) = "select at_ms, request_id
        from audit where entry_no = $entry_no";
}

/// Events to be recorded together, once. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PendingEvents {
    events: Arc<[AuditRecord]>,
    /// The number that the last attempt assigned to the first entry; 0 before the first attempt.
    attempted_no: Arc<AtomicI64>,
}

impl PendingEvents {
    /// Returns events that no attempt has recorded yet.
    pub fn new(events: Vec<AuditRecord>) -> PendingEvents {
        PendingEvents { events: events.into(), attempted_no: Arc::default() }
    }

    pub(super) async fn record(&self, write: &Write<'_>) -> Result<(), Error> {
        let Some((first, others)) = self.events.split_first() else { return Ok(()) };
        // Locks the counter: an attempt with an unknown outcome has ended by now.
        let entry_no = metadata::take(write, metadata::AUDIT, 1).await?;
        let attempted_no = self.attempted_no.load(Ordering::Relaxed);
        let recorded = write.one(&RECORDED_EVENT, &[attempted_no.into()]).await?;
        let is_first = |(at, request_id): (UnixMs, Option<String>)| {
            at == first.at && request_id == first.request_id
        };
        if recorded.is_some_and(is_first) {
            return Ok(());
        }
        self.attempted_no.store(entry_no, Ordering::Relaxed);
        insert_as(write, entry_no, first, AuditDetails::default(), None).await?;
        for event in others {
            insert(write, event, AuditDetails::default(), None).await?;
        }
        Ok(())
    }
}
