//! A chart in the size of a word.

use maud::{Markup, html};

use crate::format;
use crate::frame::Frame;
use crate::text::Text;

const HEIGHT: i64 = 20;
const STEP: usize = 8;

/// Renders values as small bars. `summary` has a placeholder for the same values as text.
pub(crate) fn spark(frame: &Frame<'_>, values: &[i64], summary: Text) -> Markup {
    let figures: Vec<String> = values.iter().map(|value| format::count(*value)).collect();
    let summary = summary.fill(frame.language, &[&figures.join(", ")]);
    let most = values.iter().copied().max().unwrap_or_default().max(1);
    let mut path = String::new();
    for (at, value) in values.iter().enumerate() {
        // A day with sales never looks like one without.
        let rise = i128::from((*value).max(0)) * i128::from(HEIGHT) / i128::from(most);
        let rise = i64::try_from(rise).unwrap_or(HEIGHT).max(i64::from(*value > 0));
        path.push_str(&format!("M{} {HEIGHT}v-{rise}h6v{rise}z", at * STEP));
    }
    let width = values.len() * STEP;
    html! {
        svg.spark viewBox=(format!("0 0 {width} {HEIGHT}")) role="img" aria-label=(summary) {
            path d=(path) {}
        }
    }
}
