//! The page to show after a sign-in.

use http::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};

/// The page that signs in.
pub(super) const SIGN_IN: &str = "/console/login";
/// The maximum length of a path and query to return to.
const BYTES_MAX: usize = 2_000;
/// The paths that are not pages.
const NO_PAGES: [&str; 4] =
    [SIGN_IN, "/console/logout", "/console/preferences", "/console/assets/"];

/// The path and the query of a page of this console. It begins with `/console/`, so it cannot refer
/// to another host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReturnPath(String);

impl ReturnPath {
    /// Parses a path from a request; `None` if it is not a page of the console.
    pub(super) fn parse(text: &str) -> Option<ReturnPath> {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\' && byte != b'#';
        let path = text.split('?').next().unwrap_or_default();
        // Browsers treat an encoded dot like a dot.
        let dotless = path.to_ascii_lowercase().replace("%2e", ".");
        let is_page = path.starts_with("/console/")
            && !dotless.split('/').any(|part| part == "." || part == "..")
            && !NO_PAGES.iter().any(|other| path.starts_with(other));
        let is_valid = text.len() <= BYTES_MAX
            && text.bytes().all(is_plain)
            && is_page
            && text.parse::<Uri>().is_ok();
        is_valid.then(|| ReturnPath(text.to_owned()))
    }

    /// Returns the path of a request.
    pub(super) fn of(uri: &Uri) -> Option<ReturnPath> {
        uri.path_and_query().and_then(|path| ReturnPath::parse(path.as_str()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the address of the sign-in, which leads to a page.
pub(super) fn sign_in_address(page: Option<&ReturnPath>) -> String {
    match page {
        None => SIGN_IN.to_owned(),
        Some(ReturnPath(page)) => format!("{SIGN_IN}?return={}", encoded(page)),
    }
}

/// Encodes a text for a query string.
pub(super) fn encoded(text: &str) -> PercentEncode<'_> {
    const ENCODED: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');
    utf8_percent_encode(text, ENCODED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::fields::Fields;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_accepted_path_is_one_of_the_same_host(text in "(/console/)?[ -~]{0,40}") {
            if let Some(path) = ReturnPath::parse(&text) {
                let uri: Uri = path.as_str().parse().expect("a path");
                prop_assert_eq!(uri.host(), None);
                let address = sign_in_address(Some(&path));
                let query = address.split_once('?').map(|(_, query)| query).unwrap_or_default();
                prop_assert_eq!(Fields::of(query).text("return"), Some(text));
            }
        }
    }
}
