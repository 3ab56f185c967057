//! The documents as values for readers, such as the pages of the console.

mod fields;

use std::sync::LazyLock;

use serde_json::Value;

use crate::{integrator, operator};
pub use fields::Field;

/// A call.
#[derive(Clone, Debug)]
pub struct CallReference {
    /// Its `operationId`.
    pub id: String,
    /// Its method, in capitals.
    pub method: String,
    /// Its path below the base URL, with a leading slash.
    pub path: String,
    /// One sentence.
    pub summary: String,
    /// The paragraphs of its description.
    pub paragraphs: Vec<String>,
    /// Whether it takes a token or a key.
    pub has_secret: bool,
    /// The keys of its query string.
    pub query: Vec<Field>,
    /// Its headers.
    pub headers: Vec<Field>,
    /// The body of a request, if it takes one.
    pub body: Option<Content>,
    /// The answers by status.
    pub answers: Vec<Answer>,
    /// The body of a success.
    pub success: Content,
    /// The fields of the body of every failure.
    pub failure: Vec<Field>,
}

/// A body.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// The content type.
    pub content_type: String,
    /// A remark on the whole body.
    pub about: String,
    /// The fields of the object and of the objects in it.
    pub fields: Vec<Field>,
    /// An example, as JSON.
    pub example: Option<Value>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: String,
    /// Its meaning.
    pub about: String,
    /// The content type.
    pub content_type: String,
    /// The names of the headers that the document describes.
    pub headers: Vec<String>,
}

/// Returns the calls of integrators, in the order of the document.
pub fn integrators() -> &'static [CallReference] {
    static CALLS: LazyLock<Vec<CallReference>> =
        LazyLock::new(|| calls(&integrator::document(integrator::DEFAULT_SERVER)));
    &CALLS
}

/// Returns the operator's calls, in the order of the document.
pub fn operators() -> &'static [CallReference] {
    static CALLS: LazyLock<Vec<CallReference>> =
        LazyLock::new(|| calls(&operator::document(operator::DEFAULT_SERVER)));
    &CALLS
}

fn calls(document: &Value) -> Vec<CallReference> {
    let calls = entries(&document["paths"]).flat_map(|(path, methods)| {
        entries(methods)
            .map(move |(method, operation)| Reader { document, operation }.call(path, method))
    });
    calls.collect()
}

/// Reads an operation of a document.
#[derive(Clone, Copy)]
struct Reader<'d> {
    document: &'d Value,
    operation: &'d Value,
}

impl<'d> Reader<'d> {
    fn call(self, path: &str, method: &str) -> CallReference {
        let operation = self.operation;
        let responses = &operation["responses"];
        let answers: Vec<Answer> =
            entries(responses).map(|(status, response)| self.answer(status, response)).collect();
        let body = |response| self.content(&fields::resolved(self.document, response)["content"]);
        let failure = entries(responses).find(|(status, _)| *status != SUCCESS);
        CallReference {
            id: text(&operation["operationId"]),
            method: method.to_ascii_uppercase(),
            path: path.to_owned(),
            summary: text(&operation["summary"]),
            paragraphs: paragraphs(&text(&operation["description"])),
            has_secret: items(&operation["security"]).next().is_some(),
            query: self.parameters("query"),
            headers: self.parameters("header"),
            body: self.body(),
            answers,
            success: body(&responses[SUCCESS]),
            failure: failure.map(|(_, response)| body(response).fields).unwrap_or_default(),
        }
    }

    /// Returns the parameters at a place.
    fn parameters(self, place: &str) -> Vec<Field> {
        let parameters = items(&self.operation["parameters"]);
        let parameters = parameters.map(|one| fields::resolved(self.document, one));
        let fields = parameters.filter(|one| one["in"] == place).map(|one| Field {
            name: text(&one["name"]),
            is_required: one["required"] == true,
            about: text(&one["description"]),
            ..fields::read(self.document, &one["schema"]).0
        });
        fields.collect()
    }

