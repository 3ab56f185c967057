//! A bug for each rule, by the files of the rules.

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

use super::plant::{ALWAYS, Call, Change, Given, Memory, Plant, at, empty_page, plant};

/// Returns the bugs.
pub(super) fn all() -> Vec<Plant> {
    let chapters = [
        addresses::plants(),
        envelope::plants(),
        requests::plants(),
        sessions::plants(),
        scope::plants(),
        accounts::plants(),
        pages::plants(),
        devices::plants(),
        orders::plants(),
        dashboard::plants(),
    ];
    chapters.into_iter().flatten().collect()
}
