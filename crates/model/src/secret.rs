//! Random secrets, which are shown once, and their digests, which are stored.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// Defines the type of a secret in plain text, and the type of its digest.
macro_rules! secret {
    ($(#[$doc:meta])* $secret:ident, $(#[$digest_doc:meta])* $digest:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq)]
        pub struct $secret(String);

        impl std::fmt::Debug for $secret {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($secret), "(***)"))
            }
        }

        impl $secret {
            /// Returns the secret in plain text, for its owner alone.
            pub fn reveal(&self) -> &str {
                &self.0
            }

            /// Returns the digest to store.
            pub fn digest(&self) -> $digest {
                $digest::of(self.0.as_bytes())
            }
        }

        $(#[$digest_doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $digest(String);

        impl $digest {
            fn of(characters: &[u8]) -> $digest {
                $digest($crate::secret::digest(characters))
            }

            /// Returns the digest as it is stored.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    };
}
pub(crate) use secret;

/// Returns the SHA-256 digest of a secret, in base64url.
pub(crate) fn digest(characters: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(characters))
}
