//! The values that flags, variables and the configuration file give.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use kiosque_model::setting::{Configurable, Notation, Setting, SettingDefault};
use toml::Value;

use super::{CONFIG_VARIABLE, all_settings};

/// Values as text, by the name of the setting. Their syntax is checked; `Debug` leaves them out.
#[derive(Clone, Default)]
pub(crate) struct Given(BTreeMap<&'static str, String>);

impl FromIterator<(&'static str, String)> for Given {
    fn from_iter<I: IntoIterator<Item = (&'static str, String)>>(values: I) -> Self {
        Given(values.into_iter().collect())
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Given {
    /// Adds the values of `other` to these.
    pub(crate) fn and(mut self, other: &Given) -> Given {
        self.0.extend(other.0.clone());
        self
    }

    /// Adds the values of a configuration file for settings that have none yet.
    pub(super) fn or_file(self, path: &Path) -> anyhow::Result<Given> {
        let file = path.display();
        let text = std::fs::read_to_string(path).with_context(|| file.to_string())?;
        self.or_text(&text, file)
    }

    /// Adds the values of the text of a configuration file, whose name errors begin with.
    pub(super) fn or_text(mut self, text: &str, file: impl fmt::Display) -> anyhow::Result<Given> {
        let mut table: toml::Table = text.parse().with_context(|| file.to_string())?;
        let known: BTreeSet<&str> = all_settings().map(|setting| setting.name).collect();
        let unknown = table.keys().filter(|key| !known.contains(key.as_str()));
        let unknown: Vec<String> = unknown.map(|key| with_hint(key, &known)).collect();
        if !unknown.is_empty() {
            bail!("{file}: unknown keys: {}", unknown.join(", "));
        }
        for setting in all_settings() {
            let Some(value) = table.remove(setting.name) else { continue };
            if !self.contains(setting.name) {
                let text = text_of(setting, value)
                    .map_err(|reason| anyhow!("{file}: {}: {reason}", setting.name))?;
                self.0.insert(setting.name, text);
            }
        }
        Ok(self)
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Assigns the values to the fields of `target`.
    pub(super) fn assign_to<T: Configurable>(&self, target: &mut T) -> anyhow::Result<()> {
        for Setting { name, .. } in T::SETTINGS {
            if let Some(text) = self.0.get(name) {
                target.assign(name, text).map_err(|reason| anyhow!("{name}: {reason}"))?;
            }
        }
        Ok(())
    }
}

/// Returns an unknown key with the key that it resembles, if it is written as a flag or variable.
fn with_hint(key: &str, known: &BTreeSet<&str>) -> String {
    let written = key.trim_start_matches("--").replace('-', "_").to_lowercase();
    let name = written.strip_prefix("kiosque_").unwrap_or(&written);
    match known.contains(name) {
        true => format!("{key} (did you mean {name}?)"),
        false => key.to_owned(),
    }
}

/// Returns the value of a key as a flag would give it.
fn text_of(setting: &Setting, value: Value) -> Result<String, String> {
    let text = match (setting.notation, &value) {
        (Notation::Integer, Value::Integer(number)) => number.to_string(),
        (Notation::Text | Notation::List, Value::String(text)) => text.clone(),
        (Notation::List, Value::Array(items)) => {
            let items: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            items.ok_or_else(|| mismatch(setting, &value))?.join(",")
        }
        _ => return Err(mismatch(setting, &value)),
    };
    (setting.check_syntax)(&text).map_err(|reason| match setting.notation {
        Notation::Integer => format!("invalid value: integer `{text}`: {reason}"),
        Notation::Text | Notation::List => reason,
    })?;
    Ok(text)
}

/// Returns the message for a value of the wrong type, with the default as an example.
fn mismatch(setting: &Setting, value: &Value) -> String {
    let expected = match setting.notation {
        Notation::Integer => "an integer",
        Notation::Text => "a string",
        Notation::List => "a string or a list of strings",
    };
    let example = match ((setting.default)(), setting.notation) {
        (SettingDefault::Value(default), Notation::Integer) => format!(", such as {default}"),
        (SettingDefault::Value(default), _) => format!(", such as {default:?}"),
        _ => String::new(),
    };
    // A text may be long, or secret.
    let given = match value {
        Value::String(_) | Value::Array(_) | Value::Table(_) => String::new(),
        value => format!(" `{value}`"),
    };
    format!("expected {expected}{example}, not the {} value{given}", value.type_str())
}

/// Returns the environment variable of a setting.
pub(super) fn variable(setting: &Setting) -> String {
    format!("KIOSQUE_{}", setting.name.to_uppercase())
}

/// Prints a warning for each variable that starts like a setting's and is none.
pub(super) fn warn_of_unknown_variables() {
    let mut known: BTreeSet<String> = all_settings().map(variable).collect();
    known.insert(CONFIG_VARIABLE.to_owned());
    known.extend(kiosque_remote::VARIABLES.map(str::to_owned));
    for (name, _) in std::env::vars_os() {
        let name = name.display().to_string();
        if name.starts_with("KIOSQUE_") && !known.contains(&name) {
            eprintln!("warning: {name} is not a setting of kiosque");
        }
    }
}
