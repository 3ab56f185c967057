//! The profile of all devices of a group, as JSON that is cached. Of the last activity of the
//! devices, a part of the list reads one key range of the ledger.
//!
//! A profile holds while no apply has changed a device of the group or its name, at times at which
//! no move of a device is ahead. Each part compares the versions in the snapshot that proves the
//! session.

mod texts;

use std::ops::Range;
use std::sync::Arc;

use kiosque_model::{Claim, DeviceNo, GroupNo, Scope, UnixMs};

use super::{DashboardQuery, DevicePart, DevicesRead};
use crate::activity::Activity;
use crate::cache::Key;
use crate::db::{Bound, Cost, Step};
use crate::devices::{Device, DeviceRow, OnlineSince, Owner, bind_owner};
use crate::scoped_query::{GroupFilter, HintedGroup, ScopedQuery};
use crate::sql::{Row, row, statements};
use crate::versions::{Versions, bind_versions};
use crate::{Error, Refused, Store};
use texts::DeviceTexts;

row! {
    struct ActivityRow { device_no: DeviceNo, last_active_ms: Option<UnixMs> }
}

statements! {
    /// No devices if there are more than `$most`, or if some may be moved later.
    DEVICES(group_no, now_ms, most) -> DeviceRow<'_> = "select
            d.device_no, d.device_code, d.device_name, d.device_model, d.address,
            d.total_curr_stock, l.last_active_ms, d.created_at_ms
        from group_changes c cross join device_owners o cross join devices d cross join ledger l
        where c.group_no = $group_no and c.devices <= $most and c.devices_from_ms <= $now_ms
            and o.group_no = $group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms
            and o.listed and d.device_no = o.device_no
            and l.group_no = $group_no and l.device_code = o.device_code
        order by o.device_code";
    LAST_ACTIVE(group_no, after, last) -> ActivityRow = "select device_no, last_active_ms
        from ledger
        where group_no = $group_no and device_code > $after and device_code <= $last
        order by device_code";
}

/// The profile of a group.
#[derive(Debug)]
pub(crate) struct GroupProfile {
    group: GroupNo,
    versions: Versions,
    devices: DeviceTexts,
}

/// The last activity of at most so many devices is read on the serving thread.
const INLINE_DEVICES_MAX: usize = 128;

/// Profiles of larger groups are not cached.
const DEVICES_MAX: i64 = 50_000;

/// A device of the profile of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfileElement<'a> {
    /// `deviceCode`.
    pub device_code: &'a str,
    /// The JSON around the values of `isOnline` and of `lastActiveTimestamp`.
    json: [&'a str; 3],
    last_active: Option<UnixMs>,
}

impl ProfileElement<'_> {
    /// Appends the JSON of [`kiosque_contract::DeviceRecord`].
    pub fn put_record(&self, online: OnlineSince, json: &mut Vec<u8>) {
        let [before, between, after] = self.json;
        json.extend_from_slice(before.as_bytes());
        json.push(if online.holds(self.last_active) { b'1' } else { b'0' });
        json.extend_from_slice(between.as_bytes());
        match self.last_active {
            Some(last) => json.extend_from_slice(last.0.to_string().as_bytes()),
            None => json.extend_from_slice(b"null"),
        }
        json.extend_from_slice(after.as_bytes());
    }
}

impl Store {
    /// Visits a part of the enabled devices that the group owns now, by code. The query has no
    /// filter of devices.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn group_profile<A, V>(
        &self,
        claim: Claim,
        query: DashboardQuery,
        part: DevicePart,
        visit: V,
    ) -> Result<DevicesRead<A>, Refused>
    where
        A: Default + Send + 'static,
        V: Fn(&mut A, ProfileElement<'_>) -> Result<(), Error> + Send + Sync + 'static,
    {
        let group = self.presumed_group(&claim, query.group.as_ref());
        let cached = group.and_then(|group| self.cache.get::<GroupProfile>(&Key::Profile(group)));
        let cached = cached.filter(|profile| profile.versions.is_settled(claim.now));
        let place = cached.as_deref().and_then(|profile| profile.devices.part(&part));
        if let (Some(profile), Some(place)) = (cached, place) {
            let (filter, activity) = (query.group.clone(), Arc::clone(&self.activity));
            let of_part = CachedPart { filter, profile, place, activity };
            if let Some(active) = self.query(claim.clone(), of_part).await? {
                return active.visit(&part, &visit);
            }
        }
        if part.after.is_empty() {
            let (filter, activity) = (query.group.clone(), Arc::clone(&self.activity));
            let all = WholeProfile { filter, now: claim.now, activity };
            if let Some((loaded, active)) = self.query(claim.clone(), all).await? {
                let (group, size) = (loaded.group, loaded.devices.size());
                self.cache.insert(Key::Profile(group), size, Arc::clone(&loaded));
                return active.visit(&part, &visit);
            }
        }
        let visit = move |devices: &mut A, device: Device<'_>| {
            let one = DeviceTexts::of(device)?;
            one.elements(0..1, &[device.last_active]).try_for_each(|one| visit(devices, one))
        };
        self.device_profile(claim, query, part, visit).await
    }
}

/// Devices of a cached profile, and the last activity of each.
struct WithActivity {
    profile: Arc<GroupProfile>,
    place: Range<usize>,
    last_active: Vec<Option<UnixMs>>,
}

