//! The sums of a group by device and by product, in segments that are cached until an order in them
//! changes.
//!
//! A cached segment is used if nothing in it has changed. Each change of an order gives it a new
//! change number, so that the orders with later numbers show the days that they are in now. An
//! order that has left a segment is in another one, or is no sale any more: then the segment has
//! one order less in its days, unless another order has entered it, which has a later number. So
//! the numbers and the sales of the days together show every change.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kiosque_model::sales::Turnover;
use kiosque_model::{Day, DeviceNo, GroupNo, HistoryId, UnixMs, Zone};

use super::super::device_sums;
use super::super::figures::products::ProductTotals;
use super::super::filter::Devices;
use super::Context;
use super::segments::Segment;
use crate::cache::{CACHE_BYTES, Cache, Key};
use crate::db::Read;
use crate::error::Error;
use crate::scoped::HintedGroup;
use crate::sql::statements;
use crate::versions::{self, Versions};

statements! {
    HISTORY_OF(group_no, change_no) -> HistoryId = "select history from group_histories
        where group_no = $group_no and first_change_no <= $change_no
        order by first_change_no desc limit 1";
    /// The sale times of orders that have changed; null of an order that is no sale.
    CHANGED(group_no, after_no) -> Option<UnixMs> = "select sale_at_ms from orders
        where group_no = $group_no and change_no > $after_no";
}

/// The size of the segments of a group. Of more, those of the last request alone are cached.
const GROUP_BYTES_MAX: usize = CACHE_BYTES / 8;
/// After more changes the segments of a group are read again.
const CHANGES_MAX: i64 = 10_000;

/// The segments of a group.
#[derive(Debug)]
pub(crate) struct CachedSegments {
    versions: Versions,
    by_days: HashMap<Segment, Arc<SegmentSums>>,
}

/// The sums of a segment.
#[derive(Debug)]
pub(super) struct SegmentSums {
    /// The sales of each day, by which a departed order is recognized.
    days: Vec<(Day, Turnover)>,
    pub(super) devices: Vec<(DeviceNo, Turnover)>,
    pub(super) products: Vec<(String, ProductTotals)>,
}

/// The segments of a group as a snapshot shows them.
pub(super) enum Segments {
    Read(Vec<Arc<SegmentSums>>),
    /// Another request has seen a later snapshot, and has cached what it saw.
    Outdated,
}

impl SegmentSums {
    /// Returns about how many bytes of memory it takes.
    fn size(&self) -> usize {
        let products =
            self.products.iter().map(|(id, _)| id.len() + size_of::<(String, [i64; 6])>());
        let of = (size_of::<(DeviceNo, Turnover)>(), size_of::<(Day, Turnover)>());
        self.devices.len() * of.0 + self.days.len() * of.1 + products.sum::<usize>()
    }
}

/// Returns the sums of each segment. `days` has the sales of each of their days.
pub(super) async fn of_group(
    read: &Read<'_>,
    context: &Context,
    group: GroupNo,
    (segments, days): (&[Segment], &[(Day, Turnover)]),
) -> Result<Segments, Error> {
    let versions = versions::of_group(read, group).await?.unwrap_or_default();
    let cached = context.cache.get::<CachedSegments>(&Key::Sums(group));
    if cached.as_ref().is_some_and(|cached| cached.versions.has_later_orders_than(&versions)) {
        return Ok(Segments::Outdated);
    }
    let mut valid = match cached {
        Some(cached) => unchanged(read, group, (&cached, &versions), &context.zone).await?,
        None => HashMap::new(),
    };
    let mut sums = Vec::with_capacity(segments.len());
    for segment in segments {
        let days = days_of(days, *segment);
        let known = valid.get(segment).filter(|known| known.days == days);
        let of_segment = match known {
            Some(known) => Arc::clone(known),
            None => Arc::new(read_segment(read, context, group, (*segment, days)).await?),
        };
        valid.insert(*segment, Arc::clone(&of_segment));
        sums.push(of_segment);
    }
    insert(&context.cache, group, versions, (valid, segments));
    Ok(Segments::Read(sums))
}

/// Returns the cached segments without orders that have changed since.
async fn unchanged(
    read: &Read<'_>,
    group: GroupNo,
    (cached, present): (&CachedSegments, &Versions),
    zone: &Zone,
) -> Result<HashMap<Segment, Arc<SegmentSums>>, Error> {
    if cached.versions.has_sales_of(present) {
        return Ok(cached.by_days.clone());
    }
    let Versions { last_change_no: since, history, .. } = cached.versions;
    let changes = present.last_change_no.saturating_sub(since);
    if !cached.versions.has_rates_of(present) || !(0..=CHANGES_MAX).contains(&changes) {
        return Ok(HashMap::new());
    }
    // After the data went back, the later numbers may continue another history.
    let of_number: Option<HistoryId> =
        read.one(&HISTORY_OF, &[group.into(), since.into()], |row| row.read()).await?;
    if of_number.unwrap_or(HistoryId(0)) != history {
        return Ok(HashMap::new());
    }
    let mut segments = cached.by_days.clone();
    let mut days = HashSet::new();
    read.each(&CHANGED, &[group.into(), since.into()], |row| {
        days.extend(row.read::<Option<UnixMs>>()?.map(|at| zone.day_of(at)));
        Ok(())
    })
    .await?;
    segments.retain(|(first, last), _| !days.iter().any(|day| (first..=last).contains(&day)));
    Ok(segments)
}

/// Returns the elements of a segment in a list of all days.
fn days_of(days: &[(Day, Turnover)], (first, last): Segment) -> &[(Day, Turnover)] {
    let start = days.partition_point(|(day, _)| *day < first);
    let end = days.partition_point(|(day, _)| *day <= last);
    days.get(start..end).unwrap_or_default()
}

async fn read_segment(
    read: &Read<'_>,
    context: &Context,
    group: GroupNo,
    ((first, last), days): (Segment, &[(Day, Turnover)]),
) -> Result<SegmentSums, Error> {
    let Some(range) = context.range(first, last) else {
        return Ok(SegmentSums { days: days.to_vec(), devices: Vec::new(), products: Vec::new() });
    };
    let group = HintedGroup::for_operator(group);
    let sums = (
        device_sums::by_device(&Devices::All, &range, group),
        device_sums::by_product(&Devices::All, &[], &range, group),
    );
    let (devices, products) = read.together(sums).await?;
    let products = products.sales.into_iter().map(|(goods_id, sales)| (goods_id, sales.totals));
    Ok(SegmentSums {
        days: days.to_vec(),
        devices: devices.sales.into_iter().collect(),
        products: products.collect(),
    })
}

/// Caches segments: all valid ones if there is room, or those of this request.
fn insert(
    cache: &Cache,
    group: GroupNo,
    versions: Versions,
    (mut by_days, used): (HashMap<Segment, Arc<SegmentSums>>, &[Segment]),
) {
    let size_of_all = |by_days: &HashMap<Segment, Arc<SegmentSums>>| {
        by_days.values().map(|sums| sums.size()).sum::<usize>()
    };
    let mut size = size_of_all(&by_days);
    if size > GROUP_BYTES_MAX {
        by_days.retain(|segment, _| used.contains(segment));
        size = size_of_all(&by_days);
    }
    cache.insert(Key::Sums(group), size, Arc::new(CachedSegments { versions, by_days }));
}
