//! `/console/intake`

use kiosque_console::intake::{self as view, Intake, LineOrigin, RejectedLine};
use kiosque_store::{ImportRejections, Listing, Oversight};

use super::choices::format;
use super::reply::Reply;
use super::request::SignedIn;
use crate::app::App;
use crate::failure::Failure;

/// Maximum imports on the page.
const IMPORTS: usize = 20;

/// Shows the streams and the queue of this node, the imports, and the latest rejected lines of
/// both.
pub(super) async fn page(caller: &SignedIn<'_>, _: Oversight<'_>) -> Result<Reply, Failure> {
    let format = format(&caller.call.known_fields(&["format"])?)?;
    let (app, now) = (caller.call.app, caller.call.now);
    let imports = app.store.intake().imports(Listing { after: None, limit: IMPORTS }, now).await?;
    let (is_storing, waiting) = app.intake.waiting_to_be_stored();
    let view = Intake {
        streams: app.intake.orders_by_key(),
        rejected: rejected(app).await?,
        imports_are_cut: imports.next.is_some(),
        imports: imports.entries,
        streams_open: app.intake.streams_open(),
        queue_bytes: app.intake.queue_bytes(),
        waiting: is_storing.then_some(waiting),
        heartbeats_unwritten: app.store.intake().unwritten_activity(),
        last_active: app.store.inventory().last_active().await?,
    };
    Ok(caller.reply(format, &view, view::page, "rejected.csv", view::csv))
}

/// Returns the latest rejected lines of the streams of this node, and of the imports on the page.
async fn rejected(app: &App) -> Result<Vec<RejectedLine>, Failure> {
    let streams = app.intake.latest_rejected().into_iter();
    let mut lines: Vec<RejectedLine> = streams
        .map(|one| RejectedLine { at: one.at, from: LineOrigin::Stream(one.key), line: one.line })
        .collect();
    let imports =
        app.store.intake().rejected_by_imports(i64::try_from(IMPORTS).unwrap_or(i64::MAX)).await?;
    for ImportRejections { import, at, lines: rejected } in imports {
        let of_import = |line| RejectedLine { at, from: LineOrigin::Import(import), line };
        lines.extend(rejected.into_iter().rev().map(of_import));
    }
    Ok(lines)
}
