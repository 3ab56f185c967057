//! Requests in general. A request is a plain struct: its fields, their names in JSON, their kinds
//! and their schema are only written there. The server reads a request through the struct's
//! `Deserialize`, at most one violation per field; a client writes it through `Serialize`.
//!
//! The type of a field is its rule (REQ-8, REQ-9): `String` is required, `Option` and `Vec` are
//! not, and [`ZeroOrOne`] is an integer that is 0 or 1.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Example;
use crate::schema::Flag;

/// The body of a call.
pub trait Request: Serialize + DeserializeOwned + JsonSchema + Example {
    /// Whether the call takes a body.
    const BODY: RequestBody = RequestBody::Object;
}

/// Whether a call takes a body (REQ-2, REQ-6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestBody {
    /// One JSON object.
    Object,
    /// None; if one is sent, it is ignored.
    None,
}

/// The request of a call that takes no body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoBody {}

impl Request for NoBody {
    const BODY: RequestBody = RequestBody::None;
}

impl Example for NoBody {
    fn example() -> NoBody {
        NoBody {}
    }
}

/// A flag of a request, which is the integer 0 or 1 in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZeroOrOne(pub i64);

impl JsonSchema for ZeroOrOne {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        ZeroOrOne::NAME.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Flag>()
    }
}

impl ZeroOrOne {
    /// The name of the type, by which serde announces it to a deserializer.
    pub const NAME: &str = "ZeroOrOne";
}
