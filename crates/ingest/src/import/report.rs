//! CSV reports: a mapping converts the rows to orders, which are then imported like an order file.

use std::collections::hash_map::Entry;
use std::io::Read;
use std::sync::Arc;

use kiosque_model::audit::CommandRun;
use kiosque_model::fleet::ProductEntry;
use kiosque_store::{Incoming, Store};

use super::alike::{OPENING_LINES, check_opening};
use super::missing_entries::MissingEntries;
use super::ndjson_chunk::BLOCK;
use super::{Chunk, Import, ImportError, ImportObserver, ImportRules, Imported, Progress, notify};
use crate::csv::{self, MappedOrder, Mapping, RejectedRows};
use crate::given_order::{self, DateRules};
use crate::rejected::Rejected;
use crate::storage_order::CheckedOrder;
use kiosque_clock::Clock;

/// Imports a CSV report through a mapping. `run` is the origin of the orders, and of the devices
/// and products that it creates.
///
/// # Errors
/// The report is a file of another kind, or cannot be read, or the store failed.
pub async fn import_report(
    store: &Store,
    clock: &Clock,
    rules: ImportRules,
    input: impl Read,
    mapping: &Mapping,
    run: &CommandRun,
    observer: &mut dyn ImportObserver,
) -> Result<Imported, ImportError> {
    let mut import = Import::start(store, clock, run, observer).await?;
    import.missing = MissingEntries::read(store).await?;
    let zone = store.zone();
    let mut report = csv::read(input, mapping, zone)
        .map_err(|errors| ImportError::Refused(errors.join("\n")))?;
    import.rows = report.rows_of_orders();
    // A report has at most as many rows as the lines of a file that are sorted together.
    let mut chunk = Chunk::default();
    let dates = DateRules { zone, now: clock.now(), lead_max: rules.lead_max };
    let mut read = 0_usize;
    while let Some(item) = report.next() {
        match item {
            Ok(order) => import.check(order, &dates, &mut chunk),
            Err(RejectedRows { rows, reason }) => {
                let of_orders = import.rows.as_ref();
                chunk.rejected.extend(of_orders.map(|all| all.rejected(&rows, None, &reason)));
            }
        }
        read += 1;
        if read == OPENING_LINES {
            check_opening(store, &import.missing, &chunk).await?;
        }
        if read.is_multiple_of(BLOCK) {
            notify(import.observer, Progress::Read(report.rows()))?;
        }
    }
    notify(import.observer, Progress::Read(report.rows()))?;
    import.note_cut_line(report.cut_line(), rules.strictness, &mut chunk);
    import.store_chunk(chunk).await?;
    import.done.lines = report.rows();
    import.done.left_out = report.left_out();
    import.finish(rules.strictness).await
}

impl Import<'_> {
    /// Checks a mapped order by the rules of an order file. Only a valid order adds its device and
    /// its products to those created with the orders.
    fn check(&mut self, mapped: MappedOrder, dates: &DateRules<'_>, chunk: &mut Chunk) {
        let names = Arc::make_mut(&mut self.names);
        let mut named = Vec::new();
        for ProductEntry { id, name, .. } in &mapped.products {
            if let (Some(name), Entry::Vacant(entry)) = (name, names.entry(id.clone())) {
                entry.insert(name.clone());
                named.push(id);
            }
        }
        let MappedOrder { first_line, .. } = mapped;
        let order_id = mapped.order.order_id.clone();
        let order = given_order::check(mapped.order, dates);
        let incoming = order.and_then(|order| {
            let device = self.missing.new_device(order.device_code.as_str(), mapped.device)?;
            let incoming = Incoming::of(order, dates.zone, names);
            Ok((incoming.map_err(|error| error.to_string())?, device))
        });
        match incoming {
            Ok((incoming, device)) => {
                let code = incoming.device_code.as_str();
                self.missing.add(first_line, code, device, mapped.products);
                if let Some(rows) = &mut self.rows {
                    rows.add(first_line, mapped.rows);
                }
                chunk.orders.push(CheckedOrder { line: first_line, incoming });
            }
            Err(reason) => {
                for id in named {
                    names.remove(id);
                }
                let reason = format!("line {first_line}: {reason}");
                let of_orders = self.rows.as_ref();
                let rejected = of_orders.map(|all| all.rejected(&mapped.rows, order_id, &reason));
                chunk.rejected.extend(rejected);
            }
        }
    }

    /// Returns an order that is valid and was not stored.
    pub(super) fn rejected(&mut self, line: u64, incoming: &Incoming, reason: &str) -> Rejected {
        let Some(rows) = &mut self.rows else {
            return Rejected::order(line, incoming, self.store.zone(), reason);
        };
        let order_id = Some(incoming.order_id.as_str().to_owned());
        let of_order = rows.remove(line);
        rows.rejected(&of_order, order_id, &format!("line {line}: {reason}"))
    }
}
