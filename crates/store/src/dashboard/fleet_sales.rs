//! The sales of a group, or of all groups, for the operator. They are the sums that the reports of
//! integrators read, group by group, so that the figures are the same.

mod names;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kiosque_model::sales::{Turnover, Usd};
use kiosque_model::{Day, DeviceNo, GroupId, GroupNo, UnixMs};

use super::report_query::ReportQuery;
use super::sales_by_device::DeviceSalesReport;
use super::sales_trend::TrendReport;
use super::{
    AnswerContext, DashboardQuery, DeviceSales, ProductSum, Range, Report, Request, SalesBy,
};
use crate::activity::Activity;
use crate::db::{Deadline, Read};
use crate::devices::OnlineSince;
use crate::months::ProductTotals;
use crate::scoped_query::rows_of_group;
use crate::sql::{Sql, row, statements};
use crate::{Error, Refused, Store};

row! {
    struct ListedRow {
        device_no: DeviceNo,
        device_code: String,
        device_name: String,
        last_active_ms: Option<UnixMs>,
    }
    struct WithoutRate { currency: String, orders: i64 }
}

statements! {
    /// Groups by number; an empty id selects all.
    GROUPS(group_id) -> GroupNo = "select group_no from groups
        where $group_id = '' or group_id = $group_id order by group_no";
    /// The devices that a group owns now and device pages list; of a deactivated group none.
    LISTED_DEVICES(group_no, now_ms) -> ListedRow = "select o.device_no, l.device_code,
            l.device_name, l.last_active_ms
        from device_owners o
        join ledger l on l.group_no = $group_no and l.device_code = o.device_code
        join groups g on g.group_no = o.group_no and g.active
        where o.group_no = $group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms
            and o.listed";
    WITHOUT_RATE(group_no, first_day, last_day) -> WithoutRate = "select d.currency,
            cast(sum(d.orders) as bigint) as orders
        from sales_by_day d
        where d.group_no = $group_no and d.day >= $first_day and d.day <= $last_day
            and d.currency <> 'USD' and d.orders <> 0 and not exists (
                select 1 from rates t where t.currency = d.currency and t.day <= d.day
            )
        group by d.currency";
}

/// Every statement of this module and of that below it.
pub(super) fn all() -> impl Iterator<Item = &'static Sql> {
    [ALL, names::ALL].into_iter().flatten().copied()
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

/// The sales of a fleet, and the devices that are silent.
#[derive(Clone, Debug, Default)]
pub struct FleetSales {
    /// Each day with sales from `totals_from` on, in order.
    pub days: Vec<(Day, Turnover)>,
    /// The sales of each device, by code.
    pub devices: Vec<DeviceSales>,
    /// The products that sold best: by items, then by amount, then by `goodsId`.
    pub products: Vec<ProductRank>,
    /// Sales from `first_day` on without an exchange rate: currency, and number of orders.
    pub without_rate: Vec<(String, i64)>,
    /// Enabled devices that an active group owns now.
    pub device_count: i64,
    /// Those of them that are not online: the latest activity first, and last those that never
    /// were active.
    pub silent: Vec<SilentDevice>,
}

/// The sales of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductRank {
    /// `goodsId`, of a known product or of other goods.
    pub goods_id: String,
    /// Its present name; of other goods, the name of their latest sale.
    pub goods_name: Option<String>,
    /// Items sold.
    pub items: i64,
    /// The amount paid for the items that have an exchange rate.
    pub amount: Usd,
}

/// A device that is not online.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilentDevice {
    /// `deviceCode`.
    pub code: String,
    /// `deviceName`.
    pub name: String,
    /// Its last order or heartbeat in its present group.
    pub last_active: Option<UnixMs>,
}

impl Store {
    /// Returns the sales of a group, or of all groups; `None` if there is no such group.
    ///
    /// # Errors
    /// The store failed.
    pub async fn fleet_sales(&self, query: FleetSalesQuery) -> Result<Option<FleetSales>, Error> {
        let request_of = {
            let (zone, now) = (self.zone.clone(), query.now);
            let (activity, cache) = (Arc::clone(&self.activity), Arc::clone(&self.dashboard_cache));
            move |first: Day, last: Day| {
                let (start, end) = (zone.start_of(first), zone.start_of(last.next()));
                Request {
                    query: DashboardQuery { group: None, devices: Vec::new(), start, end },
                    range: Range::of(start, end, &zone),
                    now,
                    zone: zone.clone(),
                    activity: Arc::clone(&activity),
                    cache: Arc::clone(&cache),
                }
            }
        };
        let activity = Arc::clone(&self.activity);
        let sum = async move |read: &Read<'_>| {
            let id = query.group.as_ref().map_or("", GroupId::as_str);
            let groups: Vec<GroupNo> = read.all(&GROUPS, &[id.into()], |row| row.read()).await?;
            if groups.is_empty() && query.group.is_some() {
                return Ok(None);
            }
            let mut sums = FleetSums::default();
            for group in &groups {
                sums.add(read, *group, &query, &request_of).await?;
                sums.add_devices(read, *group, &query, &activity).await?;
            }
            sums.ranked(read, &groups, &query).await.map(Some)
        };
        self.db.read(Deadline::OfRequest, sum).await
    }
}

