//! Reading numbers as reports write them: with decimal commas, thousands separators and currency
//! signs. Nothing is rounded.

use kiosque_model::money::{Currency, MINOR_MAX, Minor, MoneyError};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// The unit of a report's amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Dollars: `3.50`.
    Major,
    /// Cents: `350`.
    Minor,
}

/// The message for a missing unit.
pub(super) const UNIT_NEEDED: &str =
    "needed: unit = \"major\" when 3.50 is three dollars fifty, \"minor\" when 350 is";

impl<'de> Deserialize<'de> for Unit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unit, D::Error> {
        // As an option, a missing field has this message, too.
        match Option::<String>::deserialize(deserializer)?.as_deref() {
            Some("major") => Ok(Unit::Major),
            Some("minor") => Ok(Unit::Minor),
            _ => Err(D::Error::custom(UNIT_NEEDED)),
        }
    }
}

/// How a report writes its numbers.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct NumberFormat {
    /// The unit of amounts.
    pub(super) unit: Unit,
    /// The decimal separator.
    #[serde(default = "point")]
    pub(super) decimal: char,
    /// The separator of groups of three digits.
    pub(super) thousands: Option<char>,
    /// A currency sign before or after an amount.
    pub(super) symbol: Option<String>,
}

fn point() -> char {
    '.'
}

/// Reads a format whose separators differ from each other, from digits and from a minus.
pub(super) fn number_format<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<NumberFormat>, D::Error> {
    let format = NumberFormat::deserialize(deserializer)?;
    if format.thousands == Some(format.decimal) {
        return Err(D::Error::custom("decimal and thousands are the same character"));
    }
    let marks = [Some(format.decimal), format.thousands];
    if marks.into_iter().flatten().any(|mark| mark.is_ascii_digit() || mark == '-') {
        return Err(D::Error::custom("decimal and thousands are neither digits nor a minus"));
    }
    Ok(Some(format))
}

impl NumberFormat {
    /// Reads an amount.
    ///
    /// # Errors
    /// A predicate for the text, such as `is not a decimal number`.
    pub(super) fn amount(&self, text: &str, currency: Currency) -> Result<Minor, String> {
        match self.unit {
            Unit::Major => {
                let plain = self.plain(text).ok_or_else(|| self.not_a_number(text))?;
                currency.minor_of_major(&plain).map_err(|error| match error {
                    MoneyError::Fraction(..) => {
                        format!("is a fraction of a minor unit of {currency}")
                    }
                    MoneyError::TooLarge(_) => too_large(),
                    _ => self.not_a_number(text),
                })
            }
            Unit::Minor => match self.whole(text)? {
                minor if minor.unsigned_abs() <= MINOR_MAX.unsigned_abs() => Ok(Minor(minor)),
                _ => Err(too_large()),
            },
        }
    }

    /// Reads a whole number, which may have a fraction of zeros.
    ///
    /// # Errors
    /// A predicate for the text.
    pub(super) fn whole(&self, text: &str) -> Result<i64, String> {
        let plain = self.plain(text).ok_or_else(|| self.not_a_number(text))?;
        let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
        if fraction.bytes().any(|digit| digit != b'0') {
            return Err("is not a whole number".to_owned());
        }
        whole.parse().map_err(|_| "is too large".to_owned())
    }

    /// Returns the number with digits, a sign and a decimal point only.
    fn plain(&self, text: &str) -> Option<String> {
        let mut rest = text.trim();
        let negative = take_sign(&mut rest);
        if let Some(symbol) = &self.symbol {
            let bare = rest.strip_prefix(symbol.as_str());
            rest = bare.or_else(|| rest.strip_suffix(symbol.as_str())).unwrap_or(rest).trim();
        }
        let negative = negative || take_sign(&mut rest);
        let (whole, fraction) = match rest.split_once(self.decimal) {
            Some((_, "")) => return None,
            Some((whole, fraction)) => (whole, fraction),
            None => (rest, ""),
        };
        let whole = self.without_thousands(whole)?;
        if !digits(&whole) || !(fraction.is_empty() || digits(fraction)) {
            return None;
        }
        let sign = if negative { "-" } else { "" };
        let point = if fraction.is_empty() { "" } else { "." };
        Some(format!("{sign}{whole}{point}{fraction}"))
    }

