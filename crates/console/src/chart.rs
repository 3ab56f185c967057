//! Charts as SVG, each with its figures as a table.
//!
//! A chart is drawn twice, wide and narrow, since the text of a single drawing would shrink with
//! it; the style sheet shows one of them.

mod hours;
mod spark;

use kiosque_model::Day;
use maud::{Markup, html};

use crate::components::{Column, linked, table};
use crate::format;
use crate::frame::Frame;
use crate::sort::{Columns, Listed, Sort, Value};
use crate::text::texts;

pub(crate) use hours::hours;
pub(crate) use spark::spark;

texts! {
    FIGURES: "Figures", "数据";
    INCOMPLETE: "incomplete", "未完";
    BEFORE: "before", "此前";
    PERIOD_BEFORE: "period before", "上一周期";
}

/// The space above the bars, which contains the line of the readout, and the space below for the
/// labels.
const TOP: i64 = 26;
const READOUT: i64 = 14;
const BELOW: i64 = 28;
/// The left end of the bars; the labels of the axis are left of it.
const LEFT: i64 = 60;
/// The maximum number of steps of the axis.
const STEPS: i64 = 4;

/// A chart of a figure over time.
pub(crate) struct Bars<'a> {
    /// Identifies it in its page.
    pub(crate) id: &'a str,
    /// Its subject and its summary, for people who do not see it.
    pub(crate) summary: &'a str,
    /// The headings of its table: of the times, of the figure, and of the second figure.
    pub(crate) headings: [&'a str; 3],
    pub(crate) points: &'a [Point],
    /// Formats a value as a label of the axis.
    pub(crate) axis: fn(i64) -> String,
    /// Writes a value in full.
    pub(crate) figure: fn(i64) -> String,
    /// The order of the rows of its table, if it is sorted.
    pub(crate) sort: Sort,
}

/// A figure of a span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The first day.
    pub(crate) first: Day,
    /// Its name in the table.
    pub(crate) name: String,
    /// Its name on the axis.
    pub(crate) label: String,
    pub(crate) value: i64,
    /// A count of the span, which is not drawn.
    pub(crate) second: i64,
    /// The page with the items that the second figure counts.
    pub(crate) second_href: Option<String>,
    /// The figure of the same span of the previous period.
    pub(crate) before: Option<i64>,
    /// Whether the whole span is in the past and in the period.
    pub(crate) is_complete: bool,
}

impl Point {
    /// Returns the figures of a complete span from a day on.
    pub(crate) fn of(first: Day, value: i64, second: i64) -> Point {
        let (name, label) = (String::new(), String::new());
        let (second_href, before) = (None, None);
        Point { first, name, label, value, second, second_href, before, is_complete: true }
    }
}

impl Listed for Point {
    const COLUMNS: Columns<Point> = &[
        Some(("time", |point| Value::Number(point.first.0))),
        Some(("figure", |point| Value::Number(point.value))),
        Some(("orders", |point| Value::Number(point.second))),
    ];
}

/// The geometry that differs between the drawings.
struct Shape {
    class: &'static str,
    width: i64,
    height: i64,
    /// The maximum number of labels below the bars.
    labels: usize,
}

const WIDE: Shape = Shape { class: "chart wide", width: 800, height: 340, labels: 8 };
const NARROW: Shape = Shape { class: "chart narrow", width: 380, height: 240, labels: 4 };

impl Shape {
    fn view_box(&self) -> String {
        format!("0 0 {} {}", self.width, self.height)
    }

    /// Returns the position of the time axis.
    const fn bottom(&self) -> i64 {
        self.height - BELOW
    }
}

/// Returns a day as `MM-dd`.
pub(crate) fn short(day: Day) -> String {
    let text = day.to_string();
    text.get(5..).unwrap_or(&text).to_owned()
}

