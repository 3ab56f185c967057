//! The texts of the pages: each is written once, in both languages.

use kiosque_locale::Locale;

/// A text in both languages. Numbered placeholders, such as `{0}`, are filled by [`Text::fill`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) en: &'static str,
    pub(crate) zh: &'static str,
}

impl Text {
    /// Returns the text in a language.
    pub(crate) const fn of(self, language: Locale) -> &'static str {
        match language {
            Locale::En => self.en,
            Locale::ZhCn => self.zh,
        }
    }

    /// Returns the text in a language, with its placeholders filled in. Values stay as they are:
    /// a name may contain a placeholder.
    pub(crate) fn fill(self, language: Locale, values: &[&str]) -> String {
        let mut parts = self.of(language).split('{');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let value = part.split_once('}').and_then(|(number, rest)| {
                Some((*values.get(number.parse::<usize>().ok()?)?, rest))
            });
            match value {
                Some((value, rest)) => text.extend([value, rest]),
                None => text.extend(["{", part]),
            }
        }
        text
    }
}

/// Declares texts as constants, and functions that return the text of each variant of an enum.
/// Lists all of them as `TEXTS`.
macro_rules! texts {
    (
        $($name:ident: $en:literal, $zh:literal;)*
        $($(#[$doc:meta])+ fn $function:ident($of:ident) {
            $($variant:ident: $of_en:literal, $of_zh:literal;)+
        })*
    ) => {
        $(pub(crate) const $name: $crate::text::Text = $crate::text::Text { en: $en, zh: $zh };)*
        $(
            $(#[$doc])+
            pub(crate) const fn $function(of: $of) -> $crate::text::Text {
                match of {
                    $($of::$variant => $crate::text::Text { en: $of_en, zh: $of_zh },)+
                }
            }
        )*
        #[cfg(test)]
        pub(crate) const TEXTS: &[$crate::text::Text] =
            &[$($name,)* $($($function($of::$variant),)+)*];
    };
}
pub(crate) use texts;

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that are the same in both languages, and texts without words.
    const SAME: [&str; 3] = ["CSV", "JSON", "{0}，{1}，{2}"];

    fn all() -> impl Iterator<Item = Text> {
        let pages = [
            crate::api::call::TEXTS,
            crate::api::fields::TEXTS,
            crate::api::snippets::TEXTS,
            crate::api::TEXTS,
            crate::api::trial::TEXTS,
            crate::audit::TEXTS,
            crate::chart::TEXTS,
            crate::components::TEXTS,
            crate::device::cabinet::TEXTS,
            crate::device::sales::TEXTS,
            crate::device::TEXTS,
            crate::devices::TEXTS,
            crate::forward::TEXTS,
            crate::frame::TEXTS,
            crate::groups::TEXTS,
            crate::intake::TEXTS,
            crate::integrators::TEXTS,
            crate::keys::TEXTS,
            crate::message::TEXTS,
            crate::order::source::TEXTS,
            crate::order::TEXTS,
            crate::orders::TEXTS,
            crate::overview::attention::TEXTS,
            crate::overview::TEXTS,
            crate::period::TEXTS,
            crate::refill::TEXTS,
            crate::refused::TEXTS,
            crate::search::TEXTS,
            crate::service::TEXTS,
            crate::sign_in::TEXTS,
            crate::trail::TEXTS,
            crate::words::TEXTS,
        ];
        pages.into_iter().flatten().copied()
    }

    fn placeholders(text: &str) -> Vec<&str> {
        let mut found: Vec<&str> =
            text.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn each_text_is_there_in_both_languages_with_the_same_placeholders() {
        for Text { en, zh } in all() {
            assert!(!en.is_empty(), "{zh}");
            let is_han = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
            assert!(zh.chars().any(is_han) || SAME.contains(&zh), "{en}: {zh:?} is not Chinese");
            assert!(!en.chars().any(is_han), "{en:?} is not English");
            assert_eq!(placeholders(en), placeholders(zh), "{en}");
        }
    }

    #[test]
    fn placeholders_are_filled_by_number() {
        let text = Text { en: "{0} of {1}", zh: "共 {1} 台，{0} 台在线" };
        assert_eq!(text.fill(Locale::En, &["8", "11"]), "8 of 11");
        assert_eq!(text.fill(Locale::ZhCn, &["8", "11"]), "共 11 台，8 台在线");
        // A value is no text with placeholders, and other braces are kept.
        assert_eq!(text.fill(Locale::En, &["{1}", "{0}{2}"]), "{1} of {0}{2}");
        let text = Text { en: "{1} {0} {2} {x} { }", zh: "" };
        assert_eq!(text.fill(Locale::En, &["a", "b"]), "b a {2} {x} { }");
    }
}
