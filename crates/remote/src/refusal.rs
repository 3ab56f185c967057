//! A password that the server has refused is not sent again: it would use up the account's
//! attempts.

use serde::{Deserialize, Serialize};

use crate::error::CommandError;
use crate::resolve::Resolved;

/// A refused password: a digest to recognize it, and the server's message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refused {
    digest: String,
    message: String,
}

impl Refused {
    pub(crate) fn new(profile: &Resolved, message: String) -> Refused {
        Refused { digest: profile.digest(), message }
    }

    /// Fails if the profile still has the password that was refused.
    pub(crate) fn check(&self, profile: &Resolved) -> Result<(), CommandError> {
        if self.digest != profile.digest() {
            return Ok(());
        }
        let Refused { message, .. } = self;
        Err(CommandError::not_authenticated(format!(
            "the password of profile {} was refused before and has not changed, so nothing was \
             sent; correct it, or run `kiosque remote login`. The refusal was: {message}",
            profile.name
        )))
    }
}
