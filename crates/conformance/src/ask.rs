//! A request of a check.

use bytes::Bytes;
use http::{HeaderValue, Method, Request};
use kiosque_contract::{GATEWAY_PREFIX, LOCALE_HEADER, TOKEN_HEADER};
use serde_json::{Value, json};

use crate::paths::{DEVICES, LOGIN};
use crate::secrets::Secrets;

/// The account that a request belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Caller {
    #[default]
    First,
    Second,
}

/// A request of a check.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) caller: Caller,
    method: Method,
    /// The path below `/v8/`, with its query string.
    path: String,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Ask {
    /// Returns a POST of JSON to a path below `/v8/`, for an answer in English.
    pub(crate) fn post(path: &str) -> Ask {
        let json = ("content-type", "application/json".to_owned());
        let (path, headers) = (path.to_owned(), vec![json]);
        let (method, body) = (Method::POST, String::new());
        Ask { caller: Caller::First, method, path, headers, body }.locale("en")
    }

    /// Returns a login.
    pub(crate) fn log_in(username: &str, password: &str) -> Ask {
        Ask::post(LOGIN).json(&json!({"username": username, "password": password}))
    }

    /// Returns a call of List devices, whose path every server has, with any token.
    pub(crate) fn list_devices(token: &str) -> Ask {
        Ask::post(DEVICES).token(token).body("{}")
    }

    /// Makes this a request of another account.
    pub(crate) fn by(self, caller: Caller) -> Ask {
        Ask { caller, ..self }
    }

    /// Requests an answer in these languages.
    pub(crate) fn locale(mut self, locales: &str) -> Ask {
        self.headers.retain(|(name, _)| *name != LOCALE_HEADER);
        self.header(LOCALE_HEADER, locales)
    }

    pub(crate) fn method(self, method: Method) -> Ask {
        Ask { method, ..self }
    }

    pub(crate) fn query(mut self, query: &str) -> Ask {
        self.path = format!("{}?{query}", self.path);
        self
    }

    pub(crate) fn token(self, token: &str) -> Ask {
        self.header(TOKEN_HEADER, token)
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Ask {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn without_headers(self) -> Ask {
        Ask { headers: Vec::new(), ..self }
    }

    pub(crate) fn body(self, body: impl Into<String>) -> Ask {
        Ask { body: body.into(), ..self }
    }

    pub(crate) fn json(self, body: &Value) -> Ask {
        self.body(body.to_string())
    }

    pub(crate) fn path(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    /// Returns the request; `None` if a header cannot be sent.
    pub(crate) fn request(&self) -> Option<Request<Bytes>> {
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(format!("{GATEWAY_PREFIX}/{}", self.path));
        for (name, value) in &self.headers {
            request = request.header(*name, HeaderValue::try_from(value.as_str()).ok()?);
        }
        request.body(Bytes::from(self.body.clone())).ok()
    }

    /// Returns the request as text, with its secrets.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{} {GATEWAY_PREFIX}/{}", self.method, self.path);
        for (name, value) in &self.headers {
            text.push_str(&format!("\n{name}: {value}"));
        }
        if !self.body.is_empty() {
            text.push_str(&format!("\n\n{}", self.body));
        }
        text
    }

    /// Returns a curl command line for the request, with stars in place of the secrets.
    pub(crate) fn curl(&self, base: &str, secrets: &Secrets) -> String {
        // Quoting changes a secret that contains quotes, so the secrets are replaced first.
        let word = |text: &str| quoted(excerpt(&secrets.starred(text)));
        let url = word(&format!("{base}/{}", self.path));
        let mut line = format!("curl --include -X {} {url}", self.method);
        for (name, value) in &self.headers {
            line.push_str(&format!(" -H {}", word(&format!("{name}: {value}"))));
        }
        if !self.body.is_empty() {
            line.push_str(&format!(" --data-binary {}", word(&self.body)));
        }
        line
    }
}

/// The maximum length of a text that is shown.
const SHOWN_MAX: usize = 600;

/// Returns the beginning of a text.
pub(crate) fn excerpt(text: &str) -> &str {
    let end = text.char_indices().map(|(at, _)| at).nth(SHOWN_MAX).unwrap_or(text.len());
    text.get(..end).unwrap_or(text)
}

/// Returns a word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
