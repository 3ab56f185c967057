//! The language and the colours of the pages, which a browser stores in cookies.

use http::header;
use kiosque_console::Theme;
use kiosque_locale::Locale;

use super::cookies::{self, Lifetime};
use super::fields::Fields;
use super::reply::Reply;
use super::return_path::{ReturnPath, SIGN_IN};
use super::sign_in;
use crate::call::Call;

/// Stores the preference of a form, and redirects to the page of the form.
pub(super) fn set(form: &Fields) -> Reply {
    let language = form.text("language").and_then(|tag| tag.parse().ok());
    let theme = form.text("theme").and_then(|name| name.parse().ok());
    let cookies = [
        language.map(|language: Locale| (cookies::LANGUAGE, language.tag())),
        theme.map(|theme: Theme| (cookies::THEME, theme.code())),
    ];
    let given = form.text("return").unwrap_or_default();
    let of_sign_in = given.strip_prefix(SIGN_IN).and_then(|rest| rest.strip_prefix('?'));
    let mut reply = Reply::see_other(&match ReturnPath::parse(&given) {
        Some(page) => page.as_str().to_owned(),
        None => sign_in::same(&Fields::of(of_sign_in.unwrap_or_default())),
    });
    for (name, code) in cookies.into_iter().flatten() {
        reply = reply.cookie(name, code, Lifetime::Preference);
    }
    reply
}

impl Call<'_> {
    /// Returns the language that a person chose, otherwise the browser's.
    pub(super) fn language(&self) -> Locale {
        let headers = &self.head.headers;
        let chosen = cookies::value(headers, cookies::LANGUAGE).and_then(|tag| tag.parse().ok());
        chosen.unwrap_or_else(|| {
            let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|it| it.to_str().ok());
            let preferred = accepted.and_then(Locale::best_match);
            preferred.unwrap_or(self.app.settings.default_locale)
        })
    }

    /// Returns the colours that a person chose, otherwise the browser's.
    pub(super) fn theme(&self) -> Theme {
        let chosen = cookies::value(&self.head.headers, cookies::THEME);
        chosen.and_then(|name| name.parse().ok()).unwrap_or_default()
    }
}
