//! The language and the colours of the pages, which a browser stores in cookies.

use http::header;
use kiosque_console::Theme;
use kiosque_locale::Locale;

use super::cookies::{self, Lifetime};
use super::fields::Fields;
use super::reply::Reply;
use super::return_path::{ReturnPath, SIGN_IN};
use crate::call::Call;

/// Stores the preference of a form, and redirects to the page of the form.
pub(super) fn set(form: &Fields) -> Reply {
    let language = form.text("language").and_then(|tag| tag.parse().ok());
    let theme = form.text("theme").and_then(|name| name.parse().ok());
    let cookies = [
        language.map(|language: Locale| (cookies::LANGUAGE, language.tag())),
        theme.map(|theme: Theme| (cookies::THEME, theme.code())),
    ];
    let page = form.text("return").and_then(|path| ReturnPath::parse(&path));
    let mut reply = Reply::see_other(page.as_ref().map_or(SIGN_IN, ReturnPath::as_str));
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