/// An accumulator for the sales of groups.
#[derive(Default)]
struct FleetSums {
    days: BTreeMap<Day, Turnover>,
    /// By code: a device that has moved sold in several groups.
    devices: BTreeMap<String, DeviceSales>,
    products: HashMap<String, ProductTotals>,
    without_rate: BTreeMap<String, i64>,
    device_count: i64,
    silent: Vec<SilentDevice>,
}

impl FleetSums {
    async fn add(
        &mut self,
        read: &Read<'_>,
        group: GroupNo,
        query: &FleetSalesQuery,
        request_of: &impl Fn(Day, Day) -> Request,
    ) -> Result<(), Error> {
        let FleetSalesQuery { totals_from, first_day, last_day, .. } = *query;
        let mut is_converted = true;
        let request = request_of(totals_from, last_day);
        for (day, turnover) in report_of(read, group, request, TrendReport).await? {
            is_converted &= turnover.unconverted_orders == 0;
            if turnover != Turnover::default() {
                self.days.entry(day).or_default().join(&turnover);
            }
        }
        let request = request_of(first_day, last_day);
        for sales in report_of(read, group, request, DeviceSalesReport).await? {
            match self.devices.get_mut(&sales.code) {
                Some(device) => device.turnover.join(&sales.turnover),
                None => {
                    self.devices.insert(sales.code.clone(), sales);
                }
            }
        }
        let request = request_of(first_day, last_day);
        for (goods_id, totals) in report_of(read, group, request, ProductTotalsReport).await? {
            self.products.entry(goods_id).or_default().join(totals);
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
        Ok(())
    }

    async fn add_devices(
        &mut self,
        read: &Read<'_>,
        group: GroupNo,
        query: &FleetSalesQuery,
        activity: &Activity,
    ) -> Result<(), Error> {
        read.each(&LISTED_DEVICES, &[group.into(), query.now.into()], |row| {
            let ListedRow { device_no, device_code: code, device_name: name, last_active_ms } =
                row.read()?;
            let last_active = activity.merged((group, device_no), last_active_ms);
            self.device_count += 1;
            if !query.online.holds(last_active) {
                self.silent.push(SilentDevice { code, name, last_active });
            }
            Ok(())
        })
        .await
    }

    /// Sorts the lists, and looks up the names of the products that sold best.
    async fn ranked(
        self,
        read: &Read<'_>,
        groups: &[GroupNo],
        query: &FleetSalesQuery,
    ) -> Result<FleetSales, Error> {
        let mut silent = self.silent;
        silent.sort_by(|one, other| {
            (Reverse(one.last_active), &one.code).cmp(&(Reverse(other.last_active), &other.code))
        });
        let mut products: Vec<(String, ProductTotals)> =
            self.products.into_iter().filter(|(_, totals)| totals.items > 0).collect();
        products.sort_unstable_by(|(one_id, one), (other_id, other)| {
            let by =
                |totals: &ProductTotals| (Reverse(totals.items), Reverse(totals.amount.cents()));
            by(one).cmp(&by(other)).then_with(|| one_id.cmp(other_id))
        });
        products.truncate(query.products_max);
        let mut names = names::of_goods(read, groups, &products).await?;
        let products = products.into_iter().map(|(goods_id, totals)| ProductRank {
            goods_name: names.remove(&goods_id),
            goods_id,
            items: totals.items,
            amount: totals.amount,
        });
        Ok(FleetSales {
            days: self.days.into_iter().collect(),
            devices: self.devices.into_values().collect(),
            products: products.collect(),
            without_rate: self.without_rate.into_iter().collect(),
            device_count: self.device_count,
            silent,
        })
    }
}

/// Returns the answer of a report about a group.
async fn report_of<R: Report>(
    read: &Read<'_>,
    group: GroupNo,
    request: Request,
    report: R,
) -> Result<R::Answer, Error> {
    let query = ReportQuery { request, report };
    let rows = rows_of_group(read, &query, group).await?;
    query.answer_about(rows, group).map_err(|refused| match refused {
        Refused::Store(error) => error,
        Refused::Refusal(refusal) => Error::Data(format!("a report was refused: {refusal:?}")),
    })
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
