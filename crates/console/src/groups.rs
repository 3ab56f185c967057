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
    /// The `groupId` and the name of each group, by id; empty if there are more than
    /// [`LISTED_MAX`].
    pub names: Vec<(String, String)>,
    /// The `groupId` of the chosen group; `None` for all.
    pub chosen: Option<String>,
}

impl Groups {
    /// Returns the name of a group, or its id if the name is unknown.
    pub fn name_of<'a>(&'a self, id: &'a str) -> &'a str {
        self.names.iter().find(|(known, _)| known == id).map_or(id, |(_, name)| name)
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
        let groups = self.names.iter().map(|(id, name)| (id.as_str(), name));
        choice("group", frame.say(GROUP), frame.say(ALL_GROUPS), groups, chosen)
    }
}
