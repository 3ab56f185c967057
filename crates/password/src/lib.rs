//! Password hashing and verification with argon2id. Each call occupies a core for tens of
//! milliseconds and up to 19 MiB of memory; the caller limits how many run at once.

use argon2::password_hash::phc::{Output, PasswordHash};
use argon2::{Algorithm, Argon2, Block, Params, PasswordHasher, Version};
use kiosque_clock::{Entropy, NoEntropy};

/// OWASP's minimum: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;

/// A text is not a password hash that [`verify`] accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not an argon2id hash in PHC form ($argon2id$v=19$m=…,t=…,p=…$salt$hash)")]
pub struct InvalidHash;

/// A hash that no password matches, as expensive as a real one: verified for unknown login names,
/// so that they take as long as known ones.
pub const UNMATCHABLE: &str = "$argon2id$v=19$m=19456,t=2,p=1$a2lvc3F1ZS1ub2JvZHkx\
                               $AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Working memory of [`verify_in`]. Allocating it costs a third of a hash, so callers reuse it.
#[derive(Debug, Default)]
pub struct WorkingMemory(Vec<Block>);

/// Returns the hash of a new password in PHC form.
///
/// # Errors
/// The source of random bytes failed.
pub fn hash(password: &str, entropy: &Entropy) -> Result<String, NoEntropy> {
    let salt: [u8; SALT_BYTES] = entropy.bytes()?;
    let hash =
        hasher().and_then(|argon2| argon2.hash_password_with_salt(password.as_bytes(), &salt).ok());
    hash.map(|hash| hash.to_string()).ok_or(NoEntropy)
}

/// Checks a hash that was created elsewhere.
///
/// # Errors
/// It is not an argon2id hash, or its parameters are too expensive.
pub fn check_hash(hash: &str) -> Result<(), InvalidHash> {
    let parsed = PasswordHash::new(hash).map_err(|_| InvalidHash)?;
    let params = Params::try_from(&parsed).map_err(|_| InvalidHash)?;
    let affordable = params.m_cost() <= 1 << 20 && params.t_cost() <= 16 && params.p_cost() <= 16;
    let complete = parsed.salt.is_some() && parsed.hash.is_some();
    let argon2id = parsed.algorithm == Algorithm::Argon2id.ident();
    let known = parsed.version.is_none_or(|version| Version::try_from(version).is_ok());
    if argon2id && known && affordable && complete { Ok(()) } else { Err(InvalidHash) }
}

/// Returns whether a password matches a hash; `false` for an unreadable hash.
#[must_use]
pub fn verify(hash: &str, password: &str) -> bool {
    verify_in(&mut WorkingMemory::default(), hash, password)
}

/// [`verify`] in the memory of an earlier call, regardless of that call's parameters.
#[must_use]
pub fn verify_in(memory: &mut WorkingMemory, hash: &str, password: &str) -> bool {
    compare(&mut memory.0, hash, password).unwrap_or(false)
}

fn compare(memory: &mut Vec<Block>, hash: &str, password: &str) -> Option<bool> {
    let parsed = PasswordHash::new(hash).ok()?;
    let algorithm = Algorithm::new(parsed.algorithm).ok()?;
    let version = parsed.version.map_or(Ok(Version::V0x13), Version::try_from).ok()?;
    let params = Params::try_from(&parsed).ok()?;
    let (salt, expected) = (parsed.salt?, parsed.hash?);
    let blocks = params.block_count();
    if memory.len() < blocks {
        memory.resize(blocks, Block::new());
    }
    let mut output = vec![0; expected.len()];
    Argon2::new(algorithm, version, params)
        .hash_password_into_with_memory(
            password.as_bytes(),
            salt.as_ref(),
            &mut output,
            memory.get_mut(..blocks)?,
        )
        .ok()?;
    // `Output` compares in constant time.
    Some(Output::new(&output).ok()? == expected)
}

fn hasher() -> Option<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).ok()?;
    Some(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reused_memory_changes_no_result() {
        let hash = hash("secret", &Entropy::system()).expect("random bytes");
        let cheap = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHRzb21l\
                     $AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let mut memory = Vec::new();
        for (stored, password, matches) in [
            (hash.as_str(), "secret", true),
            (UNMATCHABLE, "secret", false),
            (cheap, "secret", false),
            (hash.as_str(), "secret ", false),
            (hash.as_str(), "secret", true),
        ] {
            assert_eq!(compare(&mut memory, stored, password), Some(matches), "{stored}");
        }
        assert_eq!(compare(&mut memory, "no hash", "secret"), None);
    }

    #[test]
    fn a_hash_that_is_accepted_can_be_compared() {
        let versions = [("$v=19", true), ("$v=16", true), ("", true), ("$v=20", false)];
        for (version, is_accepted) in versions {
            let hash = UNMATCHABLE.replace("$v=19", version);
            assert_eq!(check_hash(&hash).is_ok(), is_accepted, "{hash}");
            assert_eq!(compare(&mut Vec::new(), &hash, "secret").is_some(), is_accepted, "{hash}");
        }
    }
}
