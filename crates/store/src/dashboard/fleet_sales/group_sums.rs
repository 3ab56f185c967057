//! The sums of a group by device and by product, in segments that are cached until an order in them
//! changes.
//!
//! A cached segment is used if nothing in it has changed. Each change of an order gives it a new
//! change number, so the orders with later numbers show the days that they are in now. An order
//! that has left a segment is in another one, or is no longer a sale: then the segment has one
//! order less in its days, unless another order has entered it, which has a later number. So the
//! change numbers and the sales of the days together reveal every change. The sales of the days are
//! compared when a segment is requested, once after each change of its group.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use kiosque_model::sales::{Rates, Totals, Turnover};
use kiosque_model::{Currency, Day, DeviceNo, GroupNo, HistoryId, Minor, UnixMs, Zone};

use super::super::figures::device_sums::Currencies;
use super::super::figures::products::ProductTotals;
use super::Context;
use super::segments::{Segment, segments};
use crate::cache::{CACHE_BYTES, Cache, Key};
use crate::db::Read;
use crate::error::Error;
use crate::sql::{Value, numbers, row, statements};
use crate::sums::device_block::{each_device, each_product};
use crate::sums::{BlockRow, totals_of};
use crate::versions::{self, Versions};

row! {
    struct HistoryRow { group_no: GroupNo, history: HistoryId }
    struct ChangedRow { group_no: GroupNo, sale_at_ms: Option<UnixMs> }
    struct DayRow<'r> { group_no: GroupNo, day: Day, currency: &'r str, totals: Totals }
    struct SumsRow<'r> { group_no: GroupNo, block: BlockRow<'r> }
}

statements! {
    /// The histories that began up to a change; the change belongs to the last one of its group.
    HISTORIES() -> HistoryRow = "select h.group_no, h.history
        from {rows r: group_no bigint, change_no bigint} cross join group_histories h
        where h.group_no = r.group_no and h.first_change_no <= r.change_no
        order by h.group_no, h.first_change_no";
    /// The sale times of orders that have changed; null for an order that is not a sale.
    CHANGED() -> ChangedRow = "select o.group_no, o.sale_at_ms
        from {rows r: group_no bigint, change_no bigint} cross join orders o
        where o.group_no = r.group_no and o.change_no > r.change_no";
    DAYS(first_day, last_day) -> DayRow<'_> = "select d.group_no, d.day, d.currency, d.orders,
            d.items, d.amount, d.refund, d.shipped, d.failed
        from {rows r: group_no bigint} cross join sales_by_day d
        where d.group_no = r.group_no and d.day >= $first_day and d.day <= $last_day";
    SUMS() -> SumsRow<'_> = "select s.group_no, s.day, s.device_block, s.currency, s.devices,
            s.products
        from {rows r: group_no bigint, first_day bigint, last_day bigint}
        cross join sales_by_device s
        where s.group_no = r.group_no and s.day >= r.first_day and s.day <= r.last_day";
}

/// The maximum size of a group's segments. Above it, only the last request's are cached.
const GROUP_BYTES_MAX: usize = CACHE_BYTES / 8;
/// After more changes than this, the segments of a group are read again.
const CHANGES_MAX: i64 = 10_000;

/// The segments of a group.
#[derive(Debug)]
pub(crate) struct CachedSegments {
    versions: Versions,
    by_days: Cached,
}

/// Cached segments.
type Cached = HashMap<Segment, CachedSegment>;

/// A cached segment without orders that have changed since.
#[derive(Clone, Debug)]
struct CachedSegment {
    sums: Arc<SegmentSums>,
    /// Whether it is also known that no order has left it.
    is_checked: bool,
}

/// The sums of a segment.
#[derive(Debug)]
pub(super) struct SegmentSums {
    /// The sales of each day with sales, by which orders that left are recognized.
    days: Vec<(Day, Turnover)>,
    pub(super) devices: HashMap<DeviceNo, Turnover>,
    pub(super) products: HashMap<String, ProductTotals>,
}

/// The sums of each segment of a group.
pub(super) struct GroupSums {
    pub(super) group: GroupNo,
    pub(super) segments: Vec<Arc<SegmentSums>>,
}

/// A group while its segments are read.
struct Group {
    group: GroupNo,
    versions: Versions,
    /// The segments without orders that have changed since they were cached.
    valid: Cached,
    /// Whether they are all requested segments, with the sums of this snapshot.
    is_cached: bool,
}

impl SegmentSums {
    /// Returns its approximate size in bytes.
    fn size(&self) -> usize {
        let products = self.products.keys().map(|id| id.len() + size_of::<(String, [i64; 6])>());
        let of = (size_of::<(DeviceNo, Turnover)>(), size_of::<(Day, Turnover)>());
        let elements = self.devices.len() * of.0 + self.days.len() * of.1;
        size_of::<(Segment, SegmentSums)>() + elements + products.sum::<usize>()
    }

