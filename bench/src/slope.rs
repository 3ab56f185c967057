//! How costs grow: the slope on a log-log scale, with the number of orders between two runs, or
//! with another number in one run.

use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::report::{Aim, Report, Row};
use crate::spread::Spread;

/// Returns the slope of the line through points of a size and its cost, by least squares.
pub(crate) fn of(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(size, cost)| (size.ln(), cost.ln())).collect();
    let count = crate::measure::count(logs.len()).max(1.0);
    let mean_size = logs.iter().map(|(size, _)| size).sum::<f64>() / count;
    let mean_cost = logs.iter().map(|(_, cost)| cost).sum::<f64>() / count;
    let (mut both, mut square) = (0.0, 0.0);
    for (size, cost) in logs {
        both += (size - mean_size) * (cost - mean_cost);
        square += (size - mean_size) * (size - mean_size);
    }
    both / square
}

/// A row for a slope, or for that of each round, up to which the cost counts as constant.
pub(crate) fn row(scenario: &str, slopes: Spread, most: f64, note: String) -> Row {
    let aim = Some(Aim::AtMost(most));
    Row::about(format!("slope of {scenario}"), slopes, " log-log", aim).noted(note)
}

/// Adds a row for each cost that the run of `earlier` also has.
///
/// # Errors
/// The earlier figures cannot be read, or have the same number of orders.
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
        let times = row.times_limit?.median;
        let before_times = cost_before(&row.scenario)?;
        let slope = of(&[(before, before_times), (now, times)]);
        let note = format!("{before_times:.2} × limit at {before} orders, {times:.2} at {now}");
        let most = if row.scenario.starts_with("best-selling product") { 0.1 } else { 0.02 };
        Some(self::row(&row.scenario, Spread::of([slope]), most, note))
    });
    let slopes: Vec<Row> = slopes.collect();
    ensure!(!slopes.is_empty(), "--slope-from: no cost is in both runs");
    report.rows.extend(slopes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_is_the_exponent() {
        let square = [50.0, 1_000.0, 20_000.0].map(|size: f64| (size, 3.0 * size * size));
        assert!((of(&square) - 2.0).abs() < 1e-9);
        assert!(of(&[(50.0, 7.0), (20_000.0, 7.0)]).abs() < 1e-9);
    }
}
