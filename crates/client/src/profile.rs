//! A server and an account on it.

use std::path::Path;

use http::HeaderValue;
use kiosque_clock::{Clock, Entropy};
use kiosque_https_client::{BaseUrl, BaseUrlError, trust};

use crate::error::Error;
use crate::exchange::Observer;
use crate::http::{self as https, Server};
use crate::password::Password;
use crate::session::{Credentials, Pace, SessionParts, StoredSession};

/// A server, an account on it, and how its session is shared.
///
/// ```
/// use kiosque_client::Profile;
///
/// let profile = Profile::new("https://kiosque.example.com/v8", "acme", "secret")?;
/// # Ok::<(), kiosque_client::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Profile {
    server: Server,
    credentials: Credentials,
    pace: Pace,
    clock: Clock,
    entropy: Entropy,
    resume: Option<StoredSession>,
}

impl Profile {
    /// Returns the profile of an account, given the base URL of its server.
    ///
    /// # Errors
    /// The text is not a base URL, such as `https://HOST/v8`.
    pub fn new(
        base_url: &str,
        username: &str,
        password: impl Into<Password>,
    ) -> Result<Profile, Error> {
        let base: BaseUrl =
            base_url.parse().map_err(|it: BaseUrlError| Error::Setup(it.to_string()))?;
        let (username, password) = (username.to_owned(), password.into());
        Ok(Profile {
            server: Server { base, trusted: None, locale: None, observer: None },
            credentials: Credentials { username, password },
            pace: Pace::default(),
            clock: Clock::System,
            entropy: Entropy::system(),
            resume: None,
        })
    }

    /// Trusts the certificates of a PEM file instead of the system's.
    ///
    /// # Errors
    /// The file cannot be read, or has no certificate.
    pub fn ca_file(mut self, file: &Path) -> Result<Profile, Error> {
        let trusted = trust(Some(file)).map_err(|error| Error::Setup(error.to_string()))?;
        self.server.trusted = Some(trusted);
        Ok(self)
    }

    /// Requests messages in a language (ENV-4).
    ///
    /// # Errors
    /// The text cannot be the value of a header.
    pub fn locale(mut self, locale: &str) -> Result<Profile, Error> {
        let value = HeaderValue::from_str(locale);
        let wrong = |_| Error::Setup(format!("{locale:?} is not a language, such as en or zh-CN"));
        self.server.locale = Some(value.map_err(wrong)?);
        Ok(self)
    }

    /// Passes each exchange with the server to a function, without secrets.
    #[must_use]
    pub fn observer(mut self, observer: Observer) -> Profile {
        self.server.observer = Some(observer);
        self
    }

    /// Replaces the times that determine how the session is shared.
    #[must_use]
    pub fn pace(mut self, pace: Pace) -> Profile {
        self.pace = pace;
        self
    }

    /// Uses the session of an earlier program instead of a login, while it lasts.
    #[must_use]
    pub fn resume(mut self, session: Option<StoredSession>) -> Profile {
        self.resume = session;
        self
    }

    /// Replaces the clock and the source of random waits, for tests.
    #[must_use]
    pub fn time_and_chance(mut self, clock: Clock, entropy: Entropy) -> Profile {
        self.clock = clock;
        self.entropy = entropy;
        self
    }

    /// Returns the parts of a session of this account.
    ///
    /// # Errors
    /// The system's certificates cannot be used, or the host of the server is not a name.
    pub fn into_session_parts(self) -> Result<SessionParts, Error> {
        Ok(SessionParts {
            transport: https::transport(self.server)?,
            credentials: self.credentials,
            pace: self.pace,
            clock: self.clock,
            entropy: self.entropy,
            resume: self.resume,
        })
    }
}
