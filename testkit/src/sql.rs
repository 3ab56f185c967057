//! Statements that look at, hold or damage a test's data where the store offers no function.

use std::path::Path;

/// Returns the statement in a file of `testkit/sql`, by its name without `.sql`. The first line of
/// the file says what the statement does, and for which engine if not for both.
///
/// # Panics
///
/// There is no such file.
#[track_caller]
pub fn sql(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql").join(name).with_extension("sql");
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
