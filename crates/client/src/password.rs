//! The password of an account.

use std::fmt;
use std::sync::Arc;

use crate::error::Error;

/// The function that reads a password before a login, if there is one. Its `Debug` omits the
/// content.
#[derive(Clone)]
pub struct Password(Option<Arc<Read>>);

type Read = dyn Fn() -> Result<String, String> + Send + Sync;

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

impl From<&str> for Password {
    fn from(text: &str) -> Password {
        let text = text.to_owned();
        Password::read_by(move || Ok(text.clone()))
    }
}

impl Password {
    /// Returns a password that `read` reads again before each login, from a file or from a program.
    /// Its error is a message with the source. It may block.
    pub fn read_by(read: impl Fn() -> Result<String, String> + Send + Sync + 'static) -> Password {
        Password(Some(Arc::new(read)))
    }

    /// Returns the absence of a password: a resumed session is used until it ends.
    pub const fn none() -> Password {
        Password(None)
    }

    /// Returns the text.
    pub(crate) async fn reveal(&self) -> Result<String, Error> {
        let read = self.0.clone().ok_or(Error::NoPassword)?;
        let text = tokio::task::spawn_blocking(move || read()).await;
        let text = text.unwrap_or_else(|_| Err("reading the password failed".to_owned()));
        text.map_err(Error::Setup)
    }
}
