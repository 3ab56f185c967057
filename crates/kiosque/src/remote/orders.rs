//! `kiosque remote orders`

use std::io::{self, Stdout};

use kiosque_client::{History, UnixMs};
use kiosque_contract::OrderLine;
use kiosque_ingest::export::CsvExport;
use kiosque_model::counted;
use kiosque_remote::lists::ORDERS;
use kiosque_remote::{
    CommandError, DeviceChoice, DeviceEnd, Listing, OrderPage, OrderQuery, OrderReader, Remote,
};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::print::Printer;
use super::queries::{range, with_options};
use super::{open, repeat};
use crate::args::{OrdersArgs, RemoteFormat};
use crate::orders::have_blank_texts;
use crate::output::eprint_line;
use crate::table::printable;

/// Prints the orders of each round.
pub(super) async fn run(args: OrdersArgs) -> Result<(), CommandError> {
    let remote = open(&args.shown.access)?;
    let printer = OnceCell::new();
    let mut csv = None;
    let mut reader = None;
    repeat(args.shown.watch, async |interval| {
        let new = async || Printer::new(&args.shown, &[ORDERS], Some(&remote)).await;
        let printer = printer.get_or_try_init(new).await?;
        // Rows continue where the previous round ended; other formats print everything again.
        let mut round = match reader.take() {
            Some(before) if printer.prints_rows() => before,
            _ => OrderReader::new(query(&remote, &args).await?),
        };
        let printed = print_all(&remote, printer, &mut csv, &mut round, &args).await;
        let is_walk = args.latest.is_none();
        if is_walk && !matches!(printed, Err(CommandError::Output(_))) {
            print_ends(&round, printed.is_ok());
        }
        // Later rounds of rows could only be cut again.
        if printer.prints_rows() && round.is_at_limit() {
            *interval = None;
        }
        round.again();
        reader = Some(round);
        printed
    })
    .await
}

async fn query(remote: &Remote, args: &OrdersArgs) -> Result<OrderQuery, CommandError> {
    let (since, until) = range(remote, &args.span, &args.shown).await?;
    let devices = match args.all_devices {
        true => DeviceChoice::All,
        false => DeviceChoice::Named(args.device.clone()),
    };
    Ok(OrderQuery {
        group: args.group.group.clone(),
        devices,
        since: since.map(UnixMs),
        until: until.map(UnixMs),
        history: if args.history { History::Included } else { History::Excluded },
        limit: args.limit,
        latest: args.latest,
    })
}

/// Prints the orders of a round. CSV has one header for all rounds.
async fn print_all(
    remote: &Remote,
    printer: &Printer<'_>,
    csv: &mut Option<CsvExport<Stdout>>,
    reader: &mut OrderReader,
    args: &OrdersArgs,
) -> Result<(), CommandError> {
    let is_csv = args.shown.output == RemoteFormat::Csv && !printer.has_selection();
    if is_csv && csv.is_none() {
        *csv = Some(CsvExport::new(io::stdout())?);
    }
    let mut collected = Vec::new();
    while let Some(OrderPage { group, records }) =
        reader.next_page(remote).await.map_err(with_options)?
    {
        match csv {
            Some(csv) => write_csv(csv, &group, &records)?,
            None if printer.prints_rows() => printer.print(&Listing::of(ORDERS, records))?,
            None => collected.extend(records),
        }
    }
    let Some(csv) = csv else { return printer.print(&Listing::of(ORDERS, collected)) };
    // A list without orders has a header.
    csv.flush()?;
    // Those of failed rounds count as well: their orders are not printed again.
    let inexact = csv.take_inexact();
    if inexact > 0 {
        eprint_line!(
            "warning: {}, which an import of CSV reads as absent",
            have_blank_texts(inexact),
        );
    }
    Ok(())
}

/// Writes the orders of a page to the output.
fn write_csv(
    csv: &mut CsvExport<Stdout>,
    group: &str,
    records: &[Value],
) -> Result<(), CommandError> {
    for record in records {
        let order: OrderLine = serde_json::from_value(record.clone()).map_err(|error| {
            let id = record.get("orderId").and_then(Value::as_str).unwrap_or_default();
            CommandError::Usage(format!(
                "the order {id} cannot be written as CSV: {error}; use --output ndjson"
            ))
        })?;
        csv.write(group, &order)?;
    }
    Ok(csv.flush()?)
}

/// Prints how much of each device was read.
fn print_ends(reader: &OrderReader, is_complete: bool) {
    let mut count = 0;
    for (device, end) in &reader.ends {
        let device = printable(device);
        match end {
            DeviceEnd::Complete(certificate) => {
                count += certificate.count;
                let orders = counted(certificate.count, "order");
                eprint_line!("{device}: {orders}, complete, sha256 {}", certificate.sha256);
            }
            DeviceEnd::Cut => eprint_line!("{device}: cut by --limit; there are more orders"),
        }
    }
    let devices = reader.ends.len();
    if !is_complete {
        eprint_line!("the list of orders is incomplete: reading it failed");
    } else if devices > 1 && reader.ends.iter().all(|(_, end)| *end != DeviceEnd::Cut) {
        eprint_line!("{count} orders of {devices} devices, complete");
    }
}
