//! The session that all processes of a profile share, in a file that they lock in turn.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kiosque_client::session::StoredSession;
use serde::{Deserialize, Serialize};

use crate::error::CommandError;
use crate::files;
use crate::refusal::Refused;

/// The time after which a waiting process prints a message.
const QUIET_WAIT: Duration = Duration::from_secs(2);

/// The files of a profile: the session, and the lock next to it.
#[derive(Clone, Debug)]
pub(crate) struct SessionFile {
    session: PathBuf,
    lock: PathBuf,
}

/// The lock of a session, until it is dropped.
pub(crate) struct Locked<'f> {
    file: &'f SessionFile,
    _lock: File,
}

/// The content of the file, which belongs to one account of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Content {
    url: String,
    username: String,
    /// The session stored by the last process.
    pub(crate) session: Option<StoredSession>,
    /// The password that the server has refused.
    pub(crate) refused: Option<Refused>,
}

impl SessionFile {
    /// Returns the files of a profile, in a directory that is created if it does not exist.
    pub(crate) fn of(directory: &Path, profile: &str) -> Result<SessionFile, CommandError> {
        let created = files::create_directory(directory);
        created
            .map_err(|error| CommandError::Usage(format!("{}: {error}", directory.display())))?;
        Ok(SessionFile {
            session: directory.join(format!("{profile}.session")),
            lock: directory.join(format!("{profile}.lock")),
        })
    }

    /// Waits until no other process has the lock.
    pub(crate) async fn lock(&self) -> Result<Locked<'_>, CommandError> {
        let name = self.lock.display();
        let failed =
            |error: std::io::Error| CommandError::Usage(format!("cannot lock {name}: {error}"));
        let lock = files::open_lock(&self.lock).map_err(failed)?;
        let mut waiting = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock));
        let locked = match tokio::time::timeout(QUIET_WAIT, &mut waiting).await {
            Ok(locked) => locked,
            Err(_) => {
                eprintln!("waiting for another process that uses the session ({name})");
                waiting.await
            }
        };
        let locked = locked.map_err(|_| CommandError::Usage(format!("cannot lock {name}")))?;
        Ok(Locked { file: self, _lock: locked.map_err(failed)? })
    }
}

impl Locked<'_> {
    /// Returns the content if it belongs to this account, or an empty one. An invalid file counts
    /// as absent: it contains nothing that a login does not replace.
    pub(crate) fn read(&self, url: &str, username: &str) -> Result<Content, CommandError> {
        let text = files::read(&self.file.session).map_err(|error| self.failed(&error))?;
        let content = text.and_then(|text| serde_json::from_str::<Content>(&text).ok());
        let content = content.filter(|it| it.url == url && it.username == username);
        let (url, username) = (url.to_owned(), username.to_owned());
        Ok(content.unwrap_or_else(|| Content { url, username, ..Content::default() }))
    }

    pub(crate) fn write(&self, content: &Content) -> Result<(), CommandError> {
        let text = serde_json::to_vec(content);
        let text = text.map_err(|error| CommandError::Usage(format!("the session: {error}")))?;
        files::replace(&self.file.session, &text).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> CommandError {
        CommandError::Usage(format!(
            "cannot use the session in {}: {error}",
            self.file.session.display()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_session_of_another_account_is_not_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = SessionFile::of(directory.path(), "default").expect("files");
        let locked = file.lock().await.expect("the lock");
        let mut content = locked.read("https://a/v8", "acme").expect("no file");
        let refused = serde_json::json!({"digest": "d", "message": "m"});
        content.refused = serde_json::from_value(refused).expect("a refused password");
        locked.write(&content).expect("written");
        assert_eq!(locked.read("https://a/v8", "acme").expect("the content"), content);
        for (url, username) in [("https://b/v8", "acme"), ("https://a/v8", "other")] {
            assert_eq!(locked.read(url, username).expect("none").refused, None);
        }
        std::fs::write(&file.session, "{").expect("written");
        assert_eq!(locked.read("https://a/v8", "acme").expect("none").refused, None);
    }

    #[tokio::test]
    async fn a_lock_is_waited_for() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = SessionFile::of(directory.path(), "default").expect("files");
        let first = file.lock().await.expect("the lock");
        let second = tokio::spawn({
            let file = file.clone();
            async move { file.lock().await.is_ok() }
        });
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        drop(first);
        assert!(second.await.expect("no panic"));
    }
}
