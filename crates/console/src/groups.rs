//! The choice of a group.

use maud::Markup;

use crate::components::{choice, parameter, text_field};
use crate::frame::Frame;
use crate::text::texts;
use crate::words::GROUP;

texts! {
    ALL_GROUPS: "All groups", "全部分组";
}

/// The maximum number of groups that are listed; if there are more, the id must be typed.
pub const LISTED_MAX: usize = 100;

/// The groups to choose from, and the chosen one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// The groups, by id; empty if there are more than [`LISTED_MAX`].
    pub names: Vec<GroupName>,
    /// The `groupId` of the chosen group; `None` for all.
    pub chosen: Option<String>,
}

/// A group to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupName {
    /// The `groupId`.
    pub id: String,
    /// Its name.
    pub name: String,
}

impl Groups {
    /// Returns the name of a group, or its id if the name is unknown.
    pub(crate) fn name_of<'a>(&'a self, id: &'a str) -> &'a str {
        let named = self.names.iter().find(|group| group.id == id);
        named.map_or(id, |group| group.name.as_str())
    }

    /// Returns the parameter that chooses the group, or an empty text.
    pub(crate) fn query(&self) -> String {
        self.chosen.as_deref().map(|group| parameter("group", group)).unwrap_or_default()
    }

    /// Renders the field of a form.
    pub(crate) fn field(&self, frame: &Frame<'_>) -> Markup {
        let chosen = self.chosen.as_deref().unwrap_or_default();
        if self.names.is_empty() {
            return text_field("text", "group", frame.say(GROUP), chosen);
        }
        let groups = self.names.iter().map(|group| (group.id.as_str(), group.name.as_str()));
        choice("group", frame.say(GROUP), frame.say(ALL_GROUPS), groups, chosen)
    }
}
