//! The aisles of all devices of a group, in parts that are cached as they are sent.

use std::sync::Arc;

use bytes::Bytes;
use kiosque_model::Claim;

use super::device_aisles::bind_part;
use super::{DashboardQuery, DeviceElement, DevicePart, DevicesRead};
use crate::cache::Key;
use crate::error::{Error, Refused};
use crate::scoped::{presumed_group, scoped};
use crate::sql::Row;
use crate::versions::{Versions, versions};
use crate::views::Reports;

/// A part, and the versions at which it was read.
#[derive(Debug)]
pub(crate) struct CachedPart {
    versions: Versions,
    read: DevicesRead<AislesJson>,
}

/// Devices with their aisles as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AislesJson {
    /// A comma and the JSON of [`kiosque_contract::DeviceAisles`] for each device, by code.
    pub json: Bytes,
    /// The number of devices.
    pub devices: i64,
}

impl Reports<'_> {
    /// Returns a part of the enabled devices that the group owns now, each with its aisles. The
    /// part ends with the device with which it exceeds `most_bytes`. The query has no filter of
    /// devices.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn group_aisles(
        self,
        claim: Claim,
        query: DashboardQuery,
        part: DevicePart,
        most_bytes: usize,
    ) -> Result<DevicesRead<AislesJson>, Refused> {
        let (filter, now) = (query.group.as_ref(), claim.now);
        let group = presumed_group(self.0, &claim, filter);
        let key = |group| Key::Aisles(group, part.after.clone(), [part.size, most_bytes]);
        let cached = group.and_then(|group| self.0.cache.get::<CachedPart>(&key(group)));
        if let Some(cached) = cached.filter(|cached| cached.versions.is_settled(now)) {
            let (scope, present) = scoped(self.0, &claim, filter, versions).await?;
            let is_present = present.is_some_and(|present| present.has_lists_of(&cached.versions));
            if is_present && group == Some(scope.group()) {
                return Ok(cached.read.clone());
            }
        }
        let about = |group| {
            let devices = bind_part(group, now, &part);
            let add = move |rows: &mut PartRows, row: &Row<'_>| rows.add(row, most_bytes);
            (versions(group), devices.fold(PartRows::default(), add))
        };
        let (scope, (versions, rows)) = scoped(self.0, &claim, filter, about).await?;
        let read = rows.finish(&part);
        if let Some(versions) = versions.filter(|versions| versions.is_settled(now)) {
            let size = read.devices.json.len();
            let cached = CachedPart { versions, read: read.clone() };
            self.0.cache.insert(key(scope.group()), size, Arc::new(cached));
        }
        Ok(read)
    }
}

#[derive(Default)]
struct PartRows {
    json: Vec<u8>,
    devices: usize,
    last: String,
    /// Whether further devices belong to the next part.
    is_full: bool,
}

impl PartRows {
    fn add(&mut self, row: &Row<'_>, most_bytes: usize) -> Result<(), Error> {
        if self.json.len() >= most_bytes {
            self.is_full = true;
            return Ok(());
        }
        let DeviceElement { device_code, json } = DeviceElement::of(row)?;
        self.devices += 1;
        self.last.clear();
        self.last.push_str(device_code);
        self.json.push(b',');
        self.json.extend_from_slice(json.as_bytes());
        Ok(())
    }

    fn finish(mut self, part: &DevicePart) -> DevicesRead<AislesJson> {
        // It may be cached.
        self.json.shrink_to_fit();
        let has_more = self.is_full || self.devices >= part.size;
        let devices = AislesJson {
            json: Bytes::from(self.json),
            devices: i64::try_from(self.devices).unwrap_or(i64::MAX),
        };
        DevicesRead { devices, next: has_more.then_some(self.last) }
    }
}
