//! Amounts of money.

use std::fmt;

use kiosque_model::Currency;

/// An amount in minor units of a currency (FMT-3): 250 is 2.50 EUR, 250 JPY or 0.250 KWD.
///
/// There is no `+`, because amounts in different currencies cannot be added. Use
/// [`Money::checked_add`].
///
/// ```
/// use kiosque_client::{Currency, Money};
///
/// let usd = Money::new(250, Currency::USD);
/// assert_eq!(usd.to_string(), "2.50 USD");
/// assert_eq!(usd.checked_add(usd).unwrap().minor(), 500);
///
/// let yen = Money::new(250, Currency::parse("JPY").unwrap());
/// assert_eq!(yen.to_string(), "250 JPY");
/// assert!(usd.checked_add(yen).is_err());
/// ```
///
/// ```compile_fail,E0369
/// use kiosque_client::{Currency, Money};
///
/// let usd = Money::new(250, Currency::USD);
/// let eur = Money::new(250, Currency::parse("EUR").unwrap());
/// let sum = usd + eur;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Money {
    minor: i64,
    currency: Currency,
}

/// Why two amounts cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoSum {
    /// They are of different currencies.
    #[error("{0} and {1} are of different currencies; convert one of them first")]
    Currencies(Money, Money),
    /// The sum exceeds 64 bits.
    #[error("the sum of {0} and {1} is too large")]
    TooLarge(Money, Money),
}

impl Money {
    /// Returns an amount of minor units.
    pub const fn new(minor: i64, currency: Currency) -> Money {
        Money { minor, currency }
    }

    /// Returns the number of minor units.
    pub const fn minor(self) -> i64 {
        self.minor
    }

    /// Returns the currency.
    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// Returns the sum of two amounts of the same currency.
    ///
    /// # Errors
    /// The currencies differ, or the sum is too large.
    pub fn checked_add(self, other: Money) -> Result<Money, NoSum> {
        if self.currency != other.currency {
            return Err(NoSum::Currencies(self, other));
        }
        let minor = self.minor.checked_add(other.minor).ok_or(NoSum::TooLarge(self, other))?;
        Ok(Money { minor, currency: self.currency })
    }

    /// Returns the amount in major units as a decimal number, such as `2.50`.
    pub fn to_decimal(self) -> String {
        self.currency.major_of_minor(self.minor.into())
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.to_decimal(), self.currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(minor: i64, code: &str) -> Money {
        Money::new(minor, Currency::parse(code).expect("a currency"))
    }

    /// FMT-3: the number of decimals depends on the currency.
    #[test]
    fn an_amount_has_the_decimals_of_its_currency() {
        for (minor, code, text) in [
            (250, "EUR", "2.50 EUR"),
            (250, "JPY", "250 JPY"),
            (250, "KWD", "0.250 KWD"),
            (-5, "USD", "-0.05 USD"),
            (0, "USD", "0.00 USD"),
            (i64::MIN, "USD", "-92233720368547758.08 USD"),
        ] {
            assert_eq!(money(minor, code).to_string(), text);
        }
    }

    #[test]
    fn only_amounts_of_one_currency_have_a_sum() {
        let (one, other) = (money(1, "EUR"), money(2, "USD"));
        assert_eq!(one.checked_add(money(2, "EUR")), Ok(money(3, "EUR")));
        assert_eq!(one.checked_add(other), Err(NoSum::Currencies(one, other)));
        let most = money(i64::MAX, "EUR");
        assert_eq!(most.checked_add(one), Err(NoSum::TooLarge(most, one)));
    }
}