/// Renders a chart with its table.
pub(crate) fn bars(frame: &Frame<'_>, chart: &Bars<'_>) -> Markup {
    html! {
        // The script moves along the points of the wide drawing with the arrow keys.
        svg class=(WIDE.class) viewBox=(WIDE.view_box()) role="img"
            tabindex="0" aria-label=(chart.summary) data-chart {
            (drawing(chart, &WIDE))
            g.points transform=(format!("translate({LEFT} {READOUT})")) {
                @for (at, point) in chart.points.iter().enumerate() {
                    (readout(frame, chart, at, point))
                }
            }
        }
        svg class=(NARROW.class) viewBox=(NARROW.view_box()) role="img"
            aria-label=(chart.summary) {
            (drawing(chart, &NARROW))
        }
        (legend(frame, chart))
        (figures(frame, chart))
    }
}

/// Renders the axis, the bars and the previous period. All bars are one path or two, so that a
/// chart of many days is small.
fn drawing(chart: &Bars<'_>, shape: &Shape) -> Markup {
    html! {
        (axis(chart, shape))
        @for (class, complete) in [("bar", true), ("bar incomplete", false)] {
            @let bars = all_bars(chart, shape, complete);
            @if !bars.is_empty() { path class=(class) d=(bars) {} }
        }
        (before_line(chart, shape))
    }
}

/// Renders the area over a bar that reacts to the pointer, and the figures of the bar, which the
/// style sheet shows while the pointer is there. There is one for each bar: attributes that all of
/// them share are omitted.
fn readout(frame: &Frame<'_>, chart: &Bars<'_>, at: usize, point: &Point) -> Markup {
    let Slot { left, width } = slot(chart, &WIDE, at);
    let mut texts = vec![point.name.clone(), (chart.figure)(point.value)];
    texts.push(format!("{}: {}", chart.headings[2], format::count(point.second)));
    if let Some(before) = point.before {
        texts.push(format!("{}: {}", frame.say(BEFORE), (chart.figure)(before)));
    }
    if !point.is_complete {
        texts.push(frame.say(INCOMPLETE).to_owned());
    }
    let (x, y, height) = (left - LEFT, TOP - READOUT, WIDE.bottom() - TOP);
    html! {
        g {
            path d=(format!("M{x} {y}h{width}v{height}h-{width}z")) {}
            text { (texts.join(" · ")) }
        }
    }
}

/// Renders the meaning of marks that are not bars of whole spans.
fn legend(frame: &Frame<'_>, chart: &Bars<'_>) -> Markup {
    let has_before = chart.points.iter().any(|point| point.before.is_some());
    let is_cut = chart.points.iter().any(|point| !point.is_complete);
    let mark = |class: &str, line: &str, text| {
        html! {
            span {
                svg viewBox="0 0 14 10" aria-hidden="true" { path class=(class) d=(line) {} }
                (frame.say(text))
            }
        }
    };
    html! {
        @if has_before || is_cut {
            p.legend.note {
                @if has_before { (mark("before", "M0 5h14", PERIOD_BEFORE)) }
                @if is_cut { (mark("bar incomplete", "M0 0h14v10h-14z", INCOMPLETE)) }
            }
        }
    }
}

fn figures(frame: &Frame<'_>, chart: &Bars<'_>) -> Markup {
    let [name, value, second] = chart.headings;
    let has_before = chart.points.iter().any(|point| point.before.is_some());
    let before = frame.say(BEFORE);
    let mut columns = vec![Column::text(name), Column::number(value), Column::number(second)];
    if has_before {
        columns.push(Column::number(before));
    }
    let columns = chart.sort.columns::<Point>(frame, columns);
    let table = table(chart.summary, &columns, chart.sort.rows(chart.points), |point| {
        html! {
            th scope="row" {
                (point.name)
                @if !point.is_complete { " (" (frame.say(INCOMPLETE)) ")" }
            }
            td { ((chart.figure)(point.value)) }
            td { (linked(point.second_href.as_deref(), &format::count(point.second))) }
            @if has_before {
                td {
                    @if let Some(before) = point.before { ((chart.figure)(before)) }
                }
            }
        }
    });
    html! {
        // Its headings lead to this page again.
        details.figures id={ (chart.id) "-figures" } open[chart.sort.is_chosen()] {
            summary { (frame.say(FIGURES)) }
            (table)
        }
    }
}

