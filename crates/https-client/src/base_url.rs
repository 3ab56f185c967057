//! The base URL of a server (ADDR-1).

use std::fmt;
use std::str::FromStr;

use http::Uri;
use kiosque_contract::GATEWAY_PREFIX;

/// The port of `https` URLs without one.
const PORT_DEFAULT: u16 = 443;

/// The base URL of a server: `https`, its host, and a path that ends with `/v8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    /// The host, without the brackets of an IPv6 address.
    host: String,
    port: u16,
    /// The path before `/v8`; usually empty.
    prefix: String,
}

/// Why a text is not the base URL of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} {reason}; write it like https://kiosque.example.com/v8")]
pub struct BaseUrlError {
    text: String,
    reason: &'static str,
}

impl BaseUrl {
    /// Returns the host, without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the host and the port in the form of a `Host` header.
    pub fn authority(&self) -> String {
        let BaseUrl { host, port, .. } = self;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        if *port == PORT_DEFAULT { host } else { format!("{host}:{port}") }
    }

    /// Returns the path at the server for a path that begins with `/v8`, or for any other.
    pub fn path(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}{}{GATEWAY_PREFIX}", self.authority(), self.prefix)
    }
}

impl FromStr for BaseUrl {
    type Err = BaseUrlError;

    /// Parses a base URL. `/v8` at its end may be omitted, and a slash may follow it.
    fn from_str(text: &str) -> Result<BaseUrl, BaseUrlError> {
        let invalid = |reason| BaseUrlError { text: without_user_info(text), reason };
        let uri: Uri = text.parse().map_err(|_| invalid("is not a URL"))?;
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") => return Err(invalid("is not HTTPS")),
            _ => return Err(invalid("does not begin with https://")),
        }
        let authority = uri.authority().ok_or_else(|| invalid("has no host"))?;
        // A password with a slash ends the authority before its `@`.
        if text.contains('@') {
            return Err(invalid("contains a user name or a password, which is not sent"));
        }
        if uri.query().is_some() {
            return Err(invalid("has a query"));
        }
        let path = uri.path().strip_suffix('/').unwrap_or(uri.path());
        let prefix = match path.strip_suffix(GATEWAY_PREFIX) {
            Some(prefix) if prefix.ends_with(GATEWAY_PREFIX) => {
                return Err(invalid("has /v8 twice"));
            }
            Some(prefix) => prefix,
            None if path.is_empty() => path,
            None => return Err(invalid("does not end with /v8")),
        };
        let host = authority.host();
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if bare.is_empty() {
            return Err(invalid("has no host"));
        }
        Ok(BaseUrl {
            host: bare.to_owned(),
            port: authority.port_u16().unwrap_or(PORT_DEFAULT),
            prefix: prefix.to_owned(),
        })
    }
}

/// Returns a text that may be a URL with stars in place of its user name and password. A password
/// that is not encoded may contain a slash or `@`, so everything before the last `@` is replaced.
pub fn without_user_info(text: &str) -> String {
    let Some((before, rest)) = text.rsplit_once('@') else { return text.to_owned() };
    let scheme = before.split_once("://").map(|(scheme, _)| format!("{scheme}://"));
    format!("{}***@{rest}", scheme.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ADDR-1: `https://`, the host and `/v8`.
    #[test]
    fn a_base_url_may_be_written_in_several_ways() {
        for (text, shown, at_server) in [
            ("https://a.example/v8", "https://a.example/v8", "/v8/x"),
            ("https://a.example", "https://a.example/v8", "/v8/x"),
            ("https://a.example:443/v8/", "https://a.example/v8", "/v8/x"),
            ("https://127.0.0.1:8443/v8", "https://127.0.0.1:8443/v8", "/v8/x"),
            ("https://[::1]:8443", "https://[::1]:8443/v8", "/v8/x"),
            ("https://a.example/east/v8", "https://a.example/east/v8", "/east/v8/x"),
        ] {
            let url: BaseUrl = text.parse().expect("a base URL");
            assert_eq!((url.to_string().as_str(), url.path("/v8/x").as_str()), (shown, at_server));
        }
        let six: BaseUrl = "https://[::1]:8443".parse().expect("a base URL");
        assert_eq!((six.host(), six.authority().as_str()), ("::1", "[::1]:8443"));
    }

    #[test]
    fn another_text_is_refused_with_the_reason() {
        for (text, reason) in [
            ("a b", "is not a URL"),
            ("http://a.example/v8", "is not HTTPS"),
            ("a.example", "does not begin with https://"),
            ("https://a.example/v8?x=1", "has a query"),
            ("https://a.example/v9", "does not end with /v8"),
            ("https://a.example/v8/v8", "has /v8 twice"),
            ("https:///v8", "is not a URL"),
            ("", "is not a URL"),
        ] {
            let error = text.parse::<BaseUrl>().expect_err(text).to_string();
            assert!(error.starts_with(&format!("{text:?} {reason}")), "{error}");
            assert!(error.ends_with("write it like https://kiosque.example.com/v8"), "{error}");
        }
    }

    /// Whatever else is wrong with the URL.
    #[test]
    fn a_password_in_a_url_is_not_shown() {
        let has_user_info = "contains a user name or a password, which is not sent";
        for (text, shown, reason) in [
            ("https://me:secret@a.example/v8", "https://***@a.example/v8", has_user_info),
            ("https://me@a.example/v8", "https://***@a.example/v8", has_user_info),
            ("https://me:s/e@cret@a.example/v8", "https://***@a.example/v8", has_user_info),
            ("https://me:se cret@a.example/v8", "https://***@a.example/v8", "is not a URL"),
            ("http://me:secret@a.example/v8", "http://***@a.example/v8", "is not HTTPS"),
            ("me:secret@a.example", "***@a.example", "does not begin with https://"),
        ] {
            let error = text.parse::<BaseUrl>().expect_err(text).to_string();
            let end = "write it like https://kiosque.example.com/v8";
            assert_eq!(error, format!("{shown:?} {reason}; {end}"));
        }
    }
}
