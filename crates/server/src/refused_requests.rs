//! The record of a refused or failed request of an integrator: the request, its account and source,
//! and the answer. It is looked up by the id of the request.

use std::borrow::Cow;

use http::HeaderValue;
use kiosque_contract::endpoint::LogIn;
use kiosque_contract::{ENDPOINTS, Endpoint, LoginRequest, TOKEN_HEADER};
use kiosque_model::{AccountNo, LoginName, PresentedToken, Refusal, RefusalKind};
use kiosque_store::{Exchange, Sender};
use serde_json::{Map, Value};

use crate::answer;
use crate::call::Call;
use crate::failure::Failure;
use crate::remarks::Remarks;
use crate::request::{PAGE_KEYS, values};
use kiosque_listener::json::{self, Json};

/// Maximum number of characters of a path, or of one value.
const TEXT_MAX: usize = 200;
/// A word of at least this length may be a token or a key, which have 43 characters or more.
const SECRET_CHARS: usize = 40;
/// The text that replaces a secret.
const SECRET: &str = "…";

/// A request, with what is known when it is answered.
pub(crate) struct Asked<'a> {
    pub(crate) call: Call<'a>,
    pub(crate) remarks: &'a Remarks,
}

impl Asked<'_> {
    /// Adds the request to those to be stored next, if there is space. Returns the account if the
    /// request proves it with a token, not only with a name or a hint.
    pub(crate) fn record(&self, failure: &Failure) -> Option<AccountNo> {
        let app = self.call.app;
        let sender = self.sender(failure);
        let source = self.call.source();
        let at = app.clock.now();
        let account = match &sender {
            Sender::Account(account) => Some(*account),
            Sender::Login(_) | Sender::Claimed(_) | Sender::Unknown => None,
        };
        if self.is_guess(failure) {
            app.store.trail().usage().count_guess(source.prefix(), at);
        }
        app.store.trail().refused().add(self.call.request_id, at, sender, source, || {
            self.exchange(failure, app.settings.limits.json_max_depth)
        });
        account
    }

    /// Returns whether the request is a login with a wrong name or password.
    fn is_guess(&self, failure: &Failure) -> bool {
        let Failure::Refusal(refusal) = failure else { return false };
        let is_guess = matches!(refusal, Refusal::Credentials | Refusal::TooManyFailures { .. });
        is_guess && self.call.path() == LogIn::ROUTE
    }

    fn sender(&self, failure: &Failure) -> Sender {
        if self.call.path() == LogIn::ROUTE {
            let login = serde_json::from_slice::<LoginRequest>(&self.remarks.body).ok();
            let name = login.and_then(|login| LoginName::parse(login.username).ok());
            return name.map_or(Sender::Unknown, Sender::Login);
        }
        if let Some(account) = self.remarks.account.filter(|_| proves_token(failure)) {
            return Sender::Account(account);
        }
        let token = self.call.head.headers.get(TOKEN_HEADER).map(HeaderValue::as_bytes);
        let token = token.and_then(PresentedToken::read);
        token.map_or(Sender::Unknown, |token| self.call.app.store.trail().sender_of(&token))
    }

    fn exchange(&self, failure: &Failure, max_depth: usize) -> Exchange {
        let (status, answer) = answer::envelope(failure, self.call.locale(), self.call.request_id);
        let hint = self.remarks.hint.map(|hint| hint.text().to_owned());
        let (refusal, cause) = match failure {
            Failure::Refusal(refusal) => (Some(RefusalKind::from(refusal)), hint),
            other => (None, other.system_error().map(|error| without_secrets(&error.cause))),
        };
        Exchange {
            method: self.call.head.method.as_str().chars().take(TEXT_MAX).collect(),
            path: self.path(),
            page: self.page(),
            body: self.body(max_depth),
            status: status.as_u16(),
            answer: without_secrets(&String::from_utf8_lossy(&answer)),
            refusal: refusal.map(|kind| kind.name().to_owned()),
            cause,
        }
    }

    fn path(&self) -> String {
        let path = self.call.path();
        match ENDPOINTS.iter().any(|endpoint| endpoint.route == path) {
            true => path.to_owned(),
            false => shortened(path),
        }
    }

    /// Returns the requested page's parameters.
    fn page(&self) -> Option<String> {
        let of = |key: &&str| {
            let values = values(self.call.query(), key);
            let text = |value: Cow<'_, [u8]>| shortened(&String::from_utf8_lossy(&value));
            values.map(|value| format!("{key}={}", text(value))).collect::<Vec<_>>()
        };
        let parts: Vec<String> = PAGE_KEYS.iter().flat_map(of).collect();
        (!parts.is_empty()).then(|| parts.join("&"))
    }

    /// Returns the known fields of the call, as JSON. A login has none: its fields are secret.
    fn body(&self, max_depth: usize) -> Option<String> {
        let declared = self.remarks.ignored.declared;
        if self.call.path() == LogIn::ROUTE || declared.is_empty() {
            return None;
        }
        let fields = json::parse_object(&self.remarks.body, max_depth).ok()?;
        let known = fields.0.into_iter().filter(|(name, _)| declared.contains(&name.as_str()));
        let known: Map<String, Value> = known.map(|(name, value)| (name, shown(value))).collect();
        Some(Value::from(known).to_string())
    }
}

/// Returns whether a refusal occurs only after the token has been proven.
fn proves_token(failure: &Failure) -> bool {
    match failure {
        Failure::Refusal(refusal) => match refusal {
            Refusal::GroupClosed
            | Refusal::OutOfScope
            | Refusal::OrderUnknown
            | Refusal::Invalid(_)
            | Refusal::SessionExpired
            | Refusal::Unreadable(_) => true,
            Refusal::ApiNotEnabled
            | Refusal::NoGroup
            | Refusal::Credentials
            | Refusal::TooManyFailures { .. }
            | Refusal::TokenMissing
            | Refusal::TokenInvalid
            | Refusal::NotFound => false,
        },
        _ => false,
    }
}

/// Returns a value, or the name of its type if its content is of no use.
fn shown(value: Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Flag(flag) => flag.into(),
        Json::Int(int) => int.into(),
        Json::Number => "(number)".into(),
        Json::Text(text) => shortened(&text).into(),
        Json::Texts(texts) => texts.iter().map(|text| shortened(text)).collect(),
        Json::List => "(list)".into(),
        Json::Object(_) => "(object)".into(),
    }
}

/// Returns the beginning of a text, without secrets.
fn shortened(text: &str) -> String {
    kiosque_model::shortened(&without_secrets(text), TEXT_MAX).into_owned()
}

/// Returns a text with words that may be tokens or keys replaced.
fn without_secrets(text: &str) -> String {
    let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_other = |c: char| !u8::try_from(c).is_ok_and(is_of_word);
    let words = text.split_inclusive(is_other).map(|part| {
        let word = part.trim_end_matches(is_other);
        match word.len() >= SECRET_CHARS {
            true => part.replacen(word, SECRET, 1),
            false => part.to_owned(),
        }
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_are_replaced() {
        let key = format!("kqo_{}", "x".repeat(43));
        let text = format!("a {key}, b: \"{}\" {}é", "y".repeat(40), "z".repeat(39));
        assert_eq!(without_secrets(&text), format!("a …, b: \"…\" {}é", "z".repeat(39)));
        assert_eq!(without_secrets(&key), "…");
        assert_eq!(without_secrets(""), "");
        assert_eq!(shortened(&"é ".repeat(150)), format!("{}…", "é ".repeat(100)));
    }
}
