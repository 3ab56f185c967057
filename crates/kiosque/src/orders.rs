//! `kiosque orders`

use std::io::{self, BufWriter, Write};
use std::ops::Range;

use anyhow::{Context, ensure};
use kiosque_contract::OrderLine;
use kiosque_ingest::export::{CSV_MAPPING, CsvExport, order_line};
use kiosque_model::order::{PayStatus, ShipmentStatus};
use kiosque_model::{DeviceCode, GroupId, UnixMs, counted};
use kiosque_store::{OrderFilter, OrdersOf, Store};

use crate::args::{OrderExport, OrderFormat, OrdersWhat};
use crate::output::{self, eprint_line};
use crate::settings::Settings;
use crate::{CommandOutcome, device, lists, open};

/// The orders to export.
struct Selected {
    of: OrdersOf,
    /// Only orders of trades that started in this span.
    started: Range<UnixMs>,
}

pub(crate) async fn run(settings: &Settings, what: OrdersWhat) -> anyhow::Result<CommandOutcome> {
    let OrdersWhat::Export(export) = what;
    if export.print_mapping {
        output::print(&CSV_MAPPING)?;
        return Ok(CommandOutcome::Complete);
    }
    let store = open::store(settings).await?;
    let selected = selected(&store, &export)?;
    check_known(&store, &selected.of).await?;
    let out = BufWriter::new(io::stdout().lock());
    let exported = match export.output {
        OrderFormat::Ndjson => write_ndjson(&store, &selected, out).await,
        OrderFormat::Csv => write_csv(&store, &selected, out).await,
    };
    match exported {
        Err(error) if is_closed(&error) => Ok(CommandOutcome::Complete),
        Ok(0) => {
            let damage = store.inventory().damage_of_lists().await?;
            let Some(first) = damage.first() else { return Ok(CommandOutcome::Complete) };
            eprint_line!(
                "kiosque: orders may be missing from the export, since the lists of groups and \
                 devices are damaged: {first}; the last backup may have them"
            );
            Ok(CommandOutcome::Partial)
        }
        Ok(damaged) => {
            let (are, them) = if damaged == 1 { ("is", "it") } else { ("are", "them") };
            eprint_line!(
                "kiosque: {} {are} damaged and {are} not in the export; the last backup may have \
                 {them}",
                counted(damaged, "order"),
            );
            Ok(CommandOutcome::Partial)
        }
        Err(error) if error.is::<io::Error>() => Err(error.context(output::CANNOT_WRITE)),
        Err(error) => Err(error),
    }
}

/// Returns whether the reader of the output has closed it.
fn is_closed(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Returns the number of damaged orders, which are not written.
async fn write_ndjson(
    store: &Store,
    selected: &Selected,
    mut out: impl Write,
) -> anyhow::Result<usize> {
    let damaged = each_order(store, selected, |_, order| {
        serde_json::to_writer(&mut out, order).map_err(io::Error::from)?;
        out.write_all(b"\n")
    })
    .await?;
    out.flush()?;
    Ok(damaged)
}

/// Returns the number of damaged orders, which are not written.
async fn write_csv(store: &Store, selected: &Selected, out: impl Write) -> anyhow::Result<usize> {
    let mut csv = CsvExport::new(out)?;
    let damaged = each_order(store, selected, |group, order| csv.write(group, order)).await?;
    csv.flush()?;
    let inexact = csv.take_inexact();
    if inexact > 0 {
        eprint_line!(
            "warning: {}, which CSV cannot represent; an import changes them. Use --output ndjson",
            have_blank_texts(inexact),
        );
    }
    Ok(damaged)
}

/// Returns how many orders have blank texts, for a warning.
pub(crate) fn have_blank_texts(orders: u64) -> String {
    let have = if orders == 1 { "has" } else { "have" };
    format!("{} {have} blank texts", counted(orders, "order"))
}

/// Returns the orders that the options select.
fn selected(store: &Store, export: &OrderExport) -> anyhow::Result<Selected> {
    let group = export.group.clone().map(GroupId::parse).transpose().context("--group")?;
    let device = export.device.clone().map(DeviceCode::parse).transpose().context("--device")?;
    let time =
        |text: &Option<String>| text.as_deref().map(|text| store.zone().parse_time_or_date(text));
    let since = time(&export.since).transpose().context("--since")?.unwrap_or(UnixMs(i64::MIN));
    let until = time(&export.until).transpose().context("--until")?.unwrap_or(UnixMs(i64::MAX));
    ensure!(since <= until, "--until is before --since");
    let states = |words: &[&str]| format!("must be one or more of {}", words.join(", "));
    let payment = export.payment.as_deref().map(|text| {
        PayStatus::of_words(text).with_context(|| states(PayStatus::WORDS)).context("--payment")
    });
    let shipment = export.shipment.as_deref().map(|text| {
        let states = || states(ShipmentStatus::WORDS);
        ShipmentStatus::of_words(text).with_context(states).context("--shipment")
    });
    let filter = OrderFilter {
        payment: payment.transpose()?.unwrap_or_default(),
        shipment: shipment.transpose()?.unwrap_or_default(),
        counted: None,
    };
    Ok(Selected { of: OrdersOf { group, device, filter }, started: since..until })
}

/// Fails if the group or the device does not exist. Lists that are damaged may lack one that does:
/// then the export names the damage at its end.
async fn check_known(store: &Store, of: &OrdersOf) -> anyhow::Result<()> {
    let mut unknown = None;
    if let Some(code) = &of.device
        && !store.inventory().has_device(code).await?
    {
        unknown = Some(device::unknown(code));
    }
    if let Some(group) = &of.group
        && !store.inventory().has_group(group).await?
    {
        unknown = Some(lists::unknown_group(group));
    }
    let Some(unknown) = unknown else { return Ok(()) };
    ensure!(!store.inventory().damage_of_lists().await?.is_empty(), unknown);
    Ok(())
}

/// Visits the orders to export, each with its group. Prints the damaged ones, regardless of their
/// time, and returns their number.
async fn each_order(
    store: &Store,
    selected: &Selected,
    mut visit: impl FnMut(&str, &OrderLine) -> io::Result<()>,
) -> anyhow::Result<usize> {
    let mut damaged = 0;
    let read = async |part| store.inventory().orders(selected.of.clone(), part).await;
    output::each(read, |order| {
        match order {
            Ok(order) if selected.started.contains(&order.trade_start) => {
                let group = order.item.group_id.clone();
                visit(&group, &order_line(order, store.zone())?)?;
            }
            Ok(_) => {}
            Err(order) => {
                eprint_line!("kiosque: not exported: {order}");
                damaged += 1;
            }
        }
        Ok(())
    })
    .await?;
    Ok(damaged)
}
