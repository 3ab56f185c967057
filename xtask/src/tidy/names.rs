//! The names of files. A file is named after its subject, in the contract's words.

use super::Violation;

/// Finds a name without a subject.
pub(crate) fn check(path: &str) -> Option<Violation> {
    let name = path.rsplit('/').next()?;
    let instead = match name {
        "mod.rs" => "move it next to its directory, with the name of the directory",
        "utils.rs" | "util.rs" | "helpers.rs" | "common.rs" => "name it for what it does",
        _ => return None,
    };
    Some(Violation::new(path, 1, format!("a file's name is not {name}: {instead}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_for_a_thing() {
        for path in ["crates/a/src/mod.rs", "crates/a/tests/it/helpers.rs"] {
            assert!(check(path).is_some(), "{path}");
        }
        for path in ["crates/a/src/model.rs", "crates/a/src/devices.rs", "README.md"] {
            assert!(check(path).is_none(), "{path}");
        }
    }
}
