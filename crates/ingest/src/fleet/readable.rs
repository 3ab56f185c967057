//! Reads as much as possible of an invalid fleet file, so that all its errors are reported
//! together.

use std::fmt::Display;

use kiosque_contract::{FleetDevice, FleetFile, Object};
use kiosque_model::fleet::EntryKind;
use serde::Deserializer;
use serde::de::value::Error as ValueError;
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use super::errors::{FileError, Place};
use crate::json_line::with_plain_types;

/// The key of a date or time without quotes, which TOML allows.
const DATETIME: &str = "$datetime";
/// The required field that is not a text.
const PRICE: &str = "price";
/// Fields whose values are not quoted in messages.
const SECRET: [&str; 2] = ["password", "password_hash"];

/// Reads the entries of a fleet file, and adds their errors. Entries without a required field are
/// left out, and invalid fields are absent.
pub(super) fn entries(file: Value, errors: &mut Vec<FileError>) -> FleetFile {
    let Value::Object(mut lists) = file else {
        let expected = "an object with lists of group, account, product and device";
        errors.push(format!("expected {expected}, got {}", kind_of(&file)).into());
        return FleetFile::default();
    };
    let mut reader = Reader { errors };
    reader.remove_unknown::<FleetFile>(None, &mut lists);
    FleetFile {
        group: reader.list(&mut lists, EntryKind::Group, "id"),
        account: reader.list(&mut lists, EntryKind::Account, "login_name"),
        product: reader.list(&mut lists, EntryKind::Product, "id"),
        device: reader.devices(&mut lists),
    }
}

/// Returns a TOML document as JSON.
pub(super) fn json_of(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Datetime(time) => {
            let text = Value::from(time.to_string());
            Value::Object(Map::from_iter([(DATETIME.to_owned(), text)]))
        }
        toml::Value::Array(items) => items.into_iter().map(json_of).collect(),
        toml::Value::Table(table) => {
            table.into_iter().map(|(key, value)| (key, json_of(value))).collect()
        }
    }
}

struct Reader<'a> {
    errors: &'a mut Vec<FileError>,
}

