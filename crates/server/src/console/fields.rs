//! The fields of a query string or of a posted form.

use crate::failure::Failure;
use crate::request::{pairs, value, values, with_spaces};

/// Fields in `application/x-www-form-urlencoded`, with spaces already decoded.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(String);

impl Fields {
    /// Reads a query string or the text of a form.
    pub(super) fn of(encoded: &str) -> Fields {
        Fields(with_spaces(encoded))
    }

    /// Returns the value of a field, exactly: an id may begin or end with a space. An empty value,
    /// one that is not UTF-8 and a repeated one count as absent.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        value(&self.0, key).ok()?.filter(|value| !value.is_empty())
    }

    /// Returns the value of a field that a person types or pastes, without surrounding spaces.
    pub(super) fn trimmed(&self, key: &str) -> Option<String> {
        let value = self.text(key)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// Returns what a field means, if it is given. Spaces around it mean nothing: no number, code,
    /// address or date has them.
    pub(super) fn parsed<T>(
        &self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        let value = self.trimmed(key);
        value.map(|text| parse(&text).ok_or(Failure::Parameter(key))).transpose()
    }

    /// Returns the name of the first field that is not among `names`.
    pub(super) fn unknown(&self, names: &[&str]) -> Option<String> {
        let given = self.0.split('&').filter(|field| !field.is_empty()).flat_map(pairs);
        let mut given = given.map(|(name, _)| String::from_utf8_lossy(&name).into_owned());
        given.find(|name| !names.contains(&name.as_str()))
    }

    /// Returns the first of `names` that more than one field has.
    pub(super) fn repeated(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| values(&self.0, name).nth(1).is_some())
    }

    /// Returns every value of a field that may be repeated.
    pub(super) fn all(&self, key: &str) -> Vec<String> {
        values(&self.0, key)
            .filter_map(|value| String::from_utf8(value.into_owned()).ok())
            .collect()
    }
}
