//! The results of dry runs, for people.

use kiosque_ingest::import::{Preview, Total};
use kiosque_model::{UnixMs, Zone, counted};
use kiosque_store::{Applied, EntryDifference, Moved, OwnerDifference, Unnamed};

use crate::open;
use crate::output::{self, eprint_line, print_line};
use crate::settings::Settings;
use crate::table::{ABSENT, Table, printable};

/// Ids that one line lists.
const LISTED_MAX: usize = 20;

/// Prints that data would be created.
pub(crate) fn announce_creation(settings: &Settings, zone: &Zone) -> anyhow::Result<()> {
    let place = open::place(settings)?;
    print_line!("data would be created in {place}, time zone {}", zone.name())
}

/// Prints the entries that an apply would change, and those that are not in the file.
pub(crate) fn print_differences(applied: &Applied, zone: &Zone) -> anyhow::Result<()> {
    for difference in &applied.differences {
        print_line!("{}", printable(&text_of(difference, zone)))?;
    }
    if !applied.unnamed.is_empty() {
        let unnamed: Vec<String> = applied.unnamed.iter().map(unnamed_text).collect();
        let unnamed = printable(&unnamed.join("; "));
        print_line!("not in this file, and left as they are: {unnamed}")?;
    }
    eprint_line!("dry run: nothing was applied");
    Ok(())
}

fn text_of(difference: &EntryDifference, zone: &Zone) -> String {
    let EntryDifference { kind, id, is_new, owner, fields } = difference;
    let mut parts: Vec<String> = owner.iter().map(|owner| owner_text(owner, zone)).collect();
    parts.extend(fields.iter().map(ToString::to_string));
    let change = if *is_new { "created" } else { "changed" };
    match parts.as_slice() {
        [] => format!("{kind} {id}: {change}"),
        parts => format!("{kind} {id}: {change}: {}", parts.join("; ")),
    }
}

fn unnamed_text(Unnamed { kind, first, count }: &Unnamed) -> String {
    let plural = if *count == 1 { "" } else { "s" };
    let more = more(count - first.len());
    format!("{}{plural} {}{more}", kind.name(), first.join(", "))
}

fn owner_text(owner: &OwnerDifference, zone: &Zone) -> String {
    match owner {
        OwnerDifference::New { from: None, to, .. } => format!("group {to}"),
        OwnerDifference::New { from: Some(from), to, since: None } => {
            format!("group {from} -> {to} from now on")
        }
        OwnerDifference::New { from: Some(from), to, since: Some(since) } => {
            format!("group {from} -> {to} from {} on", zone.text(*since))
        }
        OwnerDifference::Cancelled { moves, stays_with } => {
            let text = |(to, since): &(String, UnixMs)| {
                format!("to group {to} from {} on", zone.text(*since))
            };
            let noun = if moves.len() == 1 { "move" } else { "moves" };
            let moves = moves.iter().map(text).collect::<Vec<_>>().join(" and ");
            format!("cancels the planned {noun} {moves}; stays with group {stays_with}")
        }
    }
}

/// Prints the results of an import that only a dry run prints.
pub(crate) fn print_preview(preview: &Preview, zone: &Zone) -> anyhow::Result<()> {
    let mut lines = String::new();
    if let Some((first, last)) = preview.trade_starts {
        let (first, last) = (zone.text(first), zone.text(last));
        lines += &format!("trades started from {first} to {last} {}\n", zone.name());
    }
    for Total { currency, orders, amount } in preview.totals.values() {
        let orders = counted(*orders, "order");
        let amount = currency.major_of_minor(*amount);
        lines += &format!("total of {orders}: {amount} {currency}\n");
    }
    let devices = preview.devices.iter().map(|device| {
        let group = device.group.as_ref().map_or(ABSENT, |group| group.as_str());
        format!("{} ({group})", device.code)
    });
    lines += &created("device", devices);
    lines +=
        &created("product", preview.products.iter().map(|product| format!("{:?}", product.id)));
    if !preview.first_orders.is_empty() {
        lines += "the first orders, as integrators would see them:\n";
    }
    for order in &preview.first_orders {
        lines += &serde_json::to_string(order)?;
        lines.push('\n');
    }
    output::print(&lines)
}

/// Returns the line about entries that would be created, if there are any.
fn created(kind: &str, entries: impl ExactSizeIterator<Item = String>) -> String {
    let count = entries.len();
    if count == 0 {
        return String::new();
    }
    let listed: Vec<String> = entries.take(LISTED_MAX).map(|entry| printable(&entry)).collect();
    let more = more(count - listed.len());
    format!("{} would be created: {}{more}\n", counted(count, kind), listed.join(", "))
}

/// Returns the end of a list, with the number of omitted entries.
fn more(left_out: usize) -> String {
    if left_out > 0 { format!(" and {left_out} more") } else { String::new() }
}

/// Prints the rows that a move would copy.
pub(crate) fn print_move(moved: &Moved) -> anyhow::Result<()> {
    output::print(&Table::of(["TABLE", "ROWS"], &moved.tables, |(name, rows)| {
        [(*name).to_owned(), rows.to_string()]
    }))?;
    print_line!(
        "{} would be moved: {} and {} of {}",
        counted(moved.rows(), "row"),
        counted(moved.rows_of("orders"), "order"),
        counted(moved.rows_of("sessions"), "session"),
        counted(moved.rows_of("groups"), "group"),
    )?;
    eprint_line!("dry run: nothing was moved");
    Ok(())
}
