//! CSV reports: a mapping makes orders from the rows, which are then imported as those of an order
//! file are.

use std::collections::HashSet;
use std::collections::hash_map::Entry;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use kiosque_model::fleet::{DeviceEntry, Fleet, ProductEntry};
use kiosque_store::{Incoming, Store};
use serde_json::Value;

use super::{Chunk, Import, ImportError, ImportObserver, Imported, LINES_TOGETHER, Progress};
use crate::csv::{self, MappedOrder, Mapping, RejectedRows};
use crate::given_order::{self, DateRules};
use crate::rejected::{Content, Rejected};
use crate::storage_order::CheckedOrder;
use kiosque_clock::Clock;

/// Imports a CSV report through a mapping. Orders with a date further ahead than `lead_max` are
/// rejected.
///
/// # Errors
/// The report cannot be read, or the store failed.
pub async fn import_report(
    store: &Store,
    clock: &Clock,
    lead_max: Duration,
    input: impl Read,
    mapping: &Mapping,
    observer: &mut dyn ImportObserver,
) -> Result<Imported, ImportError> {
    let mut import = Import::start(store, clock, observer).await?;
    let mut known = KnownFleet::read(store).await?;
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
        let mut missing = Fleet::default();
        for order in mapped {
            check(order, mapping, &dates, &mut import, &mut chunk, |order| {
                known.add(order, &mut missing)
            });
        }
        import.create(missing).await?;
        import.store_chunk(chunk).await?;
    }
    import.done.left_out = report.left_out();
    Ok(import.done)
}

/// The devices and products that exist, or will when the chunk is stored.
struct KnownFleet {
    devices: HashSet<String>,
    products: HashSet<String>,
}

impl KnownFleet {
    async fn read(store: &Store) -> Result<KnownFleet, ImportError> {
        let devices = store.device_codes().await?;
        let products = store.product_names().await?.into_keys().collect();
        Ok(KnownFleet { devices, products })
    }

    /// Adds the entries that an order needs to those that do not exist yet, each once.
    fn add(&mut self, order: &MappedOrder, missing: &mut Fleet) {
        let device = order.device.iter();
        let is_new = |device: &&DeviceEntry| self.devices.insert(device.code.as_str().to_owned());
        missing.devices.extend(device.filter(is_new).cloned());
        let is_new = |product: &&ProductEntry| self.products.insert(product.id.clone());
        missing.products.extend(order.products.iter().filter(is_new).cloned());
    }
}

/// Checks a mapped order by the rules of an order file. Only a valid order gets its device and
/// its products: `on_valid` adds them to those that are created.
fn check(
    mapped: MappedOrder,
    mapping: &Mapping,
    dates: &DateRules<'_>,
    import: &mut Import<'_>,
    chunk: &mut Chunk,
    on_valid: impl FnOnce(&MappedOrder),
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
            on_valid(&mapped);
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
