//! VER-2: the answers are those that the OpenAPI document describes.

use kiosque_contract::{ENDPOINTS, TokenRule};
use kiosque_openapi::{integrator, operator};
use kiosque_testkit::{LOGOUT_PATH, Reply, SWITCH_PATH, TOKEN_PATH, TestRequest, TestServer};
use serde_json::{Value, json};

use crate::catalog;

/// The fields that an answer has if its request asks for them (ORD-30).
const ON_REQUEST: [&str; 1] = ["totals"];

/// A document whose schemas describe values.
struct Document(Value);

impl Document {
    fn answer(&self, path: &str, status: &str) -> &Value {
        let response = &self.0["paths"][format!("/{path}")]["post"]["responses"][status];
        let response = self.resolved(response);
        &response["content"]["application/json"]["schema"]
    }

    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => self.0.pointer(&reference[1..]).unwrap(),
            None => value,
        }
    }

    /// Returns why a value is not described by a schema.
    fn error(&self, schema: &Value, value: &Value) -> Option<String> {
        let schema = self.resolved(schema);
        for (key, fits) in [("oneOf", 1..=1), ("anyOf", 1..=usize::MAX)] {
            if let Some(choices) = schema[key].as_array() {
                let errors: Vec<String> =
                    choices.iter().filter_map(|choice| self.error(choice, value)).collect();
                if !fits.contains(&(choices.len() - errors.len())) {
                    return Some(format!("{key}: {errors:?}"));
                }
            }
        }
        let of_value = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_i64() => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let is_type = |name: &str| name == of_value || (name, of_value) == ("number", "integer");
        let of_schema = match &schema["type"] {
            Value::Array(names) => names.iter().any(|name| is_type(name.as_str().unwrap())),
            Value::String(name) => is_type(name),
            _ => true,
        };
        let in_enum = schema["enum"].as_array().is_none_or(|allowed| allowed.contains(value));
        let is_const = schema["const"].is_null() || schema["const"] == *value;
        let is_other = schema["not"]["const"].is_null() || schema["not"]["const"] != *value;
        let pattern = schema["pattern"].as_str().or(schema["format"].as_str());
        let in_pattern =
            value.as_str().zip(pattern).is_none_or(|(text, pattern)| fits_pattern(text, pattern));
        if !(of_schema && in_enum && is_const && is_other && in_pattern) {
            return Some(format!("{value} is not described by {schema}"));
        }
        let items = value.as_array().into_iter().flatten();
        let of_items = items.filter_map(|item| self.error(&schema["items"], item));
        of_items.chain(self.error_of_fields(schema, value)).next()
    }

    fn error_of_fields(&self, schema: &Value, value: &Value) -> Option<String> {
        let (object, fields) = (value.as_object()?, schema["properties"].as_object()?);
        let required = schema["required"].as_array().into_iter().flatten();
        let missing = required.filter(|name| !object.contains_key(name.as_str().unwrap()));
        let missing = missing.map(|name| format!("{name} is missing in {value}"));
        let of_fields = object.iter().filter_map(|(name, value)| match fields.get(name) {
            Some(field) => self.error(field, value).map(|error| format!("{name}: {error}")),
            None => Some(format!("{name} is not in {schema}")),
        });
        // Every field of an answer is always there (FMT-5), unless a request asks for it.
        let optional = fields.keys().filter(|name| !ON_REQUEST.contains(&name.as_str()));
        let optional = optional.filter(|name| !object.contains_key(*name));
        let optional = optional.map(|name| format!("{name} is not in {value}"));
        missing.chain(of_fields).chain(optional).next()
    }

    #[track_caller]
    fn check(&self, path: &str, reply: &Reply) {
        let schema = self.answer(path, &reply.status.to_string());
        let error = self.error(schema, &reply.json);
        assert_eq!(error, None, "{path}: {reply:?}");
    }
}

