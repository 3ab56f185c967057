//! The sales of a group, or of all groups, for the operator. They are read from the same sums as
//! the integrators' reports, so that the figures are the same. Each statement reads all groups, or
//! those whose sums by device and by product are added next.

mod attention;
mod names;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use kiosque_model::need::Attention;
use kiosque_model::sales::{DeviceSales, FleetSales, ProductRank, Rates, Totals, Turnover};
use kiosque_model::{Currency, Day, DeviceNo, GroupId, GroupNo, Minor, UnixMs};

use super::figures::device_sums::Currencies;
use super::figures::products::{ProductTotals, ranked};
use super::sums::{self, add_rate};
use crate::accounts::group_numbers;
use crate::db::{Deadline, Read};
use crate::devices::OnlineSince;
use crate::error::Error;
use crate::rates::RateRow;
use crate::sql::{Value, numbers, row, statements};
use crate::sums::device_block::{each_device, each_product};
use crate::sums::{BlockRow, totals_of};
use crate::views::Reports;

row! {
    struct NameRow {
        group_no: GroupNo,
        device_no: DeviceNo,
        device_code: String,
        device_name: String,
        current_name: String,
    }
}

statements! {
    [attention, names]
    /// The sales of each day; on SQLite, of each day and group.
    DAYS(first_day, last_day) -> ((Day, &str), Totals) = "select d.day, d.currency,
            cast(sum(d.orders) as bigint) as orders, cast(sum(d.items) as bigint) as items,
            cast(sum(d.amount) as bigint) as amount, cast(sum(d.refund) as bigint) as refund,
            cast(sum(d.shipped) as bigint) as shipped, cast(sum(d.failed) as bigint) as failed
        from {rows r: group_no bigint} cross join sales_by_day d
        where d.group_no = r.group_no and d.day >= $first_day and d.day <= $last_day
        group by d.day, d.currency";
    SUMS(first_day, last_day) -> (GroupNo, BlockRow<'_>) = "select s.group_no, s.day,
            s.device_block, s.currency, s.devices, s.products
        from {rows r: group_no bigint} cross join sales_by_device s
        where s.group_no = r.group_no and s.day >= $first_day and s.day <= $last_day";
    /// The rate on the first day, and all later rates.
    RATES(first_day, last_day) -> RateRow<'_> = "select t.currency, t.day, t.usd_per_unit_e12
        from {rows r: currency text} cross join rates t
        where t.currency = r.currency and t.day <= $last_day and t.day >= coalesce((
            select max(day) from rates where currency = r.currency and day <= $first_day
        ), $first_day)
        order by t.currency, t.day";
    /// The last day with sales in a range; on SQLite, of each group.
    LAST_DAY(first_day, before) -> Option<Day> = "select max(d.day) as day
        from {rows r: group_no bigint} cross join sales_by_day d
        where d.group_no = r.group_no and d.day >= $first_day and d.day < $before
            and d.orders <> 0";
    /// The devices that groups own or ever owned. A former owner has the name that a device had
    /// last while it owned it.
    NAMES() -> NameRow = "select l.group_no, l.device_no, l.device_code, l.device_name,
            coalesce(d.device_name, l.device_name) as current_name
        from {rows r: group_no bigint} cross join ledger l
        left join devices d on d.device_code = l.device_code
        where l.group_no = r.group_no";
}

/// The number of groups whose sums are held in memory together.
const GROUPS_TOGETHER: usize = 64;
/// The lengths, in days, of the ranges that are searched for the last day with sales.
const LOOKED_BACK: [i64; 3] = [31, 366, i64::MAX];

/// Selects sales.
#[derive(Clone, Debug)]
pub struct FleetSalesQuery {
    /// Only in this group.
    pub group: Option<GroupId>,
    /// The first of the days whose totals are read.
    pub totals_from: Day,
    /// The first day of the sales by device and by product; not before `totals_from`.
    pub first_day: Day,
    /// The last day of all sales.
    pub last_day: Day,
    /// The largest number of products.
    pub products_max: usize,
    /// The earliest last activity with which a device is online.
    pub online: OnlineSince,
    /// The time of the request, which determines the owners of devices.
    pub now: UnixMs,
}

impl Reports<'_> {
    /// Returns the sales of a group, or of all groups; `None` if there is no such group.
    ///
    /// # Errors
    /// The store failed.
    pub async fn fleet_sales(self, query: FleetSalesQuery) -> Result<Option<FleetSales>, Error> {
        let zone = self.0.zone.clone();
        let activity = Arc::clone(&self.0.activity);
        let sum = async move |read: &Read<'_>| {
            let groups = group_numbers(read, query.group.as_ref()).await?;
            if groups.is_empty() && query.group.is_some() {
                return Ok(None);
            }
            let totals = Converted::read(read, &groups, &query).await?;
            let mut fleet = FleetSums::default();
            for groups in groups.chunks(GROUPS_TOGETHER) {
                fleet.add(read, groups, &totals.rates, &query).await?;
            }
            let attention = attention::of_groups(read, &zone, &activity, &groups, &query).await?;
            fleet.ranked(read, &groups, &query, totals, attention).await.map(Some)
        };
        self.0.db.read(Deadline::OfRequest, sum).await
    }
}

/// The sales of days, and the rates by which they are converted.
struct Converted {
    /// The days with sales.
    days: BTreeMap<Day, Turnover>,
    /// The number of sales without a rate on the days of the sales by device, by currency.
    without_rate: BTreeMap<String, i64>,
    rates: Rates,
}