    /// Adds a row of stored sums, which has the figures of a day in a currency.
    fn add(&mut self, row: &BlockRow<'_>, currency: Currency, rates: &Rates) -> Result<(), Error> {
        let conversion = (currency, rates.on(currency, row.day));
        each_device(row.devices, row.device_block, |device, figures| {
            self.devices.entry(device).or_default().add(conversion, totals_of(figures));
        })?;
        each_product(row.products, |product| {
            let ([items, amount], goods_id) = (product.figures, product.goods_id()?);
            let sales = ProductTotals::of((items, Minor(amount)), conversion);
            match self.products.get_mut(goods_id) {
                Some(known) => known.join(sales),
                None => {
                    self.products.insert(goods_id.to_owned(), sales);
                }
            }
            Ok(())
        })
    }
}

/// Returns the sums of each segment of each group; `None` if another request has seen a later
/// snapshot, and has cached its segments.
pub(super) async fn of_groups(
    read: &Read<'_>,
    context: &Context,
    groups: &[GroupNo],
    range: (Day, Day),
    rates: &Rates,
) -> Result<Option<Vec<GroupSums>>, Error> {
    let segments = segments(range.0, range.1, context.zone.day_of(context.now));
    let Some(mut groups) = valid_segments(read, context, groups, &segments).await? else {
        return Ok(None);
    };
    let changed = groups.iter().filter(|group| !group.is_cached).map(|group| group.group);
    let days = days_of_groups(read, changed, range, rates).await?;
    let mut absent: BTreeMap<GroupNo, Vec<(Segment, SegmentSums)>> = BTreeMap::new();
    for Group { group, valid, .. } in groups.iter_mut().filter(|group| !group.is_cached) {
        let of_group = days.get(group).map(Vec::as_slice).unwrap_or_default();
        for segment in &segments {
            let days = days_of(of_group, *segment);
            if let Some(known) = valid.get_mut(segment).filter(|known| known.sums.days == days) {
                known.is_checked = true;
                continue;
            }
            let (devices, products) = (HashMap::new(), HashMap::new());
            let sums = SegmentSums { days: days.to_vec(), devices, products };
            absent.entry(*group).or_default().push((*segment, sums));
        }
    }
    read_segments(read, &mut absent, rates).await?;
    let mut sums = Vec::with_capacity(groups.len());
    for Group { group, versions, mut valid, is_cached } in groups {
        for (segment, sums) in absent.remove(&group).into_iter().flatten() {
            valid.insert(segment, CachedSegment { sums: Arc::new(sums), is_checked: true });
        }
        let of_range = segments.iter().filter_map(|segment| valid.get(segment));
        let of_range = of_range.map(|known| Arc::clone(&known.sums));
        sums.push(GroupSums { group, segments: of_range.collect() });
        if !is_cached {
            insert(&context.cache, group, versions, (valid, &segments));
        }
    }
    Ok(Some(sums))
}

/// Returns the cached segments of groups without orders that have changed since; `None` if some are
/// from a later snapshot.
async fn valid_segments(
    read: &Read<'_>,
    context: &Context,
    groups: &[GroupNo],
    segments: &[Segment],
) -> Result<Option<Vec<Group>>, Error> {
    let versions = versions::of_groups(read, groups).await?;
    let (mut all, mut changed) = (Vec::with_capacity(groups.len()), BTreeMap::new());
    for group in groups.iter().copied() {
        let versions = versions.get(&group).copied().unwrap_or_default();
        let mut of_group = Group { group, versions, valid: HashMap::new(), is_cached: false };
        if let Some(cached) = context.cache.get::<CachedSegments>(&Key::Sums(group)) {
            let changes = versions.last_change_no.saturating_sub(cached.versions.last_change_no);
            if cached.versions.has_later_orders_than(&versions) {
                return Ok(None);
            } else if cached.versions.has_sales_of(&versions) {
                let used = segments.iter().filter_map(|segment| {
                    let known = cached.by_days.get(segment).filter(|known| known.is_checked)?;
                    Some((*segment, known.clone()))
                });
                of_group.valid = used.collect();
                of_group.is_cached = of_group.valid.len() == segments.len();
                if !of_group.is_cached {
                    of_group.valid.clone_from(&cached.by_days);
                }
            } else if cached.versions.has_rates_of(&versions)
                && (0..=CHANGES_MAX).contains(&changes)
            {
                changed.insert(group, cached);
            }
        }
        all.push(of_group);
    }
    let mut unchanged = unchanged(read, changed, &context.zone).await?;
    for of_group in &mut all {
        if let Some(valid) = unchanged.remove(&of_group.group) {
            of_group.valid = valid;
        }
    }
    Ok(Some(all))
}

