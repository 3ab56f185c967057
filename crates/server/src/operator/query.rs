//! Reads the query string of a call, collecting all errors.

use kiosque_contract::operator_call::OperatorCall;
use kiosque_model::refusal::ViolationKind;
use kiosque_model::time::TimeError;
use kiosque_model::{DeviceCode, GroupId, UnixMs, Zone};
use kiosque_store::Listing;

use super::cursor::Cursor;
use crate::failure::Failure;
use crate::remarks::IgnoredKeys;
use crate::request::{declared, digits, ignore_others, value, with_spaces};

/// Default number of entries of a page.
const LIMIT_DEFAULT: i64 = 100;
/// Most entries of a page.
const LIMIT_MAX: i64 = 1_000;

/// The query string of a call, and the errors found in it, each with its key.
pub(super) struct Query {
    /// The text, with spaces instead of `+`.
    text: String,
    /// The keys that the call declares.
    declared: &'static [&'static str],
    errors: Vec<(&'static str, String)>,
}

impl Query {
    /// Returns the query string of a call.
    ///
    /// # Errors
    /// It has keys that the call does not declare. If a misspelt filter were ignored, the answer
    /// would be about the data of every group.
    pub(super) fn of<C: OperatorCall>(_: C, text: &str) -> Result<Query, Failure> {
        let declared = declared::<C::Query>();
        let mut unknown = IgnoredKeys::default();
        let text = with_spaces(text);
        ignore_others(&text, declared, &mut unknown);
        let Some(unknown) = unknown.into_list() else {
            return Ok(Query { text, declared, errors: Vec::new() });
        };
        let keys = match declared {
            [] => "none".to_owned(),
            keys => keys.join(", "),
        };
        Err(Failure::bad_query(vec![format!("unknown keys: {unknown}; the call takes {keys}")]))
    }

    /// Returns the text of a key.
    pub(super) fn text(&mut self, key: &'static str) -> Option<String> {
        debug_assert!(self.declared.contains(&key), "the call does not declare {key}");
        value(&self.text, key).unwrap_or_else(|kind| {
            let is_repeated = kind == ViolationKind::Repeated;
            self.refuse(key, if is_repeated { "must be given once" } else { "is not valid UTF-8" });
            None
        })
    }

    /// Returns the value that `parse` reads from the text of a key, or records that it is not the
    /// `expected` one.
    pub(super) fn parse<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(key)?;
        self.check(key, parse(&text), expected)
    }

    /// Returns a value that was read from the text of a key, or records that it is not the
    /// `expected` one.
    fn check<T>(&mut self, key: &'static str, value: Option<T>, expected: &str) -> Option<T> {
        if value.is_none() {
            self.refuse(key, &format!("must be {expected}"));
        }
        value
    }

    /// Returns a time; a date is its first instant in the zone. The `+` of an offset may be sent as
    /// it is, and is a space here: no time has a space in this place.
    pub(super) fn time(&mut self, key: &'static str, zone: &Zone) -> Option<UnixMs> {
        let text = self.text(key)?;
        let with_offset = || {
            let (time, offset) = text.rsplit_once(' ')?;
            zone.parse(&format!("{time}+{offset}")).ok()
        };
        match zone.parse_time_or_date(&text).or_else(|error| with_offset().ok_or(error)) {
            Ok(time) => return Some(time),
            Err(TimeError::NotATime(..)) => {
                self.refuse(key, "must be RFC 3339, or yyyy-MM-dd, or yyyy-MM-dd HH:mm:ss");
            }
            Err(error) => self.refuse(key, &format!("is not a time: {error}")),
        }
        None
    }

    /// Notes that the value of a key cannot be used.
    pub(super) fn refuse(&mut self, key: &'static str, reason: &str) {
        self.errors.push((key, reason.to_owned()));
    }

    /// Returns the id of a group.
    pub(super) fn group(&mut self, key: &'static str) -> Option<GroupId> {
        let text = self.text(key)?;
        self.group_of(key, text)
    }

    /// Returns the group id in `text`.
    pub(super) fn group_of(&mut self, key: &'static str, text: String) -> Option<GroupId> {
        self.check(key, GroupId::parse(text).ok(), "the id of a group")
    }

    /// Returns the device code in `text`.
    pub(super) fn device_of(&mut self, key: &'static str, text: String) -> Option<DeviceCode> {
        self.check(key, DeviceCode::parse(text).ok(), "the code of a device")
    }

    /// Returns the maximum number of entries of a page.
    pub(super) fn limit(&mut self) -> usize {
        let limit = self.parse("limit", &format!("from 1 to {LIMIT_MAX}"), |text| {
            digits(text).filter(|limit| (1..=LIMIT_MAX).contains(limit))
        });
        usize::try_from(limit.unwrap_or(LIMIT_DEFAULT)).unwrap_or_default()
    }

    /// Returns the key at which a page begins. An empty text is the beginning.
    pub(super) fn cursor<K: Cursor>(&mut self) -> Option<K> {
        let text = self.text("cursor").filter(|text| !text.is_empty())?;
        let key = K::read(&text).filter(|key| key.write() == text);
        self.check("cursor", key, "the value of next in an answer")
    }

    /// Returns the part of a list that the query string selects.
    ///
    /// # Errors
    /// The errors of [`Query::finish`].
    pub(super) fn listing<K: Cursor>(mut self) -> Result<Listing<K>, Failure> {
        let (limit, after) = (self.limit(), self.cursor());
        self.finish()?;
        Ok(Listing { after, limit })
    }

    /// Fails if an error was found.
    ///
    /// # Errors
    /// All errors, in the order in which the call declares the keys.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        if self.errors.is_empty() {
            return Ok(());
        }
        let place = |key| self.declared.iter().position(|declared| *declared == key);
        self.errors.sort_by_key(|(key, _)| place(*key));
        let errors = self.errors.into_iter().map(|(key, error)| format!("{key} {error}"));
        Err(Failure::bad_query(errors.collect()))
    }
}
