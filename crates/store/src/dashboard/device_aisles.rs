//! The aisles of the devices that a group owns now. Parts of the list of all devices are cached as
//! they are sent.

use std::sync::Arc;

use kiosque_model::Claim;

use super::device_part::PartElements;
use super::filter::rows_of;
use super::{DashboardQuery, DevicePart, DevicesRead};
use crate::cache::Key;
use crate::db::{Bound, Reading};
use crate::error::{Error, Refused};
use crate::scoped::{HintedGroup, scoped};
use crate::sql::{Row, statements};
use crate::versions::{Versioned, Versions, versions};
use crate::views::Reports;

statements! {
    /// No devices if the caller knows them in this version.
    AISLES(group_no, now_ms, after, size, known_fleet) -> (&str, &str) = "select
            o.device_code, t.element
        from group_changes c cross join device_owners o
        join aisle_texts t on t.device_no = o.device_no
        where c.group_no = $group_no
            and (select fleet from group_changes where group_no = $group_no) <> $known_fleet
            and o.group_no = $group_no and o.device_code > $after and o.since_ms <= $now_ms
            and o.until_ms > $now_ms and o.listed
        order by o.device_code limit $size";
    AISLES_OF(group_no, now_ms) -> (&str, &str) = "select o.device_code, t.element
        from {each r: code text}
        cross join device_owners o
        join aisle_texts t on t.device_no = o.device_no
        where o.group_no = $group_no and o.device_code = r.code and o.since_ms <= $now_ms
            and o.until_ms > $now_ms and o.listed";
}

impl Reports<'_> {
    /// Returns a part of the enabled devices that the group owns now, each as the JSON of
    /// [`kiosque_contract::DeviceAisles`], by code.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_aisles(
        self,
        claim: Claim,
        query: DashboardQuery,
        part: DevicePart,
    ) -> Result<DevicesRead, Refused> {
        let now = claim.now;
        let Some(codes) = query.codes() else {
            return self.aisles_of_group(claim, &query, part).await;
        };
        let (codes, next) = part.filtered(&codes);
        let about = |group: HintedGroup| {
            let devices = Bound::new(&AISLES_OF, [group.into(), now.into()]);
            let aisles = elements(devices.with_rows(rows_of(&codes)), part.most_bytes);
            (query.devices_in_scope(group, now), aisles)
        };
        let (_, (in_scope, elements)) = scoped(self.0, &claim, query.group.as_ref(), about).await?;
        query.selected(in_scope.as_deref())?;
        Ok(elements.finish(next.map(str::to_owned)))
    }

    async fn aisles_of_group(
        self,
        claim: Claim,
        query: &DashboardQuery,
        part: DevicePart,
    ) -> Result<DevicesRead, Refused> {
        let (filter, now) = (query.group.as_ref(), claim.now);
        let DevicePart { after, size, most_bytes } = part;
        let key = |group| Key::Aisles(group, after.clone(), [size, most_bytes]);
        let about = |group: HintedGroup| {
            let cached = self.0.cache.get::<Versioned<DevicesRead>>(&key(group.number()));
            let cached = cached.filter(|cached| cached.versions.is_settled(now));
            let known = Versions::known_lists(cached.as_deref());
            let after = after.as_str().into();
            let params = [group.into(), now.into(), after, size.into(), known.into()];
            let aisles = elements(Bound::new(&AISLES, params), most_bytes);
            ((versions(group), Reading::of(cached)), aisles)
        };
        let (scope, ((versions, cached), mut elements)) =
            scoped(self.0, &claim, filter, about).await?;
        if let Some((cached, versions)) = cached.zip(versions.as_ref())
            && cached.versions.has_lists_of(versions)
        {
            return Ok(cached.value.clone());
        }
        // It may be cached.
        elements.json.shrink_to_fit();
        let next = (elements.devices >= size).then(|| elements.last());
        let read = elements.finish(next);
        if let Some(versions) = versions.filter(|versions| versions.is_settled(now)) {
            let cached = Versioned { versions, value: read.clone() };
            self.0.cache.insert(key(scope.group()), read.json.len(), Arc::new(cached));
        }
        Ok(read)
    }
}

/// Reads the elements of devices, which are sent as stored. One that is not JSON is damaged.
fn elements(devices: Bound, most_bytes: usize) -> Reading<PartElements> {
    devices.fold(PartElements::default(), move |elements: &mut PartElements, row: &Row<'_>| {
        let (device_code, element): (&str, &str) = row.read()?;
        if elements.begin(device_code, most_bytes) {
            serde_json::from_str::<serde::de::IgnoredAny>(element).map_err(|error| {
                Error::Data(format!("device {device_code:?}: its stored aisles: {error}"))
            })?;
            elements.json.extend_from_slice(element.as_bytes());
        }
        Ok(())
    })
}
