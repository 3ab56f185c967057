//! The account of a check.

/// The account of a check.
#[derive(Clone, Default)]
pub struct Credentials {
    /// The login name.
    pub username: String,
    /// The password, which reports do not show.
    pub password: String,
}
