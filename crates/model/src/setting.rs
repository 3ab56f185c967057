//! Settings: fields that the operator may set, each declared once with its name, type, default,
//! check and help text. The program makes flags, environment variables and configuration keys of
//! these descriptions, and assigns the values to the fields.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The description of a setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Name of the field, in snake case. Flag, variable and key derive from it.
    pub name: &'static str,
    /// Doc comment of the field.
    pub doc: &'static str,
    /// Placeholder of the value in help texts, such as `DURATION`.
    pub placeholder: &'static str,
    /// How a configuration file writes the value.
    pub notation: Notation,
    /// Whether help texts and logs leave the value out.
    pub is_secret: bool,
    /// The topic that it is listed under.
    pub topic: Topic,
    /// The help texts that list it.
    pub help_level: HelpLevel,
    /// Returns the default.
    pub default: fn() -> SettingDefault,
    /// Checks the syntax of a value.
    pub check_syntax: fn(&str) -> Result<(), String>,
}

impl Setting {
    /// Returns the help text: the first paragraph of the doc comment, on one line and without its
    /// full stop.
    #[must_use]
    pub fn help(&self) -> String {
        let paragraph = self.doc.split("\n\n").next().unwrap_or_default();
        one_line(paragraph).trim_end_matches('.').to_owned()
    }

    /// Returns the other paragraphs of the doc comment, each on one line.
    pub fn details(&self) -> impl Iterator<Item = String> {
        self.doc.split("\n\n").skip(1).map(one_line)
    }
}

fn one_line(paragraph: &str) -> String {
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A topic of settings. Help texts and the printed settings file are grouped by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// The data, the log, and the service as a whole.
    General,
    /// Addresses, connections and their timeouts.
    Network,
    /// Certificates and handshakes.
    Tls,
    /// Sessions, passwords and guessing.
    Logins,
    /// Bounds of requests and of work.
    Limits,
    /// Several nodes on one database.
    Cluster,
}

impl Topic {
    /// Every topic, in the order of help texts.
    pub const ALL: [Topic; 6] =
        [Topic::General, Topic::Network, Topic::Tls, Topic::Logins, Topic::Limits, Topic::Cluster];

    /// Returns the heading of the topic.
    #[must_use]
    pub const fn heading(self) -> &'static str {
        match self {
            Topic::General => "General",
            Topic::Network => "Network",
            Topic::Tls => "TLS",
            Topic::Logins => "Logins",
            Topic::Limits => "Limits",
            Topic::Cluster => "Cluster",
        }
    }
}

/// The help texts that list a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelpLevel {
    /// `-h` and `--help`.
    Short,
    /// `--help` alone: few operators need the setting.
    Long,
}

/// The default of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingDefault {
    /// There is none.
    Absent,
    /// A value, written as it may be given.
    Value(String),
    /// A default that no value expresses, such as `never`, or that depends on the machine.
    Described(&'static str),
}

impl SettingDefault {
    /// Returns the text that help texts show; `None` if there is no default.
    #[must_use]
    pub fn shown(&self) -> Option<&str> {
        match self {
            SettingDefault::Absent => None,
            SettingDefault::Value(value) => Some(value),
            SettingDefault::Described(text) => Some(text),
        }
    }
}

impl From<Option<String>> for SettingDefault {
    fn from(value: Option<String>) -> Self {
        value.map_or(SettingDefault::Absent, SettingDefault::Value)
    }
}

/// How a configuration file writes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// An integer.
    Integer,
    /// A string.
    Text,
    /// A string of values separated by commas, or a list of strings.
    List,
}

/// A struct whose fields are settings; [`settings!`](crate::settings!) implements it.
pub trait Configurable {
    /// Its settings, in the order of help texts.
    const SETTINGS: &'static [Setting];

    /// Sets the field `name`; a name that is not one of [`Self::SETTINGS`] is ignored.
    ///
    /// # Errors
    /// The reason why the text is not a value of this setting.
    fn assign(&mut self, name: &str, text: &str) -> Result<(), String>;
}

/// A type of values that a setting may have.
pub trait SettingValue: Sized {
    /// Placeholder of the value in help texts, unless the setting has one of its own.
    const PLACEHOLDER: &'static str;
    /// How a configuration file writes the value.
    const NOTATION: Notation = Notation::Text;
    /// Whether help texts and logs leave the value out.
    const IS_SECRET: bool = false;

