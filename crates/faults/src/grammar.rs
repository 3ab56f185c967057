//! The grammar of `--fault`.
//!
//! ```text
//! fault   = simple | "every(" number "," simple ")" | "nth(" number "," simple ")"
//!         | "chance(" percentage "," simple ")"
//! simple  = name [ "(" argument { "," argument } ")" ]
//! argument = call | value | key "=" value
//! ```

mod forms;
mod parser;

use std::fmt::Write as _;
use std::str::FromStr;

use crate::calls::Calls;
use crate::fault::Fault;

use forms::FORMS;
use parser::Parser;

/// Why a text is not a fault: the position, the text there, and what is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultError {
    /// The position, in characters from 1.
    column: usize,
    found: String,
    expected: String,
}

impl std::fmt::Display for FaultError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FaultError { column, found, expected } = self;
        match found.as_str() {
            "" => write!(f, "column {column}: the text ends, expected {expected}"),
            found => write!(f, "column {column}: found {found:?}, expected {expected}"),
        }
    }
}

impl std::error::Error for FaultError {}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Fault, FaultError> {
        Parser::new(text).whole()
    }
}

/// Returns the description of all faults, for help texts.
pub fn reference() -> String {
    let mut text = String::from("Faults, and the calls that they select by themselves:\n");
    for form in FORMS {
        let (usage, by_itself) = (form.usage(), form.by_itself());
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {usage:26}{by_itself:17}{}", form.meaning);
    }
    let calls = Calls::names();
    let _ = write!(
        text,
        "\nCalls may be specified, as in slow(orders, order, 800ms): {calls}.\n\
         every(7, FAULT) affects each seventh of these calls, nth(3, FAULT) the third, \
         and chance(5%, FAULT) some, chosen by --seed. Of several faults that replace an \
         answer, the first one is used. An answer with a fault has the header kiosque-fault."
    );
    text
}