/// The place of a bar.
struct Slot {
    left: i64,
    width: i64,
}

fn slot(chart: &Bars<'_>, shape: &Shape, at: usize) -> Slot {
    let count = i64::try_from(chart.points.len()).unwrap_or(i64::MAX).max(1);
    let at = i64::try_from(at).unwrap_or_default();
    let edge = |at: i64| LEFT + (shape.width - LEFT) * at / count;
    Slot { left: edge(at), width: edge(at + 1) - edge(at) }
}

/// Returns the space on each side of a bar.
fn gap(width: i64) -> i64 {
    if width > 40 { width / 6 } else { i64::from(width > 3) }
}

/// Returns the height of a value, in coordinates of the drawing.
fn height_of(chart: &Bars<'_>, shape: &Shape, value: i64) -> i64 {
    let most = i128::from(scale(chart).most);
    let room = shape.bottom() - TOP;
    let rise = i128::from(value.max(0)) * i128::from(room) / most;
    shape.bottom() - i64::try_from(rise).unwrap_or(room)
}

/// The scale of the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scale {
    step: i64,
    most: i64,
}

fn scale(chart: &Bars<'_>) -> Scale {
    let values = chart.points.iter().flat_map(|point| [Some(point.value), point.before]);
    scale_to(values.flatten().max().unwrap_or_default())
}

/// Returns the scale from 0 to a value: steps of 1, 2 or 5 times a power of ten, at most [`STEPS`].
fn scale_to(largest: i64) -> Scale {
    let mut unit: i64 = 1;
    loop {
        for step in [1, 2, 5].map(|factor| unit.saturating_mul(factor)) {
            let steps = (largest.max(1) - 1) / step + 1;
            if steps <= STEPS {
                return Scale { step, most: step.saturating_mul(steps) };
            }
        }
        unit = unit.saturating_mul(10);
    }
}

fn axis(chart: &Bars<'_>, shape: &Shape) -> Markup {
    let Scale { step, most } = scale(chart);
    let every = chart.points.len().div_ceil(shape.labels).max(1);
    html! {
        @for at in 0..=most / step {
            @let y = height_of(chart, shape, at.saturating_mul(step));
            path.axis d=(format!("M{LEFT} {y}H{}", shape.width)) {}
            text.label x=(LEFT - 8) y=(y + 4) text-anchor="end" {
                ((chart.axis)(at.saturating_mul(step)))
            }
        }
        // Counted from the end, which is the present.
        @for (at, point) in chart.points.iter().enumerate() {
            @if (chart.points.len() - 1 - at).is_multiple_of(every) {
                @let Slot { left, width } = slot(chart, shape, at);
                @let middle = (left + width / 2).min(shape.width - 18);
                text.label x=(middle) y=(shape.height - 8) text-anchor="middle" { (point.label) }
            }
        }
    }
}

/// Draws the previous period as a line of steps.
fn before_line(chart: &Bars<'_>, shape: &Shape) -> Markup {
    let mut path = String::new();
    for (at, point) in chart.points.iter().enumerate() {
        if let Some(before) = point.before {
            let Slot { left, width } = slot(chart, shape, at);
            path.push_str(&format!("M{left} {}h{width}", height_of(chart, shape, before)));
        }
    }
    html! { @if !path.is_empty() { path.before d=(path) {} } }
}

/// Returns the bars of the complete spans, or of the others, as one path.
fn all_bars(chart: &Bars<'_>, shape: &Shape, complete: bool) -> String {
    let mut path = String::new();
    for (at, point) in chart.points.iter().enumerate() {
        if point.is_complete == complete {
            let Slot { left, width } = slot(chart, shape, at);
            let (gap, top) = (gap(width), height_of(chart, shape, point.value));
            let (x, width, bottom) = (left + gap, width - 2 * gap, shape.bottom());
            path.push_str(&format!("M{x} {bottom}V{top}h{width}V{bottom}z"));
        }
    }
    path
}

#[cfg(test)]
mod tests;
