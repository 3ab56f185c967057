//! CSV reports: a mapping makes orders from the rows, which are then imported as those of an order
//! file are.

use std::collections::HashSet;
use std::io::Read;

use kiosque_model::fleet::Fleet;
use kiosque_store::{Incoming, Store};
use serde_json::Value;

use super::{
    CheckedOrder, Chunk, Import, ImportError, ImportObserver, Imported, LINES_TOGETHER, Progress,
};
use crate::csv::{self, MappedOrder, Mapping, RejectedRows};
use crate::given_order;
use crate::rejected::{Content, Rejected};
use kiosque_clock::Clock;

/// Imports a CSV report through a mapping.
///
/// # Errors
/// The report cannot be read, or the store failed.
pub async fn import_report(
    store: &Store,
    clock: &Clock,
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
        import.apply(known.add_missing(&mapped)).await?;
        for order in mapped {
            check(order, mapping, &import, &mut chunk);
        }
        import.store_chunk(chunk).await?;
    }
    import.done.left_out = report.left_out();
    Ok(import.done)
}

/// The devices and products that exist.
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

    /// Adds the devices and products that the orders need, and returns the new ones.
    fn add_missing(&mut self, mapped: &[MappedOrder]) -> Fleet {
        let mut fleet = Fleet::default();
        for order in mapped {
            if let Some(device) = &order.device
                && self.devices.insert(device.code.as_str().to_owned())
            {
                fleet.devices.push(device.clone());
            }
            for product in &order.products {
                if self.products.insert(product.id.clone()) {
                    fleet.products.push(product.clone());
                }
            }
        }
        fleet
    }
}

/// Checks a mapped order by the rules of an order file.
fn check(mapped: MappedOrder, mapping: &Mapping, import: &Import<'_>, chunk: &mut Chunk) {
    let zone = import.store.zone();
    let order = given_order::check(mapped.order.clone(), zone);
    let incoming = order.and_then(|order| {
        Incoming::of(order, zone, &import.names).map_err(|error| error.to_string())
    });
    match incoming {
        Ok(incoming) => chunk.orders.push(CheckedOrder { line: mapped.first_line, incoming }),
        Err(reason) => {
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