/// Returns whether a text has the form of a pattern, or of a format, of the document.
fn fits_pattern(text: &str, pattern: &str) -> bool {
    match pattern {
        r"^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$" => {
            let form: String =
                text.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
            form == "9999-99-99 99:99:99"
        }
        "^[A-Z]{3}$" => text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase()),
        // Formats of numbers say nothing about texts.
        "int64" | "double" => true,
        "date" => text.parse::<jiff::civil::Date>().is_ok(),
        other => panic!("no text is checked against {other}"),
    }
}

/// VER-2: every call has an example, with exactly the fields that its schema requires.
#[test]
fn examples_have_the_fields_of_their_schemas() {
    let document = Document(integrator::document(integrator::DEFAULT_SERVER));
    for endpoint in ENDPOINTS {
        let operation = &document.0["paths"][format!("/{}", endpoint.path)]["post"];
        let success = &operation["responses"]["200"]["content"]["application/json"];
        let schema = &success["schema"]["oneOf"][0];
        assert_eq!(document.error(schema, &success["example"]), None, "{}", endpoint.name);
        let body = &operation["requestBody"]["content"]["application/json"];
        assert_eq!(body.is_object(), endpoint.request.is_some(), "{}", endpoint.name);
        let mut schema = document.resolved(&body["schema"]).clone();
        // A request may omit a field that is not required.
        if let Some(fields) = schema["properties"].as_object_mut() {
            fields.retain(|name, _| body["example"].get(name).is_some());
        }
        assert_eq!(document.error(&schema, &body["example"]), None, "{}", endpoint.name);
        let is_empty = endpoint.name == "LogOut";
        assert_eq!(success["example"]["data"].is_null(), is_empty, "{}", endpoint.name);
    }
}

