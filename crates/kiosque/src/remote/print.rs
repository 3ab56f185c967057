//! Answers as tables, JSON, NDJSON or CSV.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};

use kiosque_clock::Clock;
use kiosque_remote::lists::List;
use kiosque_remote::{Column, CommandError, Display, Kind, Layout, Listing, Part, Remote};
use serde_json::Value;

use super::chart;
use crate::args::{RemoteFormat, Shown};
use crate::output::CLEAR;
use crate::table::{Table, cell, cut, printable};

/// The width of a terminal whose size is unknown.
const TERMINAL_WIDTH: usize = 80;

/// Prints answers in the format of a command.
pub(super) struct Printer<'s> {
    shown: &'s Shown,
    columns: Vec<&'static Column>,
    display: Display,
    /// The width of the terminal; `None` for a pipe or a file.
    width: Option<usize>,
    /// Whether the CSV header was printed.
    has_header: Cell<bool>,
}

impl<'s> Printer<'s> {
    /// Returns a printer of lists with the columns of the first of `lists`. The platform's time
    /// zone is requested if a table needs it.
    pub(super) async fn new(
        shown: &'s Shown,
        lists: &[List],
        remote: Option<&Remote>,
    ) -> Result<Printer<'s>, CommandError> {
        let list = lists.first().copied().unwrap_or_default();
        let columns = match shown.columns.is_empty() {
            true => usual(list),
            false => Part::select(list, &shown.columns)?,
        };
        let mut display = Display { zone: shown.time_zone.clone(), platform: None };
        let others = lists.iter().skip(1).flat_map(|list| list.iter());
        let mut all = columns.iter().copied().chain(others);
        let needs_platform = |column: &Column| match column.kind {
            Kind::Instant => shown.time_zone.is_none(),
            Kind::WallTime => shown.time_zone.is_some(),
            _ => false,
        };
        if let Some(remote) = remote
            && shown.output == RemoteFormat::Table
            && all.any(needs_platform)
        {
            display.platform = remote.turn(async |turn| turn.platform_zone().await).await?;
        }
        let width = io::stdout().is_terminal().then(|| {
            let size = terminal_size::terminal_size();
            size.map_or(TERMINAL_WIDTH, |(width, _)| usize::from(width.0))
        });
        Ok(Printer { shown, columns, display, width, has_header: Cell::new(false) })
    }

    /// Returns whether rows can be printed as they arrive.
    pub(super) fn prints_rows(&self) -> bool {
        matches!(self.shown.output, RemoteFormat::Ndjson | RemoteFormat::Csv)
    }

    /// Returns whether columns were named.
    pub(super) fn has_selection(&self) -> bool {
        !self.shown.columns.is_empty()
    }

    /// Prints an answer; a table of `--watch` is printed below the time, on a terminal in place of
    /// the previous one.
    pub(super) fn print(&self, listing: &Listing) -> Result<(), CommandError> {
        let mut text = String::new();
        if self.shown.watch.is_some() && self.shown.output == RemoteFormat::Table {
            text.push_str(if self.width.is_some() { CLEAR } else { "" });
            text.push_str(&self.display.instant(Clock::System.now()));
            text.push('\n');
        }
        let main = listing.main().filter(|_| self.has_selection());
        let selected = main.map(|part| part.only(&self.columns));
        match (self.shown.output, selected) {
            (RemoteFormat::Table, _) => text.push_str(&self.table(listing)),
            (RemoteFormat::Json, Some(rows)) => text.push_str(&line(&Value::Array(rows))),
            (RemoteFormat::Json, None) => text.push_str(&line(&listing.data)),
            (RemoteFormat::Ndjson, rows) => {
                text.extend(rows.as_ref().unwrap_or(&listing.records).iter().map(line));
            }
            (RemoteFormat::Csv, _) => text.push_str(&self.csv(listing)?),
        }
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    fn table(&self, listing: &Listing) -> String {
        let mut text = String::new();
        for part in &listing.parts {
            if !text.is_empty() {
                text.push('\n');
            }
            let is_main = listing.main().is_some_and(|main| std::ptr::eq(main, part));
            let columns = if is_main { self.columns.clone() } else { usual(part.list) };
            text.push_str(&match (part.layout, self.width) {
                (Layout::Fields, _) => self.fields(part, &columns),
                (Layout::Bars, Some(width)) if !self.has_selection() => {
                    chart::chart(&part.rows, width, chart::blocks(|name| std::env::var(name).ok()))
                }
                (Layout::Rows | Layout::Bars, _) => self.rows(part, &columns),
            });
        }
        text
    }

    fn rows(&self, part: &Part, columns: &[&Column]) -> String {
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let mut table = Table::new(&names);
        let amounts = columns.iter().enumerate().filter(|(_, column)| column.is_amount());
        table.amounts = amounts.map(|(at, _)| at).collect();
        table.width_max = self.width;
        for row in &part.rows {
            let cells: Vec<String> =
                columns.iter().map(|column| cell(self.display.cell(column, row))).collect();
            table.add(&cells);
        }
        table.to_string()
    }

    /// Returns a line for each field.
    fn fields(&self, part: &Part, columns: &[&Column]) -> String {
        let width = columns.iter().map(|column| column.name.len()).max().unwrap_or_default();
        let mut text = String::new();
        for row in &part.rows {
            for column in columns {
                let value = printable(&cell(self.display.cell(column, row)));
                let line = format!("{:<width$}  {value}", column.name);
                text.push_str(&self.width.map_or_else(|| line.clone(), |width| cut(&line, width)));
                text.push('\n');
            }
        }
        text
    }

    /// Returns the rows of the main part, with all columns unless some are selected.
    fn csv(&self, listing: &Listing) -> Result<String, CommandError> {
        let Some(part) = listing.main() else { return Ok(String::new()) };
        let columns: Vec<&Column> = match self.has_selection() {
            true => self.columns.clone(),
            false => part.list.iter().collect(),
        };
        let mut out = csv::Writer::from_writer(Vec::new());
        if !self.has_header.replace(true) {
            out.write_record(columns.iter().map(|column| column.name)).map_err(io::Error::from)?;
        }
        for row in &part.rows {
            let cells = columns.iter().map(|column| column.csv_cell(row));
            out.write_record(cells.map(String::into_bytes)).map_err(io::Error::from)?;
        }
        let out = out.into_inner().map_err(|error| error.into_error())?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

/// Returns the default columns of a table.
fn usual(list: List) -> Vec<&'static Column> {
    list.iter().filter(|column| column.is_usual).collect()
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}
