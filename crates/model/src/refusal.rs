//! Every way in which a request can be refused, with the rule in `docs/interface.md`.

use strum::{EnumDiscriminants, EnumString, IntoStaticStr};

/// The refusal of a request. The crate `locale` has its text in each language. Rejected input lines
/// are not refusals: see the crate `ingest`.
#[derive(Clone, Debug, PartialEq, Eq, EnumDiscriminants)]
#[strum_discriminants(name(RefusalKind), derive(IntoStaticStr, EnumString))]
#[strum_discriminants(doc = "The kinds of refusals, as they are stored and explained.")]
#[strum_discriminants(strum(serialize_all = "camelCase"))]
pub enum Refusal {
    /// AUTH-9: the account has no third-party API access.
    ApiNotEnabled,
    /// AUTH-10: the account has no active group.
    NoGroup,
    /// AUTH-19, SCOPE-5: the group cannot be selected, or the selected one was closed.
    GroupClosed,
    /// SCOPE-3, SCOPE-4: a device or a group outside the permission scope, whether it exists or
    /// not.
    OutOfScope,
    /// ORD-20: no order of the group has this trade number.
    OrderUnknown,
    /// Fields are missing or invalid; all violations, in the order of the fields.
    Invalid(Vec<Violation>),
    /// AUTH-8: login name or password wrong, or account disabled.
    Credentials,
    /// LIM-7: too many failed logins; the password was not compared.
    TooManyFailures {
        /// Seconds until another attempt may be made.
        retry_after_s: u32,
    },
    /// AUTH-15: no token on an authentication path.
    TokenMissing,
    /// AUTH-16: the token is invalid for any other reason.
    TokenInvalid,
    /// AUTH-16: the token of a session that has expired.
    SessionExpired,
    /// The body could not be parsed; the text says what is wrong and where, without internals.
    Unreadable(String),
    /// There is no such path, or the method is not POST.
    NotFound,
}

impl RefusalKind {
    /// Returns the name that is stored.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// An invalid field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The name of the field or query key.
    pub field: &'static str,
    /// Why its value is invalid.
    pub kind: ViolationKind,
}

/// Why a field is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// Required, but missing, null or blank.
    Blank,
    /// Not a string.
    NotText,
    /// Neither true nor false.
    NotFlag,
    /// Not an integer.
    NotInteger,
    /// Neither 0 nor 1.
    NotZeroOrOne,
    /// Not a positive integer in ASCII digits.
    NotPositive,
    /// Less than zero.
    Negative,
    /// Over this maximum.
    OverMaximum(i64),
    /// Not a cursor.
    NotCursor,
    /// A cursor of another group, or one from changes that the data has lost.
    ForeignCursor,
    /// Given more than once in the query string.
    Repeated,
    /// The start is after the end.
    AfterEnd,
    /// The start is after the present time, at which a range without an end ends.
    AfterNow,
    /// Neither of the two trade numbers is given.
    NoTradeNumber,
    /// Not a list of strings.
    NotTexts,
    /// More entries than this maximum.
    TooMany(usize),
    /// A range of more days than this maximum.
    RangeTooLong(i64),
    /// A range without an end, which ends at the present time, of more days than this maximum.
    RangeToNowTooLong(i64),
    /// Apparently Unix seconds, where milliseconds are expected.
    Seconds,
    /// Apparently Unix microseconds or nanoseconds, where milliseconds are expected.
    FinerUnit,
    /// More devices × days than this maximum.
    TooMuchWork(i64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_stored_by_the_name_of_its_kind() {
        let refused = Refusal::TooManyFailures { retry_after_s: 9 };
        let kind = RefusalKind::from(&refused);
        assert_eq!((kind.name(), "tooManyFailures".parse()), ("tooManyFailures", Ok(kind)));
    }
}
