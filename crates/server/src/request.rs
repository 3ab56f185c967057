//! Reads query strings, and a body's fields into the request type of an endpoint. An invalid field
//! does not end the reading: it is recorded and replaced by a placeholder, so that one answer lists
//! every violation (REQ-7).

use std::borrow::Cow;
use std::cell::RefCell;

use kiosque_contract::ZeroOrOne;
use kiosque_model::refusal::ViolationKind;
use kiosque_model::time::{looks_finer_than_milliseconds, looks_like_seconds};
use kiosque_model::{PageRequest, Refusal, Violation};
use percent_encoding::percent_decode_str;
use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::remarks::IgnoredKeys;
use kiosque_listener::json::{Fields, Json};

/// The violations found in a request so far.
#[derive(Debug, Default)]
pub struct Violations {
    found: Vec<Violation>,
    /// The fields of the request's type, in the order of their declaration.
    declared: &'static [&'static str],
}

impl Violations {
    /// Adds a violation.
    pub fn add(&mut self, field: &'static str, kind: ViolationKind) {
        self.found.push(Violation { field, kind });
    }

    /// Adds violations.
    pub fn extend(&mut self, violations: Vec<Violation>) {
        self.found.extend(violations);
    }

    /// Adds a violation if a time, in Unix milliseconds, looks like another unit (REQ-15).
    pub(crate) fn check_milliseconds(&mut self, field: &'static str, time: Option<i64>) {
        if time.is_some_and(looks_like_seconds) {
            self.add(field, ViolationKind::Seconds);
        }
        if time.is_some_and(looks_finer_than_milliseconds) {
            self.add(field, ViolationKind::FinerUnit);
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns whether `field` has one; its value is then a placeholder.
    pub fn concern(&self, field: &str) -> bool {
        self.found.iter().any(|violation| violation.field == field)
    }

    /// Returns `request` if it has no violation.
    ///
    /// # Errors
    /// All violations: first of the query, then of the fields in the order of their declaration.
    pub fn finish<T>(mut self, request: Option<T>) -> Result<T, Refusal> {
        match request {
            Some(request) if self.found.is_empty() => Ok(request),
            _ => {
                let place = |field| self.declared.iter().position(|declared| *declared == field);
                self.found.sort_by_key(|violation| place(violation.field));
                Err(Refusal::Invalid(self.found))
            }
        }
    }
}

/// Reads a request. A field of the body that the type does not declare is ignored (REQ-10), and its
/// name is added to `ignored`.
///
/// # Errors
/// `T` is not a struct, or one of its fields has a type that is not read here.
pub fn read<T: DeserializeOwned>(
    fields: Fields,
    violations: &mut Violations,
    ignored: &mut IgnoredKeys,
) -> Result<T, Error> {
    T::deserialize(RequestReader { fields, violations, ignored })
}

/// A body as a struct with the fields that its type declares.
struct RequestReader<'v> {
    fields: Fields,
    violations: &'v mut Violations,
    ignored: &'v mut IgnoredKeys,
}

impl<'de> Deserializer<'de> for RequestReader<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let RequestReader { mut fields, violations, ignored } = self;
        violations.declared = names;
        ignored.declared = names;
        for (name, _) in &fields.0 {
            if !names.contains(&name.as_str()) {
                ignored.add(name.as_bytes());
            }
        }
        let violations = &RefCell::new(violations);
        let read = |field| {
            let value = fields.take(field);
            let presence = Presence::Required;
            (field, FieldReader { field, value, presence, violations })
        };
        visitor.visit_map(MapDeserializer::new(names.iter().copied().map(read)))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(serde::de::Error::custom("a request is a struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        option unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier
        ignored_any
    }
}

/// Whether a field may be left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Required,
    Optional,
}

/// The value of one field. The type into which it is read decides which values are violations.
struct FieldReader<'r, 'v> {
    field: &'static str,
    value: Json,
    presence: Presence,
    violations: &'r RefCell<&'v mut Violations>,
}

