//! The states of devices.

/// Whether a device is listed and active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub const ALL: [DeviceState; 4] = [
        DeviceState::Online,
        DeviceState::Silent,
        DeviceState::GroupDisabled,
        DeviceState::Disabled,
    ];

    /// Returns the word for it in URLs and files.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            DeviceState::Online => "online",
            DeviceState::Silent => "silent",
            DeviceState::GroupDisabled => "group-disabled",
            DeviceState::Disabled => "disabled",
        }
    }

    /// Returns the state with this word.
    #[must_use]
    pub fn of_code(code: &str) -> Option<DeviceState> {
        DeviceState::ALL.into_iter().find(|state| state.code() == code)
    }
}
