//! The values of flags, variables and the settings file.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Display;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};
use kiosque_https_client::read_text_file;
use kiosque_ingest::toml_error;
use kiosque_model::at_position;
use kiosque_model::setting::{self, OutOfRange};
use toml::{Spanned, Value};

use super::{CONFIG_VARIABLE, INTEGER, LIST, all_settings, default_value, placeholder};

/// The value of a flag or variable, whose syntax is checked.
#[derive(Clone)]
pub(super) struct Text(pub(super) String);

/// Values by the name of the setting, whose syntax is checked.
#[derive(Clone, Default)]
pub(crate) struct Given(BTreeMap<String, GivenValue>);

/// A value as text, and its flag, its variable, or its file, position and key, for messages.
#[derive(Clone)]
struct GivenValue {
    text: String,
    source: String,
}

impl Given {
    /// Returns the values of the flags and variables of a command.
    pub(crate) fn by_command(mut matches: &ArgMatches) -> Given {
        while let Some((_, below)) = matches.subcommand() {
            matches = below;
        }
        let given = all_settings().filter_map(|setting| {
            let name = setting.get_id().to_string();
            let Text(text) = matches.try_get_one(&name).ok().flatten()?;
            let source = match matches.value_source(&name) {
                Some(ValueSource::EnvVariable) => variable(&setting),
                _ => flag(&setting),
            };
            Some((name, GivenValue { text: text.clone(), source }))
        });
        Given(given.collect())
    }

    /// Adds the values of variables for settings that have none yet. The command line has the
    /// values of the settings that are flags of the command; a command may use others.
    pub(super) fn or_variables(mut self) -> anyhow::Result<Given> {
        for setting in all_settings() {
            let name = setting.get_id().as_str();
            let variable = variable(&setting);
            let Some(value) = std::env::var_os(&variable).filter(|_| !self.contains(name)) else {
                continue;
            };
            let text = value.into_string().map_err(|_| anyhow!("{variable}: expected UTF-8"))?;
            check_syntax(&setting, &text).map_err(|reason| anyhow!("{variable}: {reason}"))?;
            self.0.insert(name.to_owned(), GivenValue { text, source: variable });
        }
        Ok(self)
    }

    /// Adds the values of a settings file for settings that have none yet.
    pub(super) fn or_file(self, path: &Path) -> anyhow::Result<Given> {
        let file = path.display();
        let text = read_text_file(path).with_context(|| file.to_string())?;
        self.or_text(&text, file)
    }

