//! The password of an account.

use std::fmt;
use std::sync::Arc;

use crate::error::Error;

/// A password, or the function that reads it before a login. Its `Debug` omits the content.
#[derive(Clone)]
pub struct Password(Source);

#[derive(Clone)]
enum Source {
    Known(Arc<str>),
    ReadBy(Arc<dyn Fn() -> Result<String, String> + Send + Sync>),
    None,
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

impl From<&str> for Password {
    fn from(text: &str) -> Password {
        Password(Source::Known(text.into()))
    }
}

impl Password {
    /// Returns a password that `read` reads again before each login, from a file or from a program.
    /// Its error is a message with the source. It may block.
    pub fn read_by(read: impl Fn() -> Result<String, String> + Send + Sync + 'static) -> Password {
        Password(Source::ReadBy(Arc::new(read)))
    }

    /// Returns the absence of a password: a resumed session is used until it ends.
    pub const fn none() -> Password {
        Password(Source::None)
    }

    /// Returns the text.
    pub(crate) async fn reveal(&self) -> Result<String, Error> {
        match &self.0 {
            Source::Known(text) => Ok(text.to_string()),
            Source::ReadBy(read) => {
                let read = Arc::clone(read);
                let text = tokio::task::spawn_blocking(move || read()).await;
                let text = text.unwrap_or_else(|_| Err("reading the password failed".to_owned()));
                text.map_err(Error::Setup)
            }
            Source::None => Err(Error::NoPassword),
        }
    }
}
