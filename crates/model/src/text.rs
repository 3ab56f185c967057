//! Numbers and positions as people read them, and characters that they do not see.

use std::borrow::Cow;
use std::fmt::Display;

/// Returns a count with its noun: `1 order`, `2 orders`.
pub fn counted<T: Display + PartialEq + From<u8>>(count: T, noun: &str) -> String {
    let plural = if count == T::from(1) { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Returns a number of orders and of their devices: `2 orders of 1 device`.
pub fn orders_of_devices(orders: i64, devices: usize) -> String {
    format!("{} of {}", counted(orders, "order"), counted(devices, "device"))
}

/// Returns a number with its digits grouped by commas: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let mut digits = number.to_string();
    for at in (1..digits.len()).rev().skip(2).step_by(3) {
        digits.insert(at, ',');
    }
    digits
}

/// Returns a text truncated to a number of characters; an ellipsis marks the cut.
pub fn shortened(text: &str, chars_max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars_max) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
    }
}

/// Returns a size with one decimal.
pub fn size(bytes: u64) -> String {
    let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let tenths = u128::from(bytes) * 10 / u128::from(unit);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

/// Returns an error of a text with the line and column of a byte of the text.
pub fn at_position(text: &str, byte: usize, error: impl Display) -> String {
    let before = text.get(..byte).unwrap_or_default();
    let (lines, line) = before
        .rsplit_once('\n')
        .map_or((0, before), |(above, line)| (above.matches('\n').count() + 1, line));
    format!("line {}, column {}: {error}", lines + 1, line.chars().count() + 1)
}

/// Returns whether a character controls how a terminal shows the characters around it: a control
/// character, or one that sets the direction of writing, with which a text can look like another.
pub fn controls_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_one_has_a_singular() {
        let texts = [0_i64, 1, 2].map(|count| counted(count, "order"));
        assert_eq!(texts, ["0 orders", "1 order", "2 orders"]);
        assert_eq!(orders_of_devices(2, 1), "2 orders of 1 device");
    }

    #[test]
    fn control_characters_and_directions_of_writing_control_a_terminal() {
        let controls = "\0\n\u{1b}\u{7f}\u{9b}";
        let directions = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}";
        for c in controls.chars().chain(directions.chars()) {
            assert!(controls_terminal(c), "{c:?}");
        }
        for c in " aé東\u{200d}\u{202f}\u{2065}\u{206a}\u{5d0}".chars() {
            assert!(!controls_terminal(c), "{c:?}");
        }
    }

    #[test]
    fn digits_are_grouped_by_commas() {
        let texts = [0, 999, 1_000, 123_456, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "123,456", "1,234,567"]);
    }

    #[test]
    fn a_long_text_ends_with_an_ellipsis() {
        assert_eq!([shortened("東京", 2), shortened("東京", 1)], ["東京", "東…"]);
    }

    #[test]
    fn sizes_have_one_decimal() {
        let sizes = [0, 1_023, 1_536, 5 << 20, (3 << 30) + (1 << 29), u64::MAX].map(size);
        assert_eq!(sizes, ["0 B", "1023 B", "1.5 KiB", "5.0 MiB", "3.5 GiB", "17179869183.9 GiB"]);
    }
}