impl WithActivity {
    /// Visits the devices of the part.
    fn visit<A: Default>(
        &self,
        part: &DevicePart,
        visit: &impl Fn(&mut A, ProfileElement<'_>) -> Result<(), Error>,
    ) -> Result<DevicesRead<A>, Refused> {
        let (mut devices, mut last) = (A::default(), None);
        let place = self.place.start..self.place.end.min(self.place.start + part.size);
        let has_more = place.end < self.profile.devices.len();
        for element in self.profile.devices.elements(place, &self.last_active) {
            visit(&mut devices, element)?;
            last = Some(element.device_code);
        }
        let next = last.filter(|_| has_more).map(str::to_owned);
        Ok(DevicesRead { devices, next })
    }
}

/// Reads the last activity of devices of a cached profile. The answer is `None` if the profile does
/// not hold.
struct CachedPart {
    filter: Option<GroupFilter>,
    profile: Arc<GroupProfile>,
    place: Range<usize>,
    activity: Arc<Activity>,
}

#[derive(Default)]
struct ActivityRows {
    versions: Option<Versions>,
    /// Of all devices in the ledger, also of those that have left.
    last_active: Vec<(DeviceNo, Option<UnixMs>)>,
}

enum PartStep {
    Versions,
    Activity,
}

impl ScopedQuery for CachedPart {
    type Rows = ActivityRows;
    type Step = PartStep;
    type Answer = Option<WithActivity>;

    fn group(&self) -> Option<&GroupFilter> {
        self.filter.as_ref()
    }

    fn cost(&self) -> Cost {
        if self.place.len() <= INLINE_DEVICES_MAX { Cost::Inline } else { Cost::Blocking }
    }

    fn steps(&self, group: HintedGroup) -> Vec<Step<'_, PartStep>> {
        let (after, last) = self.profile.devices.bounds(&self.place);
        let part = [group.into(), after.into(), last.into()];
        vec![
            bind_versions(group).step(PartStep::Versions),
            Bound::new(&LAST_ACTIVE, part).step(PartStep::Activity),
        ]
    }

    fn on_row(&self, rows: &mut ActivityRows, step: &PartStep, row: &Row<'_>) -> Result<(), Error> {
        match step {
            PartStep::Versions => rows.versions = Some(row.read()?),
            PartStep::Activity => {
                let ActivityRow { device_no, last_active_ms } = row.read()?;
                rows.last_active.push((device_no, last_active_ms));
            }
        }
        Ok(())
    }

    fn answer(self, rows: ActivityRows, scope: Scope) -> Result<Self::Answer, Refused> {
        let CachedPart { profile, place, activity, .. } = self;
        let is_present = |present: Versions| present.has_lists_of(&profile.versions);
        if !rows.versions.is_some_and(is_present) || scope.group() != profile.group {
            return Ok(None);
        }
        let mut found = rows.last_active.into_iter();
        let last_active = profile
            .devices
            .numbers(place.clone())
            .map(|number| found.find(|(device, _)| *device == number).map(|(_, last)| last));
        // A ledger without a device of the profile is damaged: the devices are read again.
        let Some(mut last_active) = last_active.collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        for (number, last) in profile.devices.numbers(place.clone()).zip(&mut last_active) {
            *last = activity.merged((profile.group, number), *last);
        }
        Ok(Some(WithActivity { profile, place, last_active }))
    }
}

/// Reads the profile of a group. The answer is `None` if it cannot be cached.
struct WholeProfile {
    filter: Option<GroupFilter>,
    now: UnixMs,
    activity: Arc<Activity>,
}

#[derive(Default)]
struct ProfileRows {
    versions: Option<Versions>,
    owner: Option<Owner>,
    devices: DeviceTexts,
    last_active: Vec<Option<UnixMs>>,
}

enum WholeStep {
    Versions,
    Owner,
    Device,
}

impl ScopedQuery for WholeProfile {
    type Rows = ProfileRows;
    type Step = WholeStep;
    type Answer = Option<(Arc<GroupProfile>, WithActivity)>;

    fn group(&self) -> Option<&GroupFilter> {
        self.filter.as_ref()
    }

    fn cost(&self) -> Cost {
        Cost::Blocking
    }

    fn steps(&self, group: HintedGroup) -> Vec<Step<'_, WholeStep>> {
        let devices = [group.into(), self.now.into(), DEVICES_MAX.into()];
        vec![
            bind_versions(group).step(WholeStep::Versions),
            bind_owner(group).step(WholeStep::Owner),
            Bound::new(&DEVICES, devices).step(WholeStep::Device),
        ]
    }

    fn on_row(&self, rows: &mut ProfileRows, step: &WholeStep, row: &Row<'_>) -> Result<(), Error> {
        match (step, &rows.owner) {
            (WholeStep::Versions, _) => rows.versions = Some(row.read()?),
            (WholeStep::Owner, _) => rows.owner = Some(Owner::read(row)?),
            (WholeStep::Device, Some(owner)) => {
                let device = owner.device(row, &self.activity)?;
                rows.devices.add(row.read()?, device)?;
                rows.last_active.push(device.last_active);
            }
            (WholeStep::Device, None) => {}
        }
        Ok(())
    }

    fn answer(self, rows: ProfileRows, scope: Scope) -> Result<Self::Answer, Refused> {
        let ProfileRows { versions, devices, last_active, .. } = rows;
        let Some(versions) = versions.filter(|_| !last_active.is_empty()) else { return Ok(None) };
        let profile = Arc::new(GroupProfile { group: scope.group(), versions, devices });
        let place = 0..last_active.len();
        let active = WithActivity { profile: Arc::clone(&profile), place, last_active };
        Ok(Some((profile, active)))
    }
}
