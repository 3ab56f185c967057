//! The languages of the pages.

use kiosque_locale::Locale;

/// A language of the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Simplified Chinese.
    Chinese,
}

impl Language {
    /// Both languages.
    pub const ALL: [Language; 2] = [Language::English, Language::Chinese];

    /// Returns the language of a code that [`Language::code`] returns.
    #[must_use]
    pub fn of_code(code: &str) -> Option<Language> {
        Language::ALL.into_iter().find(|language| language.code() == code)
    }

    /// Returns the code in `lang`, in cookies and in forms.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::Chinese => "zh-CN",
        }
    }

    /// Returns the language of the messages for integrators.
    pub(crate) const fn locale(self) -> Locale {
        match self {
            Language::English => Locale::En,
            Language::Chinese => Locale::ZhCn,
        }
    }

    /// Returns the language's name in the language itself.
    pub(crate) const fn own_name(self) -> &'static str {
        match self {
            Language::English => "English",
            Language::Chinese => "中文",
        }
    }
}
