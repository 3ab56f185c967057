//! `/console/audit`

use kiosque_console::audit::{self as view, Audit, Filters};
use kiosque_model::Zone;
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
    let query = query(&filters, app.store.zone())?;
    let found = app.store.trail().entries(query).await?;
    let view = Audit {
        filters,
        entries: found.entries.into_iter().map(audit_entry).collect(),
        next: found.next.map(|entry| entry.to_string()),
    };
    let frame = caller.frame();
    if wants_csv(&fields)? {
        return Ok(Reply::csv("audit.csv", view::csv(&frame, &view)));
    }
    Ok(Reply::page(view::page(&frame, &view)))
}

/// Reads the filters.
fn query(filters: &Filters, zone: &Zone) -> Result<AuditQuery, Failure> {
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let parameter = Failure::Parameter;
    let event =
        given(&filters.event).map(|name| AuditEvent::named(&name).ok_or(parameter("event")));
    let source = given(&filters.source).map(|text| text.parse().map_err(|_| parameter("source")));
    let since = given(&filters.since)
        .map(|text| zone.parse_time_or_date(&text).map_err(|_| parameter("since")));
    let before = given(&filters.after).map(|text| text.parse().map_err(|_| parameter("after")));
    Ok(AuditQuery {
        account: given(&filters.account),
        event: event.transpose()?,
        source: source.transpose()?,
        since: since.transpose()?,
        before: before.transpose()?,
        limit: ENTRIES,
    })
}
