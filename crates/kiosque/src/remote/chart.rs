//! The sales of days as bars on a terminal.

use serde_json::Value;

use crate::table::{cut, printable};
use kiosque_model::counted;

/// The widest bar, in characters.
const BAR_MAX: usize = 60;
/// The narrowest one.
const BAR_MIN: usize = 8;

/// The characters of bars; the last one is full.
pub(super) type Blocks = &'static [char];

const EIGHTHS: Blocks = &['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const ASCII: Blocks = &['#'];

/// Returns the characters that a terminal can show, according to its locale variables.
pub(super) fn blocks(variable: impl Fn(&str) -> Option<String>) -> Blocks {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| variable(name).filter(|value| !value.is_empty()));
    let name = set.unwrap_or_default().to_lowercase();
    if name.contains("utf-8") || name.contains("utf8") { EIGHTHS } else { ASCII }
}

/// A day as texts, and its amount.
struct Day {
    label: String,
    amount: f64,
    sales: String,
    orders: String,
}

impl Day {
    fn of(day: &Value) -> Day {
        let amount = day.get("amount").and_then(Value::as_f64).unwrap_or_default();
        let orders = day.get("orderCount").and_then(Value::as_i64).unwrap_or_default();
        Day {
            label: printable(day.get("label").and_then(Value::as_str).unwrap_or_default()),
            amount,
            sales: format!("{amount:.2} USD"),
            orders: counted(orders, "order"),
        }
    }
}

/// Returns a line with a bar for each day.
pub(super) fn chart(days: &[Value], width: usize, blocks: Blocks) -> String {
    let days: Vec<Day> = days.iter().map(Day::of).collect();
    let widest =
        |text: fn(&Day) -> &str| days.iter().map(|day| text(day).len()).max().unwrap_or_default();
    let label_width = widest(|day| &day.label);
    let (sales_width, orders_width) = (widest(|day| &day.sales), widest(|day| &day.orders));
    let texts = label_width + sales_width + orders_width + 6;
    let room = width.saturating_sub(texts).clamp(BAR_MIN, BAR_MAX);
    let most = days.iter().map(|day| day.amount).fold(0.0, f64::max);
    let mut lines = String::new();
    for Day { label, amount, sales, orders } in &days {
        let bar = bar(*amount, most, room, blocks);
        let padding = " ".repeat(room.saturating_sub(bar.chars().count()));
        let line = format!(
            "{label:<label_width$}  {bar}{padding}  {sales:>sales_width$}  {orders:>orders_width$}"
        );
        lines.push_str(&cut(&line, width));
        lines.push('\n');
    }
    lines
}

/// Returns a bar; any amount above zero has at least its thinnest part.
fn bar(amount: f64, most: f64, room: usize, blocks: Blocks) -> String {
    if amount <= 0.0 || most <= 0.0 {
        return String::new();
    }
    let steps = u32::try_from(room * blocks.len()).map_or(f64::MAX, f64::from);
    // The share of the largest amount is at most 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to steps")]
    let filled = ((amount / most * steps).round() as usize).max(1);
    let full = blocks.last().copied().unwrap_or('#');
    let mut bar: String = std::iter::repeat_n(full, filled / blocks.len()).collect();
    if let Some(rest) = (filled % blocks.len()).checked_sub(1) {
        bar.extend(blocks.get(rest));
    }
    bar
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// DASH-21: a day without sales has no bar, the day with most sales has the longest.
    #[test]
    fn bars_are_proportional_to_amounts() {
        let day =
            |label, amount, orders| json!({"label": label, "amount": amount, "orderCount": orders});
        let days = [
            day("2026-03-01", 100.0, 10),
            day("2026-03-02", 0.0, 0),
            day("2026-03-03", 31.25, 3),
            day("2026-03-04", 0.01, 1),
        ];
        let lines = [
            "2026-03-01  ████████  100.00 USD  10 orders\n",
            "2026-03-02              0.00 USD   0 orders\n",
            "2026-03-03  ██▌        31.25 USD   3 orders\n",
            "2026-03-04  ▏           0.01 USD    1 order\n",
        ];
        assert_eq!(chart(&days, 43, EIGHTHS), lines.concat());
        let first = chart(&days, 43, ASCII);
        assert!(first.starts_with("2026-03-01  ########  100.00 USD  10 orders\n"), "{first}");
        assert!(chart(&days, 20, ASCII).lines().all(|line| line.chars().count() == 20));
        assert_eq!(chart(&[], 80, ASCII), "");
    }

    #[test]
    fn blocks_need_a_locale_of_utf_8() {
        let of = |set: &'static [(&str, &str)]| {
            blocks(|name| set.iter().find(|one| one.0 == name).map(|one| one.1.to_owned())).len()
        };
        assert_eq!(of(&[("LANG", "de_DE.UTF-8")]), 8);
        assert_eq!(of(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]), 1);
        assert_eq!(of(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]), 8);
        assert_eq!(of(&[]), 1);
    }
}
