//! The second account of a check.

use serde_json::Value;

use crate::answer::Answer;
use crate::ask::{Ask, Caller};
use crate::credentials::Credentials;
use crate::paths::{LOGIN, LOGOUT};

/// The second account of a check, and the data that the first one cannot see.
#[derive(Clone, Default)]
pub(crate) struct Second {
    pub(crate) account: Credentials,
    /// `data` of its last login.
    pub(crate) session: Value,
    pub(crate) token: String,
    /// Its default group, if the first account does not have it.
    pub(crate) group: Option<String>,
    /// A device of this group.
    pub(crate) device: Option<String>,
    /// The trade number of one of its orders.
    pub(crate) trade_number: Option<String>,
}

impl Second {
    /// Returns a login of this account.
    pub(crate) fn log_in(&self) -> Ask {
        Ask::log_in(&self.account.username, &self.account.password).by(Caller::Second)
    }

    /// Returns a call with the token of this account.
    pub(crate) fn call(&self, path: &str, body: &str) -> Ask {
        Ask::post(path).by(Caller::Second).token(&self.token).body(body)
    }

    /// Records the token of a login, and its end by a log out.
    pub(crate) fn learn(&mut self, path: &str, answer: &Answer) {
        match path {
            LOGIN => {
                self.session = answer.data().clone();
                self.token = answer.token().to_owned();
            }
            LOGOUT => self.token.clear(),
            _ => {}
        }
    }
}
