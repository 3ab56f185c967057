//! Cookies of the console. All of them are `__Host-` cookies, which no other host or subdomain can
//! set, and are not sent with requests from another site.

use http::{HeaderMap, HeaderValue, header};

/// The session: a [`kiosque_model::ConsoleSecret`].
pub(super) const SESSION: &str = "__Host-kiosque";
/// The language of the pages.
pub(super) const LANGUAGE: &str = "__Host-kiosque-language";
/// The colours of the pages.
pub(super) const THEME: &str = "__Host-kiosque-theme";
/// Its presence proves that a browser sends a form of this site; see [`super::origin`].
pub(super) const FORM: &str = "__Host-kiosque-form";

const ATTRIBUTES: &str = "Path=/; Secure; HttpOnly; SameSite=Strict";
/// The lifetime of preferences: 400 days, the longest that browsers accept.
const PREFERENCE_S: u32 = 400 * 86_400;

/// How long a browser stores a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// Until it is closed.
    Browser,
    /// As long as it can.
    Preference,
    /// No longer.
    Ended,
}

/// Returns the value of a cookie. A cookie that is sent twice has none.
pub(super) fn value<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    // HTTP/2 may send each cookie in a separate field.
    let fields = headers.get_all(header::COOKIE).iter().filter_map(|field| field.to_str().ok());
    let cookies = fields.flat_map(|field| field.split(';')).filter_map(|one| one.split_once('='));
    let mut values = cookies.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim());
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// Returns the `Set-Cookie` header of a cookie. Its value is a secret or a word of this program.
pub(super) fn set(name: &str, value: &str, lifetime: Lifetime) -> Option<HeaderValue> {
    let age = match lifetime {
        Lifetime::Browser => String::new(),
        Lifetime::Preference => format!("; Max-Age={PREFERENCE_S}"),
        Lifetime::Ended => "; Max-Age=0".to_owned(),
    };
    let mut field = HeaderValue::from_str(&format!("{name}={value}; {ATTRIBUTES}{age}")).ok()?;
    field.set_sensitive(true);
    Some(field)
}
