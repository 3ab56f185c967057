//! A chart in the size of a word.

use maud::{Markup, html};

const HEIGHT: i64 = 20;
const STEP: usize = 8;

/// Renders values as small bars. `summary` is a text with the same values.
pub(crate) fn spark(values: &[i64], summary: &str) -> Markup {
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
