//! The aisles of all devices of a group, in parts that are cached as they are sent.

use std::sync::Arc;

use bytes::Bytes;
use kiosque_model::{Claim, GroupNo, Scope, UnixMs};

use super::device_aisles::{ElementRow, bind_part};
use super::devices_version::{ListVersion, PresentVersion, Validity, bind_validity, bind_version};
use super::sized_cache::SizedCache;
use super::{DashboardQuery, DevicePart, DevicesRead};
use crate::db::{Cost, Step};
use crate::scoped_query::{GroupFilter, HintedGroup, ScopedQuery};
use crate::sql::Row;
use crate::{Error, Refused, Store};

/// The size of the cache in bytes.
pub(crate) const CACHE_BYTES: usize = 48 << 20;

/// Parts by group and the code before the part.
pub(crate) type AisleParts = SizedCache<(GroupNo, String), CachedPart>;

/// A part, and when it holds.
#[derive(Debug)]
pub(crate) struct CachedPart {
    holds: ListVersion,
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
        let cached = group.and_then(|group| self.aisle_parts.get(&(group, part.after.clone())));
        let usable = cached.filter(|cached| {
            cached.part == part
                && cached.most_bytes == most_bytes
                && cached.holds.validity.contains(now)
        });
        if let Some(cached) = usable {
            let present = PresentVersion { filter: filter.clone() };
            let (group, version) = self.query(claim.clone(), present).await?;
            if (group, version) == (cached.holds.group, Some(cached.holds.version)) {
                return Ok(cached.read.clone());
            }
        }
        let all = GroupAisles { filter, part: part.clone(), most_bytes, now };
        let (read, holds) = self.query(claim, all).await?;
        if let Some(holds) = holds {
            let (key, size) = ((holds.group, part.after.clone()), read.devices.json.len());
            let cached = CachedPart { holds, part, most_bytes, read: read.clone() };
            self.aisle_parts.insert(key, size, Arc::new(cached));
        }
        Ok(read)
    }
}

/// Reads a part. The answer has the version of a part that can be cached.
struct GroupAisles {
    filter: Option<GroupFilter>,
    part: DevicePart,
    most_bytes: usize,
    now: UnixMs,
}

#[derive(Default)]
struct PartRows {
    version: Option<i64>,
    validity: Option<Validity>,
    json: Vec<u8>,
    devices: usize,
    last: String,
    /// Whether further devices belong to the next part.
    is_full: bool,
}

enum PartStep {
    Version,
    Validity,
    Device,
}

impl ScopedQuery for GroupAisles {
    type Rows = PartRows;
    type Step = PartStep;
    type Answer = (DevicesRead<AislesJson>, Option<ListVersion>);

    fn group(&self) -> Option<&GroupFilter> {
        self.filter.as_ref()
    }

    fn cost(&self) -> Cost {
        Cost::Blocking
    }

    fn steps(&self, group: HintedGroup) -> Vec<Step<'_, PartStep>> {
        vec![
            bind_version(group).step(PartStep::Version),
            bind_validity(group).step(PartStep::Validity),
            bind_part(group, self.now, &self.part).step(PartStep::Device),
        ]
    }

    fn on_row(&self, rows: &mut PartRows, step: &PartStep, row: &Row<'_>) -> Result<(), Error> {
        match step {
            PartStep::Version => rows.version = Some(row.read()?),
            PartStep::Validity => rows.validity = Some(row.read()?),
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
        let PartRows { version, validity, mut json, devices, last, is_full } = rows;
        // It may be cached.
        json.shrink_to_fit();
        let has_more = is_full || devices >= self.part.size;
        let devices = AislesJson {
            json: Bytes::from(json),
            devices: i64::try_from(devices).unwrap_or(i64::MAX),
        };
        let read = DevicesRead { devices, next: has_more.then_some(last) };
        let validity = validity.filter(|validity| validity.contains(self.now));
        let holds = version.zip(validity).map(|(version, validity)| ListVersion {
            group: scope.group(),
            version,
            validity,
        });
        Ok((read, holds))
    }
}