/// VER-2: successes, refusals and failures of every call.
#[tokio::test]
async fn answers_are_those_of_the_document() {
    let document = Document(integrator::document(integrator::DEFAULT_SERVER));
    let (server, token) = catalog::open_to_ops().await;
    let orders = [r#"{"deviceCode":"H-1"}"#, r#"{"deviceCode":"H-3"}"#];
    let details = [r#"{"tradeNoIn":"I-3"}"#, r#"{"tradeNoOut":"T-4"}"#];
    for endpoint in ENDPOINTS {
        let bodies = match endpoint.name {
            "QueryOrderList" => &orders[..],
            "OrderDetail" => &details,
            "LogIn" => &[r#"{"username":"new","password":"secret"}"#],
            "SwitchGroup" | "LogOut" => &[],
            _ => &["{}"],
        };
        for body in bodies {
            let reply = TestRequest::to(endpoint.path).token(&token).body(*body);
            let reply = reply.send(&server).await;
            assert_eq!(reply.code(), 200, "{body}: {reply:?}");
            document.check(endpoint.path, &reply);
        }
        let mut refused = vec![TestRequest::to(endpoint.path).body("nonsense")];
        if endpoint.token != TokenRule::Ignored {
            refused.push(TestRequest::to(endpoint.path));
            refused.push(TestRequest::to(endpoint.path).token("x"));
        }
        if endpoint.paged {
            refused.push(TestRequest::to(endpoint.path).token(&token).query("size=0"));
        }
        refused.push(TestRequest::to(endpoint.path).method(http::Method::GET));
        for request in refused {
            let reply = request.send(&server).await;
            assert_ne!(reply.code(), 200, "{request:?}");
            document.check(endpoint.path, &reply);
        }
    }
    let switch = TestRequest::to(SWITCH_PATH).token(&token).body(r#"{"groupId":"station"}"#);
    let switched = switch.send(&server).await;
    document.check(SWITCH_PATH, &switched);
    let token = switched.success()["accessToken"].as_str().unwrap();
    let wrong = TestRequest::to(TOKEN_PATH).body(r#"{"username":"ops","password":"wrong"}"#);
    document.check(TOKEN_PATH, &wrong.send(&server).await);
    document.check(LOGOUT_PATH, &TestRequest::to(LOGOUT_PATH).token(token).send(&server).await);
}

/// Asks an operator's call with this query string.
async fn get(server: &TestServer, path: &str, key: &str, query: &str) -> Reply {
    server.get_operator(&format!("{path}?{query}"), Some(key)).await
}

/// VER-2: the document of the operator's calls requires the bodies that may not be empty, and
/// permits an empty parameter where it counts as absent.
#[tokio::test]
async fn what_may_be_empty_is_in_the_operators_document() {
    let document = operator::document(operator::DEFAULT_SERVER);
    let (server, _) = catalog::open_to_ops().await;
    let key = server.create_key("read,audit,orders,activity,fleet").await;
    let (mut bodies, mut parameters) = (0, 0);
    for (path, calls) in document["paths"].as_object().unwrap() {
        let body = &calls["post"]["requestBody"];
        if body.is_object() {
            let empty = server.call_operator(path, Some(&key), "").await;
            assert_eq!(body["required"], empty.status != 200, "{path}: {empty:?}");
            bodies += 1;
        }
        for parameter in calls["get"]["parameters"].as_array().into_iter().flatten() {
            let (name, schema) = (parameter["name"].as_str().unwrap(), &parameter["schema"]);
            let reply = get(&server, path, &key, &format!("{name}=")).await;
            let errors = reply.json["faults"].as_array().into_iter().flatten();
            let starts = |error: &Value| error.as_str().unwrap().starts_with(&format!("{name} "));
            let is_refused = errors.into_iter().any(starts);
            let is_text = schema["type"].to_string().contains("\"string\"");
            let may_be_empty = is_text && schema["minLength"].is_null();
            assert_eq!(is_refused, !may_be_empty, "{path} {name}: {reply:?}");
            parameters += 1;
        }
    }
    assert!(bodies > 2 && parameters > 20, "{bodies} bodies, {parameters} parameters");
}

/// The values of open enumerations are known ones.
#[tokio::test]
async fn known_values_are_in_the_enumerations() {
    let document = integrator::document(integrator::DEFAULT_SERVER);
    let (server, token) = catalog::open_to_ops().await;
    let summary = catalog::ask(&server, &token, kiosque_testkit::SUMMARY_PATH, "", "{}").await;
    let figures = summary.data()["kpiList"].as_array().unwrap();
    for (field, schema) in [("code", "KpiCode"), ("type", "KpiType")] {
        let mut values: Vec<&Value> = figures.iter().map(|figure| &figure[field]).collect();
        values.dedup();
        let known = document["components"]["schemas"][schema]["enum"].as_array().unwrap();
        assert!(values.iter().all(|value| known.contains(value)), "{field}: {values:?}");
        assert!(known.iter().all(|value| values.contains(&value)), "{field}: {known:?}");
    }
}

/// Answers that the document does not describe are violations.
#[test]
fn answers_that_differ_from_the_document_are_found() {
    let document = Document(integrator::document(integrator::DEFAULT_SERVER));
    let schema = document.answer(kiosque_testkit::DEVICES_PATH, "200");
    let data = json!({"total": 0, "current": 1, "size": 10, "records": []});
    let answer =
        |code: Value, data: Value| json!({"code": code, "msg": "", "enMsg": null, "data": data});
    assert_eq!(document.error(schema, &answer(json!(200), data.clone())), None);
    for (code, data) in [
        (json!(200), json!({"total": 0, "current": 1, "size": 10})),
        (json!(200), json!({"total": "0", "current": 1, "size": 10, "records": []})),
        (json!(200), json!({"total": 0, "current": 1, "size": 10, "records": [], "more": 1})),
        (json!(200), json!({"total": 0, "current": 1, "size": 10, "records": [{}]})),
        (json!("200"), data.clone()),
        (json!(-1), data),
    ] {
        assert!(document.error(schema, &answer(code.clone(), data.clone())).is_some(), "{data}");
    }
}
