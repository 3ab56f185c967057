//! The texts of the documents, in the language of the page.

use std::collections::HashMap;
use std::sync::LazyLock;

use kiosque_locale::Locale;
use maud::{Markup, html};

static CHINESE: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| pairs().collect());

/// Returns each text on one line, and its translation. In the file, an empty line ends a pair.
fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let pairs = include_str!("chinese.txt").split("\n\n");
    pairs.filter_map(|pair| pair.trim_end().split_once('\n'))
}

/// Renders a text of a document. Its parts between backticks are code.
pub(super) fn prose(language: Locale, text: &str) -> Markup {
    let line = text.replace('\n', " ");
    let text = match language {
        Locale::En => &line,
        Locale::ZhCn => CHINESE.get(line.as_str()).copied().unwrap_or(&line),
    };
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 0 { (part) } @else { code { (part) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use kiosque_openapi::reference::CallReference;

    use super::*;
    use crate::api::Document;

    /// Returns the texts that the page of a call shows.
    fn texts(call: &CallReference) -> impl Iterator<Item = &str> {
        let sent = call.body.iter().flat_map(|body| &body.fields);
        let parameters = call.query.iter().chain(&call.headers);
        let fields = parameters.chain(sent).chain(&call.success.fields).chain(&call.failure);
        let own = std::iter::once(&call.summary).chain(&call.paragraphs);
        let bodies = call.body.iter().map(|body| &body.about);
        let answers = call.answers.iter().map(|answer| &answer.about);
        let all = own.chain(bodies).chain(answers).chain(fields.map(|field| &field.about));
        all.map(String::as_str).filter(|text| !text.is_empty())
    }

    #[test]
    fn each_text_has_one_translation_and_no_translation_is_left_over() {
        let calls = Document::ALL.iter().flat_map(|document| document.reference());
        let shown: BTreeSet<String> =
            calls.flat_map(texts).map(|text| text.replace('\n', " ")).collect();
        let given: BTreeSet<String> = pairs().map(|(text, _)| text.to_owned()).collect();
        let missing: Vec<&String> = shown.difference(&given).collect();
        let left_over: Vec<&String> = given.difference(&shown).collect();
        assert!(missing.is_empty(), "not in chinese.txt: {missing:#?}");
        assert!(left_over.is_empty(), "in no document, but in chinese.txt: {left_over:#?}");
        assert_eq!(pairs().count(), given.len(), "a text is in chinese.txt twice");
    }

    #[test]
    fn a_translation_is_chinese_and_has_the_code_of_its_text() {
        fn code(text: &str) -> BTreeSet<&str> {
            text.split('`').skip(1).step_by(2).collect()
        }
        let is_han = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
        for (text, chinese) in pairs() {
            assert!(chinese.contains(is_han) && !chinese.contains('\n'), "{text}: {chinese}");
            assert_eq!(code(text), code(chinese), "{text}");
        }
    }

    #[test]
    fn text_between_backticks_is_code_and_markup_is_text() {
        let rendered = prose(Locale::En, "a `b` <c> `d`").into_string();
        assert_eq!(rendered, "a <code>b</code> &lt;c&gt; <code>d</code>");
        let rendered = prose(Locale::ZhCn, "Sorted by `deviceCode`.").into_string();
        assert_eq!(rendered, "按 <code>deviceCode</code> 排序。");
    }
}
