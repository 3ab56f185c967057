//! The commands that print one answer, or one for each round of `--watch`.

use std::path::Path;

use bytes::Bytes;
use kiosque_client::{Error, read_bounded, read_file};
use kiosque_clock::Clock;
use kiosque_contract::{DashboardFilter, DeviceFilter, ZeroOrOne};
use kiosque_remote::lists::{ANY, DEVICES, LINES, List, PROFILES};
use kiosque_remote::{
    CommandError, Groups, Listing, Profiles, Remote, Report, TradeNumber, call, devices, order,
    report,
};
use tokio::sync::OnceCell;

use super::print::Printer;
use super::{open, places, repeat};
use crate::args::{CallArgs, DevicesArgs, OrderArgs, ReportArgs, Shown, Span};

/// Prints the answer of each round.
pub(super) async fn answer(
    shown: &Shown,
    lists: &[List],
    ask: impl AsyncFn(&Remote) -> Result<Listing, CommandError>,
) -> Result<(), CommandError> {
    let remote = open(&shown.access)?;
    let printer = OnceCell::new();
    repeat(shown.watch, async |_| {
        let new = async || Printer::new(shown, lists, Some(&remote)).await;
        let printer = printer.get_or_try_init(new).await?;
        printer.print(&ask(&remote).await?)
    })
    .await
}

pub(super) async fn profiles(shown: &Shown) -> Result<(), CommandError> {
    let places = places()?;
    let printer = Printer::new(shown, &[PROFILES], None).await?;
    repeat(shown.watch, async |_| printer.print(&Profiles::read(&places)?.listing())).await
}

pub(super) async fn list_devices(args: DevicesArgs) -> Result<(), CommandError> {
    let is_online = match (args.online, args.offline) {
        (true, _) => Some(ZeroOrOne(1)),
        (_, true) => Some(ZeroOrOne(0)),
        _ => None,
    };
    let groups = match args.group.group {
        Some(group) => Groups::One(group),
        None if args.all_groups => Groups::All,
        None => Groups::Default,
    };
    let filter = DeviceFilter { is_online, device_name: args.name, ..DeviceFilter::default() };
    answer(&args.shown, &[DEVICES], async |remote| devices(remote, &groups, &filter).await).await
}

pub(super) async fn show_order(args: OrderArgs) -> Result<(), CommandError> {
    let which = if args.internal { TradeNumber::Internal } else { TradeNumber::External };
    let (group, number) = (args.group.group, args.trade_no);
    let lists = [LINES, kiosque_remote::lists::ORDERS];
    answer(&args.shown, &lists, async |remote| {
        order(remote, group.as_deref(), &number, which).await
    })
    .await
}

pub(super) async fn show_report(what: Report, args: ReportArgs) -> Result<(), CommandError> {
    let ReportArgs { group, span, device, shown } = args;
    answer(&shown, &what.lists(), async |remote| {
        let (start_timestamp, end_timestamp) = range(remote, &span, &shown).await?;
        let device_codes = device.clone();
        let filter =
            DashboardFilter { start_timestamp, end_timestamp, device_codes, group_id: None };
        let listing = report(remote, what, group.group.as_deref(), &filter).await;
        listing.map_err(with_options)
    })
    .await
}

/// Names the options of a range in place of the fields that the server found errors in.
pub(super) fn with_options(mut error: CommandError) -> CommandError {
    if let CommandError::Refused(Error::Invalid(violations)) = &mut error {
        for text in violations {
            *text = text.replace("startTimestamp", "--since").replace("endTimestamp", "--until");
        }
    }
    error
}

/// Returns the ends of a range as Unix milliseconds. Local times are in `--time-zone`, or in the
/// platform's zone.
pub(super) async fn range(
    remote: &Remote,
    span: &Span,
    shown: &Shown,
) -> Result<(Option<i64>, Option<i64>), CommandError> {
    let mut zone = shown.time_zone.clone();
    let needs_zone = [&span.since, &span.until].into_iter().flatten().any(|it| it.needs_zone());
    if zone.is_none() && needs_zone {
        zone = remote.turn(async |turn| turn.platform_zone().await).await?;
    }
    let now = Clock::System.now();
    let end = |option: &str, time: &Option<kiosque_remote::TimeText>| {
        let instant = time.as_ref().map(|time| time.instant(now, zone.as_ref())).transpose();
        let instant = instant.map_err(|error| CommandError::Usage(format!("{option}: {error}")))?;
        Ok::<_, CommandError>(instant.map(|instant| instant.0))
    };
    Ok((end("--since", &span.since)?, end("--until", &span.until)?))
}

pub(super) async fn make_call(args: CallArgs) -> Result<(), CommandError> {
    let CallArgs { path, body, group, shown } = args;
    let body = body.as_deref().map(read_body).transpose()?;
    answer(&shown, &[ANY], async |remote| {
        call(remote, group.group.as_deref(), &path, body.clone()).await
    })
    .await
}

/// Returns the body that an argument names.
fn read_body(argument: &str) -> Result<Bytes, CommandError> {
    let failed = |name: &str, error: std::io::Error| {
        CommandError::Usage(format!("cannot read {name}: {error}"))
    };
    match argument.strip_prefix('@') {
        _ if argument == "-" => {
            let body = read_bounded(std::io::stdin()).map(Bytes::from);
            body.map_err(|error| failed("standard input", error))
        }
        Some(file) => {
            let body = read_file(Path::new(file)).map(Bytes::from);
            body.map_err(|error| failed(file, error))
        }
        None => Ok(Bytes::copy_from_slice(argument.as_bytes())),
    }
}
