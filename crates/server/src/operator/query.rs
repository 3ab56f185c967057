//! Reads a query string into the struct that a call declares, as [`crate::request`] reads a body:
//! every field is an optional text, and every fault is collected.

use kiosque_contract::operator_call::OperatorCall;
use kiosque_model::GroupId;
use serde::de::value::{BorrowedStrDeserializer, Error};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::cursor::Cursor;
use super::problem::Problem;
use crate::answer::Failure;
use crate::remarks::IgnoredKeys;
use crate::request::{ignore_others, values};

/// Entries of a page, unless the caller says otherwise.
const LIMIT_DEFAULT: i64 = 100;
/// Most entries of a page.
const LIMIT_MAX: i64 = 1_000;

/// The faults of a query string, each with its key.
#[derive(Debug, Default)]
pub(super) struct QueryFaults {
    found: Vec<(&'static str, String)>,
    /// The keys that the struct declares.
    declared: &'static [&'static str],
}

impl QueryFaults {
    /// Returns the value that `parse` reads from a text, or notes that the value of `key` is not
    /// the `expected` one.
    pub(super) fn parse<T>(
        &mut self,
        (key, text): (&'static str, Option<&str>),
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let parsed = parse(text?);
        if parsed.is_none() {
            self.found.push((key, format!("must be {expected}")));
        }
        parsed
    }

    /// Returns the id of a group.
    pub(super) fn group(&mut self, (key, text): (&'static str, Option<&str>)) -> Option<GroupId> {
        let parse = |text: &str| GroupId::parse(text.to_owned()).ok();
        self.parse((key, text), "the id of a group", parse)
    }

    /// Returns the largest number of entries of a page.
    pub(super) fn limit(&mut self, text: Option<&str>) -> usize {
        let expected = format!("from 1 to {LIMIT_MAX}");
        let limit = self.parse(("limit", text), &expected, |text| {
            digits(text).filter(|limit| (1..=LIMIT_MAX).contains(limit))
        });
        usize::try_from(limit.unwrap_or(LIMIT_DEFAULT)).unwrap_or_default()
    }

    /// Returns the key at which a page begins. An empty text is the beginning.
    pub(super) fn cursor<K: Cursor>(&mut self, text: Option<&str>) -> Option<K> {
        let text = text.filter(|text| !text.is_empty());
        self.parse(("cursor", text), "the value of next in an answer", |text| {
            K::read(text).filter(|key| key.write() == text)
        })
    }

    /// Returns every fault, in the order in which the struct declares the keys; `None` without any.
    pub(super) fn finish(mut self) -> Option<Vec<String>> {
        let place = |key| self.declared.iter().position(|declared| *declared == key);
        self.found.sort_by_key(|(key, _)| place(*key));
        let faults = self.found.into_iter().map(|(key, fault)| format!("{key} {fault}"));
        Some(faults.collect()).filter(|faults: &Vec<String>| !faults.is_empty())
    }
}

/// Reads the query string of a call, whose keys [`refuse_unknown_keys`] has checked.
///
/// # Errors
/// The call declares something other than a struct of optional texts.
pub(super) fn read<C: OperatorCall>(
    query: &str,
    faults: &mut QueryFaults,
) -> Result<C::Query, Failure> {
    let read = C::Query::deserialize(QueryReader { query, faults });
    read.map_err(|error| Failure::internal(&error))
}

/// Refuses a query string with keys that the call does not declare: without a misspelt filter, the
/// answer would be about the data of every group.
///
/// # Errors
/// The query string has such keys, which the problem names with those of the call.
pub(super) fn refuse_unknown_keys<C: OperatorCall>(_: C, query: &str) -> Result<(), Problem> {
    let mut of_call = QueryFaults::default();
    read::<C>("", &mut of_call)?;
    let mut unknown = IgnoredKeys::default();
    ignore_others(query, of_call.declared, &mut unknown);
    let Some(unknown) = unknown.into_list() else { return Ok(()) };
    let keys = match of_call.declared {
        [] => "none".to_owned(),
        keys => keys.join(", "),
    };
    Err(Problem::bad_query(vec![format!("unknown keys: {unknown}; the call takes {keys}")]))
}

/// Reads an integer of digits alone: no sign, no space, no digits of another script.
pub(super) fn digits(text: &str) -> Option<i64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

struct QueryReader<'q> {
    query: &'q str,
    faults: &'q mut QueryFaults,
}

impl<'de> Deserializer<'de> for QueryReader<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.faults.declared = names;
        visitor.visit_map(KeysReader { names: names.iter(), key: "", reader: self })
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(serde::de::Error::custom("a query is a struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        option unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The declared keys one after the other, each with its value.
struct KeysReader<'q> {
    names: std::slice::Iter<'static, &'static str>,
    key: &'static str,
    reader: QueryReader<'q>,
}

impl<'de> MapAccess<'de> for KeysReader<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some(name) = self.names.next() else { return Ok(None) };
        self.key = name;
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let mut values = values(self.reader.query, self.key);
        let value = values.next();
        let text = match (value, values.next()) {
            (_, Some(_)) => Err("must be given once"),
            (None, None) => Ok(None),
            (Some(value), None) => {
                String::from_utf8(value).map(Some).map_err(|_| "is not valid UTF-8")
            }
        };
        let text = text.unwrap_or_else(|fault| {
            self.reader.faults.found.push((self.key, fault.to_owned()));
            None
        });
        seed.deserialize(ValueReader(text))
    }
}

/// The text of one key, if there is one.
struct ValueReader(Option<String>);

impl<'de> Deserializer<'de> for ValueReader {
    type Error = Error;

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_some() { visitor.visit_some(self) } else { visitor.visit_none() }
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.0.unwrap_or_default())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
