//! A figure by day and hour.

use kiosque_model::Day;
use maud::{Markup, html};

use crate::components::{Column, table};
use crate::format;
use crate::frame::Frame;

use super::{FIGURES, short};

const LEFT: usize = 52;
const TOP: usize = 18;
const CELL: usize = 16;
/// The shades of cells that are not 0.
const LEVELS: usize = 4;

/// Renders the counts of each hour of some days, the first day first. `summary` is the subject of
/// the chart and `heading` the heading of the days.
pub(crate) fn hours(
    frame: &Frame<'_>,
    summary: &str,
    heading: &str,
    days: &[(Day, [i64; 24])],
) -> Markup {
    let (width, height) = (LEFT + 24 * CELL, TOP + days.len() * CELL);
    html! {
        svg.hours viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(summary) {
            @for hour in (0..24).step_by(6) {
                text.label x=(LEFT + hour * CELL) y="12" { (format!("{hour:02}")) }
            }
            @for (at, (day, _)) in days.iter().enumerate() {
                text.label x="0" y=(TOP + at * CELL + 12) { (short(*day)) }
            }
            @for level in 0..=LEVELS {
                path class=(format!("level-{level}")) d=(cells(days, level)) {}
            }
        }
        (figures(frame, summary, heading, days))
    }
}

fn figures(frame: &Frame<'_>, summary: &str, heading: &str, days: &[(Day, [i64; 24])]) -> Markup {
    let hours: Vec<String> = (0..24).map(|hour| format!("{hour:02}")).collect();
    let columns = hours.iter().map(|hour| Column::number(hour));
    let columns: Vec<Column<'_>> = std::iter::once(Column::text(heading)).chain(columns).collect();
    let table = table(summary, &columns, days, |(day, counts)| {
        html! {
            th scope="row" { (day) }
            @for count in counts { td { (format::count(*count)) } }
        }
    });
    html! {
        details.figures {
            summary { (frame.say(FIGURES)) }
            (table)
        }
    }
}

/// Returns the cells of a level as a path.
fn cells(days: &[(Day, [i64; 24])], level: usize) -> String {
    let most = days.iter().flat_map(|(_, counts)| counts).copied().max().unwrap_or_default();
    let mut path = String::new();
    for (row, (_, counts)) in days.iter().enumerate() {
        for (hour, count) in counts.iter().enumerate() {
            if level_of(*count, most) == level {
                let (x, y, side) = (LEFT + hour * CELL, TOP + row * CELL, CELL - 2);
                path.push_str(&format!("M{x} {y}h{side}v{side}h-{side}z"));
            }
        }
    }
    path
}

/// Returns the shade of a count: 0 for none, and 1 to [`LEVELS`] in equal steps up to the largest.
fn level_of(count: i64, most: i64) -> usize {
    match count {
        ..=0 => 0,
        count => {
            let level = (i128::from(count) * 4 + i128::from(most) - 1) / i128::from(most.max(1));
            usize::try_from(level).unwrap_or(LEVELS).clamp(1, LEVELS)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_equal_steps() {
        assert_eq!(
            [0, 1, 25, 26, 50, 51, 100].map(|count| level_of(count, 100)),
            [0, 1, 1, 2, 2, 3, 4]
        );
        assert_eq!(level_of(1, 1), LEVELS);
        assert_eq!(level_of(i64::MAX, i64::MAX), LEVELS);
    }

    #[test]
    fn each_hour_is_drawn_once() {
        let mut counts = [0; 24];
        counts[9] = 3;
        let days = [(Day(0), counts), (Day(1), [1; 24])];
        let drawn: usize = (0..=LEVELS).map(|level| cells(&days, level).matches('M').count()).sum();
        assert_eq!(drawn, 48);
        assert_eq!(cells(&days, LEVELS).matches('M').count(), 1);
    }
}
