//! Secrets of the console: the session cookie's value, and the token of a one-time sign-in link.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::secret::secret;

/// Random bytes of a secret.
pub const SECRET_RANDOM_BYTES: usize = 32;
/// The time without user activity after which a session ends, in milliseconds.
pub const IDLE_MAX_MS: i64 = 8 * 3_600_000;
/// The time after sign-in at which a session always ends, in milliseconds.
pub const SESSION_MAX_MS: i64 = 7 * 86_400_000;
/// The time for which a link is valid, in milliseconds.
pub const LINK_VALIDITY_MS: i64 = 60_000;

secret!(
    /// A secret in plain text: 256 random bits in base64url.
    ConsoleSecret,
    /// The SHA-256 digest of a secret; only the digest is stored.
    ConsoleDigest
);

impl ConsoleSecret {
    /// Returns a new secret made of these random bytes.
    pub fn mint(random: [u8; SECRET_RANDOM_BYTES]) -> ConsoleSecret {
        ConsoleSecret(URL_SAFE_NO_PAD.encode(random))
    }
}

impl ConsoleDigest {
    /// Returns the digest under which to look up a presented secret; `None` if the text is not a
    /// secret.
    pub fn of_presented(characters: &[u8]) -> Option<ConsoleDigest> {
        let random = URL_SAFE_NO_PAD.decode(characters).ok()?;
        (random.len() == SECRET_RANDOM_BYTES).then(|| ConsoleDigest::of(characters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_by_its_exact_characters_and_is_not_shown() {
        let secret = ConsoleSecret::mint([251; SECRET_RANDOM_BYTES]);
        let text = secret.reveal().to_owned();
        assert_eq!(text.len(), 43);
        assert_eq!(ConsoleDigest::of_presented(text.as_bytes()), Some(secret.digest()));
        assert_eq!(format!("{secret:?}"), "ConsoleSecret(***)");
        assert!(!secret.digest().as_str().contains(&text));
        assert_eq!(secret.digest().as_str().len(), 43);
        for wrong in ["", &text[1..], &format!("{text}A"), &format!("kqo_{text}"), "é"] {
            assert_eq!(ConsoleDigest::of_presented(wrong.as_bytes()), None, "{wrong:?}");
        }
        let other = ConsoleDigest::of_presented("A".repeat(43).as_bytes());
        assert!(other.is_some_and(|other| other != secret.digest()));
    }
}
