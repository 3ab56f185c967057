//! Access to a mapping's tables. A fault is collected under the whole path of its key and reading
//! goes on, so that all faults are reported at once.

use toml::{Table, Value};

/// The faults of a mapping so far.
#[derive(Debug, Default)]
pub(super) struct MappingFaults(pub(super) Vec<String>);

impl MappingFaults {
    /// Adds a fault of a key.
    pub(super) fn note(&mut self, path: &str, fault: impl std::fmt::Display) {
        self.0.push(format!("{path}: {fault}"));
    }
}

/// A table of the mapping, which may be absent.
pub(super) struct Section<'t> {
    path: String,
    table: Option<&'t Table>,
}

impl<'t> Section<'t> {
    /// Returns the whole mapping.
    pub(super) fn root(table: &'t Table) -> Section<'t> {
        Section { path: String::new(), table: Some(table) }
    }

    /// Returns a table at `path`.
    pub(super) fn of(path: String, table: &'t Table) -> Section<'t> {
        Section { path, table: Some(table) }
    }

    /// Returns the table of a key; an absent one is empty.
    pub(super) fn section(&self, key: &str, faults: &mut MappingFaults) -> Section<'t> {
        let table = match self.get(key) {
            None => None,
            Some(Value::Table(table)) => Some(table),
            Some(_) => {
                let path = self.path(key);
                faults.note(&path, format_args!("expected a table, [{path}]"));
                None
            }
        };
        Section { path: self.path(key), table }
    }

    /// Returns whether the mapping has the table.
    pub(super) fn is_present(&self) -> bool {
        self.table.is_some()
    }

    /// Returns the whole path of a key.
    pub(super) fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Returns the value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&'t Value> {
        self.table?.get(key)
    }

    /// Adds a fault for every key that is not one of `known`.
    pub(super) fn only(&self, known: &[&str], faults: &mut MappingFaults) {
        for key in self.table.into_iter().flat_map(Table::keys) {
            if !known.contains(&key.as_str()) {
                let list = known.join(", ");
                faults.note(&self.path(key), format_args!("unknown key; known here are {list}"));
            }
        }
    }

    /// Returns the text of a key.
    pub(super) fn text(&self, key: &str, faults: &mut MappingFaults) -> Option<&'t str> {
        let value = self.get(key)?;
        if value.as_str().is_none() {
            faults.note(&self.path(key), format_args!("expected a text, got {}", display(value)));
        }
        value.as_str()
    }

    /// Returns the texts of a key: a list, or a single text.
    pub(super) fn texts(&self, key: &str, faults: &mut MappingFaults) -> Option<Vec<String>> {
        let value = self.get(key)?;
        let texts = match value {
            Value::String(text) => Some(vec![text.clone()]),
            Value::Array(list) => {
                list.iter().map(|item| item.as_str().map(str::to_owned)).collect()
            }
            _ => None,
        };
        let texts = texts.filter(|texts| !texts.is_empty());
        if texts.is_none() {
            let got = display(value);
            faults.note(&self.path(key), format_args!("expected a text or a list, got {got}"));
        }
        texts
    }

    /// Returns the character of a key.
    pub(super) fn character(&self, key: &str, faults: &mut MappingFaults) -> Option<char> {
        let text = self.text(key, faults)?;
        let mut characters = text.chars();
        match (characters.next(), characters.next()) {
            (Some(one), None) => Some(one),
            _ => {
                faults.note(&self.path(key), format_args!("expected one character, got {text:?}"));
                None
            }
        }
    }

    /// Returns the boolean of a key.
    pub(super) fn flag(&self, key: &str, faults: &mut MappingFaults) -> Option<bool> {
        let value = self.get(key)?;
        if value.as_bool().is_none() {
            let got = display(value);
            faults.note(&self.path(key), format_args!("expected true or false, got {got}"));
        }
        value.as_bool()
    }
}

/// Formats a value for a fault, shortened if it is long.
pub(super) fn display(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= 60 { text } else { format!("a {} of {} bytes", value.type_str(), text.len()) }
}
