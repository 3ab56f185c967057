//! The exchanges of a check, for a record of it.

use std::io;

/// Receives each exchange of a check.
pub type Recorder = Box<dyn FnMut(&Recorded) -> io::Result<()> + Send>;

/// A request and its answer, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its number in the check, from 1.
    pub number: usize,
    /// The id of the rule that it tests; `survey` before the first rule.
    pub rule: &'static str,
    /// The request and its answer, each with its headers and its body.
    pub text: String,
}
