//! The OpenAPI 3.1 document of the operator's calls, generated from their table.

use kiosque_contract::operator_call::{CallBody, CallMethod};
use kiosque_contract::{
    OPERATOR_CALLS, OperatorCallInfo, PROBLEM_CONTENT_TYPE, Problem, REQUEST_ID_HEADER,
};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{
    RETRY_AFTER, WWW_AUTHENTICATE, generator, header_references, headers, license, operation_id,
};

/// The address in a document if none is specified.
pub const DEFAULT_SERVER: &str = "https://127.0.0.1:8444";

/// Returns the document of a service at a base URL.
pub fn document(server: &str) -> Value {
    let mut of_bodies = generator(SchemaSettings::for_deserialize);
    let mut generator = generator(SchemaSettings::for_serialize);
    let problem = generator.subschema_for::<Problem>();
    let mut paths: Map<String, Value> = Map::new();
    for call in OPERATOR_CALLS {
        let method = match call.method {
            CallMethod::Get => "get",
            CallMethod::Post => "post",
        };
        let methods = paths.entry(call.path).or_insert_with(|| json!({}));
        methods[method] = operation(call, &problem, &mut generator, &mut of_bodies);
    }
    let mut schemas = generator.take_definitions(true);
    // A type that is sent in both directions has the schema of bodies, which requires less.
    schemas.append(&mut of_bodies.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Kiosque operator",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The operator's calls. HTTPS on an address of its own. A failure is \
                a problem (RFC 9457) with \
                an ordinary HTTP status; a wrong method is answered with 405, and another path \
                with 404. See docs/operating.md.",
            "license": license(),
        },
        "servers": [{ "url": server }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "headers": headers(&[REQUEST_ID_HEADER, RETRY_AFTER, WWW_AUTHENTICATE]),
            "securitySchemes": { "key": {
                "type": "http", "scheme": "bearer",
                "description": "A key of `kiosque operator-key create`.",
            } },
        },
    })
}

fn operation(
    call: &OperatorCallInfo,
    problem: &schemars::Schema,
    generator: &mut SchemaGenerator,
    of_bodies: &mut SchemaGenerator,
) -> Value {
    let parameters = parameters(call);
    let body = body(call, of_bodies);
    let response = (call.response)(generator);
    let content = |kind: &str, schema: &schemars::Schema| json!({ kind: { "schema": schema } });
    let responses: Map<String, Value> = call
        .statuses
        .iter()
        .map(|status| {
            let headers = match status {
                401 => &[REQUEST_ID_HEADER, WWW_AUTHENTICATE][..],
                503 => &[REQUEST_ID_HEADER, RETRY_AFTER],
                _ => &[REQUEST_ID_HEADER],
            };
            let answer = json!({
                "description": description(*status),
                "headers": header_references(headers),
                "content": match status {
                    200 => content(call.content_type, &response),
                    _ => content(PROBLEM_CONTENT_TYPE, problem),
                },
            });
            (status.to_string(), answer)
        })
        .collect();
    let mut operation = json!({
        "operationId": operation_id(call.name),
        "summary": call.summary,
        "tags": [call.tag],
        "security": if call.right.is_some() { json!([{ "key": [] }]) } else { json!([]) },
        "parameters": parameters,
        "responses": responses,
    });
    if let Some(right) = call.right {
        operation["description"] = format!("The key needs the right `{right}`.").into();
    }
    if let Some(body) = body {
        operation["requestBody"] = body;
    }
    operation
}

/// How a body of lines may be sent.
const LINES: &str = "An array of any length, or one object; or lines (NDJSON), of which the schema \
    is that of one line. A body of another content type is read as lines. An empty body has none. \
    All three are read as they arrive: each element or line is accepted or rejected by itself, and \
    of a body that breaks off or stops being JSON the complete elements before that are stored. It \
    may be sent again whole: what is stored already is unchanged.";

fn body(call: &OperatorCallInfo, generator: &mut SchemaGenerator) -> Option<Value> {
    match call.body {
        CallBody::Empty => None,
        CallBody::Json(schema) => Some(json!({
            "required": true,
            "content": { "application/json": { "schema": schema(generator) } },
        })),
        CallBody::Lines(schema) => {
            let line = schema(generator);
            let elements = json!({ "type": "array", "items": line });
            Some(json!({
                "required": false,
                "description": LINES,
                "content": {
                    "application/json": { "schema": { "anyOf": [elements, line] } },
                    "application/x-ndjson": { "schema": line },
                },
            }))
        }
    }
}

/// Returns the parameters of a query string: the fields of its struct.
fn parameters(call: &OperatorCallInfo) -> Vec<Value> {
    let Some(query) = call.query else { return Vec::new() };
    // The struct is not part of the document, so another generator creates its schema.
    let mut generator = generator(SchemaSettings::for_deserialize);
    let _ = query(&mut generator);
    let structs = generator.take_definitions(true);
    let fields = structs.values().filter_map(|of| Some((of, of.get("properties")?.as_object()?)));
    fields
        .flat_map(|(of, fields)| fields.iter().map(move |field| (of, field)))
        .map(|(of, (name, schema))| {
            let mut schema = schema.clone();
            let description = schema.as_object_mut().and_then(|all| all.remove("description"));
            let required = of.get("required").and_then(Value::as_array);
            let is_required = required.is_some_and(|names| names.iter().any(|one| one == name));
            json!({
                "name": name, "in": "query", "required": is_required, "description": description,
                "schema": schema,
            })
        })
        .collect()
}

fn description(status: u16) -> &'static str {
    match status {
        200 => "Success.",
        400 => "The query string or the body cannot be read; `faults` lists every error.",
        401 => "No key, or one that is unknown or revoked.",
        403 => "The key lacks the right.",
        404 => "There is no such entry.",
        408 => "The body did not arrive in time.",
        413 => "The body is too large.",
        422 => "The body has errors; `faults` lists every error.",
        500 => "The server failed; the log has the cause.",
        503 => "The store or the server is busy, or the server is stopping.",
        _ => "Failure.",
    }
}
