//! `/console/audit`

use kiosque_console::audit::{self as view, Audit, Filters};
use kiosque_model::audit::AuditEvent;
use kiosque_store::{AuditQuery, Oversight};

use super::choices::wants_csv;
use super::reply::Reply;
use super::request::SignedIn;
use crate::failure::Failure;
use crate::operator::audit_entry;

/// Entries of a page.
const ENTRIES: usize = 50;

/// Shows a part of the audit trail.
pub(super) async fn page(caller: &SignedIn<'_>, _: Oversight<'_>) -> Result<Reply, Failure> {
    let known = ["account", "event", "source", "since", "after", "format"];
    let fields = caller.call.known_fields(&known)?;
    let text = |name| fields.text(name).unwrap_or_default();
    let filters = Filters {
        account: text("account"),
        event: text("event"),
        source: text("source"),
        since: text("since"),
        after: text("after"),
    };
    let app = caller.call.app;
    let query = AuditQuery {
        account: fields.text("account"),
        event: fields.parsed("event", |name| name.parse::<AuditEvent>().ok())?,
        source: fields.parsed("source", |text| text.parse().ok())?,
        since: fields.parsed("since", |text| app.store.zone().parse_time_or_date(text).ok())?,
        before: fields.parsed("after", |text| text.parse().ok())?,
        limit: ENTRIES,
    };
    let found = app.store.trail().entries(query).await?;
    let view = Audit {
        filters,
        entries: found.entries.into_iter().map(audit_entry).collect(),
        next: found.next.map(|entry| entry.to_string()),
    };
    let frame = caller.frame();
    if wants_csv(&fields)? {
        return Ok(Reply::csv("audit.csv", view::csv(&frame, &view.entries)));
    }
    Ok(Reply::page(view::page(&frame, &view)))
}