    fn body(self) -> Option<Content> {
        let body = self.operation.get("requestBody")?;
        let about = text(&body["description"]);
        Some(Content { about, ..self.content(&body["content"]) })
    }

    /// Reads the only content type of a body, and the success of one with a choice; for a body that
    /// may be lines, their content type, since the schema describes a line.
    fn content(self, content: &'d Value) -> Content {
        let Some((content_type, content)) = entries(content).last() else {
            return Content::default();
        };
        let schema = &content["schema"];
        let schema = items(&schema["oneOf"]).next().unwrap_or(schema);
        Content {
            content_type: content_type.to_owned(),
            about: String::new(),
            fields: fields::all(self.document, schema),
            example: content.get("example").cloned(),
        }
    }

    fn answer(self, status: &str, response: &'d Value) -> Answer {
        let response = fields::resolved(self.document, response);
        let content_type = entries(&response["content"]).next().map(|(kind, _)| kind.to_owned());
        Answer {
            status: status.to_owned(),
            about: text(&response["description"]),
            content_type: content_type.unwrap_or_default(),
            headers: entries(&response["headers"]).map(|(name, _)| name.to_owned()).collect(),
        }
    }
}

/// The status of a success.
const SUCCESS: &str = "200";

fn paragraphs(text: &str) -> Vec<String> {
    text.split("\n\n").filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Returns a text; an empty one if the value is not a text.
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

#[cfg(test)]
mod tests {
    use kiosque_contract::{ENDPOINTS, OPERATOR_CALLS};
    use kiosque_locale::{Locale, Message};

    use super::*;

    #[test]
    fn every_call_of_the_tables_is_in_the_reference() {
        let paths = |calls: &[CallReference]| -> Vec<String> {
            calls.iter().map(|call| format!("{} {}", call.method, call.path)).collect()
        };
        let endpoints = ENDPOINTS.iter().map(|one| format!("POST /{}", one.path));
        assert_eq!(paths(integrators()), endpoints.collect::<Vec<_>>());
        let calls = OPERATOR_CALLS.iter();
        let calls = calls.map(|one| format!("{:?} {}", one.method, one.path).to_uppercase());
        let found = paths(operators()).into_iter().map(|call| call.to_uppercase());
        assert_eq!(found.collect::<Vec<_>>(), calls.collect::<Vec<_>>());
    }

    #[test]
    fn a_call_has_its_parameters_body_answers_and_failures() {
        let named = |id: &str| integrators().iter().find(|call| call.id == id).expect("a call");
        let call = named("queryOrderList");
        let names = |fields: &[Field]| -> Vec<String> {
            fields.iter().map(|field| field.name.clone()).collect()
        };
        assert_eq!(names(&call.headers), ["X-Locale"]);
        assert_eq!(names(&call.query), ["current", "size"]);
        let body = call.body.as_ref().expect("a body");
        let of_body = ["deviceCode", "includeHistory", "startTimestamp", "endTimestamp"];
        assert_eq!(names(&body.fields), of_body);
        assert_eq!(names(&call.failure), ["code", "msg", "enMsg", "data"]);
        let answers: Vec<&str> = call.answers.iter().map(|one| one.status.as_str()).collect();
        assert_eq!(answers, ["200", "404", "500"]);
        let success = names(&call.success.fields);
        assert_eq!(success[..5], ["code", "msg", "enMsg", "data", "data.total"]);
        let nested = "data.records[].detailVOList[].goodsId".to_owned();
        assert!(success.contains(&nested), "{success:?}");
        assert!(call.has_secret && call.success.example.is_some());
        assert!(!named("logIn").has_secret);
        let refusals: Vec<i32> = crate::refusals(Locale::En).map(|(code, _)| code).collect();
        assert_eq!(refusals.len(), Message::ALL.len() - 1);
    }
}
