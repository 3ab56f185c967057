//! The OpenAPI 3.1 document of the integrators' calls, generated from the table of endpoints.

pub mod operator;

use kiosque_contract::{Code, ENDPOINTS, EndpointInfo, TOKEN_HEADER, TokenRule};
use schemars::Schema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::locale::{Locale, Message};

/// Returns the document.
#[must_use]
pub fn document() -> Value {
    let mut generator = generator();
    let paths: Map<String, Value> = ENDPOINTS
        .iter()
        .map(|endpoint| {
            let operation = operation(endpoint, &mut generator);
            (format!("/{}", endpoint.path), json!({ "post": operation }))
        })
        .collect();
    let mut schemas = generator.take_definitions(true);
    schemas.insert("Refusal".to_owned(), refusal());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Kiosque: device and order query service",
            "version": "1.1.0",
            "description": "JSON over HTTPS; every call is a POST and every answer is one \
                envelope. Check both the HTTP status and `code`: refusals travel with HTTP 200.",
            "license": license(),
        },
        "servers": [{ "url": "https://127.0.0.1:8443/v8" }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "parameters": parameters(),
            "responses": responses(),
            "securitySchemes": { "token": {
                "type": "apiKey", "in": "header", "name": TOKEN_HEADER,
                "description": "The raw `accessToken`, with no `Bearer` before it.",
            } },
        },
    })
}

fn generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12();
    settings.with(|one| one.definitions_path = "/components/schemas".into()).into_generator()
}

fn license() -> Value {
    json!({ "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" })
}

fn operation(endpoint: &EndpointInfo, generator: &mut SchemaGenerator) -> Value {
    let mut parameters = vec![json!({ "$ref": "#/components/parameters/X-Locale" })];
    if endpoint.paged {
        parameters.push(json!({ "$ref": "#/components/parameters/current" }));
        parameters.push(json!({ "$ref": "#/components/parameters/size" }));
    }
    let request = endpoint.request.map(|schema| schema(generator));
    let data = (endpoint.response)(generator);
    let mut operation = json!({
        "operationId": operation_id(endpoint.name),
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "description": format!("Rules: {}.", endpoint.rules),
        "security": match endpoint.token {
            TokenRule::Ignored => json!([]),
            TokenRule::OrMissing | TokenRule::OrInvalid => json!([{ "token": [] }]),
        },
        "parameters": parameters,
        "responses": {
            "200": {
                "description": "Success, or a refusal: check `code`.",
                "content": { "application/json": { "schema": {
                    "oneOf": [success(&data), { "$ref": "#/components/schemas/Refusal" }],
                } } },
            },
            "404": { "$ref": "#/components/responses/NotFound" },
            "500": { "$ref": "#/components/responses/SystemError" },
        },
    });
    if let Some(request) = request {
        let content = json!({ "application/json": { "schema": request } });
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    operation
}

/// The name of a type with a small letter at its start.
fn operation_id(name: &str) -> String {
    let (first, rest) = name.split_at(name.len().min(1));
    first.to_ascii_lowercase() + rest
}

fn success(data: &Schema) -> Value {
    json!({
        "type": "object",
        "required": ["code", "msg", "enMsg", "data"],
        "properties": {
            "code": { "const": Code::Success.number() },
            "msg": { "type": "string" },
            "enMsg": { "type": "null" },
            "data": data,
        },
    })
}

/// Returns the schema of every refusal, with the codes and messages.
fn refusal() -> Value {
    let mut lines = vec![String::from("`code` and `msg` (in English) of every refusal:")];
    for message in Message::ALL.into_iter().filter(|message| *message != Message::Success) {
        lines.push(format!("- {}: {}", message.code().number(), message.text(Locale::En)));
    }
    let codes: Vec<i32> =
        Code::ALL.into_iter().filter(|code| *code != Code::Success).map(Code::number).collect();
    json!({
        "type": "object",
        "description": lines.join("\n"),
        "required": ["code", "msg", "enMsg", "data"],
        "properties": {
            "code": { "enum": codes },
            "msg": { "type": "string", "description": "In the language of X-Locale." },
            "enMsg": { "type": "string" },
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

fn parameters() -> Value {
    let number = |name: &str, default: i64, about: &str| {
        json!({
            "name": name, "in": "query", "description": about,
            "schema": { "type": "integer", "format": "int64", "minimum": 1, "default": default },
        })
    };
    json!({
        "X-Locale": {
            "name": "X-Locale", "in": "header", "description": "Language of `msg`.",
            "schema": { "type": "string", "examples": Locale::ALL.map(Locale::tag) },
        },
        "current": number("current", 1, "Page number."),
        "size": number("size", 10, "Page size; at most 1000 unless the operator says otherwise."),
    })
}

fn responses() -> Value {
    let refusal = json!({ "application/json": {
        "schema": { "$ref": "#/components/schemas/Refusal" },
    } });
    json!({
        "NotFound": {
            "description": "No such path, or not POST; `code` is 0.",
            "content": refusal,
        },
        "SystemError": {
            "description": "The system failed, or is busy; `data` names the request.",
            "headers": { "Retry-After": { "schema": { "type": "integer" } } },
            "content": refusal,
        },
    })
}
