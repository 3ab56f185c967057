//! An account whose session processes use in turn.

use std::io::{self, Write};
use std::pin::pin;
use std::sync::Once;
use std::time::Duration;

use kiosque_client::{Account, GroupClient, Observer, Zone};
use kiosque_contract::Endpoint;
use kiosque_contract::endpoint::Summary;
use serde_json::json;
use tokio::sync::OnceCell;

use crate::error::CommandError;
use crate::places::Places;
use crate::refusal::Refused;
use crate::resolve::Resolved;
use crate::session_file::SessionFile;

/// The number of replaced sessions of one process from which on it prints a message. One is usual:
/// another user of the account has logged in since the last command.
const REPLACED_MIN: u64 = 2;
/// The interval at which that number is read.
const COUNT_INTERVAL: Duration = Duration::from_millis(500);

/// An account whose session is shared with other processes.
#[derive(Debug)]
pub struct Remote {
    profile: Resolved,
    file: SessionFile,
    account: Account,
    zone: OnceCell<Option<Zone>>,
    /// Prints the message about replaced sessions once.
    warning: Once,
}

/// The time for which a process has the session.
pub struct Turn<'t> {
    /// The account.
    pub account: &'t Account,
    zone: &'t OnceCell<Option<Zone>>,
}

/// Whether a refused password is sent again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refusals {
    Obeyed,
    Forgotten,
}

impl Remote {
    /// Opens the account of a profile. Nothing is sent yet.
    ///
    /// # Errors
    /// The URL or the certificates are invalid, or there is no directory for the session.
    pub fn open(
        profile: Resolved,
        places: &Places,
        observer: Option<Observer>,
    ) -> Result<Remote, CommandError> {
        let account = Account::open(profile.client_profile(observer)?)?;
        let file = SessionFile::of(&places.sessions, &profile.name)?;
        Ok(Remote { profile, file, account, zone: OnceCell::new(), warning: Once::new() })
    }

    /// Returns the profile.
    pub fn profile(&self) -> &Resolved {
        &self.profile
    }

    /// Runs `work` while no other process uses the session, and stores the session for the next
    /// one. A process that waits for its turn prints a message.
    ///
    /// # Errors
    /// The errors of `work`. A password that was refused before is not sent again.
    pub async fn turn<T>(
        &self,
        work: impl AsyncFnOnce(&mut Turn<'_>) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        self.locked(Refusals::Obeyed, work).await
    }

    /// Logs in, whether or not there is a session.
    ///
    /// # Errors
    /// There is no session now.
    pub async fn log_in(&self) -> Result<(), CommandError> {
        self.locked(Refusals::Forgotten, async |turn| {
            turn.account.session().resume(None).await?;
            turn.account.groups().await?;
            Ok(())
        })
        .await
    }

    /// Ends the session. Returns whether there was one.
    ///
    /// # Errors
    /// No whole answer arrived.
    pub async fn log_out(&self) -> Result<bool, CommandError> {
        self.locked(Refusals::Forgotten, async |turn| {
            let had = turn.account.session().stored().await?.is_some();
            turn.account.log_out().await?;
            Ok(had)
        })
        .await
    }

    async fn locked<T>(
        &self,
        refusals: Refusals,
        work: impl AsyncFnOnce(&mut Turn<'_>) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let locked = self.file.lock().await?;
        let before = locked.read(&self.profile.url, &self.profile.username)?;
        if let Some(refused) = &before.refused
            && refusals == Refusals::Obeyed
        {
            refused.check(&self.profile)?;
        }
        let mut content = before.clone();
        let session = self.account.session();
        session.resume(content.session.take()).await?;
        let mut turn = Turn { account: &self.account, zone: &self.zone };
        let result = self.watched(work(&mut turn)).await;
        content.session = session.stored().await?;
        match &result {
            Err(CommandError::NotAuthenticated { message, is_password_refused: true }) => {
                content.refused = Some(Refused::new(&self.profile, message.clone()));
            }
            // A log out has not shown that the password is right.
            Ok(_) if content.session.is_some() => content.refused = None,
            Ok(_) | Err(_) => {}
        }
        if content != before {
            locked.write(&content)?;
        }
        result
    }

    /// Waits for the end of `work`, and prints a message if other logins end the session meanwhile
    /// again and again: the command is slow then, or fails.
    async fn watched<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            let ended = tokio::time::timeout(COUNT_INTERVAL, work.as_mut()).await;
            self.warn_of_other_logins().await;
            if let Ok(result) = ended {
                return result;
            }
        }
    }

    async fn warn_of_other_logins(&self) {
        let counts = self.account.session().counts().await;
        let print = || {
            let username = &self.profile.username;
            // A message that cannot be written is lost.
            let _ = writeln!(
                io::stderr(),
                "warning: other logins as {username} end the session of this command again and \
                 again; use a separate account, or let all programs of the account use one \
                 `kiosque broker`"
            );
        };
        if counts.is_ok_and(|counts| counts.replaced >= REPLACED_MIN) {
            self.warning.call_once(print);
        }
    }
}

impl Turn<'_> {
    /// Returns the calls of a group, or of the group that a login selects.
    ///
    /// # Errors
    /// The text is not the id of a group.
    pub fn group(&self, id: Option<&str>) -> Result<GroupClient, CommandError> {
        match id {
            Some(id) => Ok(self.account.group(id)?),
            None => Ok(self.account.default_group()),
        }
    }

    /// Returns the platform's time zone, which is in the summary; `None` if the server does not
    /// send it. A process requests it once. It is not stored: the server may have other data when
    /// the next process runs.
    ///
    /// # Errors
    /// The summary was refused.
    pub async fn platform_zone(&self) -> Result<Option<Zone>, CommandError> {
        let requested = self.zone.get_or_try_init(async || {
            let group = self.account.default_group();
            let summary = group.call_path(Summary::PATH, &json!({})).await?;
            let name = summary.get("timeZone").and_then(serde_json::Value::as_str);
            Ok(Zone::named(name.unwrap_or_default()).ok())
        });
        requested.await.cloned()
    }
}

#[cfg(test)]
mod tests {
    use crate::profile::{Fields, Given, Profiles};

    use super::*;

    /// AUTH-8: a log out does not make later commands send a refused password again.
    #[tokio::test]
    async fn a_log_out_forgets_no_refused_password() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().to_owned();
        let places = Places::of(|name| (name == "HOME").then(|| root.clone().into()));
        let places = places.expect("directories");
        let fields = Fields {
            url: Some("https://127.0.0.1:1/v8".to_owned()),
            username: Some("acme".to_owned()),
            password_command: Some("echo wrong".to_owned()),
            ..Fields::default()
        };
        let profiles = Profiles::read(&places).expect("no profiles");
        let given = Given { profile: None, fields };
        let profile = Resolved::of(given, Given::default(), &profiles).expect("a profile");
        let remote = Remote::open(profile, &places, None).expect("an account");
        let locked = remote.file.lock().await.expect("the lock");
        let Resolved { url, username, .. } = remote.profile();
        let mut content = locked.read(url, username).expect("no file");
        content.refused = Some(Refused::new(remote.profile(), "it is wrong".to_owned()));
        locked.write(&content).expect("written");
        drop(locked);
        assert!(!remote.log_out().await.expect("no session"));
        let used = remote.turn(async |_| Ok(())).await;
        let Err(CommandError::NotAuthenticated { message, .. }) = used else { panic!("{used:?}") };
        assert!(message.ends_with("The refusal was: it is wrong"), "{message}");
    }
}