impl Converted {
    async fn read(
        read: &Read<'_>,
        groups: &[GroupNo],
        query: &FleetSalesQuery,
    ) -> Result<Converted, Error> {
        let range = [query.totals_from.into(), query.last_day.into()];
        let mut sums = BTreeMap::new();
        let mut currencies = Currencies::default();
        read.each_of(&DAYS, &numbers(groups.iter().copied()), &range, |row| {
            let ((day, currency), totals): ((_, &str), _) = row.read()?;
            let currency = currencies.parse(currency)?;
            let (_, sum): &mut (Currency, Totals) =
                sums.entry((day, currency.code())).or_insert((currency, Totals::default()));
            sum.add(totals, 1);
            Ok(())
        })
        .await?;
        let codes: Vec<[Value<'_>; 1]> = currencies.codes().map(|code| [code.into()]).collect();
        let mut rates = Rates::default();
        read.each_of(&RATES, &codes, &range, |row| add_rate(&mut rates, &mut currencies, row))
            .await?;
        let (mut days, mut without_rate) = (BTreeMap::new(), BTreeMap::new());
        for ((day, code), (currency, totals)) in sums {
            let rate = rates.on(currency, day);
            if !totals.is_zero() {
                let turnover: &mut Turnover = days.entry(day).or_default();
                turnover.add((currency, rate), totals);
            }
            if totals.orders != 0 && rate.is_none() && day >= query.first_day {
                *without_rate.entry(code.to_owned()).or_default() += totals.orders;
            }
        }
        Ok(Converted { days, without_rate, rates })
    }
}

/// The sales of groups by device and by product.
#[derive(Default)]
struct FleetSums {
    /// The sales of devices by code: a device that has moved sold in several groups.
    devices: HashMap<String, DeviceSales>,
    products: HashMap<String, ProductTotals>,
}

impl FleetSums {
    async fn add(
        &mut self,
        read: &Read<'_>,
        groups: &[GroupNo],
        rates: &Rates,
        query: &FleetSalesQuery,
    ) -> Result<(), Error> {
        let mut devices: HashMap<(GroupNo, DeviceNo), Turnover> = HashMap::new();
        let mut currencies = Currencies::default();
        let range = [query.first_day.into(), query.last_day.into()];
        read.each_of(&SUMS, &numbers(groups.iter().copied()), &range, |row| {
            let (group_no, block): (_, BlockRow<'_>) = row.read()?;
            let currency = currencies.parse(block.currency)?;
            let conversion = (currency, rates.on(currency, block.day));
            each_device(block.devices, block.device_block, |device, figures| {
                devices.entry((group_no, device)).or_default().add(conversion, totals_of(figures));
            })?;
            each_product(block.products, |product| {
                let [items, amount] = product.figures;
                let goods_id = product.goods_id()?;
                let sales = ProductTotals::of(items, Minor(amount), conversion);
                match self.products.get_mut(goods_id) {
                    Some(known) => known.join(sales),
                    None => {
                        self.products.insert(goods_id.to_owned(), sales);
                    }
                }
                Ok(())
            })
        })
        .await?;
        devices.retain(|_, turnover| turnover.orders != 0);
        let selling: BTreeSet<GroupNo> = devices.keys().map(|(group, _)| *group).collect();
        read.each_of(&NAMES, &numbers(selling), &[], |row| {
            let NameRow { group_no, device_no, device_code, device_name, current_name } =
                row.read()?;
            // Of all groups, a device has one name, although its former owners have others.
            let name = if query.group.is_some() { device_name } else { current_name };
            let Some(turnover) = devices.remove(&(group_no, device_no)) else { return Ok(()) };
            let code = device_code.clone();
            let new = || DeviceSales { code, name, turnover: Turnover::default() };
            self.devices.entry(device_code).or_insert_with(new).turnover.join(&turnover);
            Ok(())
        })
        .await?;
        sums::check_named(devices.keys().next().map(|(_, device)| *device))
    }

    /// Sorts the lists, and looks up the names of the products that sold best.
    async fn ranked(
        self,
        read: &Read<'_>,
        groups: &[GroupNo],
        query: &FleetSalesQuery,
        totals: Converted,
        attention: Attention,
    ) -> Result<FleetSales, Error> {
        let products = ranked(self.products, |totals| *totals, query.products_max);
        let mut names = names::of_goods(read, groups, &products).await?;
        let products = products.into_iter().map(|(goods_id, totals)| ProductRank {
            goods_name: names.remove(&goods_id),
            goods_id,
            items: totals.items,
            amount: totals.amount,
        });
        let Converted { days, without_rate, .. } = totals;
        let last_before = match days.range(query.first_day..).next() {
            Some(_) => None,
            None => match days.keys().next_back() {
                Some(last) => Some(*last),
                None => last_day_before(read, groups, query.totals_from).await?,
            },
        };
        Ok(FleetSales {
            days: days.into_iter().collect(),
            last_before,
            devices: self.devices.into_values().collect(),
            products: products.collect(),
            without_rate: without_rate.into_iter().collect(),
            attention,
        })
    }
}

/// Returns the last day before another on which one of the groups has sales.
async fn last_day_before(
    read: &Read<'_>,
    groups: &[GroupNo],
    before: Day,
) -> Result<Option<Day>, Error> {
    for back in LOOKED_BACK {
        let first = Day(before.0.saturating_sub(back));
        let groups = numbers(groups.iter().copied());
        let range = [first.into(), before.into()];
        let last: Vec<Option<Day>> = read.all_of(&LAST_DAY, &groups, &range).await?;
        if let Some(last) = last.into_iter().flatten().max() {
            return Ok(Some(last));
        }
    }
    Ok(None)
}