    /// Parses a value.
    ///
    /// # Errors
    /// A message for the operator.
    fn parse(text: &str) -> Result<Self, String>;

    /// Formats the value for help texts; `None` if there is none.
    fn show(&self) -> Option<String>;

    /// Checks the syntax of a value on the command line and in the configuration file, for every
    /// command. [`SettingValue::parse`] may refuse more, when the value is used.
    ///
    /// # Errors
    /// A message for the operator.
    fn check_syntax(text: &str) -> Result<(), String> {
        Self::parse(text).map(drop)
    }
}

/// Checks that a value is more than zero.
///
/// # Errors
/// The value is not.
pub fn positive<V: Default + PartialOrd>(value: &V) -> Result<(), String> {
    if *value > V::default() { Ok(()) } else { Err("must be more than 0".to_owned()) }
}

fn parse<V: FromStr<Err: Display>>(text: &str) -> Result<V, String> {
    text.parse().map_err(|error: V::Err| error.to_string())
}

macro_rules! integers {
    ($($type:ty),*) => {
        $(impl SettingValue for $type {
            const PLACEHOLDER: &'static str = "N";
            const NOTATION: Notation = Notation::Integer;

            fn parse(text: &str) -> Result<Self, String> {
                parse(text)
            }

            fn show(&self) -> Option<String> {
                Some(self.to_string())
            }
        })*
    };
}

integers!(usize, u32, i64);

impl SettingValue for SocketAddr {
    const PLACEHOLDER: &'static str = "ADDR";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| {
            format!(
                "{text:?} is not an address; write it like 0.0.0.0:8443 or [::1]:8443, with an IP \
                 address, not a host name"
            )
        })
    }

    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl SettingValue for String {
    const PLACEHOLDER: &'static str = "TEXT";

    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn show(&self) -> Option<String> {
        Some(self.clone())
    }
}

impl SettingValue for PathBuf {
    const PLACEHOLDER: &'static str = "FILE";

    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() { Err("a path must not be empty".to_owned()) } else { Ok(text.into()) }
    }

    fn show(&self) -> Option<String> {
        Some(self.display().to_string())
    }
}

/// Written with units: `250ms`, `2s`, `2h`, `90d`.
impl SettingValue for Duration {
    const PLACEHOLDER: &'static str = "DURATION";

    fn parse(text: &str) -> Result<Self, String> {
        let invalid = || format!("{text:?} is not a duration; write it like 250ms, 2s, 2h or 90d");
        let span: jiff::Span = text.parse().map_err(|_| invalid())?;
        let length = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours());
        Duration::try_from(length.map_err(|_| invalid())?).map_err(|_| invalid())
    }

    /// Formats the duration in the largest unit of which it has at least two, in seconds otherwise.
    fn show(&self) -> Option<String> {
        let seconds = self.as_secs();
        if self.subsec_nanos() > 0 {
            return Some(format!("{}ms", self.as_millis()));
        }
        let units = [(86_400, "d"), (3_600, "h"), (60, "m")];
        let unit =
            units.iter().find(|(unit, _)| seconds.is_multiple_of(*unit) && seconds >= 2 * unit);
        let (unit, letter) = unit.unwrap_or(&(1, "s"));
        Some(format!("{}{letter}", seconds / unit))
    }
}

impl<V: SettingValue> SettingValue for Option<V> {
    const PLACEHOLDER: &'static str = V::PLACEHOLDER;
    const NOTATION: Notation = V::NOTATION;
    const IS_SECRET: bool = V::IS_SECRET;

    fn parse(text: &str) -> Result<Self, String> {
        V::parse(text).map(Some)
    }

    fn show(&self) -> Option<String> {
        self.as_ref().and_then(V::show)
    }

    fn check_syntax(text: &str) -> Result<(), String> {
        V::check_syntax(text)
    }
}

