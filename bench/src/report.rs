//! The table of measurements, for people (Markdown) and for programs (JSON).

use std::path::Path;

use serde::Serialize;

use crate::load::LoadResult;
use crate::options::{Effort, Size};
use crate::spread::Spread;

/// The aim of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Aim {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
}

impl Aim {
    fn is_met(self, value: f64) -> bool {
        match self {
            Aim::AtMost(bound) => value <= bound,
            Aim::AtLeast(bound) => value >= bound,
        }
    }
}

/// The figure of a row that has an aim, and its aim.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Figure {
    /// The measured value: the median of its rounds.
    pub(crate) value: Spread,
    /// Its unit, written behind it.
    pub(crate) unit: &'static str,
    /// Its aim, if it has one.
    pub(crate) aim: Option<Aim>,
    /// Whether it is.
    pub(crate) met: Option<bool>,
}

impl Figure {
    /// A figure compared with an aim.
    pub(crate) fn new(value: Spread, unit: &'static str, aim: Option<Aim>) -> Figure {
        Figure { value, unit, aim, met: aim.map(|aim| aim.is_met(value.median)) }
    }
}

/// One scenario of the table. Columns without a figure remain empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    /// The scenario's name.
    pub(crate) scenario: String,
    /// CPU time of the server for each request, in microseconds.
    pub(crate) cpu_micros: Option<Spread>,
    /// Successful answers per second (orders per second for imports).
    pub(crate) per_second: Option<Spread>,
    /// Half of the answers took at most this, in microseconds.
    pub(crate) p50_micros: Option<Spread>,
    /// 99 of 100 answers took at most this, in microseconds.
    pub(crate) p99_micros: Option<Spread>,
    /// CPU time as a multiple of the limit's, round by round.
    pub(crate) times_limit: Option<Spread>,
    /// The same, compared with a limit whose answer has the same length.
    pub(crate) times_sending: Option<Spread>,
    /// The bytes of an answer.
    pub(crate) bytes: Option<usize>,
    /// The figure that the row is about.
    pub(crate) figure: Option<Figure>,
    /// A remark below the table.
    pub(crate) note: String,
}

impl Row {
    /// Returns a row that only has its name.
    pub(crate) fn new(scenario: impl Into<String>) -> Row {
        Row { scenario: scenario.into(), ..Row::default() }
    }

    /// Returns a row about one figure.
    pub(crate) fn about(
        scenario: impl Into<String>,
        value: Spread,
        unit: &'static str,
        aim: Option<Aim>,
    ) -> Row {
        Row { figure: Some(Figure::new(value, unit, aim)), ..Row::new(scenario) }
    }

    /// Sets the remark below the table.
    pub(crate) fn noted(self, note: impl Into<String>) -> Row {
        Row { note: note.into(), ..self }
    }

    /// Sets the rates and latencies of some rounds.
    pub(crate) fn answers<'a>(
        mut self,
        rounds: impl Iterator<Item = &'a LoadResult> + Clone,
    ) -> Row {
        let at = |percent| Spread::of(rounds.clone().map(|it| it.latencies.percentile(percent)));
        (self.p50_micros, self.p99_micros) = (Some(at(50)), Some(at(99)));
        self.per_second = Some(Spread::of(rounds.map(LoadResult::rate)));
        self
    }

    /// Sets the rates and latencies of some rounds, of which the p99 in ms is the figure.
    pub(crate) fn p99_of(self, rounds: &[LoadResult], aim: Option<Aim>) -> Row {
        let p99 = rounds.iter().map(|round| round.latencies.percentile(99) / 1e3);
        let mut row = self.answers(rounds.iter());
        row.figure = Some(Figure::new(Spread::of(p99), " ms p99", aim));
        row
    }

    fn cells(&self) -> [String; COLUMNS] {
        let whole =
            |spread: Option<Spread>| spread.map_or(String::new(), |s| format!("{:.0}", s.median));
        let (figure, aim, verdict) = match &self.figure {
            None => Default::default(),
            Some(figure) => (
                format!("{}{}", short(figure.value.median), figure.unit),
                figure.aim.map_or(String::new(), |aim| match aim {
                    Aim::AtMost(bound) => format!("≤ {}{}", short(bound), figure.unit),
                    Aim::AtLeast(bound) => format!("≥ {}{}", short(bound), figure.unit),
                }),
                figure.met.map_or("", |met| if met { "met" } else { "**missed**" }).to_owned(),
            ),
        };
        [
            self.scenario.clone(),
            self.cpu_micros.map_or(String::new(), ranged),
            whole(self.per_second),
            whole(self.p50_micros),
            whole(self.p99_micros),
            self.times_limit.map_or(String::new(), ranged),
            self.times_sending.map_or(String::new(), ranged),
            self.bytes.map_or(String::new(), |bytes| bytes.to_string()),
            figure,
            aim,
            verdict,
        ]
    }
}

