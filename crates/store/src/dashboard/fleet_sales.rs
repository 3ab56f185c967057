//! The sales of a group, or of all groups, for the operator. They are read from the same sums as
//! the integrators' reports, so that the figures are the same.

mod attention;
mod names;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use kiosque_model::sales::{DeviceSales, FleetSales, ProductRank, Rates, Totals};
use kiosque_model::{Currency, Day, DeviceNo, GroupId, GroupNo, UnixMs};

use super::figures::days::converted;
use super::figures::device_sums::{Currencies, DeviceSums};
use super::figures::products::{Products, best};
use super::filter::Devices;
use super::sums::{self, add_rate};
use crate::accounts::group_numbers;
use crate::db::{Deadline, Read};
use crate::devices::OnlineSince;
use crate::error::Error;
use crate::rates::RateRow;
use crate::sql::{Value, numbers, row, statements};
use crate::sums::BlockRow;
use crate::sums::device_block::SumsOfDay;
use crate::views::Reports;

row! {
    struct NameRow {
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
    NAMES() -> NameRow = "select l.device_no, l.device_code, l.device_name,
            coalesce(d.device_name, l.device_name) as current_name
        from {rows r: group_no bigint} cross join ledger l
        left join devices d on d.device_code = l.device_code
        where l.group_no = r.group_no";
}

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
            let (sums, rates) = sums_by_day(read, &groups, &query).await?;
            let (days, without_rate) = converted(&sums, &rates, query.first_day);
            let last_before = match days.range(query.first_day..).next() {
                Some(_) => None,
                None => match days.keys().next_back() {
                    Some(last) => Some(*last),
                    None => last_day_before(read, &groups, query.totals_from).await?,
                },
            };
            let (devices, products) = sums_by_device(read, &groups, &rates, &query).await?;
            let best = best(products, query.products_max)?;
            let mut names = names::of_goods(read, &groups, &best).await?;
            let products = best.into_iter().map(|(goods_id, sales)| ProductRank {
                goods_name: names.remove(&goods_id),
                goods_id,
                items: sales.totals.items,
                amount: sales.totals.amount,
            });
            Ok(Some(FleetSales {
                days: days.into_iter().collect(),
                last_before,
                devices,
                products: products.collect(),
                without_rate: without_rate.into_iter().collect(),
                attention: attention::of_groups(read, &zone, &activity, &groups, &query).await?,
            }))
        };
        self.0.db.read(Deadline::OfRequest, sum).await
    }
}

/// Reads the sales of days, and then the rates of their currencies.
async fn sums_by_day(
    read: &Read<'_>,
    groups: &[GroupNo],
    query: &FleetSalesQuery,
) -> Result<(HashMap<(Day, Currency), Totals>, Rates), Error> {
    let range = [query.totals_from.into(), query.last_day.into()];
    let mut sums: HashMap<_, Totals> = HashMap::new();
    let mut currencies = Currencies::default();
    read.each_of(&DAYS, &numbers(groups.iter().copied()), &range, |row| {
        let ((day, currency), totals): ((_, &str), _) = row.read()?;
        sums.entry((day, currencies.parse(currency)?)).or_default().add(totals, 1);
        Ok(())
    })
    .await?;
    let codes: Vec<[Value<'_>; 1]> = currencies.codes().map(|code| [code.into()]).collect();
    let mut rates = Rates::default();
    read.each_of(&RATES, &codes, &range, |row| add_rate(&mut rates, &mut currencies, row)).await?;
    Ok((sums, rates))
}

/// Reads the sales of groups by device, each with its name, and by product.
async fn sums_by_device(
    read: &Read<'_>,
    groups: &[GroupNo],
    rates: &Rates,
    query: &FleetSalesQuery,
) -> Result<(Vec<DeviceSales>, Products), Error> {
    let days = || query.first_day..=query.last_day;
    let mut by_device = DeviceSums::new(days(), Devices::All, BTreeMap::new());
    let mut by_product = DeviceSums::new(days(), Devices::All, Products::default());
    by_device.rates.clone_from(rates);
    by_product.rates.clone_from(rates);
    let mut selling = BTreeSet::new();
    let range = [query.first_day.into(), query.last_day.into()];
    read.each_of(&SUMS, &numbers(groups.iter().copied()), &range, |row| {
        let (group_no, row): (GroupNo, BlockRow<'_>) = row.read()?;
        let BlockRow { day, device_block, currency, devices, products } = row;
        let of = |sums| SumsOfDay { day, device_block, currency, sums };
        selling.insert(group_no);
        by_device.add(of(devices), DeviceSums::add_devices)?;
        by_product.add(of(products), DeviceSums::add_products)
    })
    .await?;
    let mut sales = by_device.sales;
    sales.retain(|_, turnover| turnover.orders != 0);
    let mut devices = Vec::new();
    read.each_of(&NAMES, &numbers(selling), &[], |row| {
        let NameRow { device_no, device_code: code, device_name, current_name } = row.read()?;
        // Of all groups, a device has one name, although its former owners have others.
        let name = if query.group.is_some() { device_name } else { current_name };
        let turnover = sales.remove(&device_no);
        devices.extend(turnover.map(|turnover| DeviceSales { code, name, turnover }));
        Ok(())
    })
    .await?;
    sums::check_named(sales.keys().next().copied())?;
    Ok((devices, by_product.sales))
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
