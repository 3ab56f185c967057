//! The choices of a group, of an order or of a CSV file, which several pages share.

use kiosque_console::groups::{Groups, LISTED_MAX};
use kiosque_console::sort::{self, Listed, Sort};
use kiosque_model::GroupId;
use kiosque_store::Store;

use super::fields::Fields;
use crate::failure::Failure;

/// The format of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Page,
    Csv,
}

/// Returns the group that a query chooses, and the groups to choose from.
pub(super) async fn choice(store: &Store, query: &Fields) -> Result<Groups, Failure> {
    let mut names = store.inventory().group_names(LISTED_MAX + 1).await?;
    if names.len() > LISTED_MAX {
        names.clear();
    }
    Ok(Groups { names, chosen: query.text("group") })
}

/// Returns the id of the chosen group. One that does not exist is refused: an empty list would say
/// that it has no entries.
pub(super) async fn chosen(store: &Store, groups: &Groups) -> Result<Option<GroupId>, Failure> {
    let Some(id) = groups.chosen.as_deref() else { return Ok(None) };
    // A text that is not an id identifies no group.
    let id = GroupId::parse(id).map_err(|_| Failure::not_found())?;
    match store.inventory().has_group(&id).await? {
        true => Ok(Some(id)),
        false => Err(Failure::not_found()),
    }
}

/// Returns the order of the rows that a query chooses.
pub(super) fn sort<T: Listed>(query: &Fields) -> Result<Sort, Failure> {
    let chosen = query.text(sort::PARAMETER);
    Sort::of::<T>(chosen.as_deref()).ok_or(Failure::Parameter(sort::PARAMETER))
}

/// Returns the format that a query requests.
pub(super) fn format(query: &Fields) -> Result<Format, Failure> {
    match query.text("format").as_deref() {
        None => Ok(Format::Page),
        Some("csv") => Ok(Format::Csv),
        Some(_) => Err(Failure::Parameter("format")),
    }
}
