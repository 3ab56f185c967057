//! Keys of the operator's calls, and their rights.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::ids::KeyName;
use crate::secret::secret;
use crate::time::UnixMs;

/// Random bytes of a key.
pub const KEY_RANDOM_BYTES: usize = 32;
/// The prefix of every key, for scanners that search for leaked secrets.
const PREFIX: &str = "kqo_";

secret!(
    /// A key in plain text: its prefix, and 256 random bits in base64url.
    OperatorKey,
    /// The SHA-256 digest of a key; only the digest is stored.
    KeyDigest
);

impl OperatorKey {
    /// Returns a new key made of these random bytes.
    pub fn mint(random: [u8; KEY_RANDOM_BYTES]) -> OperatorKey {
        OperatorKey(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random)))
    }
}

impl KeyDigest {
    /// Returns the digest under which to look up a presented key; `None` if the text is not a key.
    pub fn of_presented(characters: &[u8]) -> Option<KeyDigest> {
        let random = characters.strip_prefix(PREFIX.as_bytes())?;
        let random = URL_SAFE_NO_PAD.decode(random).ok()?;
        (random.len() == KEY_RANDOM_BYTES).then(|| KeyDigest::of(characters))
    }
}

/// A right of a key; each call of the operator's requires one.
#[derive(IntoStaticStr, EnumString, VariantArray, Display)]
#[strum(serialize_all = "lowercase")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Send orders.
    Orders,
    /// Send heartbeats.
    Activity,
    /// Apply a fleet.
    Fleet,
    /// Read the audit trail.
    Audit,
    /// Read the stored data.
    Read,
    /// Create and revoke keys, in the console.
    Keys,
}

impl Right {
    /// All rights, in the order in which they are printed.
    pub const ALL: &[Right] = Right::VARIANTS;

    /// Returns the name of the right.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The name of an unknown right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a right; the rights are orders, activity, fleet, audit, read and keys")]
pub struct NoRight(String);

/// The rights of a key, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights(Vec<Right>);

impl Rights {
    /// Returns all rights.
    pub fn all() -> Rights {
        Rights(Right::ALL.to_vec())
    }

    /// Returns whether the right is among them.
    pub fn contain(&self, right: Right) -> bool {
        self.0.contains(&right)
    }

    /// Returns whether all of `others` are among them.
    pub fn contain_all(&self, others: &Rights) -> bool {
        others.iter().all(|right| self.contain(right))
    }

    /// Returns an iterator over the rights.
    pub fn iter(&self) -> impl Iterator<Item = Right> {
        self.0.iter().copied()
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Right::name).collect();
        f.write_str(&names.join(","))
    }
}

impl FromStr for Rights {
    type Err = NoRight;

    /// Parses names separated by commas.
    fn from_str(text: &str) -> Result<Rights, NoRight> {
        let names = text.split(',').map(str::trim);
        let rights = names.map(|name| name.parse().map_err(|_| NoRight(name.to_owned())));
        let mut rights = rights.collect::<Result<Vec<Right>, NoRight>>()?;
        rights.sort_unstable();
        rights.dedup();
        Ok(Rights(rights))
    }
}

/// A key in the list of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyEntry {
    /// Its name.
    pub name: KeyName,
    /// Its rights.
    pub rights: Rights,
    /// When it was created.
    pub created_at: UnixMs,
    /// When it was revoked, if it was.
    pub revoked_at: Option<UnixMs>,
    /// Its last use, to about a minute; `None` if none has been recorded.
    pub used_at: Option<UnixMs>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_by_its_exact_characters_and_by_no_others() {
        let key = OperatorKey::mint([251; KEY_RANDOM_BYTES]);
        let text = key.reveal().to_owned();
        assert_eq!((&text[..4], text.len()), ("kqo_", 47));
        assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
        assert_eq!(KeyDigest::of_presented(text.as_bytes()), Some(key.digest()));
        assert_eq!(format!("{key:?}"), "OperatorKey(***)");
        assert!(!key.digest().as_str().contains(&text[4..]));
        assert_eq!(key.digest().as_str().len(), 43);
        for at in 0..text.len() {
            let mut altered = text.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            assert_ne!(KeyDigest::of_presented(&altered), Some(key.digest()), "character {at}");
        }
        for wrong in ["", "kqo_", &text[4..], &text[..46], &format!("{text}A"), &format!(" {text}")]
        {
            assert_eq!(KeyDigest::of_presented(wrong.as_bytes()), None, "{wrong:?}");
        }
    }

    #[test]
    fn rights_are_read_and_written_by_name() {
        let read = |text: &str| text.parse::<Rights>().map(|rights| rights.to_string());
        assert_eq!(read("audit, orders,audit").as_deref(), Ok("orders,audit"));
        assert_eq!(
            read(&Rights::all().to_string()).as_deref(),
            Ok("orders,activity,fleet,audit,read,keys")
        );
        for (text, named) in [("", "\"\""), ("orders,", "\"\""), ("orders,Fleet", "\"Fleet\"")] {
            let said = read(text).expect_err(text).to_string();
            assert_eq!(
                said,
                format!(
                    "{named} is not a right; the rights are orders, activity, fleet, audit, read \
                     and keys"
                )
            );
        }
        let some: Rights = "fleet".parse().expect("a right");
        let contained = Right::ALL.iter().map(|right| some.contain(*right)).collect::<Vec<_>>();
        assert_eq!(contained, [false, false, true, false, false, false]);
        assert!(Rights::all().contain_all(&some) && some.contain_all(&some));
        assert!(!some.contain_all(&Rights::all()));
    }
}
