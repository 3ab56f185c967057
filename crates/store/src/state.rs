//! The inner value of a store: its engine, and the in-memory state of this process.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use kiosque_model::Zone;

use crate::activity::Activity;
use crate::cache::Cache;
use crate::db::Db;
use crate::followers::Followers;
use crate::hints::{BestSellerHints, KnownDevices, ProvenBefore};
use crate::histories::Opening;
use crate::record::dictionaries::Dictionaries;
use crate::refused_queue::RefusedQueue;
use crate::usage::Usage;

/// The data of one platform, as a process has it open.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) db: Db,
    pub(crate) zone: Zone,
    /// Whether this opening has created the data.
    pub(crate) is_new: bool,
    pub(crate) opening: Opening,
    pub(crate) activity: Arc<Activity>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) dictionaries: Arc<Dictionaries>,
    /// The number of orders that this process may still pack with dictionary 0 before it checks
    /// whether to train another one.
    pub(crate) training: Arc<AtomicI64>,
    pub(crate) proven_before: ProvenBefore,
    pub(crate) best_seller_hints: BestSellerHints,
    pub(crate) known_devices: KnownDevices,
    pub(crate) session_clock: SessionClock,
    pub(crate) refused: RefusedQueue,
    pub(crate) usage: Usage,
    pub(crate) followers: Arc<Followers>,
}

/// The latest time that this node's clock has shown, and the latest that is stored.
#[derive(Debug)]
pub(crate) struct SessionClock {
    pub(crate) latest_ms: AtomicI64,
    pub(crate) stored_ms: AtomicI64,
}

impl SessionClock {
    pub(crate) fn new(stored_ms: i64) -> SessionClock {
        SessionClock { latest_ms: AtomicI64::new(stored_ms), stored_ms: AtomicI64::new(stored_ms) }
    }
}
