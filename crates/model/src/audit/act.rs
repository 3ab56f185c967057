//! The changes by the operator that the trail records.

use super::AuditEvent;
use crate::UnixMs;
use crate::ids::KeyName;
use crate::operator::Rights;

/// A change by the operator, except for applied fleets, which have entries of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// A key was created.
    KeyCreated {
        /// Name of the key.
        name: KeyName,
        /// Its rights.
        rights: Rights,
    },
    /// A key was revoked.
    KeyRevoked {
        /// Name of the key.
        name: KeyName,
    },
    /// Orders were archived, or are current again.
    Archived {
        /// The time: orders that started before it were archived.
        before: UnixMs,
        /// Number of orders that were archived.
        orders: i64,
        /// Number of their devices.
        devices: usize,
        /// Number of orders that are current again.
        returned_orders: i64,
        /// Number of their devices.
        returned_devices: usize,
    },
    /// A device without orders was deleted.
    DeviceDeleted {
        /// Its code.
        device_code: String,
        /// The `groupId` of its last owner.
        group_id: Option<String>,
    },
    /// An import of orders ended.
    OrdersImported {
        /// New orders.
        accepted: u64,
        /// Changed orders.
        updated: u64,
        /// Orders that were stored already.
        unchanged: u64,
        /// Rejected lines.
        rejected: u64,
        /// The orders that were stored, by the group that owns them.
        groups: Vec<ImportedGroup>,
    },
    /// An import of exchange rates ended.
    RatesImported {
        /// Number of rates in the file; a file with an invalid line is not imported.
        rates: usize,
    },
    /// An import ended early.
    ImportInterrupted {
        /// The number of the import.
        import: i64,
        /// Why it ended.
        reason: Interruption,
        /// Number of orders that are stored, new or not; `None` if it is not known.
        orders: Option<u64>,
    },
    /// A link was created that signs in to the console once.
    ConsoleLinkCreated {
        /// Name of the key that it signs in with.
        name: KeyName,
    },
    /// The holder of a key signed in to the console.
    ConsoleLogin {
        /// The proof of the key.
        by: SignedInBy,
    },
    /// The holder of a key signed out of the console.
    ConsoleLogout,
}

/// Why an import ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// A signal, such as that of Ctrl-C.
    Signal,
    /// An error.
    Failure,
    /// Its process ended without a result: it was killed, or the machine stopped.
    ProcessLost,
}

impl Interruption {
    /// Returns the name in the trail.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Interruption::Signal => "signal",
            Interruption::Failure => "failure",
            Interruption::ProcessLost => "processLost",
        }
    }
}

/// The proof with which the holder of a key signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignedInBy {
    /// The key.
    Key,
    /// A link that signs in once.
    Link,
}

impl SignedInBy {
    /// Returns the name in the trail.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            SignedInBy::Key => "key",
            SignedInBy::Link => "link",
        }
    }
}

/// The orders of a group in an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedGroup {
    /// The `groupId`.
    pub group_id: String,
    /// New orders.
    pub accepted: u64,
    /// Changed orders.
    pub updated: u64,
    /// Orders that were stored already.
    pub unchanged: u64,
}

impl Act {
    /// Returns the kind of entry.
    #[must_use]
    pub const fn event(&self) -> AuditEvent {
        match self {
            Act::KeyCreated { .. } => AuditEvent::KeyCreated,
            Act::KeyRevoked { .. } => AuditEvent::KeyRevoked,
            Act::Archived { .. } => AuditEvent::Archived,
            Act::DeviceDeleted { .. } => AuditEvent::DeviceDeleted,
            Act::OrdersImported { .. } => AuditEvent::OrdersImported,
            Act::RatesImported { .. } => AuditEvent::RatesImported,
            Act::ImportInterrupted { .. } => AuditEvent::ImportInterrupted,
            Act::ConsoleLinkCreated { .. } => AuditEvent::ConsoleLinkCreated,
            Act::ConsoleLogin { .. } => AuditEvent::ConsoleLogin,
            Act::ConsoleLogout => AuditEvent::ConsoleLogout,
        }
    }
}
