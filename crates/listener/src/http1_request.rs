//! Checks of HTTP/1 requests that hyper leaves to its callers (ADDR-8). If servers interpret such a
//! request differently, one could mistake one request of a gateway for another.

use std::net::IpAddr;

use bytes::Bytes;
use http::uri::Authority;
use http::{HeaderValue, Request, Response, StatusCode, Version, header};

use crate::answer_body::Content;

/// Returns whether a request of HTTP/1 is valid: RFC 9112 requires exactly one valid `Host`, which
/// HTTP/1.0 may omit, and this server supports one transfer coding, `chunked`. An empty host is for
/// targets without an authority, which HTTP targets always have.
pub(crate) fn is_valid<B>(request: &Request<B>) -> bool {
    let first_two = |name| {
        let mut values = request.headers().get_all(name).iter().map(HeaderValue::as_bytes);
        (values.next(), values.next())
    };
    let is_host_valid = match first_two(header::HOST) {
        (Some([] | [b':', ..]), _) | (_, Some(_)) => false,
        (Some(host), None) => host.iter().all(|byte| is_in_host(*byte)),
        (None, None) => request.version() == Version::HTTP_10,
    };
    let is_coding_known = match first_two(header::TRANSFER_ENCODING) {
        (coding, None) => coding.is_none_or(|coding| coding.eq_ignore_ascii_case(b"chunked")),
        (_, Some(_)) => false,
    };
    is_host_valid && is_coding_known
}

/// Returns the answer to an invalid request. It closes the connection.
pub(crate) fn bad_request() -> Response<Content> {
    let mut response = Response::new(Bytes::new().into());
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Returns whether a request is for a domain name of more than one label. A site whose name
/// resolves to a loopback address (DNS rebinding) has such a name; an address, `localhost` and the
/// names of a hosts file do not.
pub fn is_for_domain<B>(request: &Request<B>) -> bool {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let Some(host) = host.and_then(|host| host.parse::<Authority>().ok()) else { return false };
    let host = host.host().trim_matches(['[', ']']);
    host.contains('.') && host.parse::<IpAddr>().is_err()
}

/// Returns whether a host with a port may contain a byte: RFC 3986 without user information.
fn is_in_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:%[]".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_no_name_of_this_machine() {
        for (host, expected) in [
            ("kiosque.example.com", true),
            ("kiosque.example.com:8451", true),
            ("example.", true),
            ("127.0.0.1.example.com", true),
            ("127.0.0.1:8451", false),
            ("127.0.0.1", false),
            ("[::1]:8451", false),
            ("localhost:8451", false),
            ("till", false),
            ("", false),
        ] {
            let request = Request::builder().header(header::HOST, host).body(()).unwrap();
            assert_eq!(is_for_domain(&request), expected, "{host}");
        }
        assert!(!is_for_domain(&Request::new(())), "HTTP/1.0 needs no Host");
    }
}
