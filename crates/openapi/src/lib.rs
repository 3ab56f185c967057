//! The OpenAPI 3.1 documents of the service, generated from the tables of its calls.

pub mod integrator;
pub mod operator;
pub mod reference;

use kiosque_contract::{Code, HINT_HEADER, IGNORED_HEADER, REQUEST_ID_HEADER};
use kiosque_locale::{Locale, Message};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

pub(crate) const RETRY_AFTER: &str = "retry-after";
pub(crate) const WWW_AUTHENTICATE: &str = "www-authenticate";

/// Returns the `code` and the `msg` of every refusal.
pub fn refusals(locale: Locale) -> impl Iterator<Item = (i32, &'static str)> {
    let messages = Message::ALL.iter().copied();
    let refusals = messages.filter(|message| message.code() != Code::Success);
    refusals.map(move |message| (message.code().number(), message.text(locale)))
}

/// Returns a generator of schemas of types as they are received (`for_deserialize`), or as they are
/// sent (`for_serialize`): then an optional field is required unless it is omitted when it has no
/// value.
pub(crate) fn generator(direction: fn(SchemaSettings) -> SchemaSettings) -> SchemaGenerator {
    let settings = direction(SchemaSettings::draft2020_12());
    settings.with(|one| one.definitions_path = "/components/schemas".into()).into_generator()
}

pub(crate) fn license() -> Value {
    json!({ "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" })
}

/// The name of a type with its first letter in lower case.
pub(crate) fn operation_id(name: &str) -> String {
    let (first, rest) = name.split_at(name.len().min(1));
    first.to_ascii_lowercase() + rest
}

/// Returns the descriptions of these headers.
pub(crate) fn headers(names: &[&str]) -> Value {
    let text = |about: &str| json!({ "description": about, "schema": { "type": "string" } });
    let mut all = json!({
        REQUEST_ID_HEADER: {
            "description": "Names the request; quote it to the operator, who can find a refused or \
                failed one for a day.",
            "required": true,
            "schema": { "type": "string" },
        },
        RETRY_AFTER: {
            "description": "Seconds after which another attempt may succeed. After too many failed \
                logins it comes with HTTP 200.",
            "schema": { "type": "integer" },
        },
        IGNORED_HEADER: text("Fields and query keys of the request that the call does not know, \
            separated by commas."),
        WWW_AUTHENTICATE: text("`Bearer`."),
        HINT_HEADER: text("Where the token belongs, when the request has none that can be read."),
    });
    names.iter().map(|name| ((*name).to_owned(), all[*name].take())).collect::<Map<_, _>>().into()
}

pub(crate) fn header_references(names: &[&str]) -> Value {
    let reference = |name: &&str| {
        ((*name).to_owned(), json!({ "$ref": format!("#/components/headers/{name}") }))
    };
    names.iter().map(reference).collect::<Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{integrator, operator};

    #[test]
    fn the_documents_in_the_repository_are_the_generated_ones() {
        for (name, document) in [
            ("openapi.json", integrator::document(integrator::DEFAULT_SERVER)),
            ("openapi-operator.json", operator::document(operator::DEFAULT_SERVER)),
        ] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
            let committed = fs::read_to_string(path).expect("a document");
            let generated = serde_json::to_string_pretty(&document).expect("JSON") + "\n";
            let same =
                committed.lines().zip(generated.lines()).take_while(|(one, other)| one == other);
            let line = same.count() + 1;
            assert!(
                committed == generated,
                "docs/{name} differs from the generated document from line {line} on: \
                 run `cargo xtask openapi` and commit it"
            );
        }
    }
}
