//! Masking of card and phone numbers, before they are stored or logged.

/// Number of letters and digits that remain readable.
const SHOWN: usize = 4;

/// Returns the text with all letters and digits but the last four replaced by `*`; if there are
/// four or fewer, all are replaced. Separators stay. The function is idempotent: a `*` counts as a
/// masked character.
pub fn masked(text: &str) -> String {
    let counts = |c: char| c.is_alphanumeric() || c == '*';
    let total = text.chars().filter(|c| counts(*c)).count();
    let hidden = if total <= SHOWN { total } else { total - SHOWN };
    let mut seen = 0;
    text.chars()
        .map(|c| {
            if !counts(c) {
                return c;
            }
            seen += 1;
            if seen <= hidden { '*' } else { c }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_four_stay_and_separators_too() {
        for (text, want) in [
            ("4111 1111-1111 1234", "**** ****-**** 1234"),
            ("+33 6 12 34 56 78", "+** * ** ** 56 78"),
            ("1234", "****"),
            ("12", "**"),
            ("AB12CD", "**12CD"),
            ("****1234", "****1234"),
            ("", ""),
        ] {
            assert_eq!(masked(text), want, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn masking_twice_changes_nothing(text in ".{0,40}") {
            let once = masked(&text);
            prop_assert_eq!(masked(&once), once);
        }
    }
}
