//! The views of a store, each with one subject. Their methods are in the modules of the subjects.

use crate::state::State;

/// The sessions of integrators, the credentials of accounts, and the clock that ends sessions.
#[derive(Clone, Copy, Debug)]
pub struct Sessions<'s>(pub(crate) &'s State);

/// The keys of operators, and the sessions of the console.
#[derive(Clone, Copy, Debug)]
pub struct Operators<'s>(pub(crate) &'s State);

/// The orders that integrators read, and the changes that they follow.
#[derive(Clone, Copy, Debug)]
pub struct Orders<'s>(pub(crate) &'s State);

/// Reports on the devices and the sales of a group.
#[derive(Clone, Copy, Debug)]
pub struct Reports<'s>(pub(crate) &'s State);

/// Received orders and heartbeats, their origins, and imports.
#[derive(Clone, Copy, Debug)]
pub struct Intake<'s>(pub(crate) &'s State);

/// Changes of the fleet and of exchange rates, and the data that they depend on.
#[derive(Clone, Copy, Debug)]
pub struct FleetView<'s>(pub(crate) &'s State);

/// The operator's lists of the stored data, and its totals.
#[derive(Clone, Copy, Debug)]
pub struct Inventory<'s>(pub(crate) &'s State);

/// Recorded events: the audit trail, refused requests, and the use of accounts.
#[derive(Clone, Copy, Debug)]
pub struct Trail<'s>(pub(crate) &'s State);

/// Readiness, backups, the archive, moves, and the check of the data.
#[derive(Clone, Copy, Debug)]
pub struct Upkeep<'s>(pub(crate) &'s State);
