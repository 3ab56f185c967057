//! The profile of all devices of a group, as JSON that is cached. For the last activity of the
//! devices, a part of the list reads one key range of the ledger.
//!
//! A profile is valid while no apply has changed a device of the group or its name, and no move of
//! a device was pending. Each part compares the versions in the snapshot that proves the session.

mod texts;

use std::ops::Range;
use std::sync::Arc;

use kiosque_model::{Claim, DeviceNo, GroupNo, UnixMs};

use super::device_part::PartElements;
use super::filter::rows_of;
use super::{DashboardQuery, DevicePart, DevicesRead};
use crate::cache::Key;
use crate::db::{Bound, Reading};
use crate::devices::{self, Device, DeviceQuery, DeviceRow, OnlineSince, devices_of};
use crate::error::{Error, Refused};
use crate::hints::GroupFilter;
use crate::json_records::{JsonRecords, put_json};
use crate::scoped::{HintedGroup, presumed_group, scoped};
use crate::sql::statements;
use crate::versions::{Versioned, Versions, versions};
use crate::views::Reports;
use texts::{DeviceText, DeviceTexts};

statements! {
    /// No devices if there are more than `$most`, if some may be moved later, or if the caller
    /// knows them in this version.
    DEVICES(group_no, now_ms, most, known_fleet) -> DeviceRow<'_> = "select
            d.device_no, d.device_code, d.device_name, d.device_model, d.address,
            d.total_curr_stock, l.last_active_ms, d.created_at_ms
        from group_changes c cross join device_owners o cross join devices d cross join ledger l
        where c.group_no = $group_no and c.devices <= $most and c.devices_from_ms <= $now_ms
            and (select fleet from group_changes where group_no = $group_no) <> $known_fleet
            and o.group_no = $group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms
            and o.listed and d.device_no = o.device_no
            and l.group_no = $group_no and l.device_code = o.device_code
        order by o.device_code";
    LAST_ACTIVE(group_no, after, last) -> (DeviceNo, Option<UnixMs>) = "select device_no,
            last_active_ms
        from ledger
        where group_no = $group_no and device_code > $after and device_code <= $last
        order by device_code";
}

/// The profile of a group.
type GroupProfile = Versioned<DeviceTexts>;

/// Profiles of larger groups are not cached.
const DEVICES_MAX: i64 = 50_000;
/// The maximum number of devices of a group whose profile any device page loads for later pages.
const LOADED_BY_PAGES_MAX: i64 = 128;
/// The maximum for a page after that number of devices: it reads the codes of all before it.
const LOADED_BY_LATE_PAGES_MAX: i64 = 20_000;

/// Appends the JSON of a device with its last activity.
type PutDevice = fn(&DeviceText, Option<UnixMs>, OnlineSince, &mut Vec<u8>);

