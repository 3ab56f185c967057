//! The account of a command: from flags, variables and the profile, in this order.

use kiosque_client::session::Pace;
use kiosque_client::{BaseUrl, BaseUrlError, Observer, Password, Profile};
use sha2::{Digest, Sha256};

use crate::error::CommandError;
use crate::password::PasswordSource;
use crate::profile::{Fields, Given, Profiles, check_name};
use crate::variables as names;

/// The name of the default profile.
const DEFAULT: &str = "default";
/// The number of times that one call of a command may be refused with -4, which takes some seconds:
/// a person waits for it.
const REFUSALS_MAX: u32 = 5;

/// A profile with all its fields.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The name of the profile.
    pub name: String,
    /// Its fields, after replacement.
    pub fields: Fields,
    /// The base URL. Each server has one spelling here, which the session and the copy are stored
    /// with.
    pub url: String,
    /// The login name.
    pub username: String,
    /// The source of the password, if there is one.
    pub password: Option<PasswordSource>,
    /// Which profile is used and the origin of it and its fields, unless all are the default.
    pub origin: Option<String>,
}

impl Resolved {
    /// Returns the account specified by flags, variables and profiles together.
    ///
    /// # Errors
    /// There is no such profile, or it lacks a field.
    pub fn of(
        flags: Given,
        variables: Given,
        profiles: &Profiles,
    ) -> Result<Resolved, CommandError> {
        let (name, name_from) = match (flags.profile, variables.profile) {
            (Some(name), _) => (name, Some("--profile")),
            (None, Some(name)) => (name, Some(names::PROFILE)),
            (None, None) => (DEFAULT.to_owned(), None),
        };
        check_name(&name)?;
        let used: Vec<&str> = used(&variables.fields, &flags.fields).collect();
        let origin = origin(&name, name_from, &used);
        let stored = profiles.by_name.get(&name).cloned().unwrap_or_default();
        let fields = flags.fields.or(variables.fields).or(stored);
        let missing = |field: &str| {
            let file = profiles.file.display();
            CommandError::Usage(format!(
                "the profile {name} in {file} has no {field}; run `kiosque remote login \
                 --profile {name} --url https://HOST/v8 --username NAME --password-file FILE`"
            ))
        };
        let url = fields.url.clone().ok_or_else(|| missing("url"))?;
        let username = fields.username.clone().ok_or_else(|| missing("username"))?;
        let base: BaseUrl =
            url.parse().map_err(|error: BaseUrlError| CommandError::Usage(error.to_string()))?;
        let url = base.to_string();
        let password = match (&fields.password_file, &fields.password_command) {
            (Some(file), _) => Some(PasswordSource::File(file.clone())),
            (None, Some(command)) => Some(PasswordSource::Command(command.clone())),
            (None, None) => None,
        };
        Ok(Resolved { name, fields, url, username, password, origin })
    }

    /// Returns a digest of everything that decides whether a login succeeds, so that a refused
    /// password is not sent again while nothing has changed.
    pub(crate) fn digest(&self) -> String {
        let mut digest = Sha256::new();
        digest.update(format!("{}\n{}\n", self.url, self.username));
        if let Some(source) = &self.password {
            source.update(&mut digest);
        }
        digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the profile for the client.
    pub(crate) fn client_profile(
        &self,
        observer: Option<Observer>,
    ) -> Result<Profile, CommandError> {
        let password = match self.password.clone() {
            Some(source) => Password::read_by(move || source.read()),
            None => Password::none(),
        };
        let pace = Pace { refusals_max: REFUSALS_MAX, ..Pace::default() };
        let mut profile = Profile::new(&self.url, &self.username, password)?.pace(pace);
        if let Some(file) = &self.fields.ca_file {
            profile = profile.ca_file(file)?;
        }
        Ok(match observer {
            Some(observer) => profile.observer(observer),
            None => profile,
        })
    }
}

/// Returns the variables that replace a field of the profile.
fn used(variables: &Fields, flags: &Fields) -> impl Iterator<Item = &'static str> {
    let has_source = flags.password_file.is_some() || flags.password_command.is_some();
    let used = [
        (names::URL, variables.url.is_some() && flags.url.is_none()),
        (names::USERNAME, variables.username.is_some() && flags.username.is_none()),
        (names::PASSWORD_FILE, variables.password_file.is_some() && !has_source),
        (names::PASSWORD_COMMAND, variables.password_command.is_some() && !has_source),
        (names::CA_FILE, variables.ca_file.is_some() && flags.ca_file.is_none()),
    ];
    used.into_iter().filter(|(_, is_used)| *is_used).map(|(name, _)| name)
}