impl IntoDeserializer<'_, Error> for FieldReader<'_, '_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for FieldReader<'_, '_> {
    type Error = Error;

    fn deserialize_option<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_left_out() {
            return visitor.visit_none();
        }
        self.presence = Presence::Optional;
        visitor.visit_some(self)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let may_be_blank = self.presence == Presence::Optional;
        let error = match self.value {
            Json::Text(text) if may_be_blank || !text.trim().is_empty() => {
                return visitor.visit_string(text);
            }
            Json::Text(_) | Json::Null => ViolationKind::Blank,
            _ => ViolationKind::NotText,
        };
        self.violations.borrow_mut().add(self.field, error);
        visitor.visit_string(String::new())
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if let Json::Flag(flag) = self.value {
            return visitor.visit_bool(flag);
        }
        self.violations.borrow_mut().add(self.field, ViolationKind::NotFlag);
        visitor.visit_bool(false)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if let Json::Int(int) = self.value {
            return visitor.visit_i64(int);
        }
        self.violations.borrow_mut().add(self.field, ViolationKind::NotInteger);
        visitor.visit_i64(0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name != ZeroOrOne::NAME {
            return self.deserialize_any(visitor);
        }
        let int = match self.value {
            Json::Int(int @ 0..=1) => int,
            _ => {
                self.violations.borrow_mut().add(self.field, ViolationKind::NotZeroOrOne);
                0
            }
        };
        visitor.visit_newtype_struct(int.into_deserializer())
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let texts = match self.value {
            Json::Texts(texts) => texts,
            value if value.is_left_out() => Vec::new(),
            _ => {
                self.violations.borrow_mut().add(self.field, ViolationKind::NotTexts);
                Vec::new()
            }
        };
        visitor.visit_seq(SeqDeserializer::new(texts.into_iter()))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        let text = format_args!("{} has a type that requests do not have", self.field);
        Err(serde::de::Error::custom(text))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char str bytes byte_buf unit unit_struct tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

/// The keys of a query string that specify a page.
pub(crate) const PAGE_KEYS: &[&str] = &["current", "size"];

/// Returns the page that a query string requests; the defaults are 1, and 10 or a smaller maximum
/// (PAGE-1 to PAGE-4).
///
/// # Errors
/// The violations of the two keys.
pub fn page_of(query: &str, size_max: i64) -> Result<PageRequest, Vec<Violation>> {
    let current = number(query, "current", 1, i64::MAX);
    let size = number(query, "size", PageRequest::SIZE_DEFAULT.min(size_max), size_max);
    match (current, size) {
        (Ok(current), Ok(size)) => PageRequest::new(current, size)
            .ok_or_else(|| vec![violation("current", ViolationKind::NotPositive)]),
        (current, size) => Err([current.err(), size.err()].into_iter().flatten().collect()),
    }
}

fn violation(field: &'static str, kind: ViolationKind) -> Violation {
    Violation { field, kind }
}

/// Returns the number of a key, which is from 1 to `most`, or `default` without the key.
fn number(query: &str, key: &'static str, default: i64, most: i64) -> Result<i64, Violation> {
    let found = match value(query, key) {
        Ok(None) => return Ok(default),
        Ok(Some(text)) => digits(&text),
        Err(kind @ ViolationKind::Repeated) => return Err(violation(key, kind)),
        Err(_) => None,
    };
    match found {
        Some(number @ 1..) if number <= most => Ok(number),
        Some(1..) => Err(violation(key, ViolationKind::OverMaximum(most))),
        _ => Err(violation(key, ViolationKind::NotPositive)),
    }
}

/// Parses an integer that only consists of ASCII digits: no sign, no space.
pub(crate) fn digits(text: &str) -> Option<i64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Returns a query string or the text of a form with the spaces that are sent as `+`
/// (`application/x-www-form-urlencoded`); a `+` of a value is sent as `%2B`.
pub(crate) fn with_spaces(encoded: &str) -> String {
    encoded.replace('+', " ")
}

/// Returns the names and the values of a query string. A `%` without two digits is kept.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = (Cow<'_, [u8]>, Cow<'_, [u8]>)> {
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.map(|(name, value)| (percent_decode_str(name).into(), percent_decode_str(value).into()))
}

/// Returns every value of a key.
pub(crate) fn values<'q>(query: &'q str, key: &str) -> impl Iterator<Item = Cow<'q, [u8]>> {
    pairs(query).filter(move |(name, _)| **name == *key.as_bytes()).map(|(_, value)| value)
}

/// Returns the value of a key; `None` without the key.
///
/// # Errors
/// The key is repeated, or its value is not UTF-8.
pub(crate) fn value(query: &str, key: &str) -> Result<Option<String>, ViolationKind> {
    let mut values = values(query, key);
    let Some(value) = values.next() else { return Ok(None) };
    match values.next() {
        Some(_) => Err(ViolationKind::Repeated),
        None => String::from_utf8(value.into_owned()).map(Some).map_err(|_| ViolationKind::NotText),
    }
}

/// Adds the keys of a query string that are not among `known` to `ignored`.
pub(crate) fn ignore_others(query: &str, known: &[&str], ignored: &mut IgnoredKeys) {
    for (name, _) in pairs(query) {
        if !known.iter().any(|key| *name == *key.as_bytes()) {
            ignored.add(&name);
        }
    }
}

/// Returns the fields that the type of a request declares, in order. A type that is not a struct
/// declares none.
pub(crate) fn declared<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut violations = Violations::default();
    let mut ignored = IgnoredKeys::default();
    let _ = read::<T>(Fields::default(), &mut violations, &mut ignored);
    violations.declared
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_query_panics(query in ".{0,60}") {
            let _ = page_of(&query, 1_000);
        }
    }
}
