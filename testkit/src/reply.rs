//! Responses, and the common checks of each.

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::Value;

/// A complete response.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The headers, with their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body, decompressed.
    pub text: String,
    /// The length of the body as sent.
    pub sent_bytes: usize,
    /// The body as JSON; null if it is not JSON.
    pub json: Value,
}

impl Reply {
    pub(crate) fn new(status: u16, headers: BTreeMap<String, String>, body: &[u8]) -> Reply {
        let coding = headers.get("content-encoding").map(String::as_str);
        let text = String::from_utf8(decompress(body, coding).unwrap()).unwrap();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Reply { status, headers, text, sent_bytes: body.len(), json }
    }

    /// Returns the status and the headers as text for a snapshot, without the date, the length and
    /// secrets of 43 characters in cookies.
    pub fn head(&self) -> String {
        let mut text = format!("HTTP {}\n", self.status);
        for (name, value) in &self.headers {
            match name.as_str() {
                "date" | "content-length" => {}
                "x-request-id" => text.push_str("x-request-id: [request id]\n"),
                "set-cookie" => {
                    let (cookie, attributes) = value.split_once("; ").unwrap();
                    let (name, secret) = cookie.split_once('=').unwrap();
                    let secret = if secret.len() == 43 { "[43 characters]" } else { secret };
                    text.push_str(&format!("set-cookie: {name}={secret}; {attributes}\n"));
                }
                _ => text.push_str(&format!("{name}: {value}\n")),
            }
        }
        text
    }

    /// Returns the code of the envelope.
    pub fn code(&self) -> i64 {
        self.json["code"].as_i64().unwrap()
    }

    /// Returns the data of the envelope.
    pub fn data(&self) -> &Value {
        &self.json["data"]
    }

    /// Returns the data of the envelope of a successful call.
    #[track_caller]
    pub fn success(&self) -> &Value {
        assert_eq!((self.status, self.code()), (200, 200), "{self:?}");
        self.data()
    }
}

/// Returns content without its coding.
///
/// # Errors
/// The content is invalid, or ends early.
pub fn decompress(content: &[u8], coding: Option<&str>) -> std::io::Result<Vec<u8>> {
    let mut decompressed = Vec::new();
    match coding {
        None => return Ok(content.to_vec()),
        Some("gzip") => flate2::read::GzDecoder::new(content).read_to_end(&mut decompressed)?,
        Some("zstd") => zstd::Decoder::new(content)?.read_to_end(&mut decompressed)?,
        Some(other) => panic!("the coding {other} was not asked for"),
    };
    Ok(decompressed)
}

/// Parses a response of HTTP/1.1 at the beginning of `bytes`, to a request with this method.
/// Returns it with its length; `None` if more bytes are needed.
pub fn parse_response(bytes: &[u8], method: &str) -> Option<(Reply, usize)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.lines();
    let status: u16 = lines.next()?.split(' ').nth(1).unwrap().parse().unwrap();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let has_no_body = method == "HEAD" || (100..200).contains(&status);
    let length = headers.get("content-length").filter(|_| !has_no_body);
    let length: usize = length.map_or(0, |length| length.parse().unwrap());
    let body = bytes.get(end..end + length)?;
    Some((Reply::new(status, headers, body), end + length))
}

/// Asserts the headers that every response to an integrator has.
#[track_caller]
pub fn assert_common_headers(reply: &Reply) {
    let header = |name: &str| reply.headers.get(name).map(String::as_str);
    assert_eq!(header("content-type"), Some("application/json; charset=UTF-8"), "{reply:?}");
    assert_eq!(header("cache-control"), Some("no-store"), "{reply:?}");
    let id = header("x-request-id").unwrap();
    let (run, number) = id.split_once('-').unwrap();
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    assert!(run.len() == 8 && is_hex(run) && is_hex(number), "a request id: {id}");
}

/// Returns a response as text for a snapshot: status, headers and body. Random values are checked
/// for their form and replaced; the date and the length are omitted.
#[track_caller]
pub fn snapshot(reply: &Reply) -> String {
    assert_common_headers(reply);
    let mut text = reply.head();
    // The parser has dropped nothing, such as a duplicate field or bytes after the end.
    assert_eq!(reply.json.to_string(), reply.text);
    let mut json = reply.json.clone();
    if let Some(token) = json.pointer_mut("/data/accessToken") {
        let is_token = |text: &str| {
            let in_alphabet = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            text.len() == 64 && text.bytes().all(in_alphabet)
        };
        assert!(token.as_str().is_some_and(is_token), "64 characters of base64url: {token}");
        *token = "[64 characters of base64url]".into();
    }
    text.push('\n');
    text.push_str(&serde_json::to_string_pretty(&json).unwrap());
    text
}