fn origin(name: &str, name_from: Option<&str>, variables: &[&str]) -> Option<String> {
    let mut text = match name_from {
        Some(from) => format!("profile {name} (from {from})"),
        None if variables.is_empty() => return None,
        None => format!("profile {name}"),
    };
    if !variables.is_empty() {
        text.push_str(", with ");
        text.push_str(&variables.join(", "));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use crate::places::Places;
    use crate::variables::variables;

    use super::*;

    fn resolved(flags: Given, set: &[(&str, &str)]) -> Result<Resolved, CommandError> {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().to_str().expect("text").to_owned();
        let lookup = |name: &str| match name {
            "HOME" => Some(root.clone().into()),
            _ => set.iter().find(|(one, _)| *one == name).map(|(_, value)| value.into()),
        };
        let places = Places::of(lookup).expect("directories");
        let fields = Fields {
            url: Some("https://a/v8".to_owned()),
            username: Some("acme".to_owned()),
            password_file: Some("/pw".into()),
            ..Fields::default()
        };
        Profiles::store(&places, DEFAULT, fields.clone()).expect("stored");
        Profiles::store(&places, "west", fields).expect("stored");
        let profiles = Profiles::read(&places).expect("profiles");
        Resolved::of(flags, variables(lookup).expect("variables"), &profiles)
    }

    #[test]
    fn the_origin_is_named_unless_it_is_the_default() {
        let flag = |name: &str| Given { profile: Some(name.to_owned()), ..Given::default() };
        let variable = [("KIOSQUE_REMOTE_PROFILE", "west")];
        let origin = |flags, set: &[_]| resolved(flags, set).expect("a profile").origin;
        assert_eq!(origin(Given::default(), &[]), None);
        let west = "profile west (from --profile)".to_owned();
        assert_eq!(origin(flag("west"), &variable), Some(west));
        let west = "profile west (from KIOSQUE_REMOTE_PROFILE)".to_owned();
        assert_eq!(origin(Given::default(), &variable), Some(west));
        let command = [("KIOSQUE_REMOTE_PASSWORD_COMMAND", "pass x"), ("KIOSQUE_REMOTE_URL", "")];
        let source = "profile default, with KIOSQUE_REMOTE_PASSWORD_COMMAND".to_owned();
        assert_eq!(origin(Given::default(), &command), Some(source));
    }

    #[test]
    fn flags_replace_variables_and_variables_the_profile() {
        let set = [("KIOSQUE_REMOTE_URL", "https://b/v8"), ("KIOSQUE_REMOTE_USERNAME", "b")];
        let mut flags = Given::default();
        flags.fields.url = Some("https://c/v8".to_owned());
        let resolved = resolved(flags, &set).expect("a profile");
        assert_eq!((&*resolved.url, &*resolved.username), ("https://c/v8", "b"));
        let password = resolved.password;
        assert!(matches!(password, Some(PasswordSource::File(file)) if file.ends_with("pw")));
        assert_eq!(
            resolved.origin.as_deref(),
            Some("profile default, with KIOSQUE_REMOTE_USERNAME")
        );
    }

    #[test]
    fn a_server_has_one_spelling() {
        for url in ["https://b/v8", "https://b/v8/", "https://b", "https://b:443/v8"] {
            let resolved = resolved(Given::default(), &[("KIOSQUE_REMOTE_URL", url)]);
            assert_eq!(resolved.expect("a profile").url, "https://b/v8", "{url}");
        }
        let wrong = resolved(Given::default(), &[("KIOSQUE_REMOTE_URL", "http://b/v8")]);
        let Err(CommandError::Usage(message)) = wrong else { panic!("a profile") };
        assert!(message.contains("is not HTTPS"), "{message}");
    }

    #[test]
    fn an_unknown_profile_is_named_with_the_command_that_makes_it() {
        let flags = Given { profile: Some("east".to_owned()), ..Given::default() };
        let Err(CommandError::Usage(message)) = resolved(flags, &[]) else { panic!("a profile") };
        assert!(message.starts_with("the profile east in "), "{message}");
        assert!(message.contains("run `kiosque remote login --profile east"), "{message}");
    }
}
