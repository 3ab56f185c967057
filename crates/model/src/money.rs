//! Currencies and amounts. Amounts are integers of minor units; ISO 4217 defines the number of
//! decimals of each currency (0 for ISK, 3 for KWD).

use std::fmt;

/// Largest accepted amount; the sum of nine million such amounts fits `i64`.
pub const MINOR_MAX: i64 = 1_000_000_000_000;

/// An amount in minor units of its currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor(pub i64);

/// An ISO 4217 currency that has minor units, also one withdrawn since 2011.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Currency {
    code: &'static str,
    exponent: u32,
}

/// The currencies withdrawn since 2011 that the library does not have, with the decimals that they
/// had: earlier orders are in them.
const WITHDRAWN: [Currency; 9] = [
    Currency { code: "ANG", exponent: 2 },
    Currency { code: "BYR", exponent: 0 },
    Currency { code: "EEK", exponent: 2 },
    Currency { code: "LTL", exponent: 2 },
    Currency { code: "LVL", exponent: 2 },
    Currency { code: "MRO", exponent: 2 },
    Currency { code: "STD", exponent: 2 },
    Currency { code: "VEF", exponent: 2 },
    Currency { code: "ZMK", exponent: 2 },
];

/// Why a text is not an amount or not a currency.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// Not an ISO 4217 code.
    #[error("{0} is not an ISO 4217 code")]
    UnknownCurrency(String),
    /// Precious metals, test codes and the like.
    #[error("{0} has no minor unit")]
    NoMinorUnit(String),
    /// Not a plain decimal number.
    #[error("{0:?} is not a decimal number")]
    NotADecimal(String),
    /// More decimals than the currency has.
    #[error("{0} is a fraction of a minor unit of {1}")]
    Fraction(String, &'static str),
    /// Over [`MINOR_MAX`].
    #[error("{0} is larger than {MINOR_MAX} minor units")]
    TooLarge(String),
}

/// Why a text is not a decimal number of units.
pub(crate) enum DecimalError {
    NotADecimal,
    TooFine,
    TooLarge,
}

/// Parses a decimal number without a sign, and returns it in units of the last of its `decimals`.
///
/// # Errors
/// Not a decimal number, a fraction of a unit, or more than `units_max`.
pub(crate) fn units_of_decimal(
    text: &str,
    decimals: usize,
    units_max: i64,
) -> Result<i64, DecimalError> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return Err(DecimalError::NotADecimal);
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > decimals {
        return Err(DecimalError::TooFine);
    }
    let units = format!("{whole}{fraction:0<decimals$}").parse().ok();
    units.filter(|units| *units <= units_max).ok_or(DecimalError::TooLarge)
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code)
    }
}

impl Currency {
    /// The US dollar, the currency of dashboards.
    pub const USD: Currency = Currency { code: "USD", exponent: 2 };

    /// Returns the currency of a three-letter code in capitals.
    ///
    /// # Errors
    /// An unknown code, or one that has no minor unit.
    pub fn parse(code: &str) -> Result<Currency, MoneyError> {
        let known = iso_currency::Currency::from_code(code).filter(|known| known.code() == code);
        let Some(known) = known else {
            let withdrawn = WITHDRAWN.into_iter().find(|withdrawn| withdrawn.code == code);
            return withdrawn.ok_or_else(|| MoneyError::UnknownCurrency(code.to_owned()));
        };
        let exponent = known.exponent().ok_or_else(|| MoneyError::NoMinorUnit(code.to_owned()))?;
        Ok(Currency { code: known.code(), exponent: u32::from(exponent) })
    }

