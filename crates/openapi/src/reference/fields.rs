//! The fields of a schema, as a list.

use serde_json::Value;

use super::{entries, items, text};

/// Nesting depth of objects whose fields are listed.
const DEPTH_MAX: usize = 6;

/// A field of an object, or a parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// Its name; for a field of a nested object, with the path to it, such as
    /// `records[].deviceCode`.
    pub name: String,
    /// Its type, such as `integer int64` or `array<string>`.
    pub kind: String,
    /// Whether it is always there.
    pub is_required: bool,
    /// Whether it can be null.
    pub is_nullable: bool,
    /// Its bounds, its pattern and its known values.
    pub limits: Vec<String>,
    /// Its default, if the document specifies one.
    pub default: Option<String>,
    /// Its description.
    pub about: String,
}

/// The object that a value is, or that its items are, and the path to it: `[]` for each list.
type Object<'d> = Option<(&'d Value, String)>;

/// Returns the fields of an object and of the objects in it.
pub(super) fn all(document: &Value, schema: &Value) -> Vec<Field> {
    let mut fields = Vec::new();
    if let (_, Some((object, items))) = read(document, schema) {
        let prefix = if items.is_empty() { items } else { format!("{items}.") };
        list(document, object, &prefix, 1, &mut fields);
    }
    fields
}

fn list(document: &Value, object: &Value, prefix: &str, depth: usize, fields: &mut Vec<Field>) {
    for (name, schema) in entries(&object["properties"]) {
        let (field, inner) = read(document, schema);
        let described = [schema, resolved(document, schema)].map(|one| text(&one["description"]));
        let path = format!("{prefix}{name}");
        let inner = inner.map(|(object, items)| (object, format!("{path}{items}.")));
        fields.push(Field {
            name: path,
            is_required: items(&object["required"]).any(|required| required == name),
            about: described.into_iter().find(|about| !about.is_empty()).unwrap_or_default(),
            ..field
        });
        if let Some((object, prefix)) = inner.filter(|_| depth < DEPTH_MAX) {
            list(document, object, &prefix, depth + 1, fields);
        }
    }
}

/// Returns the schema, parameter or response that a reference points to, or the value itself.
pub(super) fn resolved<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    let reference = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    reference.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

/// Returns the type and the limits of a schema as a field without a name, and its object.
pub(super) fn read<'d>(document: &'d Value, schema: &'d Value) -> (Field, Object<'d>) {
    let schema = resolved(document, schema);
    let choices = items(&schema["anyOf"]).chain(items(&schema["oneOf"]));
    let (nulls, choices): (Vec<&Value>, Vec<&Value>) =
        choices.partition(|choice| choice["type"] == "null");
    // A value or null, or a known value or another one of its type.
    if let Some(first) = choices.first() {
        let (field, object) = read(document, first);
        return (Field { is_nullable: field.is_nullable || !nulls.is_empty(), ..field }, object);
    }
    let names: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        several => items(several).filter_map(Value::as_str).collect(),
    };
    let is_nullable = names.contains(&"null");
    let default = schema.get("default").map(plain);
    let names: Vec<&str> = names.into_iter().filter(|name| *name != "null").collect();
    let (kind, limits, object) = match names.as_slice() {
        ["array"] => {
            let (item, object) = read(document, &schema["items"]);
            let object = object.map(|(object, items)| (object, format!("[]{items}")));
            (format!("array<{}>", item.kind), item.limits, object)
        }
        ["object"] if schema["properties"].is_object() => {
            ("object".to_owned(), limits(schema), Some((schema, String::new())))
        }
        [] if is_nullable => ("null".to_owned(), limits(schema), None),
        [] => ("any".to_owned(), limits(schema), None),
        names => {
            let format = schema["format"].as_str().map(|format| format!(" {format}"));
            (names.join(" | ") + &format.unwrap_or_default(), limits(schema), None)
        }
    };
    (Field { kind, is_nullable, limits, default, ..Field::default() }, object)
}

