//! How costs grow with the number of orders: the slope on a log-log scale between two runs.

use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::report::{Aim, Figure, Report, Row};
use crate::spread::Spread;

/// The slope up to which a cost counts as constant.
const AIM: f64 = 0.05;

/// Adds a row for each cost that the run of `earlier` has, too.
///
/// # Errors
/// When the earlier figures cannot be read, or are of as many orders.
pub(crate) fn add(report: &mut Report, earlier: &Path) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(earlier)
        .with_context(|| format!("cannot read {}", earlier.display()))?;
    let earlier: Value = serde_json::from_str(&text)?;
    let before = earlier["size"]["orders"].as_f64().context("no number of orders")?;
    let now = f64::from(u32::try_from(report.size.orders)?);
    ensure!(now > before, "--slope-from: a run with fewer orders is needed");
    let cost_before = |scenario: &str| {
        let rows = earlier["rows"].as_array()?;
        let row = rows.iter().find(|row| row["scenario"] == scenario)?;
        row["timesLimit"]["median"].as_f64()
    };
    let slopes = report.rows.iter().filter_map(|row| {
        let (times, before_times) = (row.times_limit?.median, cost_before(&row.scenario)?);
        let slope = (times / before_times).ln() / (now / before).ln();
        let mut slope_row = Row::new(format!("slope of {}", row.scenario));
        let figure = Figure::new(Spread::of([slope]), " log-log", Some(Aim::AtMost(AIM)));
        slope_row.figure = Some(figure);
        slope_row.note =
            format!("{before_times:.2} × limit at {before} orders, {times:.2} at {now}");
        Some(slope_row)
    });
    let slopes: Vec<Row> = slopes.collect();
    ensure!(!slopes.is_empty(), "--slope-from: no cost is in both runs");
    report.rows.extend(slopes);
    Ok(())
}
