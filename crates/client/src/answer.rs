//! Converts an answer to the data of a call, or to the error.

use kiosque_contract::{Code, REQUEST_ID_HEADER};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Error, NotAnEnvelope, Refusal};
use crate::transport::Answer;

pub(crate) const SUCCESS: i32 = Code::Success.number();

/// The envelope of a failure. `data` has any shape (ENV-7).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Failed {
    code: i32,
    #[serde(default)]
    msg: Option<String>,
    #[serde(default)]
    data: Value,
}

/// Returns `data` of a success, or the corresponding error.
pub(crate) fn data_of<T: DeserializeOwned>(answer: &Answer) -> Result<T, Error> {
    if answer.status == 200 && answer.code() == Some(SUCCESS) {
        return answer.data().map_err(|error| {
            let mut answer = NotAnEnvelope::of(answer);
            answer.excerpt = format!("{error}; {}", answer.excerpt);
            Error::NotAnEnvelope(answer)
        });
    }
    Err(error_of(answer))
}

/// Returns the error for an answer without success.
pub(crate) fn error_of(answer: &Answer) -> Error {
    match serde_json::from_slice::<Failed>(&answer.body) {
        Ok(Failed { code: -1, data: Value::Array(violations), .. }) => {
            Error::Invalid(violations.into_iter().map(text_of).collect())
        }
        _ => refusal_of(answer)
            .map_or_else(|| Error::NotAnEnvelope(NotAnEnvelope::of(answer)), Error::Refused),
    }
}

fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Reads the envelope of an answer without success; `None` if there is none.
pub(crate) fn refusal_of(answer: &Answer) -> Option<Refusal> {
    let Failed { code, msg, data } = serde_json::from_slice(&answer.body).ok()?;
    let msg = msg.unwrap_or_default();
    let data = Some(data).filter(|data| !data.is_null()).map(text_of);
    let data = data.filter(|text| *text != msg);
    let request_id = answer.header(REQUEST_ID_HEADER).map(str::to_owned);
    Some(Refusal { code, msg, data, request_id, retry_after_s: answer.retry_after_s() })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue};

    use super::*;

    fn answer(status: u16, kind: &'static str, body: &'static str) -> Answer {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static(kind));
        headers.insert("x-request-id", HeaderValue::from_static("r-1"));
        Answer { status, headers, body: Bytes::from_static(body.as_bytes()) }
    }

    fn json(status: u16, body: &'static str) -> Answer {
        answer(status, "application/json; charset=UTF-8", body)
    }

    /// ENV-2, ENV-7: HTTP status and `code` decide together, and `data` has several shapes.
    #[test]
    fn each_kind_of_answer_has_its_error() {
        let good = json(200, r#"{"code":200,"msg":"success","enMsg":null,"data":7}"#);
        assert_eq!(data_of::<i64>(&good).expect("a success"), 7);

        let refused = json(200, r#"{"code":-1,"msg":"no","enMsg":"no","data":"no"}"#);
        let Error::Refused(refusal) = error_of(&refused) else { panic!("{refused:?}") };
        let id = Some("r-1".to_owned());
        let expected =
            Refusal { code: -1, msg: "no".into(), data: None, request_id: id, retry_after_s: None };
        assert_eq!(refusal, expected);

        let invalid = json(200, r#"{"code":-1,"msg":"x","data":["size must be 1","b"]}"#);
        let Error::Invalid(violations) = error_of(&invalid) else { panic!("{invalid:?}") };
        assert_eq!(violations, ["size must be 1", "b"]);

        let failed = json(200, r#"{"code":500,"msg":"system error","data":"EOF at line 1"}"#);
        let Error::Refused(refusal) = error_of(&failed) else { panic!("{failed:?}") };
        assert_eq!((refusal.code, refusal.data.as_deref()), (500, Some("EOF at line 1")));

        // HTTP 500 is not a success, whatever the `code`.
        let odd = json(500, r#"{"code":200,"msg":"success","data":7}"#);
        assert!(matches!(data_of::<i64>(&odd), Err(Error::Refused(_))));

        let page = answer(404, "text/html", "<html>\n<h1>Not Found</h1>");
        let Error::NotAnEnvelope(page) = error_of(&page) else { panic!("{page:?}") };
        let excerpt = "<html> <h1>Not Found</h1>".to_owned();
        let content_type = Some("text/html".to_owned());
        let (location, retry_after_s) = (None, None);
        let expected =
            NotAnEnvelope { status: 404, content_type, excerpt, location, retry_after_s };
        assert_eq!(page, expected);

        let other = json(200, r#"{"code":200,"data":"seven"}"#);
        assert!(matches!(data_of::<i64>(&other), Err(Error::NotAnEnvelope(_))));
    }
}