/// Returns a value as text; a string without its quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn limits(schema: &Value) -> Vec<String> {
    let limit = |key: &str, sign: &str| {
        let value = schema.get(key).filter(|value| !value.is_null())?;
        Some(format!("{sign}{}", plain(value)))
    };
    let bounds = [
        limit("const", "=\u{a0}"),
        limit("minimum", "≥\u{a0}"),
        limit("maximum", "≤\u{a0}"),
        limit("pattern", ""),
    ];
    let names = items(&schema["x-enum-varnames"]).map(Some).chain(std::iter::repeat(None));
    let values = items(&schema["enum"]).zip(names).map(|(value, name)| match (value, name) {
        (Value::Number(value), Some(Value::String(name))) => format!("{value} {name}"),
        (value, _) => plain(value),
    });
    let values: Vec<String> = values.collect();
    let values = Some(values.join(", ")).filter(|values| !values.is_empty());
    bounds.into_iter().chain([values]).flatten().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> Value {
        json!({ "components": { "schemas": {
            "Flag": {
                "type": "integer", "description": "A flag.", "enum": [0, 1],
                "x-enum-varnames": ["NO", "YES"],
            },
            "Inner": { "type": "object", "properties": { "size": {
                "type": ["integer", "null"], "format": "int64", "minimum": 1, "default": 10,
            } } },
        } } })
    }

    fn one(schema: &Value) -> Vec<(String, String, bool, bool, String)> {
        let object = json!({ "type": "object", "required": ["x"], "properties": { "x": schema } });
        let fields = all(&document(), &object);
        let row = |field: Field| {
            let Field { name, kind, is_required, is_nullable, mut limits, default, .. } = field;
            limits.extend(default.map(|default| format!("default {default}")));
            (name, kind, is_required, is_nullable, limits.join("; "))
        };
        fields.into_iter().map(row).collect()
    }

    #[test]
    fn types_limits_and_null_are_read_from_every_form_of_a_schema() {
        let row = |name: &str, kind: &str, required, nullable, limits: &str| {
            (name.to_owned(), kind.to_owned(), required, nullable, limits.to_owned())
        };
        let flag = json!({ "$ref": "#/components/schemas/Flag" });
        assert_eq!(one(&flag), [row("x", "integer", true, false, "0 NO, 1 YES")]);
        let open = json!({ "anyOf": [flag, { "type": "integer" }] });
        assert_eq!(one(&open), [row("x", "integer", true, false, "0 NO, 1 YES")]);
        let nothing = json!({ "type": "null" });
        assert_eq!(one(&nothing), [row("x", "null", true, true, "")]);
        let inner = json!({ "$ref": "#/components/schemas/Inner" });
        let size = |path: &str| row(path, "integer int64", false, true, "≥\u{a0}1; default 10");
        let list = json!({ "type": "array", "items": inner });
        let listed = [row("x", "array<object>", true, false, ""), size("x[].size")];
        assert_eq!(one(&list), listed);
        let optional = json!({ "anyOf": [inner, nothing] });
        assert_eq!(one(&optional), [row("x", "object", true, true, ""), size("x.size")]);
        let pattern = json!({ "type": "string", "pattern": "^[A-Z]$" });
        assert_eq!(one(&pattern), [row("x", "string", true, false, "^[A-Z]$")]);
        assert_eq!(one(&json!({ "const": 200 })), [row("x", "any", true, false, "=\u{a0}200")]);
    }

    #[test]
    fn the_description_is_that_of_the_field_or_else_of_its_type() {
        let flag = json!({ "$ref": "#/components/schemas/Flag" });
        let own = json!({ "$ref": "#/components/schemas/Flag", "description": "Its own." });
        let object = json!({ "type": "object", "properties": { "a": flag, "b": own } });
        let about: Vec<String> =
            all(&document(), &object).into_iter().map(|field| field.about).collect();
        assert_eq!(about, ["A flag.", "Its own."]);
    }
}
