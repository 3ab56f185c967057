//! The states of devices.

use strum::{EnumString, IntoStaticStr, VariantArray};

/// Whether a device is listed and active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumString, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum DeviceState {
    /// It is enabled, and its last activity is recent.
    Online,
    /// It is enabled, and its last activity is not recent.
    Silent,
    /// It is enabled, and its group is deactivated.
    GroupDisabled,
    /// Device pages do not list it.
    Disabled,
}

impl DeviceState {
    /// All states.
    pub const ALL: &[DeviceState] = DeviceState::VARIANTS;

    /// Returns the word for it in URLs and files.
    pub fn code(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_parsed_from_their_words() {
        let words = ["online", "silent", "group-disabled", "disabled"];
        let parsed: Vec<DeviceState> = words.iter().filter_map(|word| word.parse().ok()).collect();
        assert_eq!(parsed, DeviceState::ALL);
        let shown: Vec<_> = DeviceState::ALL.iter().map(|state| state.code()).collect();
        assert_eq!(shown, words);
    }
}
