//! The values that flags, variables and the configuration file give.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use kiosque_model::setting::{Configurable, Notation, Setting};
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
        let unknown: Vec<&str> =
            table.keys().map(String::as_str).filter(|key| !known.contains(key)).collect();
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

/// Returns the value of a key as a flag would give it.
fn text_of(setting: &Setting, value: Value) -> Result<String, String> {
    let text = match (setting.notation, value) {
        (Notation::Integer, value) => value.try_into::<i64>().map(|number| number.to_string()),
        (Notation::List, value @ Value::Array(_)) => {
            value.try_into::<Vec<String>>().map(|values| values.join(","))
        }
        (Notation::Text | Notation::List, value) => value.try_into::<String>(),
    };
    let text = text.map_err(|error| match setting.notation {
        Notation::List => "give a string or a list of strings".to_owned(),
        Notation::Integer | Notation::Text => error.to_string().trim_end().to_owned(),
    })?;
    (setting.check_syntax)(&text).map_err(|reason| match setting.notation {
        Notation::Integer => format!("invalid value: integer `{text}`: {reason}"),
        Notation::Text | Notation::List => reason,
    })?;
    Ok(text)
}

/// Returns the environment variable of a setting.
pub(super) fn variable(setting: &Setting) -> String {
    format!("KIOSQUE_{}", setting.name.to_uppercase())
}

/// Prints a warning for each variable that starts like a setting's and is none.
pub(super) fn warn_of_unknown_variables() {
    let mut known: BTreeSet<String> = all_settings().map(variable).collect();
    known.insert(CONFIG_VARIABLE.to_owned());
    for (name, _) in std::env::vars_os() {
        let name = name.display().to_string();
        if name.starts_with("KIOSQUE_") && !known.contains(&name) {
            eprintln!("warning: {name} is not a setting of kiosque");
        }
    }
}
