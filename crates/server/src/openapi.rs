//! The OpenAPI 3.1 document, generated from the wire types that the handlers answer with. What
//! every path can answer beside its success is described once.

use kiosque_contract::{
    BestSellingProduct, Code, DashboardFilter, DeviceAisles, DeviceFilter, DeviceProfile,
    DeviceRecord, DeviceSales, LoginRequest, OnlineDevices, OrderDetail, OrderDetailRequest,
    OrderFilter, OrderRecord, Page, SessionData, Summary, SwitchGroupRequest, TOKEN_HEADER,
    TrendDay,
};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::locale::{Locale, Message};

/// Whether a path asks for a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Needed,
    NotAsked,
}

/// Whether a path is paged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paging {
    Paged,
    Whole,
}

struct Operation {
    path: &'static str,
    id: &'static str,
    tag: &'static str,
    summary: &'static str,
    token: Token,
    paging: Paging,
    body: Option<Schema>,
    data: Schema,
}

/// The document.
#[must_use]
pub fn document() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut generator = settings.into_generator();
    let mut operations = authentication(&mut Schemas(&mut generator));
    operations.extend(business(&mut Schemas(&mut generator)));
    operations.extend(dashboard(&mut Schemas(&mut generator)));
    let paths: Map<String, Value> = operations
        .into_iter()
        .map(|operation| (operation.path.to_owned(), json!({ "post": described(&operation) })))
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
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
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

fn authentication(schema: &mut Schemas<'_>) -> Vec<Operation> {
    const AUTH: &str = "Authentication";
    vec![
        Operation {
            path: "/platform-auth/auth/third-api/token",
            id: "logIn",
            tag: AUTH,
            summary: "Log in; replaces the account's earlier session",
            token: Token::NotAsked,
            paging: Paging::Whole,
            body: schema.of::<LoginRequest>(),
            data: schema.data::<SessionData>(),
        },
        Operation {
            path: "/platform-auth/auth/third-api/switchGroup",
            id: "switchGroup",
            tag: AUTH,
            summary: "Select another group; the new token replaces the old one",
            token: Token::Needed,
            paging: Paging::Whole,
            body: schema.of::<SwitchGroupRequest>(),
            data: schema.data::<SessionData>(),
        },
        Operation {
            path: "/platform-auth/auth/third-api/logout",
            id: "logOut",
            tag: AUTH,
            summary: "Log out",
            token: Token::Needed,
            paging: Paging::Whole,
            body: None,
            data: schema.data::<()>(),
        },
    ]
}

fn business(schema: &mut Schemas<'_>) -> Vec<Operation> {
    const BUSINESS: &str = "Business";
    vec![
        Operation {
            path: "/third-center-web/openapi/v1/kioskDevice/devicePage",
            id: "devicePage",
            tag: BUSINESS,
            summary: "List devices of the selected group, or of the `groupId` filter's",
            token: Token::Needed,
            paging: Paging::Paged,
            body: schema.of::<DeviceFilter>(),
            data: schema.data::<Page<DeviceRecord<'static>>>(),
        },
        Operation {
            path: "/third-center-web/openapi/v1/kioskOrder/queryOrderList",
            id: "queryOrderList",
            tag: BUSINESS,
            summary: "List orders of one device, newest first",
            token: Token::Needed,
            paging: Paging::Paged,
            body: schema.of::<OrderFilter>(),
            data: schema.data::<Page<OrderRecord>>(),
        },
        Operation {
            path: "/third-center-web/openapi/v1/kioskOrder/orderDetail",
            id: "orderDetail",
            tag: BUSINESS,
            summary: "Show one order by trade number",
            token: Token::Needed,
            paging: Paging::Whole,
            body: schema.of::<OrderDetailRequest>(),
            data: schema.data::<OrderDetail>(),
        },
    ]
}

