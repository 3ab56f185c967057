//! Passwords: argon2id, a few at a time, off the threads that serve. An unknown name costs the same
//! work as a known one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use argon2::password_hash::phc::{Output, PasswordHash};
use argon2::{Algorithm, Argon2, Block, Params, PasswordHasher, Version};
use kiosque_model::Limits;
use tokio::sync::Semaphore;

use crate::answer::Failure;
use crate::clock::{Entropy, NoEntropy};

/// OWASP's minimum: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;

/// Why a hash in a fleet file is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is no argon2id hash in PHC form ($argon2id$v=19$m=…,t=…,p=…$salt$hash)")]
pub struct NotAHash;

/// A hash that is verified for nobody, so that unknown names take as long as known ones.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$a2lvc3F1ZS1ub2JvZHkx\
                      $AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Hashes a new password.
///
/// # Errors
/// The source of random bytes failed.
pub fn hash(password: &str, entropy: &Entropy) -> Result<String, NoEntropy> {
    let salt: [u8; SALT_BYTES] = entropy.bytes()?;
    let hash =
        hasher().and_then(|argon2| argon2.hash_password_with_salt(password.as_bytes(), &salt).ok());
    hash.map(|hash| hash.to_string()).ok_or(NoEntropy)
}

/// Takes a hash that somebody else made.
///
/// # Errors
/// It is no argon2id hash.
pub fn check_hash(hash: &str) -> Result<(), NotAHash> {
    let parsed = PasswordHash::new(hash).map_err(|_| NotAHash)?;
    let params = Params::try_from(&parsed).map_err(|_| NotAHash)?;
    let affordable = params.m_cost() <= 1 << 20 && params.t_cost() <= 16 && params.p_cost() <= 16;
    let complete = parsed.salt.is_some() && parsed.hash.is_some();
    let argon2id = parsed.algorithm == Algorithm::Argon2id.ident();
    if argon2id && affordable && complete { Ok(()) } else { Err(NotAHash) }
}

/// Whether a password is the one of a hash; takes tens of milliseconds.
#[must_use]
pub fn is_right(hash: &str, password: &str) -> bool {
    is_right_within(&mut Vec::new(), hash, password).unwrap_or(false)
}

/// The same in memory that is at hand, for whatever parameters the hash was made with.
fn is_right_within(memory: &mut Vec<Block>, hash: &str, password: &str) -> Option<bool> {
    let parsed = PasswordHash::new(hash).ok()?;
    let algorithm = Algorithm::new(parsed.algorithm).ok()?;
    let version = parsed.version.map_or(Ok(Version::V0x13), Version::try_from).ok()?;
    let params = Params::try_from(&parsed).ok()?;
    let (salt, expected) = (parsed.salt?, parsed.hash?);
    let blocks = params.block_count();
    if memory.len() < blocks {
        memory.resize(blocks, Block::new());
    }
    let mut made = vec![0; expected.len()];
    Argon2::new(algorithm, version, params)
        .hash_password_into_with_memory(
            password.as_bytes(),
            salt.as_ref(),
            &mut made,
            memory.get_mut(..blocks)?,
        )
        .ok()?;
    // Outputs are compared in constant time.
    Some(Output::new(&made).ok()? == expected)
}

fn hasher() -> Option<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).ok()?;
    Some(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// The few places in which passwords are hashed, and the short queue before them.
#[derive(Debug)]
pub(crate) struct HashSlots {
    slots: Arc<Semaphore>,
    queue: Arc<Semaphore>,
    places: usize,
    wait: Duration,
    memory: Arc<Mutex<Vec<Vec<Block>>>>,
}

impl HashSlots {
    pub(crate) fn new(limits: &Limits) -> HashSlots {
        let places = limits.hash_slots + limits.hash_queue;
        HashSlots {
            slots: Arc::new(Semaphore::new(limits.hash_slots)),
            queue: Arc::new(Semaphore::new(places)),
            places,
            wait: limits.hash_wait,
            memory: Arc::default(),
        }
    }

    /// Compares a password with a hash, or with nobody's, in a slot.
    pub(crate) async fn verify(
        &self,
        hash: Option<String>,
        password: String,
    ) -> Result<bool, Failure> {
        let Ok(_place) = Arc::clone(&self.queue).try_acquire_owned() else {
            return Err(Failure::busy("too many logins at a time; try again"));
        };
        let slot = tokio::time::timeout(self.wait, Arc::clone(&self.slots).acquire_owned()).await;
        let Ok(Ok(slot)) = slot else {
            return Err(Failure::busy("the login waited too long for its turn; try again"));
        };
        let (shelf, queue, places) =
            (Arc::clone(&self.memory), Arc::clone(&self.queue), self.places);
        let compared = tokio::task::spawn_blocking(move || {
            // The slot is held by the work, which a caller that hangs up does not stop.
            let _slot = slot;
            let mut memory = on(&shelf).pop().unwrap_or_default();
            let kept = hash.as_deref().unwrap_or(NOBODY);
            let right = is_right_within(&mut memory, kept, &password).unwrap_or(false);
            // Getting 19 MiB from the machine costs a third of a hash: it is handed on while
            // others wait, and given back once nobody does.
            if places.saturating_sub(queue.available_permits()) > 1 {
                on(&shelf).push(memory);
            } else {
                on(&shelf).clear();
            }
            right && hash.is_some()
        });
        compared.await.map_err(|error| Failure::broken(&error))
    }
}

impl HashSlots {
    /// Other work with passwords, in a slot that is waited for among the logins and for as long as
    /// it takes.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let slot = Arc::clone(&self.slots).acquire_owned().await;
        let slot = slot.map_err(|closed| Failure::broken(&closed))?;
        let done = tokio::task::spawn_blocking(move || {
            let _slot = slot;
            work()
        });
        done.await.map_err(|error| Failure::broken(&error))
    }
}

/// A hash that panicked has left the shelf as it was.
fn on(shelf: &Mutex<Vec<Vec<Block>>>) -> MutexGuard<'_, Vec<Vec<Block>>> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_others_used_changes_no_answer() {
        let hash = hash("secret", &Entropy::system()).expect("random bytes");
        let cheap = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHRzb21l\
                     $AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let mut memory = Vec::new();
        for (kept, password, right) in [
            (hash.as_str(), "secret", true),
            (NOBODY, "secret", false),
            (cheap, "secret", false),
            (hash.as_str(), "secret ", false),
            (hash.as_str(), "secret", true),
        ] {
            assert_eq!(is_right_within(&mut memory, kept, password), Some(right), "{kept}");
        }
        assert_eq!(is_right_within(&mut memory, "no hash", "secret"), None);
    }
}
