//! Exchanges with the server, for troubleshooting. Secrets are replaced by stars.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kiosque_contract::Endpoint;
use kiosque_contract::endpoint::{LogIn, SwitchGroup};
use serde_json::Value;

use crate::transport::{Answer, Request, Token, TransportError};

/// A request and its answer, without secrets.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Exchange {
    /// The address.
    pub url: String,
    /// Whether a token was sent.
    pub has_token: bool,
    /// The body of the request; the password is `***`.
    pub body: String,
    /// The HTTP status, the header `x-request-id` and the body, or the failure. A token is `***`.
    pub result: Result<(u16, Option<String>, String), String>,
    /// The time from the request to the end of the answer.
    pub took: Duration,
}

/// A function that is called with each exchange.
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(&Exchange) + Send + Sync>);

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

impl Observer {
    /// Returns an observer that calls `show`.
    pub fn from_fn(show: impl Fn(&Exchange) + Send + Sync + 'static) -> Observer {
        Observer(Arc::new(show))
    }

    pub(crate) fn show(&self, exchange: &Exchange) {
        (self.0)(exchange);
    }
}

/// The fields that hold secrets.
const SECRETS: [&str; 3] = ["password", "accessToken", "refreshToken"];

impl Exchange {
    pub(crate) fn of(
        url: &str,
        request: &Request,
        token: Option<&Token>,
        result: &Result<Answer, TransportError>,
        took: Duration,
    ) -> Exchange {
        let has_secrets = [LogIn::PATH, SwitchGroup::PATH].contains(&request.path.as_str());
        let text = |bytes: &[u8]| {
            if has_secrets { starred(bytes) } else { String::from_utf8_lossy(bytes).into_owned() }
        };
        let answer = |answer: &Answer| {
            let id = answer.header(kiosque_contract::REQUEST_ID_HEADER).map(str::to_owned);
            (answer.status, id, text(&answer.body))
        };
        Exchange {
            url: url.to_owned(),
            has_token: token.is_some(),
            body: text(&request.body),
            result: result.as_ref().map(answer).map_err(|error| error.cause.clone()),
            took,
        }
    }
}

/// Returns a body with stars in place of its secrets. A body that is not JSON might contain one
/// anywhere.
fn starred(body: &[u8]) -> String {
    let Ok(mut value) = serde_json::from_slice::<Value>(body) else {
        return format!("({} bytes that are not JSON)", body.len());
    };
    star(&mut value);
    value.to_string()
}

fn star(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if SECRETS.contains(&name.as_str()) {
                    *value = Value::from("***");
                } else {
                    star(value);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(star),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderMap;

    use super::*;

    #[test]
    fn an_exchange_shows_no_secret() {
        let body = r#"{"username":"acme","password":"hunter2"}"#.into();
        let request = Request::new(LogIn::PATH.to_owned(), body);
        let body = r#"{"code":200,"data":{"accessToken":"hunter2","expiresIn":1}}"#;
        let headers = HeaderMap::new();
        let body = Bytes::from_static(body.as_bytes());
        let answer = Ok(Answer { status: 200, headers, body });
        let shown = Exchange::of("u", &request, None, &answer, Duration::ZERO);
        assert_eq!(shown.body, r#"{"username":"acme","password":"***"}"#);
        let (status, id, text) = shown.result.clone().expect("an answer");
        assert_eq!((status, id), (200, None));
        assert_eq!(text, r#"{"code":200,"data":{"accessToken":"***","expiresIn":1}}"#);

        let page = Answer { status: 502, headers: HeaderMap::new(), body: "<p>hunter2".into() };
        let shown = Exchange::of("u", &request, None, &Ok(page), Duration::ZERO);
        assert!(!format!("{shown:?}").contains("hunter2"), "{shown:?}");
    }
}
