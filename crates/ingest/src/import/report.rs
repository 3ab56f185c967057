//! CSV reports: a mapping makes orders from the rows, which are then imported as those of an order
//! file are.

use std::collections::hash_map::Entry;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use kiosque_model::audit::CommandRun;
use kiosque_model::fleet::ProductEntry;
use kiosque_store::{Incoming, Store};
use serde_json::Value;

use super::missing_entries::MissingEntries;
use super::{Chunk, Import, ImportError, ImportObserver, Imported, LINES_TOGETHER, Progress};
use crate::csv::{self, MappedOrder, Mapping, RejectedRows};
use crate::given_order::{self, DateRules};
use crate::rejected::{Content, Rejected};
use crate::storage_order::CheckedOrder;
use kiosque_clock::Clock;

/// Imports a CSV report through a mapping. Orders with a date further ahead than `lead_max` are
/// rejected. `run` is the origin of the devices and products that it creates.
///
/// # Errors
/// The report cannot be read, or the store failed.
pub async fn import_report(
    store: &Store,
    clock: &Clock,
    lead_max: Duration,
    input: impl Read,
    mapping: &Mapping,
    run: &CommandRun,
    observer: &mut dyn ImportObserver,
) -> Result<Imported, ImportError> {
    let mut import = Import::start(store, clock, observer).await?;
    import.missing = MissingEntries::read(store).await?;
    import.run = run.clone();
    let zone = store.zone();
    let mut report = csv::read(input, mapping, zone)
        .map_err(|faults| ImportError::Mapping(faults.join("\n")))?;
    loop {
        let mut mapped = Vec::new();
        let mut chunk = Chunk::default();
        let mut read = 0_usize;
        for item in report.by_ref().take(LINES_TOGETHER) {
            read += 1;
            match item {
                Ok(order) => mapped.push(order),
                Err(rows) => chunk.rejected.push(rejected(rows)),
            }
        }
        if read == 0 {
            break;
        }
        import.observer.progress(Progress::Read(report.rows()));
        let dates = DateRules { zone, now: clock.now(), lead_max };
        for order in mapped {
            check(order, mapping, &dates, &mut import, &mut chunk);
        }
        import.store_chunk(chunk).await?;
    }
    import.done.left_out = report.left_out();
    import.finish().await
}

/// Checks a mapped order by the rules of an order file. Only a valid order adds its device and its
/// products to those that are created with the orders.
fn check(
    mapped: MappedOrder,
    mapping: &Mapping,
    dates: &DateRules<'_>,
    import: &mut Import<'_>,
    chunk: &mut Chunk,
) {
    let names = Arc::make_mut(&mut import.names);
    let mut named = Vec::new();
    for ProductEntry { id, name, .. } in &mapped.products {
        if let (Some(name), Entry::Vacant(entry)) = (name, names.entry(id.clone())) {
            entry.insert(name.clone());
            named.push(id);
        }
    }
    let order = given_order::check(mapped.order.clone(), dates);
    let incoming = order.and_then(|order| {
        Incoming::of(order, dates.zone, names).map_err(|error| error.to_string())
    });
    match incoming {
        Ok(incoming) => {
            import.missing.add(&mapped);
            chunk.orders.push(CheckedOrder { line: mapped.first_line, incoming });
        }
        Err(reason) => {
            for id in named {
                names.remove(id);
            }
            let order = Value::Object(mapping.to_json(&mapped.order));
            chunk.rejected.push(Rejected::mapped(mapped.first_line, order, reason));
        }
    }
}

fn rejected(rows: RejectedRows) -> Rejected {
    Rejected {
        line: rows.lines.first().copied().unwrap_or_default(),
        order_id: None,
        reason: rows.reason,
        content: Content::Rows(rows.rows),
    }
}