/// Decimals for small figures, none for whole and large ones.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        _ if value.fract() == 0.0 => 0,
        small if small < 10.0 => 2,
        middle if middle < 1_000.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$}")
}

fn ranged(spread: Spread) -> String {
    spread.shown(if spread.median < 10.0 { 2 } else { 1 }, "")
}

const COLUMNS: usize = 11;
const HEADS: [&str; COLUMNS] = [
    "scenario",
    "server CPU us/request",
    "per second",
    "p50 us",
    "p99 us",
    "× limit",
    "× sending",
    "bytes",
    "figure",
    "aim",
    "verdict",
];

/// All measurements of one run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// Cores of the machine, shared by server and load generator.
    pub(crate) cores: usize,
    /// The size of the data.
    pub(crate) size: Size,
    /// How long and how intensively it was measured.
    pub(crate) effort: Effort,
    /// The scenarios.
    pub(crate) rows: Vec<Row>,
}

impl Report {
    /// Returns the table in Markdown, with the remarks below it.
    pub(crate) fn table(&self) -> String {
        let rows: Vec<_> = self.rows.iter().map(Row::cells).collect();
        let mut widths = HEADS.map(width);
        for row in &rows {
            for (wide, cell) in widths.iter_mut().zip(row) {
                *wide = width(cell).max(*wide);
            }
        }
        let mut table = String::new();
        push_row(&mut table, &widths, &HEADS);
        push_row(&mut table, &widths, &widths.map(|wide| "-".repeat(wide)));
        for row in &rows {
            push_row(&mut table, &widths, row);
        }
        table.push('\n');
        for row in self.rows.iter().filter(|row| !row.note.is_empty()) {
            table.push_str(&format!("- {}: {}\n", row.scenario, row.note));
        }
        table.push_str(&format!(
            "- {} cores for server and load generator together; {} rounds of {} s; {} connections; \
             medians, with the smallest and the largest round in brackets.\n",
            self.cores, self.effort.rounds, self.effort.seconds, self.effort.connections
        ));
        table
    }

    /// Writes everything to a file, as JSON.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write_json(&self, path: &Path) -> anyhow::Result<()> {
        std::fs::write(path, serde_json::to_string_pretty(self)? + "\n")?;
        Ok(())
    }
}

fn width(cell: &str) -> usize {
    cell.chars().count()
}

fn push_row<T: AsRef<str>>(table: &mut String, widths: &[usize; COLUMNS], cells: &[T; COLUMNS]) {
    for (wide, cell) in widths.iter().zip(cells) {
        table.push_str(&format!("| {:<wide$} ", cell.as_ref()));
    }
    table.push_str("|\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(value: f64) -> Spread {
        Spread::of([value])
    }

    #[test]
    fn an_aim_is_met_or_missed_by_the_median() {
        let met = |value, aim| Figure::new(spread(value), "", Some(aim)).met;
        assert_eq!(met(2.4, Aim::AtMost(2.4)), Some(true));
        assert_eq!(met(2.41, Aim::AtMost(2.4)), Some(false));
        assert_eq!(met(0.9, Aim::AtLeast(0.9)), Some(true));
        assert_eq!(met(0.89, Aim::AtLeast(0.9)), Some(false));
        assert_eq!(Figure::new(spread(1.0), "", None).met, None);
    }

    #[test]
    fn the_table_has_a_line_for_each_row_and_one_width() {
        let mut row = Row::new("order page");
        row.times_limit = Some(spread(2.5));
        row.figure = Some(Figure::new(spread(2.5), " ×", Some(Aim::AtMost(2.4))));
        row.note = "why".to_owned();
        let effort = Effort { rounds: 1, seconds: 1.0, connections: 1, page_rate: 1.0 };
        let rows = vec![Row::new("limit"), row];
        let report = Report { cores: 2, size: Size::small(), effort, rows };
        let table = report.table();
        let lines: Vec<&str> = table.lines().take(4).collect();
        assert!(lines.iter().all(|line| width(line) == width(lines[0]) && line.starts_with("| ")));
        assert!(lines[3].contains("2.50 × ") && lines[3].contains("≤ 2.40 ×"));
        assert!(lines[3].contains("missed") && table.contains("- order page: why"));
    }
}