impl Reports<'_> {
    /// Returns a part of the enabled devices that the group owns now, each as the JSON of
    /// [`kiosque_contract::DeviceRecord`], by code.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_profile(
        self,
        claim: Claim,
        query: DashboardQuery,
        part: DevicePart,
        online: OnlineSince,
    ) -> Result<DevicesRead, Refused> {
        let Some(codes) = query.codes() else {
            return self.group_profile(claim, &query, part, online, DeviceText::put_record).await;
        };
        let next = part.filtered(&codes).1.map(str::to_owned);
        let most_bytes = part.most_bytes;
        let add = move |elements: &mut PartElements, device: Device<'_>| {
            if elements.begin(device.row.device_code, most_bytes) {
                put_json(&mut elements.json, &device.record(online))?;
            }
            Ok(())
        };
        let elements = self.each_device(claim, &query, &part, add).await?;
        Ok(elements.finish(next))
    }

    /// Returns a part of the enabled devices that the group owns now, each as the JSON of
    /// [`kiosque_contract::OnlineDevice`], by code. The query has no filter of devices.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn online_devices(
        self,
        claim: Claim,
        query: DashboardQuery,
        part: DevicePart,
        online: OnlineSince,
    ) -> Result<DevicesRead, Refused> {
        self.group_profile(claim, &query, part, online, DeviceText::put_online).await
    }

    async fn group_profile(
        self,
        claim: Claim,
        query: &DashboardQuery,
        part: DevicePart,
        online: OnlineSince,
        put: PutDevice,
    ) -> Result<DevicesRead, Refused> {
        let (filter, most_bytes) = (query.group.as_ref(), part.most_bytes);
        let add = move |elements: &mut PartElements, device: &DeviceText, last_active| {
            if elements.begin(device.code(), most_bytes) {
                elements.online += i64::from(online.holds(last_active));
                put(device, last_active, online, &mut elements.json);
            }
        };
        let place = |devices: &DeviceTexts| devices.part(&part);
        let most = part.after.is_empty().then_some(DEVICES_MAX);
        if let Some(mut active) = self.profile(&claim, filter, place, most).await? {
            active.place.end = active.place.end.min(active.place.start.saturating_add(part.size));
            let mut elements = PartElements::default();
            active.devices().for_each(|(device, last)| add(&mut elements, device, last));
            let has_more = active.place.end < active.profile.value.len();
            let next = has_more.then(|| elements.last());
            return Ok(elements.finish(next));
        }
        let add = move |elements: &mut PartElements, device: Device<'_>| {
            add(elements, &DeviceText::of(device)?, device.row.last_active_ms);
            Ok(())
        };
        let elements = self.each_device(claim, query, &part, add).await?;
        let next = (elements.devices >= part.size).then(|| elements.last());
        Ok(elements.finish(next))
    }

    /// Visits a part of the enabled devices that the group owns now, by code, as on a device page.
    /// `most_bytes` does not end the part.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn each_device<A: Default + Send + 'static>(
        self,
        claim: Claim,
        query: &DashboardQuery,
        part: &DevicePart,
        visit: impl Fn(&mut A, Device<'_>) -> Result<(), Error> + Clone + Send + 'static,
    ) -> Result<A, Refused> {
        let (now, codes) = (claim.now, query.codes());
        let about = |group: HintedGroup| {
            let devices = match &codes {
                None => devices::listed(group, now, &part.after, part.size.into()),
                Some(codes) => devices::listed_with(group, now, rows_of(&part.filtered(codes).0)),
            };
            let devices = devices_of(self.0, group, devices, A::default(), visit.clone());
            (query.devices_in_scope(group, now), devices)
        };
        let (_, (in_scope, (_, devices))) =
            scoped(self.0, &claim, query.group.as_ref(), about).await?;
        query.selected(in_scope.as_deref())?;
        Ok(devices)
    }

    /// Returns a page of the devices that the scope's group owns now, each as the JSON of
    /// [`kiosque_contract::DeviceRecord`], and the total.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_page(
        self,
        claim: Claim,
        online: OnlineSince,
        request: DeviceQuery,
    ) -> Result<(i64, JsonRecords), Refused> {
        let filter = request.group.clone();
        // On PostgreSQL, a page has one round trip, also after the devices have changed.
        let is_cached = request.is_plain() && !self.0.db.sends_ahead();
        if is_cached {
            let place = |devices: &DeviceTexts| Some(devices.page(request.page));
            if let Some(active) = self.profile(&claim, filter.as_ref(), place, None).await? {
                return active.records(online);
            }
        }
        let skipped = request.page.skip();
        let page = self.read_device_page(claim.clone(), online, request).await?;
        let is_late = skipped >= LOADED_BY_PAGES_MAX;
        let most = if is_late { LOADED_BY_LATE_PAGES_MAX } else { LOADED_BY_PAGES_MAX };
        if is_cached && (1..=most).contains(&page.0) {
            // This page has been read, so that a failure only costs the later ones.
            let _ = self.profile(&claim, filter.as_ref(), |_| None, Some(most)).await;
        }
        Ok(page)
    }

    /// Returns devices of the profile of a group with their last activity. If `most` is given, a
    /// profile that is not cached or no longer valid is read and cached, unless the group has more
    /// devices or a move of one is pending.
    async fn profile(
        self,
        claim: &Claim,
        filter: Option<&GroupFilter>,
        place: impl Fn(&DeviceTexts) -> Option<Range<usize>>,
        most: Option<i64>,
    ) -> Result<Option<WithActivity>, Refused> {
        let cached = |group| {
            let profile = self.0.cache.get::<GroupProfile>(&Key::Profile(group));
            let profile = profile.filter(|profile| profile.versions.is_settled(claim.now))?;
            Some((place(&profile.value)?, profile))
        };
        if most.is_none() && presumed_group(self.0, claim, filter).and_then(cached).is_none() {
            return Ok(None);
        }
        let about = |group: HintedGroup| {
            let cached = cached(group.number());
            let known = Versions::known_lists(cached.as_ref().map(|(_, profile)| &**profile));
            let active = cached.as_ref().map(|(place, profile)| {
                let (after, last) = profile.value.bounds(place);
                Bound::new(&LAST_ACTIVE, [group.into(), after.into(), last.into()]).all()
            });
            let devices = most.map(|most| {
                let params = [group.into(), claim.now.into(), most.into(), known.into()];
                let add = |(texts, last_active): &mut Texts, device: Device<'_>| {
                    last_active.push(device.row.last_active_ms);
                    texts.add(device)
                };
                devices_of(self.0, group, Bound::new(&DEVICES, params), Texts::default(), add)
            });
            (versions(group), ((Reading::of(cached), active), devices))
        };
        let (scope, (versions, ((cached, active), devices))) =
            scoped(self.0, claim, filter, about).await?;
        let Some(versions) = versions else { return Ok(None) };
        if let Some((place, profile)) = cached
            && profile.versions.has_lists_of(&versions)
        {
            let active = active.unwrap_or_default();
            let devices = profile.value.get(place.clone());
            let last_active = self.last_active(scope.group(), devices, active);
            return Ok(last_active.map(|last_active| WithActivity { profile, place, last_active }));
        }
        let (devices, last_active) = devices.map(|(_, texts)| texts).unwrap_or_default();
        if last_active.is_empty() {
            return Ok(None);
        }
        let size = devices.size();
        let profile = Arc::new(Versioned { versions, value: devices });
        self.0.cache.insert(Key::Profile(scope.group()), size, Arc::clone(&profile));
        let place = 0..last_active.len();
        Ok(Some(WithActivity { profile, place, last_active }))
    }

    /// Returns when each device of a profile was last active. `read` has all devices in the ledger,
    /// including former ones. A ledger without a device of the profile is damaged.
    fn last_active(
        self,
        group: GroupNo,
        devices: &[DeviceText],
        read: Vec<(DeviceNo, Option<UnixMs>)>,
    ) -> Option<Vec<Option<UnixMs>>> {
        let mut read = read.into_iter();
        let last_active = devices.iter().map(|device| {
            let number = device.number();
            let (_, last_active) = read.find(|(of, _)| *of == number)?;
            Some(self.0.activity.merged((group, number), last_active))
        });
        last_active.collect()
    }
}

