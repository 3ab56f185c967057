//! `/console/intake`

use kiosque_console::intake::{self as view, Intake, RejectedLine, SourceOrders};
use kiosque_ingest::intake_record;
use kiosque_model::UnixMs;
use kiosque_store::{Listing, Oversight};

use super::groups::wants_csv;
use super::reply::{Refused, Reply};
use super::request::SignedIn;

/// The imports that the page lists.
const IMPORTS: usize = 20;

/// Shows the streams and the queue of this node, its latest rejected lines, and the imports.
pub(super) async fn page(caller: &SignedIn<'_>, _: Oversight<'_>) -> Result<Reply, Refused> {
    let query = caller.request.known_query(&["format"])?;
    let (app, now) = (caller.request.app, caller.request.now);
    let imports = app.store.list_imports(Listing { after: None, limit: IMPORTS }, now).await?;
    let (is_storing, waiting) = app.intake.waiting_to_be_stored();
    let view = Intake {
        sources: app.intake.sources().into_iter().map(source).collect(),
        rejected: app.intake.latest_rejected().into_iter().map(rejected).collect(),
        imports: imports.entries,
        streams_open: app.intake.streams_open(),
        queue_bytes: app.intake.queue_bytes(),
        waiting: is_storing.then_some(waiting),
        heartbeats_unwritten: app.store.unwritten_activity(),
        last_active: app.store.status(now).await?.last_active_timestamp.map(UnixMs),
    };
    match wants_csv(&query) {
        true => Ok(Reply::csv("rejected.csv", view::csv(&view))),
        false => Ok(Reply::page(view::page(&caller.frame(), &view))),
    }
}

fn source(source: intake_record::SourceOrders) -> SourceOrders {
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let counts = source.counts;
    SourceOrders {
        name: source.source,
        by_minute: source.by_minute.into_iter().map(count).collect(),
        accepted: count(counts.accepted),
        updated: count(counts.updated),
        unchanged: count(counts.unchanged),
        rejected: count(counts.rejected),
    }
}

fn rejected(rejected: intake_record::RejectedLine) -> RejectedLine {
    let intake_record::RejectedLine { at, source, line } = rejected;
    RejectedLine { at, source, line: line.line, order_id: line.order_id, reason: line.reason }
}
