//! The rules, by chapter of `docs/interface.md`.

mod accounts;
mod addresses;
mod dashboard;
mod devices;
mod envelope;
mod orders;
mod pages;
mod requests;
mod scope;
mod sessions;

use crate::rule::Rule;

/// Declares a rule: its id, its number, its mark, its effect unless its check only reads, its text,
/// and its steps.
macro_rules! rule {
    ($id:literal, $number:literal, $mark:ident, $text:literal,
        $($ask:expr, $expect:expr),+ $(,)?) => {
        rule!($id, $number, $mark, Reads, $text, $($ask, $expect),+)
    };
    ($id:literal, $number:literal, $mark:ident, $effect:ident, $text:literal,
        $($ask:expr, $expect:expr),+ $(,)?) => {
        $crate::rule::Rule {
            id: $id,
            number: $number,
            text: $text,
            mark: $crate::rule::Mark::$mark,
            effect: $crate::rule::Effect::$effect,
            needs: $crate::rule::Needs::Orders,
            steps: &[$($crate::rule::Step { ask: $ask, expect: $expect }),+],
        }
    };
}
use rule;

/// Returns every rule, in the order of `docs/interface.md`.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    let chapters: [&'static [Rule]; 10] = [
        addresses::RULES,
        envelope::RULES,
        requests::RULES,
        sessions::RULES,
        scope::RULES,
        accounts::RULES,
        pages::RULES,
        devices::RULES,
        orders::RULES,
        dashboard::RULES,
    ];
    chapters.into_iter().flatten()
}