impl Reader<'_> {
    fn list<T: DeserializeOwned>(
        &mut self,
        lists: &mut Map<String, Value>,
        kind: EntryKind,
        id: &str,
    ) -> Vec<Object<T>> {
        let maps = self.maps(lists.remove(kind.name()), &List::Entries(kind), id);
        maps.into_iter().filter_map(|(place, map)| self.entry(&place, map)).collect()
    }

    fn devices(&mut self, lists: &mut Map<String, Value>) -> Vec<Object<FleetDevice>> {
        let mut devices = Vec::new();
        let list = List::Entries(EntryKind::Device);
        for (device, mut map) in self.maps(lists.remove("device"), &list, "code") {
            let aisles = map.remove("aisle").filter(|aisles| !aisles.is_null());
            let aisles = aisles.map(|aisles| {
                let maps = self.maps(Some(aisles), &List::Aisles(&device), "code");
                let aisle = |(place, map): (Place, _)| self.entry(&place, map);
                maps.into_iter().filter_map(aisle).collect()
            });
            let device = self.entry::<FleetDevice>(&device, map);
            devices.extend(
                device.map(|Object(device)| Object(FleetDevice { aisle: aisles, ..device })),
            );
        }
        devices
    }

    /// Returns the objects of a list, each with its place.
    fn maps(
        &mut self,
        items: Option<Value>,
        list: &List<'_>,
        id: &str,
    ) -> Vec<(Place, Map<String, Value>)> {
        let items = match items {
            None => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.note(list.name(), format_args!("expected a list, got {}", kind_of(&other)));
                return Vec::new();
            }
        };
        let mut maps = Vec::new();
        for (position, item) in items.into_iter().enumerate() {
            let place = list.place(item.get(id).and_then(Value::as_str), position);
            match item {
                Value::Object(map) => maps.push((place, map)),
                other => {
                    self.note(place, format_args!("expected an object, got {}", kind_of(&other)))
                }
            }
        }
        maps
    }

    /// Reads an entry without its invalid fields; `None` if a required one is missing. A missing
    /// price is read as 0, so that the product of the aisle is checked as well.
    fn entry<T: DeserializeOwned>(
        &mut self,
        place: &Place,
        mut map: Map<String, Value>,
    ) -> Option<Object<T>> {
        self.remove_unknown::<T>(Some(place), &mut map);
        // The fields whose errors are noted.
        let mut noted: Vec<String> = Vec::new();
        let mut is_complete = true;
        loop {
            let value = Value::Object(map);
            let error = match serde_path_to_error::deserialize::<_, T>(&value) {
                Ok(read) => return is_complete.then_some(Object(read)),
                Err(error) => error,
            };
            let path = error.path().to_string();
            let field = path.split(['.', '[']).next().unwrap_or_default().to_owned();
            let message = with_plain_types(&error.into_inner().to_string());
            let Value::Object(mut rest) = value else { return None };
            match rest.remove(&field) {
                // The value below is of another type than the field.
                Some(_) if noted.contains(&field) => return None,
                Some(given) => {
                    self.note_field(place, &field, &path, &given, &message);
                    noted.push(field);
                }
                None => {
                    let missing = message.split('`').nth(1).unwrap_or_default().to_owned();
                    if !noted.contains(&missing) {
                        self.errors.push(FileError::of_field(place, &missing, "is missing"));
                        noted.push(missing.clone());
                    }
                    // The other fields are read with a value for this one.
                    is_complete &= missing == PRICE;
                    let value = if missing == PRICE { Value::from(0) } else { Value::from("") };
                    rest.insert(missing, value);
                }
            }
            map = rest;
        }
    }

    fn note_field(&mut self, place: &Place, field: &str, path: &str, given: &Value, error: &str) {
        let error = match given.get(DATETIME).and_then(Value::as_str) {
            Some(time) => format!("a date or time is written in quotes: \"{time}\""),
            None if SECRET.contains(&field) => "is not a string".to_owned(),
            None => error.to_owned(),
        };
        self.errors.push(FileError::at(place, field, path, error));
    }

    /// Removes the keys that a `T` does not have, and reports them.
    fn remove_unknown<T: DeserializeOwned>(
        &mut self,
        place: Option<&Place>,
        map: &mut Map<String, Value>,
    ) {
        let known = field_names::<T>();
        map.retain(|key, _| {
            let is_known = known.contains(&key.as_str());
            if !is_known {
                let error = format!("unknown key {key:?}; known here are {}", known.join(", "));
                let error = match place {
                    Some(place) => format!("{place}: {error}"),
                    None => error,
                };
                self.errors.push(error.into());
            }
            is_known
        });
    }

    fn note(&mut self, place: impl Display, error: impl Display) {
        self.errors.push(format!("{place}: {error}").into());
    }
}

/// A list of a fleet file.
enum List<'a> {
    /// The entries of a kind.
    Entries(EntryKind),
    /// The aisles of a device.
    Aisles(&'a Place),
}

impl List<'_> {
    fn name(&self) -> String {
        match self {
            List::Entries(kind) => kind.name().to_owned(),
            List::Aisles(device) => device.inside("aisle").to_string(),
        }
    }

    /// Returns the place of an item, with its id if it has one.
    fn place(&self, id: Option<&str>, position: usize) -> Place {
        match (self, id) {
            (List::Entries(kind), Some(id)) => Place::entry(*kind, id),
            (List::Aisles(device), Some(code)) => device.inside(format_args!("aisle {code}")),
            (_, None) => Place::Other(format!("{}[{position}]", self.name())),
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Returns the names of a struct's fields, in order.
fn field_names<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // Deserializing always fails, after capturing the names.
    let _ = T::deserialize(FieldNames(&mut names));
    names
}

/// A deserializer that captures the names of a struct's fields.
struct FieldNames<'n>(&'n mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ValueError> {
        Err(ValueError::custom("not a struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ValueError> {
        *self.0 = fields;
        Err(ValueError::custom("only the field names are needed"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