/// Declares a struct whose fields are settings.
///
/// ```
/// use kiosque_model::setting::{Configurable, HelpLevel, SettingDefault, Topic, positive};
/// use kiosque_model::settings;
///
/// settings! {
///     /// Settings of an oven.
///     pub struct Oven(cores) {
///         /// Largest number of loaves.
///         ///
///         /// This paragraph is documentation; the one above is the help text, too.
///         loaves_max: usize = 12, topic Limits, check positive;
///         /// Program file.
///         program: String = "rye.toml".to_owned(), topic General, help Short, placeholder "FILE";
///         /// Number of fans.
///         fans: usize = cores, topic General, shown "one per core";
///     }
/// }
///
/// let mut oven = Oven::for_cores(2);
/// assert_eq!((oven.loaves_max, oven.fans), (12, 2));
/// oven.assign("loaves_max", "6").unwrap();
/// assert_eq!(oven.loaves_max, 6);
/// assert_eq!(oven.assign("loaves_max", "0"), Err("must be more than 0".to_owned()));
/// assert_eq!(Oven::SETTINGS[0].help(), "Largest number of loaves");
/// assert_eq!(Oven::SETTINGS[0].topic, Topic::Limits);
/// assert_eq!(Oven::SETTINGS[1].help_level, HelpLevel::Short);
/// assert_eq!((Oven::SETTINGS[2].default)(), SettingDefault::Described("one per core"));
/// ```
///
/// A default may use the number of cores, under the name in parentheses; `shown` is needed then.
/// A setting without `help Short` is left out of the help that `-h` prints.
/// A struct may end in a field that is no setting but has settings of its own:
/// `struct Kitchen(cores), oven: Oven { … }`.
#[macro_export]
macro_rules! settings {
    (@first $first:expr $(, $rest:expr)?) => { $first };
    (
        $(#[$meta:meta])*
        $vis:vis struct $Name:ident($cores:ident) $(, $inner:ident: $Inner:ty)? {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $default:expr, topic $topic:ident
                    $(, help $level:ident)?
                    $(, placeholder $placeholder:literal)?
                    $(, shown $shown:literal)?
                    $(, check $check:path)?;
            )*
        }
    ) => {
        $(#[$meta])*
        $vis struct $Name {
            $($(#[doc = $doc])+ $vis $field: $type,)*
            $(#[doc = concat!("See [`", stringify!($Inner), "`].")] $vis $inner: $Inner,)?
        }

        impl $Name {
            /// Returns the defaults on a machine with this number of cores.
            #[must_use]
            $vis fn for_cores($cores: usize) -> Self {
                Self { $($field: $default,)* $($inner: <$Inner>::for_cores($cores),)? }
            }
        }

        impl $crate::setting::Configurable for $Name {
            const SETTINGS: &'static [$crate::setting::Setting] = &[
                $($crate::setting::Setting {
                    name: stringify!($field),
                    doc: concat!($($doc, "\n"),+),
                    placeholder: $crate::settings!(
                        @first $($placeholder,)?
                        <$type as $crate::setting::SettingValue>::PLACEHOLDER
                    ),
                    notation: <$type as $crate::setting::SettingValue>::NOTATION,
                    is_secret: <$type as $crate::setting::SettingValue>::IS_SECRET,
                    topic: $crate::setting::Topic::$topic,
                    help_level: $crate::settings!(
                        @first $($crate::setting::HelpLevel::$level,)?
                        $crate::setting::HelpLevel::Long
                    ),
                    default: $crate::settings!(
                        @first $(|| $crate::setting::SettingDefault::Described($shown),)?
                        || <$type as $crate::setting::SettingValue>::show(&$default).into()
                    ),
                    check_syntax: <$type as $crate::setting::SettingValue>::check_syntax,
                },)*
            ];

            fn assign(&mut self, name: &str, text: &str) -> Result<(), String> {
                match name {
                    $(stringify!($field) => {
                        let value = <$type as $crate::setting::SettingValue>::parse(text)?;
                        $($check(&value)?;)?
                        self.$field = value;
                    })*
                    _ => {}
                }
                Ok(())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_with_units() {
        let seconds = |text: &str| Duration::parse(text).ok().map(|it| it.as_secs_f64());
        for (text, want) in [
            ("250ms", Some(0.25)),
            ("2s", Some(2.0)),
            ("2h", Some(7_200.0)),
            ("1h 30m", Some(5_400.0)),
            ("90d", Some(7_776_000.0)),
            ("-2s", None),
            ("2", None),
            ("1mo", None),
            ("", None),
        ] {
            assert_eq!(seconds(text), want, "{text:?}");
        }
    }

    #[test]
    fn a_duration_is_shown_as_it_may_be_written() {
        for text in ["0s", "1ms", "1500ms", "1s", "60s", "75s", "2m", "90m", "2h", "47h", "365d"] {
            let duration = Duration::parse(text).unwrap();
            assert_eq!(duration.show().as_deref(), Some(text));
        }
    }
}
