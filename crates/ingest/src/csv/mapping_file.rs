//! The TOML file of a mapping, before its columns and values are checked.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;

use kiosque_model::at_position;
use kiosque_model::time::Zone;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use toml::{Spanned, Value};

use super::mapping::{FileFormat, NewDevice, NewProduct, file_format};
use super::numbers::{NumberFormat, number_format};
use super::skip::SkipSection;
use super::template::SUM;
use super::texts::{Text, text, texts};
use super::times::{TimeFormat, TimeFormats, formats, zone};

/// The sections of a mapping.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MappingFile {
    #[serde(default, deserialize_with = "file_format")]
    pub(super) report: FileFormat,
    #[serde(default)]
    pub(super) time: TimeFormats,
    #[serde(default, deserialize_with = "number_format")]
    pub(super) amount: Option<NumberFormat>,
    #[serde(default = "no_section")]
    pub(super) order: Spanned<Section>,
    pub(super) line: Option<Spanned<Section>>,
    #[serde(default)]
    pub(super) skip: Vec<Spanned<SkipSection>>,
    #[serde(default)]
    pub(super) create: CreateSection,
}

/// The sources of `[order]` or `[line]`, by the names of their fields.
pub(super) type Section = BTreeMap<String, Spanned<Given>>;

fn no_section() -> Spanned<Section> {
    Spanned::new(0..0, Section::new())
}

/// `[create]`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct CreateSection {
    pub(super) device: Option<NewDevice<Spanned<Given>>>,
    pub(super) product: Option<Spanned<NewProduct<Spanned<Given>>>>,
}

/// The source of a value.
pub(super) enum Given {
    /// Templates; the first that yields a value is used.
    Templates(Vec<String>),
    /// A table.
    Table(SourceTable),
}

impl Given {
    /// Returns whether it is the sum of the lines.
    pub(super) fn is_sum(&self) -> bool {
        let Given::Templates(texts) = self else { return false };
        let [text] = texts.as_slice() else { return false };
        text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) == Some(SUM)
    }
}

/// `{ from = …, map = { … } }` or `{ constant = … }`, for times with `format` and `zone`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct SourceTable {
    #[serde(default, deserialize_with = "texts")]
    pub(super) from: Vec<String>,
    #[serde(default, deserialize_with = "text")]
    pub(super) constant: Option<String>,
    #[serde(default)]
    pub(super) map: BTreeMap<String, Text>,
    #[serde(default, deserialize_with = "formats")]
    pub(super) format: Vec<TimeFormat>,
    #[serde(default, deserialize_with = "zone")]
    pub(super) zone: Option<Zone>,
}

impl<'de> Deserialize<'de> for Given {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Given, D::Error> {
        match Value::deserialize(deserializer)? {
            table @ Value::Table(_) => SourceTable::deserialize(table)
                .map(Given::Table)
                .map_err(|error| D::Error::custom(error.message())),
            other => texts(other).map(Given::Templates).map_err(|_| {
                D::Error::custom("expected \"{Column}\", a list of such, or a table with from")
            }),
        }
    }
}

/// An error of a mapping.
pub(super) struct MappingError {
    at: Range<usize>,
    text: String,
}

impl MappingError {
    /// Returns the error of a key, at the position of its value.
    pub(super) fn new(at: Range<usize>, path: &str, error: impl Display) -> MappingError {
        MappingError { at, text: format!("{path}: {error}") }
    }

    fn of_toml(error: &toml::de::Error, text: String) -> MappingError {
        MappingError { at: error.span().unwrap_or_default(), text }
    }

    /// Returns the error with its line and column in the text of the mapping.
    pub(super) fn in_text(self, text: &str) -> String {
        at_position(text, self.at.start, self.text)
    }
}

impl MappingFile {
    /// Reads the text of a mapping.
    ///
    /// # Errors
    /// The text is not TOML, or a key is unknown, or a value is of another type.
    pub(super) fn read(text: &str) -> Result<MappingFile, MappingError> {
        let toml = toml::Deserializer::parse(text)
            .map_err(|error| MappingError::of_toml(&error, error.message().to_owned()))?;
        serde_path_to_error::deserialize(toml).map_err(|error| {
            // To a deserializer, a value with its position is a struct.
            let path = error.path().to_string().replace(".$__serde_spanned_private_value", "");
            let error = error.into_inner();
            let message = error.message().replace("expected u64", "expected a number, 0 or more");
            MappingError::of_toml(&error, format!("{path}: {message}"))
        })
    }
}
