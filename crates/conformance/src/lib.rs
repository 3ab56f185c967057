//! Checks a server against the rules of `docs/interface.md` that can be seen from outside, using
//! the calls that any client may make.
//!
//! A [`Rule`] is a list of steps: a request, and what its answer must be. `Checker` logs in,
//! examines the available data (`survey`), and runs the rules one after the other; `report` shows
//! the outcomes.

mod answer;
mod ask;
mod checker;
mod credentials;
mod facts;
mod paths;
mod recorded;
mod report;
mod rule;
mod rules;
mod secrets;
mod survey;

pub use answer::Answer;
pub use checker::{CannotRun, Checked, Checker, Ended, Finding, Outcome, Scope, Transport};
pub use credentials::Credentials;
pub use recorded::{Recorded, Recorder};
pub use report::{json, junit, list, text};
pub use rule::{Effect, Mark, Rule};
pub use rules::all;