    /// Returns the three-letter code.
    pub const fn code(self) -> &'static str {
        self.code
    }

    /// Returns the number of decimals of a major unit.
    pub const fn exponent(self) -> u32 {
        self.exponent
    }

    /// Parses a decimal number of major units, such as `1.50`. Never rounds.
    ///
    /// # Errors
    /// Not a decimal number, a fraction of a minor unit, or an amount that is too large.
    pub fn minor_of_major(self, text: &str) -> Result<Minor, MoneyError> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        match units_of_decimal(unsigned, self.exponent as usize, MINOR_MAX) {
            Ok(minor) => Ok(Minor(if unsigned.len() < text.len() { -minor } else { minor })),
            Err(DecimalError::NotADecimal) => Err(MoneyError::NotADecimal(text.to_owned())),
            Err(DecimalError::TooFine) => Err(MoneyError::Fraction(text.to_owned(), self.code)),
            Err(DecimalError::TooLarge) => Err(MoneyError::TooLarge(text.to_owned())),
        }
    }

    /// Returns an amount of minor units as a decimal number of major units, such as `-1.50`.
    pub fn major_of_minor(self, minor: i128) -> String {
        let sign = if minor < 0 { "-" } else { "" };
        let unit = 10_u128.pow(self.exponent);
        let (whole, fraction) = (minor.unsigned_abs() / unit, minor.unsigned_abs() % unit);
        match self.exponent as usize {
            0 => format!("{sign}{whole}"),
            digits => format!("{sign}{whole}.{fraction:0digits$}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(code: &str) -> Currency {
        Currency::parse(code).expect("a currency")
    }

    #[test]
    fn decimals_follow_the_currency_and_are_never_rounded() {
        for (code, text, minor) in [
            ("USD", "3.5", Some(350)),
            ("USD", "3", Some(300)),
            ("USD", "-0.05", Some(-5)),
            ("USD", "1.2500", Some(125)),
            ("USD", "1.255", None),
            ("ISK", "1250", Some(1250)),
            ("ISK", "12.5", None),
            ("ISK", "12.0", Some(12)),
            ("KWD", "1.234", Some(1234)),
            ("USD", "1e3", None),
            ("USD", "1,000.00", None),
            ("USD", ".5", None),
            ("USD", "5.", None),
            ("USD", "", None),
            ("USD", "-", None),
            ("USD", "99999999999999999999", None),
        ] {
            let got = of(code).minor_of_major(text).ok().map(|minor| minor.0);
            assert_eq!(got, minor, "{code} {text:?}");
        }
    }

    #[test]
    fn amounts_have_the_decimals_of_their_currency() {
        for (amount, code, text) in [
            (11_543_158, "UAH", "115431.58"),
            (5, "EUR", "0.05"),
            (0, "EUR", "0.00"),
            (-5, "EUR", "-0.05"),
            (1_200, "JPY", "1200"),
            (1_234_567, "KWD", "1234.567"),
        ] {
            assert_eq!(of(code).major_of_minor(amount), text);
        }
    }

    #[test]
    fn the_fraction_of_a_number_has_digits_only() {
        for text in ["1.x5", "x.5", "1.-5"] {
            let refused = of("USD").minor_of_major(text);
            assert_eq!(refused, Err(MoneyError::NotADecimal(text.to_owned())));
        }
        assert_eq!(of("USD").to_string(), "USD");
    }

    #[test]
    fn only_iso_codes_with_minor_units_are_currencies() {
        assert_eq!(
            Currency::parse("ZZZ").expect_err("no").to_string(),
            "ZZZ is not an ISO 4217 code"
        );
        assert_eq!(
            Currency::parse("usd").expect_err("no").to_string(),
            "usd is not an ISO 4217 code"
        );
        assert_eq!(Currency::parse("USD"), Ok(Currency::USD));
        let withdrawn = "ANG BYR CUC EEK HRK LTL LVL MRO SLL STD VEF ZMK ZWL";
        for code in withdrawn.split(' ') {
            assert_eq!(of(code).exponent(), if code == "BYR" { 0 } else { 2 }, "{code}");
        }
        assert_eq!(Currency::parse("XAU").expect_err("no").to_string(), "XAU has no minor unit");
    }

    proptest! {
        #[test]
        fn a_major_amount_written_out_is_read_back(minor in 0..MINOR_MAX) {
            let text = format!("{}.{:02}", minor / 100, minor % 100);
            prop_assert_eq!(of("EUR").minor_of_major(&text), Ok(Minor(minor)));
        }
    }
}
