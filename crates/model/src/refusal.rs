//! Every way in which a request can be refused, and what each is called in the contract.

/// A refusal. The server says it in the caller's language; see its `locale` for the words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// "Third-party API permission not enabled for the account".
    ApiNotEnabled,
    /// "No Group assigned to the account", or none that is active.
    NoGroup,
    /// "`groupId` invalid or not bound", and the selected group closed meanwhile.
    GroupClosed,
    /// "Device or Group outside permission scope": unknown and foreign alike, so that existence is
    /// not revealed.
    OutOfScope,
    /// "An unknown trade number is a business error, not a successful null."
    OrderUnknown,
    /// Fields are missing or wrong: all of them at once, in the order of the fields.
    Invalid(Vec<Violation>),
    /// "Incorrect username or password"; a disabled account answers the same.
    Credentials,
    /// "Too many failed logins": the password was not looked at.
    TooManyFailures {
        /// When another attempt may be made.
        retry_after_s: u32,
    },
    /// "Authentication header missing on some authentication paths".
    TokenMissing,
    /// "Invalid or expired token".
    TokenInvalid,
    /// The body could not be read; the text says what is wrong and where, and no internals.
    Unreadable(String),
    /// There is no such path, or the method is not POST.
    NotFound,
}

/// One thing that is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The field or query key, as the contract spells it.
    pub field: &'static str,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What can be wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
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
    /// Over the largest page size, which is told.
    OverMaximum(i64),
    /// Given more than once in the query string.
    Repeated,
    /// The start is after the end.
    AfterEnd,
    /// Neither of the two trade numbers is given.
    NoTradeNumber,
    /// Not a list of strings.
    NotTexts,
    /// More entries than are taken, which is told.
    TooMany(usize),
    /// A range of more days than are summed, which is told.
    RangeTooLong(i64),
}
