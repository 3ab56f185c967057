//! The profile of a group in memory.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::UnixMs;

use super::ActivityVersion;
use super::texts::DeviceTexts;
use crate::dashboard::devices_version::ListVersion;

/// The profile of a group.
#[derive(Debug)]
pub(crate) struct GroupProfile {
    pub(super) holds: ListVersion,
    pub(super) devices: DeviceTexts,
    known: Mutex<KnownActivity>,
}

/// The last activity of some of the devices, as the ledger had it at a version.
#[derive(Debug)]
struct KnownActivity {
    version: ActivityVersion,
    place: Range<usize>,
    last_active: Vec<Option<UnixMs>>,
}

/// The last activity of the devices of a part, and its version.
pub(super) type OfPart = (ActivityVersion, Vec<Option<UnixMs>>);

impl GroupProfile {
    /// Returns a profile with the last activity of all devices.
    pub(super) fn new(
        holds: ListVersion,
        devices: DeviceTexts,
        (version, last_active): OfPart,
    ) -> GroupProfile {
        let known = KnownActivity { version, place: 0..devices.len(), last_active };
        GroupProfile { holds, devices, known: Mutex::new(known) }
    }

    /// Returns the size in bytes.
    pub(super) fn size(&self) -> usize {
        self.devices.size() + self.devices.len() * size_of::<Option<UnixMs>>()
    }

    /// Returns the last activity of some devices, if it is known of all.
    pub(super) fn known_activity(&self, place: &Range<usize>) -> Option<OfPart> {
        let known = self.known();
        let start = place.start.checked_sub(known.place.start)?;
        let last_active = known.last_active.get(start..start + place.len())?;
        Some((known.version, last_active.to_vec()))
    }

    /// Records the last activity of some devices. Parts of a list come one after the other; those
    /// of another version are discarded.
    pub(super) fn learn(
        &self,
        place: Range<usize>,
        version: ActivityVersion,
        last_active: &[Option<UnixMs>],
    ) {
        let mut known = self.known();
        let is_same = known.version == version;
        if is_same && known.place.end == place.start {
            known.place.end = place.end;
            known.last_active.extend_from_slice(last_active);
        } else if !is_same || place.start == 0 {
            *known = KnownActivity { version, place, last_active: last_active.to_vec() };
        }
    }

    fn known(&self) -> MutexGuard<'_, KnownActivity> {
        lock_ignoring_poison(&self.known)
    }
}
