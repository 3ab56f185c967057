//! The aisles of all devices of a group, in parts that are cached as they are sent.

use std::sync::Arc;

use bytes::Bytes;
use kiosque_model::{Claim, GroupNo, Scope, UnixMs};

use super::device_aisles::{ElementRow, bind_part};
use super::{DashboardQuery, DevicePart, DevicesRead};
use crate::cache::Key;
use crate::db::{Cost, Step};
use crate::scoped_query::{GroupFilter, HintedGroup, ScopedQuery};
use crate::sql::Row;
use crate::versions::{Versions, bind_versions};
use crate::{Error, Refused, Store};

/// A part, and the versions that it was read at.
#[derive(Debug)]
pub(crate) struct CachedPart {
    versions: Versions,
    part: DevicePart,
    most_bytes: usize,
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

impl Store {
    /// Returns a part of the enabled devices that the group owns now, each with its aisles. The
    /// part ends with the device that makes it longer than `most_bytes`. The query has no filter of
    /// devices.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn group_aisles(
        &self,
        claim: Claim,
        query: DashboardQuery,
        part: DevicePart,
        most_bytes: usize,
    ) -> Result<DevicesRead<AislesJson>, Refused> {
        let (filter, now) = (query.group, claim.now);
        let group = self.presumed_group(&claim, filter.as_ref());
        let cached: Option<Arc<CachedPart>> =
            group.and_then(|group| self.cache.get(&Key::Aisles(group, part.after.clone())));
        let usable = cached.filter(|cached| {
            cached.part == part
                && cached.most_bytes == most_bytes
                && cached.versions.is_settled(now)
        });
        if let Some(cached) = usable {
            let present = PresentVersions { filter: filter.clone() };
            let (present_group, present) = self.query(claim.clone(), present).await?;
            let is_present = present.is_some_and(|present| present.has_lists_of(&cached.versions));
            if is_present && group == Some(present_group) {
                return Ok(cached.read.clone());
            }
        }
        let all = GroupAisles { filter, part: part.clone(), most_bytes, now };
        let (read, group, versions) = self.query(claim, all).await?;
        if let Some(versions) = versions.filter(|versions| versions.is_settled(now)) {
            let (key, size) = (Key::Aisles(group, part.after.clone()), read.devices.json.len());
            let cached = CachedPart { versions, part, most_bytes, read: read.clone() };
            self.cache.insert(key, size, Arc::new(cached));
        }
        Ok(read)
    }
}

/// Reads the versions alone. The answer has the scope's group.
struct PresentVersions {
    filter: Option<GroupFilter>,
}

impl ScopedQuery for PresentVersions {
    type Rows = Option<Versions>;
    type Step = ();
    type Answer = (GroupNo, Option<Versions>);

    fn group(&self) -> Option<&GroupFilter> {
        self.filter.as_ref()
    }

    fn cost(&self) -> Cost {
        Cost::Inline
    }

    fn steps(&self, group: HintedGroup) -> Vec<Step<'_, ()>> {
        vec![bind_versions(group).step(())]
    }

    fn on_row(&self, versions: &mut Self::Rows, (): &(), row: &Row<'_>) -> Result<(), Error> {
        *versions = Some(row.read()?);
        Ok(())
    }

    fn answer(self, versions: Self::Rows, scope: Scope) -> Result<Self::Answer, Refused> {
        Ok((scope.group(), versions))
    }
}

/// Reads a part. The answer has the scope's group and its versions.
struct GroupAisles {
    filter: Option<GroupFilter>,
    part: DevicePart,
    most_bytes: usize,
    now: UnixMs,
}

#[derive(Default)]
struct PartRows {
    versions: Option<Versions>,
    json: Vec<u8>,
    devices: usize,
    last: String,
    /// Whether further devices belong to the next part.
    is_full: bool,
}

enum PartStep {
    Versions,
    Device,
}

impl ScopedQuery for GroupAisles {
    type Rows = PartRows;
    type Step = PartStep;
    type Answer = (DevicesRead<AislesJson>, GroupNo, Option<Versions>);

    fn group(&self) -> Option<&GroupFilter> {
        self.filter.as_ref()
    }

    fn cost(&self) -> Cost {
        Cost::Blocking
    }

    fn steps(&self, group: HintedGroup) -> Vec<Step<'_, PartStep>> {
        vec![
            bind_versions(group).step(PartStep::Versions),
            bind_part(group, self.now, &self.part).step(PartStep::Device),
        ]
    }

    fn on_row(&self, rows: &mut PartRows, step: &PartStep, row: &Row<'_>) -> Result<(), Error> {
        match step {
            PartStep::Versions => rows.versions = Some(row.read()?),
            PartStep::Device if rows.json.len() >= self.most_bytes => rows.is_full = true,
            PartStep::Device => {
                let ElementRow { device_code, element } = row.read()?;
                rows.devices += 1;
                rows.last.clear();
                rows.last.push_str(device_code);
                let Some(element) = element else { return Ok(()) };
                rows.json.push(b',');
                rows.json.extend_from_slice(element.as_bytes());
            }
        }
        Ok(())
    }

    fn answer(self, rows: PartRows, scope: Scope) -> Result<Self::Answer, Refused> {
        let PartRows { versions, mut json, devices, last, is_full } = rows;
        // It may be cached.
        json.shrink_to_fit();
        let has_more = is_full || devices >= self.part.size;
        let devices = AislesJson {
            json: Bytes::from(json),
            devices: i64::try_from(devices).unwrap_or(i64::MAX),
        };
        let read = DevicesRead { devices, next: has_more.then_some(last) };
        Ok((read, scope.group(), versions))
    }
}
