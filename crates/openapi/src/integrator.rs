//! The OpenAPI 3.1 document of the integrators' calls, generated from the table of endpoints.

use kiosque_contract::{
    Code, ENDPOINTS, EndpointInfo, HINT_HEADER, IGNORED_HEADER, LOCALE_HEADER, REQUEST_ID_HEADER,
    TOKEN_HEADER, TokenRule,
};
use kiosque_locale::{Locale, Message};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{RETRY_AFTER, generator, header_references, headers, license, operation_id, refusals};

/// The address in a document if none is specified.
pub const DEFAULT_SERVER: &str = "https://127.0.0.1:8443/v8";

/// Returns the document of a service at a base URL.
pub fn document(server: &str) -> Value {
    let mut generator = generator(SchemaSettings::for_serialize);
    let mut answers = Map::new();
    let paths: Map<String, Value> = ENDPOINTS
        .iter()
        .map(|endpoint| {
            let answer = format!("{}Answer", endpoint.name);
            let operation = operation(endpoint, &answer, &mut generator);
            answers.insert(answer, success(endpoint, &mut generator));
            (format!("/{}", endpoint.path), json!({ "post": operation }))
        })
        .collect();
    let mut schemas = generator.take_definitions(true);
    schemas.append(&mut answers);
    schemas.insert("Refusal".to_owned(), refusal());
    schemas.insert("RefusalCode".to_owned(), refusal_code());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Kiosque",
            "version": "1.1.0",
            "description": "Devices, orders and dashboards of vending kiosks: JSON over HTTPS. \
                Every call is a POST and every answer is one envelope. Check both the HTTP status \
                and `code`: refusals travel with HTTP 200. Answers are compressed for callers that \
                accept gzip or zstd. See docs/interface.md and docs/integrating.md.",
            "license": license(),
        },
        "servers": [{ "url": server }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "parameters": parameters(),
            "headers": headers(&[REQUEST_ID_HEADER, RETRY_AFTER, IGNORED_HEADER, HINT_HEADER]),
            "responses": responses(),
            "securitySchemes": { "token": {
                "type": "apiKey", "in": "header", "name": TOKEN_HEADER,
                "description": "The raw `accessToken`, with no `Bearer` before it.",
            } },
        },
    })
}

