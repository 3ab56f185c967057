//! Decides whether a post comes from a page of this console, and whether a person followed a link
//! on another site.
//!
//! Browsers report the site that makes a request in `Sec-Fetch-Site`, which pages cannot set.
//! Browsers before 2023 may only send `Origin`, and because of our `referrer-policy: no-referrer`
//! they send `Origin: null` with our own forms; so does any page that hides its origin. Such a
//! request is accepted if it has a cookie of the console: all of them are `SameSite=Strict`, which
//! a browser does not send with the requests of other sites.

use http::request::Parts;
use http::{HeaderMap, HeaderName, header};

use super::cookies;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Returns whether a post comes from a page of this console.
pub(super) fn is_own_post(head: &Parts) -> bool {
    if let Some(site) = text(&head.headers, &SEC_FETCH_SITE) {
        // `none`: the person repeats a post of our page, which no page can cause.
        return site == "same-origin" || site == "none";
    }
    match text(&head.headers, &header::ORIGIN) {
        None | Some("null") => has_cookie(&head.headers),
        Some(origin) => host(head).is_some_and(|host| names(origin, host)),
    }
}

/// Returns whether another site led to this request, so that the browser omitted the cookies.
pub(super) fn is_from_elsewhere(head: &Parts) -> bool {
    text(&head.headers, &SEC_FETCH_SITE) == Some("cross-site")
}

fn has_cookie(headers: &HeaderMap) -> bool {
    [cookies::SESSION, cookies::FORM].iter().any(|name| cookies::value(headers, name).is_some())
}

/// Returns the host and port that a request is for.
pub(super) fn host(head: &Parts) -> Option<&str> {
    let authority = head.uri.authority().map(http::uri::Authority::as_str);
    authority.or_else(|| text(&head.headers, &header::HOST))
}

/// Returns whether an origin is HTTPS at a host.
fn names(origin: &str, host: &str) -> bool {
    let default_port = |host: &str| host.strip_suffix(":443").unwrap_or(host).to_ascii_lowercase();
    let origin = origin.strip_prefix("https://");
    origin.is_some_and(|origin| default_port(origin) == default_port(host))
}

/// Returns the value of a header. An unreadable header counts as empty.
fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}