/// Returns the cached segments of groups with changes, except those that contain a changed order.
async fn unchanged(
    read: &Read<'_>,
    mut cached: BTreeMap<GroupNo, Arc<CachedSegments>>,
    zone: &Zone,
) -> Result<HashMap<GroupNo, Cached>, Error> {
    let last_changes = |cached: &BTreeMap<GroupNo, Arc<CachedSegments>>| {
        let of = |(group, cached): (&GroupNo, &Arc<CachedSegments>)| -> [Value<'static>; 2] {
            [(*group).into(), cached.versions.last_change_no.into()]
        };
        cached.iter().map(of).collect::<Vec<_>>()
    };
    // After the data went back, the later numbers may belong to another history.
    let histories = read.all_of(&HISTORIES, &last_changes(&cached), &[]).await?.into_iter();
    let histories: HashMap<GroupNo, HistoryId> =
        histories.map(|HistoryRow { group_no, history }| (group_no, history)).collect();
    cached.retain(|group, cached| {
        histories.get(group).copied().unwrap_or(HistoryId(0)) == cached.versions.history
    });
    let mut days: HashMap<GroupNo, HashSet<Day>> = HashMap::new();
    read.each_of(&CHANGED, &last_changes(&cached), &[], |row| {
        let ChangedRow { group_no, sale_at_ms } = row.read()?;
        days.entry(group_no).or_default().extend(sale_at_ms.map(|at| zone.day_of(at)));
        Ok(())
    })
    .await?;
    let valid = cached.into_iter().map(|(group, cached)| {
        let (mut valid, days) = (cached.by_days.clone(), days.remove(&group).unwrap_or_default());
        valid.retain(|(first, last), known| {
            known.is_checked = false;
            !days.iter().any(|day| (first..=last).contains(&day))
        });
        (group, valid)
    });
    Ok(valid.collect())
}

/// Returns the sales of groups on each day with sales.
async fn days_of_groups(
    read: &Read<'_>,
    groups: impl Iterator<Item = GroupNo>,
    (first, last): (Day, Day),
    rates: &Rates,
) -> Result<HashMap<GroupNo, Vec<(Day, Turnover)>>, Error> {
    let mut days: HashMap<GroupNo, BTreeMap<Day, Turnover>> = HashMap::new();
    let mut currencies = Currencies::default();
    read.each_of(&DAYS, &numbers(groups), &[first.into(), last.into()], |row| {
        let DayRow { group_no, day, currency, totals } = row.read()?;
        let currency = currencies.parse(currency)?;
        let turnover = days.entry(group_no).or_default().entry(day).or_default();
        turnover.add((currency, rates.on(currency, day)), totals);
        Ok(())
    })
    .await?;
    Ok(days.into_iter().map(|(group, days)| (group, days.into_iter().collect())).collect())
}

/// Reads the sums of segments by device and by product.
async fn read_segments(
    read: &Read<'_>,
    segments: &mut BTreeMap<GroupNo, Vec<(Segment, SegmentSums)>>,
    rates: &Rates,
) -> Result<(), Error> {
    let keys = segments.iter().flat_map(|(group, of_group)| {
        let key = |segment: &Segment| [(*group).into(), segment.0.into(), segment.1.into()];
        of_group.iter().map(move |(segment, _)| key(segment))
    });
    let keys: Vec<[Value<'_>; 3]> = keys.collect();
    let mut currencies = Currencies::default();
    read.each_of(&SUMS, &keys, &[], |row| {
        let SumsRow { group_no, block: row } = row.read()?;
        let currency = currencies.parse(row.currency)?;
        let of_group = segments.get_mut(&group_no).into_iter().flatten();
        for (_, sums) in of_group.filter(|((first, last), _)| (first..=last).contains(&&row.day)) {
            sums.add(&row, currency, rates)?;
        }
        Ok(())
    })
    .await
}

/// Returns the elements of a segment in a list of all days.
fn days_of(days: &[(Day, Turnover)], (first, last): Segment) -> &[(Day, Turnover)] {
    let start = days.partition_point(|(day, _)| *day < first);
    let end = days.partition_point(|(day, _)| *day <= last);
    days.get(start..end).unwrap_or_default()
}

/// Caches segments: all valid ones if there is room, otherwise the ones of this request.
fn insert(
    cache: &Cache,
    group: GroupNo,
    versions: Versions,
    (mut by_days, used): (Cached, &[Segment]),
) {
    let size_of_all =
        |by_days: &Cached| by_days.values().map(|known| known.sums.size()).sum::<usize>();
    let mut size = size_of_all(&by_days);
    if size > GROUP_BYTES_MAX {
        by_days.retain(|segment, _| used.contains(segment));
        size = size_of_all(&by_days);
    }
    cache.insert(Key::Sums(group), size, Arc::new(CachedSegments { versions, by_days }));
}
