//! Numbers, amounts and shares in a readable form. Both languages group digits by commas.

use kiosque_model::sales::permille;
use kiosque_model::{Currency, grouped};

/// The text for a figure that does not exist, such as a share of nothing.
pub(crate) const NONE: &str = "–";

/// Returns a number with its digits grouped: `1,234,567`. One beyond `i64` is shown as the largest.
pub(crate) fn count(number: impl TryInto<i64>) -> String {
    let number = number.try_into().unwrap_or(i64::MAX);
    let sign = if number < 0 { "−" } else { "" };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

/// Returns an amount of US dollars in cents: `$1,234.50`.
pub(crate) fn dollars(cents: i64) -> String {
    let sign = if cents < 0 { "−" } else { "" };
    format!("{sign}${}", decimal(cents.unsigned_abs(), 2))
}

/// Returns an amount of US dollars in cents, rounded to dollars: `$1,234`.
pub(crate) fn whole_dollars(cents: i64) -> String {
    let sign = if cents <= -50 { "−" } else { "" };
    let dollars = (cents.unsigned_abs() + 50) / 100;
    format!("{sign}${}", count(dollars))
}

/// Returns an amount in major units with the code of its currency: `1,234.50 EUR`. An amount in an
/// unknown currency remains in minor units.
pub(crate) fn major(minor: i64, currency: &str) -> String {
    let sign = if minor < 0 { "−" } else { "" };
    let exponent = Currency::parse(currency).map_or(0, Currency::exponent);
    format!("{sign}{} {currency}", decimal(minor.unsigned_abs(), exponent))
}

/// Returns `part / whole` as a percentage: `96.7%`; [`NONE`] if `whole` is 0.
pub(crate) fn share(part: i64, whole: i64) -> String {
    if whole <= 0 {
        return NONE.to_owned();
    }
    let permille = permille(part, whole);
    format!("{}.{}%", permille / 10, permille.unsigned_abs() % 10)
}

/// Returns the change from one figure to another in tenths of a percent; `None` if the first is 0.
pub(crate) fn change_permille(before: i64, now: i64) -> Option<i64> {
    (before > 0).then(|| permille(now.saturating_sub(before), before))
}

/// Returns a change with its sign: `+4.7%`, `−12%`, `±0%`. Changes of at least 10 % have no
/// decimals.
pub(crate) fn change(permille: i64) -> String {
    let sign = match permille.signum() {
        1 => "+",
        -1 => "−",
        _ => "±",
    };
    match permille.unsigned_abs() {
        size @ 1..100 => format!("{sign}{}.{}%", size / 10, size % 10),
        size => format!("{sign}{}%", count((size + 5) / 10)),
    }
}

/// Returns a number in units of `10^-exponent` with a decimal point and grouped digits.
fn decimal(parts: u64, exponent: u32) -> String {
    let unit = 10_u64.pow(exponent);
    let whole = count(parts / unit);
    match exponent {
        0 => whole,
        exponent => format!("{whole}.{:0width$}", parts % unit, width = exponent as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn figures_are_written_for_people() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (-1_234_567, "−1,234,567")]
        {
            assert_eq!(count(number), text);
        }
        for (cents, exact, rounded) in [
            (0, "$0.00", "$0"),
            (5, "$0.05", "$0"),
            (1_057_653, "$10,576.53", "$10,577"),
            (-123_450, "−$1,234.50", "−$1,235"),
            (-20, "−$0.20", "$0"),
        ] {
            assert_eq!((dollars(cents).as_str(), whole_dollars(cents).as_str()), (exact, rounded));
        }
        for (minor, currency, text) in [
            (123_450, "EUR", "1,234.50 EUR"),
            (-1_250, "ISK", "−1,250 ISK"),
            (1_234, "KWD", "1.234 KWD"),
            (7, "???", "7 ???"),
        ] {
            assert_eq!(major(minor, currency), text);
        }
        assert_eq!([share(967, 1_000), share(1, 1), share(0, 0)], ["96.7%", "100.0%", NONE]);
        for (before, now, text) in [
            (1_000, 953, "−4.7%"),
            (100, 100, "±0%"),
            (100, 105, "+5.0%"),
            (100, 110, "+10%"),
            (1, 1_001, "+100,000%"),
            (1_000, 1, "−100%"),
        ] {
            assert_eq!(change_permille(before, now).map(change).as_deref(), Some(text));
        }
        assert_eq!(change_permille(0, 5), None);
    }

    proptest! {
        #[test]
        fn grouped_digits_are_the_number(number: i64) {
            let digits = count(number).replace(',', "").replace('−', "-");
            prop_assert_eq!(digits.parse::<i64>(), Ok(number));
        }

        #[test]
        fn no_amount_panics(minor: i64, before: i64, now: i64) {
            dollars(minor);
            whole_dollars(minor);
            major(minor, "KWD");
            share(now, before);
            change_permille(before, now).map(change);
        }
    }
}