    /// Adds the values in the text of a settings file; errors begin with the file's name and the
    /// position.
    pub(super) fn or_text(mut self, text: &str, file: impl Display) -> anyhow::Result<Given> {
        let parsed: Result<BTreeMap<Spanned<String>, Value>, _> = toml::from_str(text);
        let mut table = parsed.map_err(|error| anyhow!("{file}: {}", toml_error(text, &error)))?;
        let at = |key: &Spanned<String>, what: &str| {
            format!("{file}: {}", at_position(text, key.span().start, what))
        };
        let known: BTreeSet<String> = all_settings().map(|it| it.get_id().to_string()).collect();
        let mut unknown: Vec<_> = table.keys().filter(|it| !known.contains(it.as_ref())).collect();
        unknown.sort_by_key(|key| key.span().start);
        if let [first, ..] = unknown[..] {
            let keys: Vec<String> =
                unknown.iter().map(|key| with_hint(key.as_ref(), &known)).collect();
            bail!(at(first, &format!("unknown keys: {}", keys.join(", "))));
        }
        for setting in all_settings() {
            let name = setting.get_id().as_str();
            let Some((key, value)) = table.remove_entry(name) else { continue };
            if !self.contains(name) {
                let source = at(&key, name);
                let text =
                    text_of(&setting, value).map_err(|reason| anyhow!("{source}: {reason}"))?;
                self.0.insert(name.to_owned(), GivenValue { text, source });
            }
        }
        Ok(self)
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns where the value of a setting is from, for messages.
    pub(super) fn source<'s>(&'s self, name: &'s str) -> &'s str {
        self.0.get(name).map_or(name, |value| &value.source)
    }

    /// Parses the values of the settings of `T`; the others have their defaults.
    pub(super) fn parse<T: Args>(&self) -> anyhow::Result<T> {
        let mut flags = Vec::new();
        for setting in T::augment_args(Command::new("")).get_arguments() {
            if let Some(GivenValue { text, source }) = self.0.get(setting.get_id().as_str()) {
                check(setting, text)
                    .map_err(|refused| anyhow!("{source}: {}", reason(&refused)))?;
                flags.push(flag_with(setting, text));
            }
        }
        Ok(setting::parse(flags)?)
    }
}

/// Returns an unknown key with the key that it resembles, if it is written like a flag or variable.
fn with_hint(key: &str, known: &BTreeSet<String>) -> String {
    let written = key.trim_start_matches("--").replace('-', "_").to_lowercase();
    let name = written.strip_prefix("kiosque_").unwrap_or(&written);
    match known.contains(name) {
        true => format!("{key} (did you mean {name}?)"),
        false => key.to_owned(),
    }
}

/// Returns the value of a key as a flag would have it.
fn text_of(setting: &Arg, value: Value) -> Result<String, String> {
    let mismatch = || mismatch(setting, &value);
    let text = match (placeholder(setting), &value) {
        (INTEGER, Value::Integer(number)) => {
            let text = number.to_string();
            return check_syntax(setting, &text)
                .map(|()| text)
                .map_err(|reason| format!("invalid value: integer `{number}`: {reason}"));
        }
        (LIST, Value::Array(items)) => {
            let items: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            items.ok_or_else(mismatch)?.join(",")
        }
        (placeholder, Value::String(text)) if placeholder != INTEGER => text.clone(),
        _ => return Err(mismatch()),
    };
    check_syntax(setting, &text).map(|()| text)
}

/// Returns the message for a value of the wrong type, with the default as an example.
fn mismatch(setting: &Arg, value: &Value) -> String {
    let expected = match placeholder(setting) {
        INTEGER => "an integer",
        LIST => "a string or a list of strings",
        _ => "a string",
    };
    let example = match default_value(setting) {
        Some(default) if placeholder(setting) == INTEGER => format!(", such as {default}"),
        Some(default) => format!(", such as {default:?}"),
        None => String::new(),
    };
    // A text may be long, or secret.
    let given = match value {
        Value::String(_) | Value::Array(_) | Value::Table(_) => String::new(),
        value => format!(" `{value}`"),
    };
    format!("expected {expected}{example}, not the {} value{given}", value.type_str())
}

/// Checks a value for every command; a value that is out of range is refused where it is used.
pub(super) fn check_syntax(setting: &Arg, text: &str) -> Result<(), String> {
    match check(setting, text) {
        Err(refused) if !refused.source().is_some_and(|it| it.is::<OutOfRange>()) => {
            Err(reason(&refused))
        }
        _ => Ok(()),
    }
}

/// Parses a value of a setting.
fn check(setting: &Arg, text: &str) -> Result<(), clap::Error> {
    let command = Command::new("").no_binary_name(true).arg(setting);
    command.try_get_matches_from([flag_with(setting, text)]).map(drop)
}

fn reason(refused: &clap::Error) -> String {
    refused.source().map_or_else(|| refused.to_string(), ToString::to_string)
}

fn flag(setting: &Arg) -> String {
    format!("--{}", setting.get_long().unwrap_or_default())
}

fn flag_with(setting: &Arg, text: &str) -> String {
    format!("{}={text}", flag(setting))
}

/// Returns the environment variable of a setting.
pub(super) fn variable(setting: &Arg) -> String {
    variable_named(setting.get_id().as_str())
}

/// Returns the environment variable of the setting or flag with a name, such as `tls_cert`.
pub(crate) fn variable_named(name: &str) -> String {
    format!("KIOSQUE_{}", name.to_uppercase())
}

/// Returns the variables that are named like settings but are none.
pub(crate) fn unknown_variables() -> Vec<String> {
    let mut known: BTreeSet<String> = all_settings().map(|it| variable(&it)).collect();
    known.insert(CONFIG_VARIABLE.to_owned());
    known.extend(kiosque_remote::VARIABLES.map(str::to_owned));
    let names = std::env::vars_os().map(|(name, _)| name.display().to_string());
    names.filter(|name| name.starts_with("KIOSQUE_") && !known.contains(name)).collect()
}
