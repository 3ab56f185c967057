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
use kiosque_model::{Day, DeviceNo, GroupNo, UnixMs, Zone};

use super::super::sized_cache::SizedCache;
use super::super::{AnswerContext, ProductSum, Report, SalesBy};
use super::segments::Segment;
use super::{Context, report_of};
use crate::db::Read;
use crate::months::ProductTotals;
use crate::sql::statements;
use crate::{Error, Refused, metadata};

statements! {
    LAST_CHANGE(group_no) -> i64 = "select last_change_no from group_changes
        where group_no = $group_no";
    /// The sale times of orders that have changed; null of an order that is no sale.
    CHANGED(group_no, after_no) -> Option<UnixMs> = "select sale_at_ms from orders
        where group_no = $group_no and change_no > $after_no";
}

/// The size of the cache in bytes. A group has at most a quarter of it.
pub(crate) const CACHE_BYTES: usize = 32 << 20;
/// After more changes the segments of a group are read again.
const CHANGES_MAX: i64 = 10_000;

/// The cached segments of all groups.
pub(crate) type GroupSums = SizedCache<GroupNo, CachedSegments>;

/// The segments of a group.
#[derive(Debug)]
pub(crate) struct CachedSegments {
    version: Version,
    by_days: HashMap<Segment, Arc<SegmentSums>>,
}

/// The state of the data that segments are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    last_change_no: i64,
    /// The version of the exchange rates.
    rates: i64,
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
    let last_change_no = read.one(&LAST_CHANGE, &[group.into()], |row| row.read()).await?;
    let last_change_no = last_change_no.unwrap_or_default();
    let version = Version { last_change_no, rates: metadata::rates_version(read).await? };
    let cached = context.sums.get(&group);
    if cached.as_ref().is_some_and(|cached| cached.version.is_later_than(version)) {
        return Ok(Segments::Outdated);
    }
    let mut valid = match cached {
        Some(cached) => unchanged(read, group, (&cached, version), &context.zone).await?,
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
    insert(&context.sums, group, version, (valid, segments));
    Ok(Segments::Read(sums))
}

impl Version {
    /// Returns whether it is one that a snapshot of `other` cannot have seen.
    fn is_later_than(self, other: Version) -> bool {
        self.last_change_no > other.last_change_no || self.rates > other.rates
    }
}

/// Returns the cached segments without orders that have changed since.
async fn unchanged(
    read: &Read<'_>,
    group: GroupNo,
    (cached, version): (&CachedSegments, Version),
    zone: &Zone,
) -> Result<HashMap<Segment, Arc<SegmentSums>>, Error> {
    let since = cached.version.last_change_no;
    if cached.version.rates != version.rates || version.last_change_no - since > CHANGES_MAX {
        return Ok(HashMap::new());
    }
    let mut segments = cached.by_days.clone();
    if since == version.last_change_no {
        return Ok(segments);
    }
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
    let devices = report_of(read, group, context.request(first, last), DeviceSumsReport).await?;
    let products =
        report_of(read, group, context.request(first, last), ProductTotalsReport).await?;
    Ok(SegmentSums {
        days: days.to_vec(),
        devices: devices.into_iter().collect(),
        products: products.into_iter().collect(),
    })
}

/// Caches segments: all valid ones if there is room, or those of this request.
fn insert(
    cache: &GroupSums,
    group: GroupNo,
    version: Version,
    (mut by_days, used): (HashMap<Segment, Arc<SegmentSums>>, &[Segment]),
) {
    let size_of_all = |by_days: &HashMap<Segment, Arc<SegmentSums>>| {
        by_days.values().map(|sums| sums.size()).sum::<usize>()
    };
    let mut size = size_of_all(&by_days);
    if size > CACHE_BYTES / 4 {
        by_days.retain(|segment, _| used.contains(segment));
        size = size_of_all(&by_days);
    }
    cache.insert(group, size, Arc::new(CachedSegments { version, by_days }));
}

/// The sales of every device.
struct DeviceSumsReport;

impl Report for DeviceSumsReport {
    type Rows = HashMap<DeviceNo, Turnover>;
    type Step = ();
    type Answer = HashMap<DeviceNo, Turnover>;
    const SALES: SalesBy = SalesBy::Device;

    fn on_device(&self, rows: &mut Self::Rows, device: DeviceNo, turnover: &Turnover) {
        rows.entry(device).or_default().join(turnover);
    }

    fn answer(self, rows: Self::Rows, _: &AnswerContext<'_>) -> Result<Self::Answer, Refused> {
        Ok(rows)
    }
}

/// The sales of every product.
struct ProductTotalsReport;

impl Report for ProductTotalsReport {
    type Rows = HashMap<String, ProductTotals>;
    type Step = ();
    type Answer = HashMap<String, ProductTotals>;
    const SALES: SalesBy = SalesBy::Product;

    fn on_product(&self, rows: &mut Self::Rows, sum: &ProductSum<'_>) {
        match rows.get_mut(sum.goods_id) {
            Some(totals) => totals.join(sum.totals),
            None => {
                rows.insert(sum.goods_id.to_owned(), sum.totals);
            }
        }
    }

    fn answer(self, rows: Self::Rows, _: &AnswerContext<'_>) -> Result<Self::Answer, Refused> {
        Ok(rows)
    }
}
