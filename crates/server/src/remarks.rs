//! Remarks on a request, which are headers of its answer: keys that were ignored (REQ-14), and a
//! misplaced token (AUTH-27).

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use kiosque_contract::{Code, HINT_HEADER, IGNORED_HEADER, TOKEN_HEADER};
use kiosque_model::AccountNo;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// The remarks on a request, and what is kept of it in case it is refused.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    pub(crate) ignored: IgnoredKeys,
    pub(crate) hint: Option<TokenHint>,
    /// The account in its token. The answer shows whether the token is valid.
    pub(crate) account: Option<AccountNo>,
    /// The body, unless it is too long to be kept.
    pub(crate) body: Bytes,
}

/// The longest body of [`Remarks`].
const BODY_MAX_BYTES: usize = 4 << 10;

impl Remarks {
    /// Keeps a body without copying it.
    pub(crate) fn remember_body(&mut self, body: &Bytes) {
        if body.len() <= BODY_MAX_BYTES {
            self.body = body.clone();
        }
    }

    /// Adds the headers. There are none about the body of a caller without a live session (REQ-1).
    pub(crate) fn add_to(self, headers: &mut HeaderMap, code: Code) {
        if let Some(hint) = self.hint {
            headers.insert(HINT_HEADER, HeaderValue::from_static(hint.text()));
        }
        if matches!(code, Code::Success | Code::Business)
            && let Some(names) = self.ignored.into_header()
        {
            headers.insert(IGNORED_HEADER, names);
        }
    }
}

/// The maximum number of names in [`IgnoredKeys`].
const NAMES_MAX: usize = 10;
/// The maximum length of their list in bytes.
const LIST_MAX_BYTES: usize = 256;
/// The end of an incomplete list.
const MORE: &str = "...";

/// The bytes that are escaped: all but those that RFC 3986 does not reserve.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The names of the unknown fields and query keys of a request, each once, percent-encoded and
/// separated by commas.
#[derive(Debug, Default)]
pub struct IgnoredKeys {
    list: String,
    names: usize,
    is_cut: bool,
    /// The known fields of the call, once its body is read.
    pub(crate) declared: &'static [&'static str],
}

impl IgnoredKeys {
    /// Adds a name.
    pub fn add(&mut self, name: &[u8]) {
        if self.is_cut || name.is_empty() {
            return;
        }
        // A longer name is cut in any case.
        let name = &name[..name.len().min(LIST_MAX_BYTES)];
        let mut escaped = percent_encode(name, ESCAPED).to_string();
        if self.list.split(", ").any(|other| other == escaped) {
            return;
        }
        if !self.list.is_empty() {
            self.list.push_str(", ");
        }
        let room = LIST_MAX_BYTES - MORE.len() - ", ".len();
        let room = room.saturating_sub(self.list.len());
        self.is_cut = self.names == NAMES_MAX || escaped.len() > room;
        if escaped.len() > room {
            // No byte is cut in its escaped form.
            let split = escaped[..room].rfind('%').filter(|start| start + 3 > room);
            escaped.truncate(split.unwrap_or(room));
        } else if self.is_cut {
            escaped.clear();
        }
        self.names += 1;
        self.list.push_str(&escaped);
        self.list.push_str(if self.is_cut { MORE } else { "" });
    }

    /// Returns the names, separated by commas; `None` without any.
    pub(crate) fn into_list(self) -> Option<String> {
        Some(self.list).filter(|list| !list.is_empty())
    }

    pub(crate) fn into_header(self) -> Option<HeaderValue> {
        HeaderValue::try_from(self.into_list()?).ok()
    }
}

/// Why a request has no readable token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenHint {
    /// There is none.
    Missing,
    /// It is in the header `authorization`.
    InAuthorization,
    /// It begins with `Bearer`.
    WithBearer,
}

impl TokenHint {
    /// Returns the reason, if the headers show it.
    pub(crate) fn of(headers: &HeaderMap) -> Option<TokenHint> {
        let values = headers.get_all(TOKEN_HEADER).iter();
        let given: Vec<&[u8]> = values.map(|value| value.as_bytes().trim_ascii()).collect();
        if given.iter().all(|token| token.is_empty()) {
            let is_elsewhere = headers.contains_key(header::AUTHORIZATION);
            return Some(if is_elsewhere {
                TokenHint::InAuthorization
            } else {
                TokenHint::Missing
            });
        }
        let begins_with_scheme = |token: &&[u8]| {
            token.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer"))
        };
        given.iter().any(begins_with_scheme).then_some(TokenHint::WithBearer)
    }

    pub(crate) const fn text(self) -> &'static str {
        match self {
            TokenHint::Missing => "send the access token in the header third-api-token",
            TokenHint::InAuthorization => {
                "send the access token in the header third-api-token; authorization is not read"
            }
            TokenHint::WithBearer => {
                "send the access token in third-api-token unchanged, without Bearer before it"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(names: &[&str]) -> String {
        let mut keys = IgnoredKeys::default();
        for name in names {
            keys.add(name.as_bytes());
        }
        let header = keys.into_header().expect("names");
        header.to_str().expect("ASCII").to_owned()
    }

    /// REQ-14.
    #[test]
    fn the_list_is_bounded() {
        let eleven: Vec<String> = (0..11).map(|number| format!("k{number}")).collect();
        let eleven: Vec<&str> = eleven.iter().map(String::as_str).collect();
        assert_eq!(header(&eleven), "k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, ...");
        assert_eq!(header(&eleven[..10]), "k0, k1, k2, k3, k4, k5, k6, k7, k8, k9");
        for name in ["x".repeat(1_000), "é".repeat(1_000), "\0".repeat(200)] {
            let list = header(&["first", &name, "last"]);
            assert!(list.len() <= LIST_MAX_BYTES, "{list}");
            assert!(list.starts_with("first, ") && list.ends_with(MORE), "{list}");
        }
        let long = "x".repeat(251);
        assert_eq!(header(&[&long, "y", "z"]), format!("{long}, {MORE}"));
        let again: Vec<&str> = eleven[..10].iter().chain(&eleven[..1]).copied().collect();
        assert_eq!(header(&again), header(&eleven[..10]));
    }
}
