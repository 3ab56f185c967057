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

use std::sync::LazyLock;

use crate::rule::Rule;

/// Returns every rule, in the order of `docs/interface.md`.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    let chapters: [&'static LazyLock<Vec<Rule>>; 10] = [
        &addresses::RULES,
        &envelope::RULES,
        &requests::RULES,
        &sessions::RULES,
        &scope::RULES,
        &accounts::RULES,
        &pages::RULES,
        &devices::RULES,
        &orders::RULES,
        &dashboard::RULES,
    ];
    chapters.into_iter().flat_map(|chapter| chapter.iter())
}