fn operation(endpoint: &EndpointInfo, answer: &str, generator: &mut SchemaGenerator) -> Value {
    let mut parameters = vec![json!({ "$ref": "#/components/parameters/X-Locale" })];
    if endpoint.paged {
        parameters.push(json!({ "$ref": "#/components/parameters/current" }));
        parameters.push(json!({ "$ref": "#/components/parameters/size" }));
    }
    let rules = format!("Rules: {}.", endpoint.rules);
    let sorted = endpoint.sorted.into_iter();
    let description: Vec<&str> = sorted.chain([rules.as_str()]).collect();
    let mut operation = json!({
        "operationId": operation_id(endpoint.name),
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "description": description.join("\n\n"),
        "security": match endpoint.token {
            TokenRule::Ignored => json!([]),
            TokenRule::OrMissing | TokenRule::OrInvalid => json!([{ "token": [] }]),
        },
        "parameters": parameters,
        "responses": {
            "200": {
                "description": "Success, or a refusal: check `code`.",
                "headers": header_references(&[
                    REQUEST_ID_HEADER, RETRY_AFTER, IGNORED_HEADER, HINT_HEADER,
                ]),
                "content": { "application/json": {
                    "schema": { "oneOf": [
                        { "$ref": format!("#/components/schemas/{answer}") },
                        { "$ref": "#/components/schemas/Refusal" },
                    ] },
                    "example": example(endpoint),
                } },
            },
            "404": { "$ref": "#/components/responses/NotFound" },
            "500": { "$ref": "#/components/responses/SystemError" },
        },
    });
    if let Some(request) = endpoint.request {
        let schema = request(generator);
        let example = (endpoint.request_example)();
        let content = json!({ "application/json": { "schema": schema, "example": example } });
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    operation
}

/// Returns the schema of a call's successes.
fn success(endpoint: &EndpointInfo, generator: &mut SchemaGenerator) -> Value {
    json!({
        "type": "object",
        "description": format!("A success of `{}`.", operation_id(endpoint.name)),
        "required": ["code", "msg", "enMsg", "data"],
        "properties": {
            "code": { "type": "integer", "const": Code::Success.number() },
            "msg": { "type": "string", "description": "In the language of X-Locale." },
            "enMsg": { "type": "null" },
            "data": (endpoint.response)(generator),
        },
    })
}

fn example(endpoint: &EndpointInfo) -> Value {
    json!(Message::Success.envelope(Locale::En, (endpoint.response_example)()))
}

/// Returns the schema of every refusal, with the codes and messages.
fn refusal() -> Value {
    let mut lines = vec![String::from("`code` and `msg` (in English) of every refusal:")];
    lines.extend(refusals(Locale::En).map(|(code, message)| format!("- {code}: {message}")));
    json!({
        "type": "object",
        "description": lines.join("\n"),
        "required": ["code", "msg", "enMsg", "data"],
        "properties": {
            "code": {
                "description": "Never 200. Treat a value that you do not know as a failure.",
                "anyOf": [
                    { "$ref": "#/components/schemas/RefusalCode" },
                    { "type": "integer", "not": { "const": Code::Success.number() } },
                ],
            },
            "msg": { "type": "string", "description": "In the language of X-Locale." },
            "enMsg": { "type": "string", "description": "In English; null on success alone." },
            "data": {
                "description": "The message, a diagnostic, null, or every validation message.",
                "oneOf": [
                    { "type": "string" },
                    { "type": "null" },
                    { "type": "array", "items": { "type": "string" } },
                ],
            },
        },
    })
}

fn refusal_code() -> Value {
    let refusals = Code::ALL.iter().copied().filter(|code| *code != Code::Success);
    json!({
        "type": "integer",
        "description": "The `code` of a refusal. Later versions may add values.",
        "enum": refusals.clone().map(Code::number).collect::<Vec<i32>>(),
        "x-enum-varnames": refusals.map(Code::name).collect::<Vec<&str>>(),
    })
}

fn parameters() -> Value {
    let number = |name: &str, default: i64, about: &str| {
        json!({
            "name": name, "in": "query", "description": about,
            "schema": { "type": "integer", "format": "int64", "minimum": 1, "default": default },
        })
    };
    let tags: Vec<&str> = Locale::ALL.iter().map(|locale| locale.tag()).collect();
    json!({
        "X-Locale": {
            "name": LOCALE_NAME, "in": "header", "description": "Language of `msg`.",
            "schema": { "type": "string", "examples": tags },
        },
        "current": number("current", 1, "Page number."),
        "size": number("size", 10, "Page size; at most 1000 unless \
            the operator has configured another limit."),
    })
}

/// [`LOCALE_HEADER`], in its usual spelling.
const LOCALE_NAME: &str = "X-Locale";
const _: () = assert!(LOCALE_NAME.eq_ignore_ascii_case(LOCALE_HEADER));

fn responses() -> Value {
    let refusal = json!({ "application/json": {
        "schema": { "$ref": "#/components/schemas/Refusal" },
    } });
    json!({
        "NotFound": {
            "description": "No such path, or not POST; `code` is 0.",
            "headers": header_references(&[REQUEST_ID_HEADER]),
            "content": refusal,
        },
        "SystemError": {
            "description": "The system failed, or is busy; `data` names the request.",
            "headers": header_references(&[REQUEST_ID_HEADER, RETRY_AFTER]),
            "content": refusal,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_where_their_entries_say() {
        for endpoint in ENDPOINTS {
            let data = (endpoint.response_example)();
            let rows = endpoint.rows.map(|rows| data.pointer(rows).is_some_and(Value::is_array));
            assert_ne!(rows, Some(false), "{}", endpoint.name);
            assert_eq!(data.is_array(), endpoint.rows == Some(""), "{}", endpoint.name);
        }
    }
}
