//! The sales of a group, or of all groups, for the operator. They are the sums that the reports of
//! integrators read, group by group, so that the figures are the same. Those by device and by
//! product are cached.

mod attention;
mod group_sums;
mod names;
mod segments;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kiosque_model::need::Attention;
use kiosque_model::sales::{DeviceSales, FleetSales, ProductRank, Turnover};
use kiosque_model::{Day, DeviceNo, GroupId, GroupNo, UnixMs, Zone};

use super::figures::days::{days_within, every_day, totals_of_days};
use super::figures::products::{ProductTotals, ranked};
use super::range::Range;
use super::sales_by_device::{named, names};
use super::sums;
use crate::activity::Activity;
use crate::cache::Cache;
use crate::db::{Deadline, Read};
use crate::devices::OnlineSince;
use crate::error::Error;
use crate::scoped::HintedGroup;
use crate::sql::{Sql, row, statements};
use crate::views::Reports;
use group_sums::{SegmentSums, Segments};

row! {
    struct WithoutRate { currency: String, orders: i64 }
}

statements! {
    /// Groups by number; an empty id selects all.
    GROUPS(group_id) -> GroupNo = "select group_no from groups
        where $group_id = '' or group_id = $group_id order by group_no";
    LAST_DAY(group_no, before) -> Day = "select day from sales_by_day
        where group_no = $group_no and day < $before and orders <> 0
        order by day desc limit 1";
    WITHOUT_RATE(group_no, first_day, last_day) -> WithoutRate = "select d.currency,
            cast(sum(d.orders) as bigint) as orders
        from sales_by_day d
        where d.group_no = $group_no and d.day >= $first_day and d.day <= $last_day
            and d.currency <> 'USD' and d.orders <> 0 and not exists (
                select 1 from rates t where t.currency = d.currency and t.day <= d.day
            )
        group by d.currency";
}

/// The largest number of snapshots that are read with the cache.
const CACHED_ATTEMPTS: usize = 3;

/// Every statement of this module and of those below it.
pub(super) fn all() -> impl Iterator<Item = &'static Sql> {
    [ALL, attention::ALL, names::ALL, group_sums::ALL].into_iter().flatten().copied()
}

/// Selects sales.
#[derive(Clone, Debug)]
pub struct FleetSalesQuery {
    /// Only those of this group.
    pub group: Option<GroupId>,
    /// The first of the days whose totals are read.
    pub totals_from: Day,
    /// The first day of the sales by device and by product; not before `totals_from`.
    pub first_day: Day,
    /// The last day of all sales.
    pub last_day: Day,
    /// The largest number of products.
    pub products_max: usize,
    /// The last activity from which a device is online.
    pub online: OnlineSince,
    /// The time of the request, which decides about the owners of devices.
    pub now: UnixMs,
}

impl Reports<'_> {
    /// Returns the sales of a group, or of all groups; `None` if there is no such group.
    ///
    /// # Errors
    /// The store failed.
    pub async fn fleet_sales(self, query: FleetSalesQuery) -> Result<Option<FleetSales>, Error> {
        let mut context = Context {
            zone: self.0.zone.clone(),
            now: query.now,
            activity: Arc::clone(&self.0.activity),
            cache: Arc::clone(&self.0.cache),
        };
        for _ in 0..CACHED_ATTEMPTS {
            match self.read_sales(query.clone(), context.clone()).await? {
                FleetRead::Sales(sales) => return Ok(Some(*sales)),
                FleetRead::NoGroup => return Ok(None),
                FleetRead::Outdated => {}
            }
        }
        // A cache without room has nothing that is later than a snapshot.
        context.cache = Arc::new(Cache::new(0));
        match self.read_sales(query, context).await? {
            FleetRead::Sales(sales) => Ok(Some(*sales)),
            FleetRead::NoGroup | FleetRead::Outdated => Ok(None),
        }
    }

    async fn read_sales(
        self,
        query: FleetSalesQuery,
        context: Context,
    ) -> Result<FleetRead, Error> {
        let sum = async move |read: &Read<'_>| {
            let id = query.group.as_ref().map_or("", GroupId::as_str);
            let groups: Vec<GroupNo> = read.all(&GROUPS, &[id.into()], |row| row.read()).await?;
            if groups.is_empty() && query.group.is_some() {
                return Ok(FleetRead::NoGroup);
            }
            let mut sums = FleetSums::default();
            for group in &groups {
                if sums.add(read, *group, &query, &context).await? == Added::Outdated {
                    return Ok(FleetRead::Outdated);
                }
                let (today, activity) = (context.zone.day_of(query.now), &context.activity);
                let attention = &mut sums.attention;
                attention::add(attention, read, *group, (&query, today), activity).await?;
            }
            Ok(FleetRead::Sales(Box::new(sums.ranked(read, &groups, &query).await?)))
        };
        self.0.db.read(Deadline::OfRequest, sum).await
    }
}

/// The parts of the store that sales are read with.
#[derive(Clone)]
struct Context {
    zone: Zone,
    now: UnixMs,
    activity: Arc<Activity>,
    cache: Arc<Cache>,
}

impl Context {
    /// Returns the range of whole days.
    fn range(&self, first: Day, last: Day) -> Option<Range> {
        let (start, end) = (self.zone.start_of(first), self.zone.start_of(last.next()));
        Range::of(start, end, &self.zone)
    }
}