fn dashboard(schema: &mut Schemas<'_>) -> Vec<Operation> {
    let filter = schema.of::<DashboardFilter>();
    let of = |(path, id, summary), body: Option<Schema>, data| Operation {
        path,
        id,
        tag: "Dashboard",
        summary,
        token: Token::Needed,
        paging: Paging::Whole,
        body,
        data,
    };
    const SUMMARY: Named = (
        "/third-center-web/openapi/v1/kioskDashboard/summary",
        "summary",
        "Figures of a range, by default of this month until now; money in US dollars",
    );
    const BEST: Named = (
        "/third-center-web/openapi/v1/kioskDashboard/bestSellingProduct",
        "bestSellingProduct",
        "The best-selling product and the ranking; null without sales",
    );
    const BY_DEVICE: Named = (
        "/third-center-web/openapi/v1/kioskDashboard/salesByDevice",
        "salesByDevice",
        "Sales of each device, the largest amount first",
    );
    const TREND: Named = (
        "/third-center-web/openapi/v1/kioskDashboard/salesTrend",
        "salesTrend",
        "Sales of each day, with zeros where there are none",
    );
    const AISLE: Named = (
        "/third-center-web/openapi/v1/kioskDashboard/deviceAisle",
        "deviceAisle",
        "Devices, their cabinets, layers and aisles; prices in minor units",
    );
    const PROFILE: Named = (
        "/third-center-web/openapi/v1/kioskDashboard/deviceProfile",
        "deviceProfile",
        "Every device of the group",
    );
    const ONLINE: Named = (
        "/third-center-web/openapi/v1/kioskDashboard/onlineDevices",
        "onlineDevices",
        "Which devices are online; takes no body",
    );
    vec![
        of(SUMMARY, filter.clone(), schema.data::<Summary<'static>>()),
        of(BEST, filter.clone(), schema.data::<Option<BestSellingProduct>>()),
        of(BY_DEVICE, filter.clone(), schema.data::<Vec<DeviceSales>>()),
        of(TREND, filter.clone(), schema.data::<Vec<TrendDay>>()),
        of(AISLE, filter.clone(), schema.data::<Vec<DeviceAisles>>()),
        of(PROFILE, filter, schema.data::<DeviceProfile<'static>>()),
        of(ONLINE, None, schema.data::<OnlineDevices>()),
    ]
}

/// A path, its operation's id and its summary.
type Named = (&'static str, &'static str, &'static str);

struct Schemas<'a>(&'a mut SchemaGenerator);

impl Schemas<'_> {
    fn of<T: JsonSchema>(&mut self) -> Option<Schema> {
        Some(self.data::<T>())
    }

    fn data<T: JsonSchema>(&mut self) -> Schema {
        self.0.subschema_for::<T>()
    }
}

fn described(operation: &Operation) -> Value {
    let mut parameters = vec![json!({ "$ref": "#/components/parameters/X-Locale" })];
    if operation.paging == Paging::Paged {
        parameters.push(json!({ "$ref": "#/components/parameters/current" }));
        parameters.push(json!({ "$ref": "#/components/parameters/size" }));
    }
    let mut described = json!({
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "security": match operation.token {
            Token::Needed => json!([{ "token": [] }]),
            Token::NotAsked => json!([]),
        },
        "parameters": parameters,
        "responses": {
            "200": {
                "description": "Success, or a refusal: `code` tells.",
                "content": { "application/json": { "schema": {
                    "oneOf": [success(&operation.data), { "$ref": "#/components/schemas/Refusal" }],
                } } },
            },
            "404": { "$ref": "#/components/responses/NotFound" },
            "500": { "$ref": "#/components/responses/SystemError" },
        },
    });
    if let (Some(body), Some(described)) = (&operation.body, described.as_object_mut()) {
        let content = json!({ "application/json": { "schema": body } });
        described.insert("requestBody".to_owned(), json!({ "required": true, "content": content }));
    }
    described
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

/// What every path can answer beside its success, each message once.
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
