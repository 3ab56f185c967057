//! One request, as handlers see it.

use http::HeaderMap;
use http::request::Parts;
use hyper::body::Incoming;
use kiosque_model::{Limits, Presented, Refusal, UnixMs};
use kiosque_wire::{LOCALE_HEADER, TOKEN_HEADER};

use crate::answer::Failure;
use crate::app::App;
use crate::body;
use crate::form::Form;
use crate::json;
use crate::locale::Locale;

/// A request whose path has been found.
pub(crate) struct Call<'a> {
    pub(crate) app: &'a App,
    pub(crate) now: UnixMs,
    head: Parts,
    body: Incoming,
}

impl<'a> Call<'a> {
    pub(crate) fn new(app: &'a App, head: Parts, body: Incoming) -> Call<'a> {
        Call { app, now: app.clock.now(), head, body }
    }

    fn limits(&self) -> &'a Limits {
        &self.app.settings.limits
    }

    /// The query string, without its question mark.
    pub(crate) fn query(&self) -> String {
        self.head.uri.query().unwrap_or_default().to_owned()
    }

    /// The token that the request brought; `when_missing` is what its path answers without one.
    pub(crate) fn presented(&self, when_missing: Refusal) -> Result<Presented, Refusal> {
        let mut values = self.head.headers.get_all(TOKEN_HEADER).iter();
        match (values.next(), values.next()) {
            (None, _) => Err(when_missing),
            (Some(value), None) if value.is_empty() => Err(when_missing),
            (Some(value), None) => Presented::read(value.as_bytes()).ok_or(Refusal::TokenInvalid),
            (Some(_), Some(_)) => Err(Refusal::TokenInvalid),
        }
    }

    /// Reads the body into a form.
    pub(crate) async fn form(self) -> Result<Form, Refusal> {
        let limits = self.limits();
        let body = body::read(self.body, limits).await.map_err(Refusal::Unreadable)?;
        let fields = json::parse_object(&body, limits.json_max_depth);
        fields.map(Form::new).map_err(Refusal::Unreadable)
    }

    /// Takes a body in where none is asked for, so that the connection can be used again.
    pub(crate) async fn ignore_body(self) {
        let limits = self.limits();
        // Whatever is wrong with a body that nobody reads is nobody's concern.
        let _ = body::read(self.body, limits).await;
    }
}

/// The token is judged before the body and the fields: what is wrong with those is told only to
/// whoever has a live session.
pub(crate) fn after_session<T>(
    app: &App,
    now: UnixMs,
    presented: &Presented,
    asked: Result<T, Refusal>,
) -> Result<T, Failure> {
    match asked {
        Ok(asked) => Ok(asked),
        Err(refusal) => {
            app.store.session(presented, now)?;
            Err(refusal.into())
        }
    }
}

/// The language that a request asks for.
pub(crate) fn locale_of(headers: &HeaderMap, default: Locale) -> Locale {
    let asked = headers.get(LOCALE_HEADER).and_then(|value| value.to_str().ok());
    asked.and_then(Locale::best_match).unwrap_or(default)
}
