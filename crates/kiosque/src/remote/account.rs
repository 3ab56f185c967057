//! `kiosque remote login` and `logout`

use std::io;
use std::path::{Path, PathBuf};

use kiosque_client::read_bounded;
use kiosque_remote::{
    CommandError, Fields, Given, PasswordSource, Profiles, Resolved, one_line, variables,
};

use super::{open, open_resolved, places, print_origin, variable};
use crate::args::{Access, LoginArgs};
use crate::output::{eprint_line, print_line};

/// The password file that means standard input.
const STANDARD_INPUT: &str = "-";

/// Logs in, and stores the profile if that succeeds.
pub(super) async fn log_in(args: LoginArgs) -> Result<(), CommandError> {
    let places = places()?;
    let is_once = args.password_file.as_deref() == Some(Path::new(STANDARD_INPUT));
    let file = args.password_file.filter(|_| !is_once);
    let fields = Fields {
        url: args.url,
        username: args.username,
        password_file: file.map(absolute).transpose()?,
        password_command: args.password_command,
        ca_file: args.ca_file.map(absolute).transpose()?,
    };
    let flags = Given { profile: args.access.profile.clone(), fields };
    let mut profile = Resolved::of(flags, variables(variable)?, &Profiles::read(&places)?)?;
    if is_once {
        profile.fields.password_file = None;
        profile.fields.password_command = None;
        profile.password = Some(PasswordSource::Once(from_standard_input()?));
    }
    if profile.password.is_none() {
        let message = "no source of the password; give --password-file FILE, or - for standard \
             input, or --password-command COMMAND";
        return Err(CommandError::Usage(message.to_owned()));
    }
    print_origin(&profile);
    let remote = open_resolved(profile, &args.access)?;
    remote.log_in().await?;
    let Resolved { name, url, username, fields, .. } = remote.profile();
    Profiles::store(&places, name, fields.clone())?;
    if is_once {
        eprint_line!(
            "the password is not stored: when the session ends, commands fail until you log in \
             again"
        );
    }
    print_line!("logged in to {url} as {username}; stored as profile {name}").map_err(output)
}

/// Ends the session of a profile.
pub(super) async fn log_out(access: &Access) -> Result<(), CommandError> {
    let remote = open(access)?;
    let name = &remote.profile().name;
    match remote.log_out().await? {
        true => print_line!("logged out; profile {name} is still stored"),
        false => print_line!("profile {name} has no session"),
    }
    .map_err(output)
}

fn absolute(file: PathBuf) -> Result<PathBuf, CommandError> {
    let absolute = std::path::absolute(&file);
    absolute.map_err(|error| CommandError::Usage(format!("{}: {error}", file.display())))
}

fn from_standard_input() -> Result<String, CommandError> {
    let failed = |error: &str| {
        CommandError::Usage(format!("cannot read the password from standard input: {error}"))
    };
    let text = read_bounded(io::stdin()).map_err(|error| failed(&error.to_string()))?;
    let text = String::from_utf8(text).map_err(|_| failed("it is not UTF-8 text"))?;
    one_line(&text).map_err(|reason| {
        CommandError::Usage(format!(
            "standard input {reason}; write the password to it, on one line"
        ))
    })
}

fn output(error: anyhow::Error) -> CommandError {
    CommandError::Output(error.downcast().unwrap_or_else(io::Error::other))
}
