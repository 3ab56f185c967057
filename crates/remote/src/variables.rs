//! The environment variables of `kiosque remote`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::CommandError;
use crate::profile::Given;

/// The variables that replace flags and fields of a profile. None contains a password: the
/// environment of a process is readable.
pub const VARIABLES: [&str; 6] = [PROFILE, URL, USERNAME, PASSWORD_FILE, PASSWORD_COMMAND, CA_FILE];

pub(crate) const PROFILE: &str = "KIOSQUE_REMOTE_PROFILE";
pub(crate) const URL: &str = "KIOSQUE_REMOTE_URL";
pub(crate) const USERNAME: &str = "KIOSQUE_REMOTE_USERNAME";
pub(crate) const PASSWORD_FILE: &str = "KIOSQUE_REMOTE_PASSWORD_FILE";
pub(crate) const PASSWORD_COMMAND: &str = "KIOSQUE_REMOTE_PASSWORD_COMMAND";
pub(crate) const CA_FILE: &str = "KIOSQUE_REMOTE_CA_FILE";

/// Returns the fields specified by the variables. An empty variable counts as absent.
///
/// # Errors
/// A value that must be text is not UTF-8.
pub fn variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<Given, CommandError> {
    let value = |name: &str| variable(name).filter(|value| !value.is_empty());
    let text = |name: &str| {
        let text = value(name).map(OsString::into_string).transpose();
        text.map_err(|_| CommandError::Usage(format!("{name} is not UTF-8")))
    };
    let mut given = Given { profile: text(PROFILE)?, ..Given::default() };
    given.fields.url = text(URL)?;
    given.fields.username = text(USERNAME)?;
    given.fields.password_file = value(PASSWORD_FILE).map(PathBuf::from);
    given.fields.password_command = text(PASSWORD_COMMAND)?;
    given.fields.ca_file = value(CA_FILE).map(PathBuf::from);
    Ok(given)
}
