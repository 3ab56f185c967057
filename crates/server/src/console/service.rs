//! `/console/service`

use kiosque_console::Section;
use kiosque_console::service::{self as view, Conditions, Limit, Service};
use kiosque_store::{Error, Maintenance, Oversight};

use super::choices::format;
use super::reply::Reply;
use super::request::SignedIn;
use crate::app::App;
use crate::audience::Audience;
use crate::failure::Failure;

/// Shows the state of the server and of its data.
pub(super) async fn page(caller: &SignedIn<'_>, _: Oversight<'_>) -> Result<Reply, Failure> {
    let format = format(&caller.call.known_fields(&["format"])?)?;
    let csv = |view: &Service| view::csv(&caller.frame(), view);
    Ok(caller.reply(format, &service(caller).await?, view::page, "service.csv", csv))
}

/// Returns the number of checks that are not ok; 0 for a key that may not see them, and if they
/// cannot be read: other pages are shown without it.
pub(super) async fn failed_checks(caller: &SignedIn<'_>) -> i64 {
    if !caller.session.holder().rights.contain(Section::Service.right()) {
        return 0;
    }
    let conditions = conditions(caller).await;
    conditions.map_or(0, |conditions| view::failed_checks(&caller.frame(), &conditions))
}

async fn service(caller: &SignedIn<'_>) -> Result<Service, Failure> {
    let (app, now) = (caller.call.app, caller.call.now);
    Ok(Service {
        conditions: conditions(caller).await?,
        status: app.store.inventory().status(now).await?,
        database: app.store.engine().database(),
        certificate_names: app.certificate.get().map(|of| of.names()).unwrap_or_default(),
        started: app.metrics.started,
        resident_bytes: resident_bytes(),
        free_bytes: app.store.engine().file_sizes().map(|sizes| sizes.free),
        limits: limits(app),
    })
}

async fn conditions(caller: &SignedIn<'_>) -> Result<Conditions, Failure> {
    let (app, now) = (caller.call.app, caller.call.now);
    let cause = |checked: Result<(), Error>| checked.err().map(|error| error.to_string());
    let Maintenance { last_rate, lacks_rates, last_backup } =
        app.store.upkeep().maintenance().await?;
    Ok(Conditions {
        not_answering: cause(app.store.upkeep().answers(now).await),
        not_storing: cause(app.store.upkeep().takes_orders().await),
        certificate_end: app.certificate.get().and_then(|certificate| certificate.not_after()),
        last_rate,
        lacks_rates,
        last_backup,
        log_bytes: app.store.engine().file_sizes().map(|sizes| sizes.log),
        clock_off_ms: app.store.engine().clock_off_ms(),
        damaged_orders: app.metrics.damaged_orders(),
    })
}

/// Returns the resident memory of this process; `None` where Linux's `/proc` is absent.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1 << 10)
}

fn limits(app: &App) -> Vec<Limit> {
    let limits = &app.settings.limits;
    let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let open = |audience| {
        let open = app.metrics.connections(audience).open.get();
        u64::try_from(open).unwrap_or_default()
    };
    let used = [
        ("connections_max (integrators)", open(Audience::Gateway), limits.connections_max),
        ("connections_max (operator)", open(Audience::Operator), limits.connections_max),
        ("ingest_streams_max", number(app.intake.streams_open()), limits.ingest_streams_max),
        ("ingest_queue_max_bytes", number(app.intake.queue_bytes()), limits.ingest_queue_max_bytes),
    ];
    used.map(|(name, used, most)| Limit { name, used, most: number(most) }).into()
}
