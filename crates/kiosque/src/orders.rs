//! `kiosque orders`

use std::io::{self, BufWriter, Write};

use anyhow::{Context, ensure};
use kiosque_contract::OrderLine;
use kiosque_ingest::export::{CSV_MAPPING, CsvExport, order_line};
use kiosque_model::order::{PayStatus, ShipmentStatus};
use kiosque_model::{DeviceCode, GroupId, UnixMs};
use kiosque_store::{Listed, Listing, OrderFilter, OrdersOf, Store, WhenAbsent};

use crate::args::{OrderExport, OrderFormat, OrdersWhat};
use crate::output::{self, eprint_line};
use crate::settings::Settings;
use crate::{CommandOutcome, open};

/// Orders that one read returns.
const PART: usize = 1_000;

pub(crate) async fn run(settings: &Settings, what: OrdersWhat) -> anyhow::Result<CommandOutcome> {
    let OrdersWhat::Export(export) = what;
    if export.print_mapping {
        output::print(&CSV_MAPPING)?;
        return Ok(CommandOutcome::Complete);
    }
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    let out = BufWriter::new(io::stdout().lock());
    let exported = match export.output {
        OrderFormat::Ndjson => write_ndjson(&store, &export, out).await,
        OrderFormat::Csv => write_csv(&store, &export, out).await,
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
            eprint_line!(
                "kiosque: {damaged} orders are damaged and are not in the export; the last \
                 backup may have them"
            );
            Ok(CommandOutcome::Partial)
        }
        Err(error) => Err(error),
    }
}

/// Returns whether the reader of the output has closed it.
fn is_closed(error: &anyhow::Error) -> bool {
    let fault = error.downcast_ref::<io::Error>();
    fault.is_some_and(|fault| fault.kind() == io::ErrorKind::BrokenPipe)
}

/// Returns the number of damaged orders, which are not written.
async fn write_ndjson(
    store: &Store,
    export: &OrderExport,
    mut out: impl Write,
) -> anyhow::Result<usize> {
    let damaged = each_order(store, export, |_, order| {
        serde_json::to_writer(&mut out, order).map_err(io::Error::from)?;
        out.write_all(b"\n")
    })
    .await?;
    out.flush()?;
    Ok(damaged)
}

/// Returns the number of damaged orders, which are not written.
async fn write_csv(store: &Store, export: &OrderExport, out: impl Write) -> anyhow::Result<usize> {
    let mut csv = CsvExport::new(out)?;
    let damaged = each_order(store, export, |group, order| csv.write(group, order)).await?;
    let inexact = csv.finish()?;
    if inexact > 0 {
        eprint_line!(
            "warning: {inexact} orders have blank texts, which CSV cannot represent; an import \
             changes them. Use --output ndjson"
        );
    }
    Ok(damaged)
}

/// Visits the orders to export, each with its group. Prints the damaged ones, regardless of their
/// time, and returns their number.
async fn each_order(
    store: &Store,
    export: &OrderExport,
    mut visit: impl FnMut(&str, &OrderLine) -> io::Result<()>,
) -> anyhow::Result<usize> {
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
    let of = OrdersOf { group, device, filter };
    let (mut after, mut damaged) = (None, 0);
    loop {
        let part = Listing { after, limit: PART };
        let Listed { entries, next } = store.inventory().orders(of.clone(), part).await?;
        for order in entries {
            match order {
                Ok(order) if (since..until).contains(&order.trade_start) => {
                    let group = order.item.group_id.clone();
                    visit(&group, &order_line(order, store.zone())?)?;
                }
                Ok(_) => {}
                Err(order) => {
                    eprint_line!("kiosque: not exported: {order}");
                    damaged += 1;
                }
            }
        }
        match next {
            Some(next) => after = Some(next),
            None => return Ok(damaged),
        }
    }
}
