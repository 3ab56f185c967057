//! The OpenAPI 3.1 document of the operator's calls, generated from their table.

use kiosque_contract::operator_call::{CallBody, CallMethod};
use kiosque_contract::{OPERATOR_CALLS, OperatorCallInfo, PROBLEM_CONTENT_TYPE, Problem};
use schemars::generate::SchemaGenerator;
use serde_json::{Map, Value, json};

/// Returns the document.
#[must_use]
pub fn document() -> Value {
    let mut generator = super::generator();
    let problem = generator.subschema_for::<Problem>();
    let mut paths: Map<String, Value> = Map::new();
    for call in OPERATOR_CALLS {
        let method = match call.method {
            CallMethod::Get => "get",
            CallMethod::Post => "post",
        };
        let methods = paths.entry(call.path).or_insert_with(|| json!({}));
        methods[method] = operation(call, &problem, &mut generator);
    }
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Kiosque: operator's calls",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "HTTPS on an address of its own. A failure is a problem (RFC 9457) with \
                an ordinary HTTP status; a wrong method is answered with 405, and another path \
                with 404. See docs/operating.md.",
            "license": super::license(),
        },
        "servers": [{ "url": "https://127.0.0.1:8444" }],
        "paths": paths,
        "components": {
            "schemas": schemas,
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
) -> Value {
    let parameters = parameters(call);
    let (body, response) = (body(call, generator), (call.response)(generator));
    let content = |kind: &str, schema: &schemars::Schema| json!({ kind: { "schema": schema } });
    let responses: Map<String, Value> = call
        .statuses
        .iter()
        .map(|status| {
            let mut answer = json!({
                "description": description(*status),
                "content": match status {
                    200 => content(call.content_type, &response),
                    _ => content(PROBLEM_CONTENT_TYPE, problem),
                },
            });
            if *status == 503 {
                let seconds = json!({ "Retry-After": { "schema": { "type": "integer" } } });
                answer["headers"] = seconds;
            }
            (status.to_string(), answer)
        })
        .collect();
    let mut operation = json!({
        "operationId": super::operation_id(call.name),
        "summary": call.summary,
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

fn body(call: &OperatorCallInfo, generator: &mut SchemaGenerator) -> Option<Value> {
    let (content_type, schema, description) = match call.body {
        CallBody::Empty => return None,
        CallBody::Json(schema) => ("application/json", schema, None),
        CallBody::Lines(schema) => {
            let lines = "Lines; the schema is that of one line. Any content type is accepted.";
            ("application/x-ndjson", schema, Some(lines))
        }
    };
    let content = json!({ content_type: { "schema": schema(generator) } });
    let mut body = json!({ "required": true, "content": content });
    if let Some(description) = description {
        body["description"] = description.into();
    }
    Some(body)
}

/// Returns the parameters of a query string: the fields of its struct.
fn parameters(call: &OperatorCallInfo) -> Vec<Value> {
    let Some(query) = call.query else { return Vec::new() };
    // The struct is no part of the document, so another generator makes its schema.
    let mut generator = super::generator();
    let _ = query(&mut generator);
    let structs = generator.take_definitions(true);
    let fields = structs.values().filter_map(|schema| schema.get("properties")?.as_object());
    fields
        .flatten()
        .map(|(name, schema)| {
            let mut schema = schema.clone();
            let description = schema.as_object_mut().and_then(|all| all.remove("description"));
            json!({ "name": name, "in": "query", "description": description, "schema": schema })
        })
        .collect()
}

fn description(status: u16) -> &'static str {
    match status {
        200 => "Success.",
        400 => "The query string or the body cannot be read; `faults` lists every fault.",
        401 => "No key, or one that is unknown or revoked.",
        403 => "The key lacks the right.",
        404 => "There is no such entry.",
        408 => "The body did not arrive in time.",
        413 => "The body is too large.",
        422 => "The body is faulty; `faults` lists every fault.",
        500 => "The server failed; the log has the cause.",
        503 => "The store or the server is busy, or the server is stopping.",
        _ => "Failure.",
    }
}
