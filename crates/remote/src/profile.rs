//! Profiles: accounts by name, in a TOML file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kiosque_model::at_position;
use serde::{Deserialize, Serialize};

use crate::error::CommandError;
use crate::files;
use crate::places::Places;

/// Maximum length of a profile name, which is part of a file name.
const NAME_CHARS_MAX: usize = 64;

/// The fields of a profile. No field is a password.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fields {
    /// The base URL of the server, or of a broker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The login name of the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// The file with the password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    /// The command that prints the password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_command: Option<String>,
    /// The PEM file with the certificates to trust, instead of the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
}

impl Fields {
    /// Returns these fields, completed by the fields of `base`. A source of the password also
    /// replaces the other kind of source.
    #[must_use]
    pub fn or(self, base: Fields) -> Fields {
        let has_source = self.password_file.is_some() || self.password_command.is_some();
        let base_file = base.password_file.filter(|_| !has_source);
        let base_command = base.password_command.filter(|_| !has_source);
        Fields {
            url: self.url.or(base.url),
            username: self.username.or(base.username),
            ca_file: self.ca_file.or(base.ca_file),
            password_file: self.password_file.or(base_file),
            password_command: self.password_command.or(base_command),
        }
    }
}

/// Values of flags or variables.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The name of a profile.
    pub profile: Option<String>,
    /// Fields that replace the profile's.
    pub fields: Fields,
}

/// The profiles of a user.
#[derive(Clone, Debug)]
pub struct Profiles {
    pub(crate) file: PathBuf,
    pub(crate) by_name: BTreeMap<String, Fields>,
}

impl Profiles {
    /// Reads the profiles. Without a file there are none.
    ///
    /// # Errors
    /// The file cannot be read, or is not a file of profiles.
    pub fn read(places: &Places) -> Result<Profiles, CommandError> {
        let file = places.profiles.join("remote.toml");
        let wrong = |error: String| {
            CommandError::Usage(format!("cannot read the profiles of {}: {error}", file.display()))
        };
        let text = files::read(&file).map_err(|error| wrong(error.to_string()))?;
        let by_name = parse(&text.unwrap_or_default()).map_err(wrong)?;
        Ok(Profiles { file, by_name })
    }

    /// Adds or replaces a profile, and stores all of them. The others are read again first, since
    /// another process may have stored one meanwhile.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn store(places: &Places, name: &str, fields: Fields) -> Result<(), CommandError> {
        let file = places.profiles.join("remote.toml");
        let failed = |error: std::io::Error| {
            CommandError::Usage(format!("cannot store the profile in {}: {error}", file.display()))
        };
        files::create_directory(&places.profiles).map_err(failed)?;
        let lock = files::open_lock(&places.profiles.join("remote.toml.lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut profiles = Profiles::read(places)?;
        profiles.by_name.insert(name.to_owned(), fields);
        let text = toml::to_string(&profiles.by_name);
        let text =
            text.map_err(|error| CommandError::Usage(format!("the profile {name}: {error}")))?;
        files::replace(&file, text.as_bytes()).map_err(failed)
    }
}

/// Parses the text of a file of profiles. Errors do not show values, which may be passwords.
fn parse(text: &str) -> Result<BTreeMap<String, Fields>, String> {
    let positioned = |error: toml::de::Error| {
        at_position(text, error.span().unwrap_or_default().start, error.message())
    };
    let table: toml::Table = toml::from_str(text).map_err(positioned)?;
    if let Some((key, _)) = table.iter().find(|(_, value)| !value.is_table()) {
        return Err(format!("{key} is not in a profile; write the line [default] above it"));
    }
    toml::from_str(text).map_err(positioned)
}

/// Checks the name of a profile.
pub(crate) fn check_name(name: &str) -> Result<(), CommandError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = !name.is_empty()
        && name.len() <= NAME_CHARS_MAX
        && !name.starts_with('.')
        && name.chars().all(is_plain);
    if is_name {
        return Ok(());
    }
    Err(CommandError::Usage(format!(
        "{name:?} is not a valid profile name; use at most {NAME_CHARS_MAX} letters, digits, \
         '-', '_' and '.'"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_of_the_password_replaces_the_other_kind() {
        let file = Fields { password_file: Some("a".into()), ..Fields::default() };
        let command = Fields { password_command: Some("b".into()), ..Fields::default() };
        assert_eq!(file.clone().or(command.clone()), file);
        assert_eq!(command.clone().or(file.clone()), command);
        assert_eq!(Fields::default().or(file.clone()), file);
    }

    /// A value may be a password, in a field that is misspelled or does not exist.
    #[test]
    fn an_error_of_the_file_does_not_show_a_value() {
        let [expected, above] = ["expected one of `url`", "write the line [default] above it"];
        for (text, start, end) in [
            ("[a]\nurl = ''\npassword = 'hunter2'", "line 3, column 1: unknown", expected),
            ("password = 'hunter2'\n[a]", "password is not in a profile; ", above),
            ("[a]\npassword_command = hunter2", "line 2, column 20: string values ", "quoted"),
            ("[a]\npassword_file = ['hunter2']", "line 2, column 17: invalid type: ", "sequence"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.starts_with(start) && error.contains(end), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_name_is_a_plain_file_name() {
        for name in ["default", "a.b-c_1"] {
            check_name(name).expect(name);
        }
        for name in ["", ".", "..", ".x", "a/b", "a b", "ä", &"x".repeat(65)] {
            let Err(CommandError::Usage(message)) = check_name(name) else { panic!("{name}") };
            assert!(message.contains("is not a valid profile name"), "{message}");
        }
    }
}
