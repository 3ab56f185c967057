use kiosque_model::{Rights, Zone};
use proptest::prelude::*;

use super::*;
use crate::format;

fn rendered(points: &[Point]) -> String {
    let (rights, zone) = (Rights::all(), Zone::utc());
    let frame = Frame::sample(&rights, &zone, "/console/");
    let chart = Bars {
        id: "trend",
        summary: "Sales a day",
        headings: ["Day", "Sales", "Orders"],
        points,
        axis: format::whole_dollars,
        figure: format::dollars,
        sort: Sort::Fixed,
    };
    bars(&frame, &chart).into_string()
}

fn point(value: i64, second: i64, before: Option<i64>, is_complete: bool) -> Point {
    let (name, label) = ("2026-11-20".to_owned(), "11-20".to_owned());
    Point { name, label, before, is_complete, ..Point::of(Day(0), value, second) }
}

/// Returns the texts of the cells of the table.
fn cells(rendered: &str) -> Vec<String> {
    let table = rendered.split("<tbody>").nth(1).and_then(|rest| rest.split("</tbody>").next());
    let cells = table.expect("a table").split("<td>").skip(1);
    cells.map(|cell| cell.split('<').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn scales_have_round_steps() {
    for (largest, step, most) in
        [(0, 1, 1), (1, 1, 1), (4, 1, 4), (5, 2, 6), (60_100, 20_000, 80_000), (99, 50, 100)]
    {
        assert_eq!(scale_to(largest), Scale { step, most }, "{largest}");
    }
}

#[test]
fn markup_in_a_name_is_text() {
    let points = [Point { name: "<i>".to_owned(), ..point(1, 1, None, true) }];
    let rendered = rendered(&points);
    assert!(rendered.contains("&lt;i&gt;") && !rendered.contains("<i>"), "{rendered}");
}

proptest! {
    /// The table has every figure of the chart, and each point is drawn in both drawings.
    #[test]
    fn the_text_alternative_has_the_figures(
        values in prop::collection::vec((any::<i64>(), 0..i64::MAX, any::<Option<i64>>()), 1..20),
    ) {
        let points: Vec<Point> = values
            .iter()
            .enumerate()
            .map(|(at, (value, second, before))| {
                point(*value, *second, *before, at + 1 < values.len())
            })
            .collect();
        let rendered = rendered(&points);
        let has_before = points.iter().any(|point| point.before.is_some());
        let expected: Vec<String> = points
            .iter()
            .flat_map(|point| {
                let before = point.before.map(format::dollars).unwrap_or_default();
                let figures = [format::dollars(point.value), format::count(point.second)];
                figures.into_iter().chain(has_before.then_some(before))
            })
            .collect();
        prop_assert_eq!(cells(&rendered), expected);
        prop_assert_eq!(rendered.matches("<g><path").count(), points.len());
        for drawing in ["chart wide", "chart narrow"] {
            let drawing = rendered.split(drawing).nth(1).expect("a drawing");
            let bars = drawing.split("<g").next().and_then(|bars| bars.split("</svg>").next());
            let bars = bars.expect("its end").matches('z').count();
            prop_assert_eq!(bars, points.len());
        }
    }

    #[test]
    fn bars_stay_in_the_drawing(values in prop::collection::vec(any::<i64>(), 1..100)) {
        let points: Vec<Point> =
            values.iter().map(|value| point(*value, 0, None, true)).collect();
        let chart = Bars {
            id: "", summary: "", headings: [""; 3], points: &points,
            axis: format::count, figure: format::count,
            sort: Sort::Free,
        };
        for (at, value) in values.iter().enumerate() {
            for shape in [WIDE, NARROW] {
                let height = height_of(&chart, &shape, *value);
                prop_assert!((TOP..=shape.bottom()).contains(&height));
                let Slot { left, width } = slot(&chart, &shape, at);
                prop_assert!(left >= LEFT && left + width <= shape.width);
                prop_assert!(width - 2 * gap(width) >= 1);
            }
        }
    }
}
