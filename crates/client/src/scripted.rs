//! An account whose server answers according to a script, for tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use kiosque_clock::{Clock, Entropy};

use crate::account::Account;
use crate::session::{Credentials, Pace, SessionParts};
use crate::transport::{Answer, Request, Transport, TransportError};

pub(crate) type Scripted = Result<Answer, TransportError>;

/// The paths that were requested, without their query strings.
pub(crate) type Requested = Arc<Mutex<Vec<String>>>;

/// Returns an account whose server answers according to a script, given the path and the number of
/// previous requests with this path. Its waits take no time.
pub(crate) fn account(
    script: impl Fn(&str, usize) -> Scripted + Send + Sync + 'static,
) -> (Account, Requested) {
    let requested = Requested::default();
    let seen = Arc::clone(&requested);
    let transport = Transport::from_fn(move |request: Request, _| {
        let path = request.path.split('?').next().unwrap_or_default().to_owned();
        let mut seen = seen.lock().expect("no panic before");
        let before = seen.iter().filter(|one| **one == path).count();
        seen.push(path.clone());
        let answer = script(&path, before);
        Box::pin(std::future::ready(answer))
    });
    let entropy = Entropy::from_fn(|bytes| {
        bytes.fill(0);
        Ok(())
    });
    let credentials = Credentials { username: "acme".to_owned(), password: "secret".into() };
    let pace = Pace { retry_first: Duration::from_millis(1), ..Pace::default() };
    let clock = Clock::System;
    let parts = SessionParts { transport, credentials, pace, clock, entropy, resume: None };
    (Account::of(parts), requested)
}

pub(crate) fn json(status: u16, body: &str) -> Scripted {
    let headers = HeaderMap::new();
    Ok(Answer { status, headers, body: body.to_owned().into() })
}

/// Returns `data` in the envelope of a success.
pub(crate) fn success(data: &serde_json::Value) -> Scripted {
    json(200, &format!(r#"{{"code":200,"msg":"success","enMsg":null,"data":{data}}}"#))
}

pub(crate) fn granted(token: &str, group: &str) -> Scripted {
    success(&serde_json::json!({
        "accessToken": token, "groupId": group, "switchableGroups": [], "expiresIn": 0
    }))
}

pub(crate) fn html(status: u16) -> Scripted {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("text/html"));
    Ok(Answer { status, headers, body: "<h1>Not Found</h1>".into() })
}

/// A page without rows.
pub(crate) const EMPTY: &str = r#"{"code":200,"msg":"success","enMsg":null,
    "data":{"total":0,"current":1,"size":500,"records":[]}}"#;

pub(crate) fn no_answer() -> Scripted {
    Err(TransportError { to: "it".to_owned(), cause: "reset".to_owned(), is_final: false })
}