/// The result of reading one snapshot.
enum FleetRead {
    Sales(Box<FleetSales>),
    NoGroup,
    /// Cached sums are of a later snapshot.
    Outdated,
}

/// Whether the sales of a group were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Added {
    All,
    /// The cached sums are of a later snapshot.
    Outdated,
}

/// An accumulator for the sales of groups.
#[derive(Default)]
struct FleetSums {
    days: BTreeMap<Day, Turnover>,
    /// By code: a device that has moved sold in several groups.
    devices: HashMap<String, DeviceSales>,
    products: HashMap<String, ProductTotals>,
    without_rate: BTreeMap<String, i64>,
    attention: Attention,
}

impl FleetSums {
    async fn add(
        &mut self,
        read: &Read<'_>,
        group: GroupNo,
        query: &FleetSalesQuery,
        context: &Context,
    ) -> Result<Added, Error> {
        let FleetSalesQuery { totals_from, first_day, last_day, .. } = *query;
        let days = days_of(read, context, group, (totals_from, last_day)).await?;
        let today = context.zone.day_of(context.now);
        let segments = segments::segments(first_day, last_day, today);
        let sums = match group_sums::of_group(read, context, group, (&segments, &days)).await? {
            Segments::Read(sums) => sums,
            Segments::Outdated => return Ok(Added::Outdated),
        };
        self.add_sums(read, group, &sums).await?;
        let is_converted = days.iter().all(|(_, turnover)| turnover.unconverted_orders == 0);
        for (day, turnover) in days {
            if turnover != Turnover::default() {
                self.days.entry(day).or_default().join(&turnover);
            }
        }
        if !is_converted {
            let days = [group.into(), first_day.into(), last_day.into()];
            read.each(&WITHOUT_RATE, &days, |row| {
                let WithoutRate { currency, orders } = row.read()?;
                *self.without_rate.entry(currency).or_default() += orders;
                Ok(())
            })
            .await?;
        }
        Ok(Added::All)
    }

    /// Adds the sales of a group by device and by product.
    async fn add_sums(
        &mut self,
        read: &Read<'_>,
        group: GroupNo,
        segments: &[Arc<SegmentSums>],
    ) -> Result<(), Error> {
        let mut devices: BTreeMap<DeviceNo, Turnover> = BTreeMap::new();
        for sums in segments {
            for (device, turnover) in &sums.devices {
                devices.entry(*device).or_default().join(turnover);
            }
            for (goods_id, totals) in &sums.products {
                match self.products.get_mut(goods_id) {
                    Some(product) => product.join(*totals),
                    None => {
                        self.products.insert(goods_id.clone(), *totals);
                    }
                }
            }
        }
        devices.retain(|_, turnover| turnover.orders != 0);
        if devices.is_empty() {
            return Ok(());
        }
        let names = read.together(names(None, HintedGroup::for_operator(group))).await?;
        for sales in named(devices, names)? {
            match self.devices.get_mut(&sales.code) {
                Some(device) => device.turnover.join(&sales.turnover),
                None => {
                    self.devices.insert(sales.code.clone(), sales);
                }
            }
        }
        Ok(())
    }

    /// Sorts the lists, and looks up the names of the products that sold best.
    async fn ranked(
        self,
        read: &Read<'_>,
        groups: &[GroupNo],
        query: &FleetSalesQuery,
    ) -> Result<FleetSales, Error> {
        let products = ranked(self.products, |totals| *totals, query.products_max);
        let mut names = names::of_goods(read, groups, &products).await?;
        let products = products.into_iter().map(|(goods_id, totals)| ProductRank {
            goods_name: names.remove(&goods_id),
            goods_id,
            items: totals.items,
            amount: totals.amount,
        });
        let last_before = match self.days.range(query.first_day..).next() {
            Some(_) => None,
            None => last_day_before(read, groups, query.first_day).await?,
        };
        Ok(FleetSales {
            days: self.days.into_iter().collect(),
            last_before,
            devices: self.devices.into_values().collect(),
            products: products.collect(),
            without_rate: self.without_rate.into_iter().collect(),
            attention: self.attention,
        })
    }
}

/// Returns the last day before another on which one of the groups has sales.
async fn last_day_before(
    read: &Read<'_>,
    groups: &[GroupNo],
    before: Day,
) -> Result<Option<Day>, Error> {
    let mut last = None;
    for group in groups {
        let params = [(*group).into(), before.into()];
        last = last.max(read.one(&LAST_DAY, &params, |row| row.read()).await?);
    }
    Ok(last)
}

/// Returns the sales of every day from the first to the last.
async fn days_of(
    read: &Read<'_>,
    context: &Context,
    group: GroupNo,
    (first, last): (Day, Day),
) -> Result<Vec<(Day, Turnover)>, Error> {
    let Some(range) = context.range(first, last) else { return Ok(Vec::new()) };
    let group = HintedGroup::for_operator(group);
    let (sums, rates) =
        read.together((sums::days(&range, group), sums::rates(&range, group))).await?;
    let days = days_within(&totals_of_days(&sums, &rates)?, &range);
    Ok(every_day(&days, Some(&range), &context.zone))
}
