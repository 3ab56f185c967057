//! `/console/audit`

use http::StatusCode;
use kiosque_console::audit::{self as view, Audit, BadFilter, Filters};
use kiosque_model::Source;
use kiosque_model::audit::AuditEvent;
use kiosque_store::{AuditPage, AuditQuery, Oversight};

use super::choices::{Format, format};
use super::reply::Reply;
use super::request::SignedIn;
use crate::failure::Failure;

/// Entries of a page.
const ENTRIES: usize = 50;

/// Shows a part of the audit trail. A text that a person typed and that has no meaning is shown
/// again, with all other filters.
pub(super) async fn page(caller: &SignedIn<'_>, _: Oversight<'_>) -> Result<Reply, Failure> {
    let known = ["account", "event", "source", "since", "after", "format"];
    let fields = caller.call.known_fields(&known)?;
    let format = format(&fields)?;
    let text = |name| fields.text(name).unwrap_or_default();
    let typed = |name| fields.trimmed(name).unwrap_or_default();
    let filters = Filters {
        account: text("account"),
        event: text("event"),
        source: typed("source"),
        since: typed("since"),
        after: text("after"),
    };
    let app = caller.call.app;
    let frame = caller.frame();
    let source = fields.parsed("source", |text| text.parse::<Source>().ok());
    let since = fields.parsed("since", |text| app.store.zone().parse_time_or_date(text).ok());
    let bad = match (&source, &since) {
        (Err(_), _) => Some(BadFilter::Source),
        (_, Err(_)) => Some(BadFilter::Since),
        _ => None,
    };
    if let Some(bad) = bad.filter(|_| format == Format::Page) {
        let view = Audit { filters, entries: Err(bad), next: None };
        return Ok(Reply::page(view::page(&frame, &view)).with_status(StatusCode::BAD_REQUEST));
    }
    let query = AuditQuery {
        account: fields.text("account"),
        event: fields.parsed("event", |name| name.parse::<AuditEvent>().ok())?,
        source: source?,
        since: since?,
        before: fields.parsed("after", |text| text.parse().ok())?,
        limit: ENTRIES,
    };
    let AuditPage { entries, next } = app.store.trail().entries(query).await?;
    let next = next.map(|entry_no| entry_no.to_string());
    if format == Format::Csv {
        return Ok(Reply::csv("audit.csv", view::csv(&frame, &entries, next.as_deref())));
    }
    Ok(Reply::page(view::page(&frame, &Audit { filters, entries: Ok(entries), next })))
}
