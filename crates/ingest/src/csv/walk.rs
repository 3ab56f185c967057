//! Walking through a mapping's tables: every fault is noted under the key's whole path, and the
//! walk goes on, so that all faults are told at once.

use toml::{Table, Value};

/// What was wrong so far, one sentence each.
#[derive(Debug, Default)]
pub(super) struct Faults(pub(super) Vec<String>);

impl Faults {
    /// Notes what is wrong at a key.
    pub(super) fn note(&mut self, path: &str, fault: impl std::fmt::Display) {
        self.0.push(format!("{path}: {fault}"));
    }
}

/// A table of the mapping, or nothing in its place.
pub(super) struct Section<'t> {
    path: String,
    table: Option<&'t Table>,
}

impl<'t> Section<'t> {
    /// The whole mapping.
    pub(super) fn root(table: &'t Table) -> Section<'t> {
        Section { path: String::new(), table: Some(table) }
    }

    /// A table whose keys are named after `path`.
    pub(super) fn of(path: String, table: &'t Table) -> Section<'t> {
        Section { path, table: Some(table) }
    }

    /// The table under a key; reads as empty where there is none.
    pub(super) fn section(&self, key: &str, faults: &mut Faults) -> Section<'t> {
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

    /// Whether the mapping has it at all.
    pub(super) fn is_there(&self) -> bool {
        self.table.is_some()
    }

    /// The whole path of a key in it.
    pub(super) fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&'t Value> {
        self.table?.get(key)
    }

    /// Notes every key that is none of `known`.
    pub(super) fn only(&self, known: &[&str], faults: &mut Faults) {
        for key in self.table.into_iter().flat_map(Table::keys) {
            if !known.contains(&key.as_str()) {
                let list = known.join(", ");
                faults.note(&self.path(key), format_args!("unknown key; known here are {list}"));
            }
        }
    }

    /// The text of a key.
    pub(super) fn text(&self, key: &str, faults: &mut Faults) -> Option<&'t str> {
        let value = self.get(key)?;
        if value.as_str().is_none() {
            faults.note(&self.path(key), format_args!("expected a text, got {}", shown(value)));
        }
        value.as_str()
    }

    /// The texts of a key: a list of them, or one alone.
    pub(super) fn texts(&self, key: &str, faults: &mut Faults) -> Option<Vec<String>> {
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
            let got = shown(value);
            faults.note(&self.path(key), format_args!("expected a text or a list, got {got}"));
        }
        texts
    }

    /// The one character of a key.
    pub(super) fn character(&self, key: &str, faults: &mut Faults) -> Option<char> {
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

    /// Yes or no.
    pub(super) fn flag(&self, key: &str, faults: &mut Faults) -> Option<bool> {
        let value = self.get(key)?;
        if value.as_bool().is_none() {
            let got = shown(value);
            faults.note(&self.path(key), format_args!("expected true or false, got {got}"));
        }
        value.as_bool()
    }
}

/// A value as a fault shows it.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= 60 { text } else { format!("a {} of {} bytes", value.type_str(), text.len()) }
}
