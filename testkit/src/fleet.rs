//! Fleets in the format of `kiosque apply`.

use std::fmt::{self, Debug, Display, Write};

/// A fleet in TOML, built entry by entry.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct FleetToml(String);

impl FleetToml {
    /// Returns a fleet without entries.
    pub fn new() -> FleetToml {
        FleetToml::default()
    }

    /// Adds a group.
    pub fn group(self, id: &str, name: &str) -> FleetToml {
        self.entry(format_args!("[[group]]\nid = {id:?}\nname = {name:?}"))
    }

    /// Adds an account with the password `secret` that may log in to these groups.
    pub fn account<G: Debug>(self, login_name: &str, groups: &[G]) -> FleetToml {
        self.no_api_account(login_name, groups).with("third_party_api = true")
    }

    /// Adds an account with the password `secret` that may not log in to the interface.
    pub fn no_api_account<G: Debug>(self, login_name: &str, groups: &[G]) -> FleetToml {
        self.entry(format_args!(
            "[[account]]\nlogin_name = {login_name:?}\npassword = \"secret\"\ngroups = {groups:?}"
        ))
    }

    /// Adds an account with a password's hash that may log in to these groups.
    pub fn account_with_hash<G: Debug>(
        self,
        login_name: &str,
        hash: &str,
        groups: &[G],
    ) -> FleetToml {
        self.entry(format_args!(
            "[[account]]\nlogin_name = {login_name:?}\npassword_hash = {hash:?}\n\
             groups = {groups:?}\nthird_party_api = true"
        ))
    }

    /// Adds an account with the password `secret`, whose hash is cheap, that may log in to these
    /// groups.
    #[cfg(feature = "server")]
    pub fn cheap_account<G: Debug>(self, login_name: &str, groups: &[G]) -> FleetToml {
        self.account_with_hash(login_name, &crate::cheap_hash("secret"), groups)
    }

    /// Adds a product.
    pub fn product(self, id: &str, name: &str, currency: &str) -> FleetToml {
        self.entry(format_args!(
            "[[product]]\nid = {id:?}\nname = {name:?}\ncurrency = {currency:?}"
        ))
    }

    /// Adds a device.
    pub fn device(self, code: &str, name: &str, group: &str) -> FleetToml {
        self.entry(format_args!("[[device]]\ncode = {code:?}\nname = {name:?}\ngroup = {group:?}"))
    }

    /// Adds keys, in TOML, to the last entry.
    pub fn with(self, keys: &str) -> FleetToml {
        self.entry(format_args!("{keys}"))
    }

    fn entry(mut self, text: fmt::Arguments<'_>) -> FleetToml {
        writeln!(self.0, "{text}").unwrap();
        self
    }
}

impl AsRef<str> for FleetToml {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl AsRef<[u8]> for FleetToml {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Display for FleetToml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