/// The texts of devices, and the last activity of each.
type Texts = (DeviceTexts, Vec<Option<UnixMs>>);

/// Devices of a cached profile, and the last activity of each.
struct WithActivity {
    profile: Arc<GroupProfile>,
    place: Range<usize>,
    last_active: Vec<Option<UnixMs>>,
}

impl WithActivity {
    /// Returns the devices, each with its last activity.
    fn devices(&self) -> impl Iterator<Item = (&DeviceText, Option<UnixMs>)> {
        let devices = self.profile.value.get(self.place.clone()).iter();
        devices.zip(self.last_active.iter().copied())
    }

    /// Returns the total of the devices, and the records of these.
    fn records(&self, online: OnlineSince) -> Result<(i64, JsonRecords), Refused> {
        let mut records = JsonRecords::default();
        for (device, last_active) in self.devices() {
            records.push_with(|json| {
                device.put_record(last_active, online, json);
                Ok(())
            })?;
        }
        let total = i64::try_from(self.profile.value.len()).unwrap_or(i64::MAX);
        Ok((total, records))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain;

    #[tokio::test]
    async fn a_known_profile_reads_no_devices() {
        let schema = explain::with_tables().await;
        schema.script(
            "insert into group_changes (group_no, last_change_no, fleet, devices)
                values (1, 0, 7, 50);
            insert into ledger (group_no, device_code, device_no, since_ms, first_seq, archived_seq,
                    last_seq)
                select 1, 'd' || n, n, 0, 1, 0, 0 from generate_series(1, 50) n;
            insert into device_owners (group_no, device_code, since_ms, until_ms, listed, device_no)
                select 1, 'd' || n, 0, 10, true, n from generate_series(1, 50) n;
            insert into devices (device_no, device_code, device_name, device_model, address,
                    enabled, created_at_ms, total_curr_stock)
                select n, 'd' || n, '', '', '', true, 0, 0 from generate_series(1, 50) n;",
        );
        let settings = explain::settings();
        let text = DEVICES.for_postgres().expect("a statement");
        for statistics in ["", "analyze group_changes, ledger, device_owners, devices"] {
            schema.script(statistics);
            for (known, rows) in [(7, 0.0), (6, 150.0)] {
                let plan = schema.sql(&format!(
                    "{settings} prepare profile as {text};
                    explain (analyze, costs off, timing off, summary off)
                        execute profile(1, 5, 100, {known})"
                ));
                let read = explain::rows_read(&plan, &["ledger", "device_owners", "devices"]);
                assert_eq!(read, rows, "{statistics}: {plan}");
            }
        }
    }
}