    /// Removes thousands separators between groups of three digits. A separator anywhere else is an
    /// error: it must not turn `1.25` into `125`.
    fn without_thousands(&self, whole: &str) -> Option<String> {
        let Some(mark) = self.thousands.filter(|mark| whole.contains(*mark)) else {
            return Some(whole.to_owned());
        };
        let mut groups = whole.split(mark);
        let first = groups.next().filter(|group| (1..=3).contains(&group.len()))?;
        let mut plain = first.to_owned();
        for group in groups {
            if group.len() != 3 {
                return None;
            }
            plain.push_str(group);
        }
        Some(plain)
    }

    fn not_a_number(&self, text: &str) -> String {
        let other = if self.decimal == ',' { '.' } else { ',' };
        if text.contains(other) && self.thousands != Some(other) {
            format!(
                "is not a decimal number; if {other:?} is part of it, set amount.decimal or \
                 amount.thousands"
            )
        } else {
            "is not a decimal number".to_owned()
        }
    }
}

fn too_large() -> String {
    format!("is larger than {MINOR_MAX} minor units")
}

fn take_sign(rest: &mut &str) -> bool {
    let unsigned = rest.strip_prefix('-');
    *rest = unsigned.unwrap_or(rest).trim_start();
    unsigned.is_some()
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_unit(unit: Unit) -> NumberFormat {
        NumberFormat { unit, decimal: point(), thousands: None, symbol: None }
    }

    fn of(code: &str) -> Currency {
        Currency::parse(code).expect("a currency")
    }

    #[test]
    fn amounts_are_read_as_the_report_writes_them() {
        let dollars = in_unit(Unit::Major);
        let commas = NumberFormat { decimal: ',', thousands: Some('.'), ..dollars.clone() };
        let signs = NumberFormat { symbol: Some("€".to_owned()), ..commas.clone() };
        let cents = in_unit(Unit::Minor);
        for (numbers, code, text, want) in [
            (&dollars, "USD", " 3.5 ", Some(350)),
            (&dollars, "USD", "-0.05", Some(-5)),
            (&dollars, "USD", "1,234.50", None),
            (&dollars, "USD", "--1", None),
            (&dollars, "ISK", "1250", Some(1250)),
            (&commas, "EUR", "1.234,50", Some(123_450)),
            (&commas, "EUR", "1.23", None),
            (&commas, "EUR", "1.2345", None),
            (&commas, "EUR", "1,5", Some(150)),
            (&commas, "EUR", ",5", None),
            (&commas, "EUR", "5,", None),
            (&signs, "EUR", "€ 1,50", Some(150)),
            (&signs, "EUR", "1,50 €", Some(150)),
            (&signs, "EUR", "€-1,50", Some(-150)),
            (&signs, "EUR", "€", None),
            (&cents, "USD", "350", Some(350)),
            (&cents, "USD", "350.00", Some(350)),
            (&cents, "USD", "3.5", None),
            (&cents, "USD", "99999999999999999999", None),
            (&cents, "USD", "-9223372036854775808", None),
        ] {
            let got = numbers.amount(text, of(code)).ok().map(|minor| minor.0);
            assert_eq!(got, want, "{code} {text:?}");
        }
    }

    #[test]
    fn an_error_names_the_key_to_set() {
        let dollars = in_unit(Unit::Major);
        let error = |text| dollars.amount(text, of("USD")).expect_err(text);
        assert_eq!(error("1.255"), "is a fraction of a minor unit of USD");
        assert_eq!(
            error("1,50"),
            "is not a decimal number; if ',' is part of it, set amount.decimal or \
             amount.thousands"
        );
        assert_eq!(error("abc"), "is not a decimal number");
        assert_eq!(dollars.whole("1.5").expect_err("a fraction"), "is not a whole number");
        assert_eq!(dollars.whole("2.0"), Ok(2));
    }
}
