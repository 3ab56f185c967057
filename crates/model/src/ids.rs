//! Public IDs, and the internal numbers that replace them in keys.

use std::fmt;

/// Length of the longest ID, in characters.
pub const ID_CHARS_MAX: usize = 64;

/// Why a text is not an ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Empty, or white space only.
    #[error("must not be blank")]
    Blank,
    /// More than [`ID_CHARS_MAX`] characters.
    #[error("is longer than {ID_CHARS_MAX} characters")]
    TooLong,
    /// Contains U+0000, which PostgreSQL does not store.
    #[error("must not contain a NUL character")]
    Nul,
    /// `.` or `..`, for what has a page: browsers resolve these as directories of its path.
    #[error("must not be . or .., which browsers remove from addresses")]
    Dots,
}

/// Checks that `text` is an ID.
///
/// # Errors
/// The first problem found.
pub fn check_id(text: &str) -> Result<(), IdError> {
    if text.contains('\0') {
        Err(IdError::Nul)
    } else if text.trim().is_empty() {
        Err(IdError::Blank)
    } else if text.len() > ID_CHARS_MAX && text.chars().count() > ID_CHARS_MAX {
        Err(IdError::TooLong)
    } else {
        Ok(())
    }
}

/// Checks that `text` is an ID that can be a part of the path of an address.
fn check_path_id(text: &str) -> Result<(), IdError> {
    if matches!(text, "." | "..") { Err(IdError::Dots) } else { check_id(text) }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $check:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Parses an ID: 1 to 64 characters, no NUL, not blank. A group, a device and an order
            /// have a page, whose path contains the ID: theirs is neither `.` nor `..`.
            ///
            /// # Errors
            /// The text is not an ID. Nothing has such an ID.
            pub fn parse(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                $check(&text)?;
                Ok(Self(text))
            }

            /// Returns the ID as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// A group's `groupId`.
    GroupId, check_path_id
);
text_id!(
    /// An account's login name, sent as `username`.
    LoginName, check_id
);
text_id!(
    /// A kiosk's `deviceCode`.
    DeviceCode, check_path_id
);
text_id!(
    /// An order's `orderId`: its identity within a group, not a trade number.
    OrderId, check_path_id
);
text_id!(
    /// A trade number, `tradeNo` or `tradeNoIn`.
    TradeNo, check_id
);
text_id!(
    /// The name of an operator's key.
    KeyName, check_id
);

/// Returns the reason for rejecting an order or a heartbeat of a device that does not exist,
/// beginning with the field.
pub fn unknown_device(code: &DeviceCode) -> String {
    format!("deviceCode: no device {code} is known")
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub i64);
    };
}

number!(
    /// The internal number of a group; it leads every key.
    GroupNo
);
number!(
    /// The internal number of an account.
    AccountNo
);
number!(
    /// The internal number of a device.
    DeviceNo
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_1_to_64_characters_and_no_nul() {
        for (text, error) in [
            ("", Some(IdError::Blank)),
            (" \t", Some(IdError::Blank)),
            ("a\0b", Some(IdError::Nul)),
            (&"x".repeat(65), Some(IdError::TooLong)),
            (&"é".repeat(64), None),
            ("VJ300320611", None),
        ] {
            assert_eq!(DeviceCode::parse(text).err(), error, "{text:?}");
        }
    }

    /// The pages of a device and of an order of a group have the ID in their path.
    #[test]
    fn what_has_a_page_is_not_called_by_dots() {
        let dots = Some(IdError::Dots);
        for (text, error) in [(".", dots), ("..", dots), ("...", None), (".a", None)] {
            let of_pages = [
                GroupId::parse(text).err(),
                DeviceCode::parse(text).err(),
                OrderId::parse(text).err(),
            ];
            assert_eq!(of_pages, [error; 3], "{text:?}");
            let of_others = [
                LoginName::parse(text).err(),
                TradeNo::parse(text).err(),
                KeyName::parse(text).err(),
            ];
            assert_eq!(of_others, [None; 3], "{text:?}");
        }
    }
}
