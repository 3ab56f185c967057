//! Recounts from the orders everything that is stored as a count or a sum, and lists each
//! difference and each unreadable record.
//!
//! Every group is read in a separate snapshot: a snapshot of all groups would keep the old rows of
//! busy tables for as long as a recount takes.

mod fleet;
mod sums;

use std::collections::{BTreeMap, BTreeSet};

use kiosque_model::{Day, GroupNo, UnixMs};

use crate::archive::LedgerRow;
use crate::db::{Deadline, INTEGRITY, Read};
use crate::error::Error;
use crate::orders::blocks::BLOCK_ORDERS;
use crate::sql::{row, statements};
use crate::views::Upkeep;
use crate::{aisle_texts, dictionaries, metadata};

row! {
    /// A group to recount.
    #[derive(Clone, Debug)]
    struct Group { number: GroupNo, id: String }
    #[derive(Default)]
    struct OrderCounts {
        count: i64,
        lowest: i64,
        highest: i64,
        distinct_count: i64,
        last_change_no: i64,
    }
    #[derive(Default)]
    struct Arrivals { count: i64, first: i64, last: i64 }
    struct StockRow<'r> { device_code: &'r str, stored: i64, counted: i64 }
}

statements! {
    [fleet, sums]
    LEDGERS(group_no) -> (LedgerRow, i64) = "select group_no, device_code, device_no, first_seq,
            archived_seq, last_seq, blocked_seq, last_change_no
        from ledger where group_no = $group_no order by device_code";
    RECOUNT(group_no, device_no) -> OrderCounts = "select count(*) as count,
            coalesce(min(seq), 0) as lowest, coalesce(max(seq), 0) as highest,
            count(distinct seq) as distinct_count,
            coalesce(max(change_no), 0) as last_change_no
        from orders where group_no = $group_no and device_no = $device_no";
    GROUPS() -> Group = "select group_no as number, group_id as id from groups order by group_no";
    NEXT_GROUP(after_no) -> GroupNo = "select group_no from orders where group_no > $after_no
        order by group_no limit 1";
    ORDERS(group_no) -> i64 = "select count(*) from orders where group_no = $group_no";
    LAST_CHANGE_COUNTED(group_no) -> i64 = "select last_change_no from group_changes
        where group_no = $group_no";
    LAST_CHANGE(group_no) -> i64 = "select coalesce(max(change_no), 0) from orders
        where group_no = $group_no";
    FIRST_CHANGE(group_no) -> i64 = "select change_no from orders where group_no = $group_no
        order by change_no limit 1";
    FIRST_HISTORY(group_no) -> i64 = "select first_change_no from group_histories
        where group_no = $group_no order by first_change_no limit 1";
    BLOCKS(group_no, device_no) -> i64 = "select count(*) from order_blocks
        where group_no = $group_no and device_no = $device_no";
    OUTSIDE(group_no, device_no) -> i64 = "select count(*)
        from order_blocks b join orders o on o.group_no = $group_no and o.device_no = $device_no
            and o.seq > b.block * 64 and o.seq <= b.block * 64 + 64
        where b.group_no = $group_no and b.device_no = $device_no
            and (o.trade_start_ms < b.first_ms or o.trade_start_ms > b.last_ms)";
    STOCKS() -> StockRow<'_> = "select d.device_code, d.total_curr_stock as stored, (
            select cast(coalesce(sum(a.curr_stock), 0) as bigint)
            from aisles a where a.device_no = d.device_no
        ) as counted from devices d order by d.device_code";
    WITHOUT_OWNER() -> String = "select d.device_code from devices d
        where d.device_no not in (select o.device_no from device_owners o
            where o.until_ms = 9223372036854775807)";
    ARRIVALS() -> Arrivals = "select count(*) as count, coalesce(min(arrival_no), 0) as first,
            coalesce(max(arrival_no), 0) as last
        from arrivals";
    LAST_ENTRY() -> i64 = "select coalesce(max(entry_no), 0) from audit";
    LAST_REFUSED_REQUEST() -> i64 = "select coalesce(max(number), 0) from refused_requests";
}

/// The result of a recount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Orders counted.
    pub orders: i64,
    /// Ledgers compared with them.
    pub ledgers: usize,
    /// Sums of sales that were recounted.
    pub sums: usize,
    /// A description of each difference.
    pub differences: Vec<String>,
    /// A description of each difference that other rules of the time zone explain: local times in
    /// orders, and the sums of days that then have other orders. They are no damage: a version of
    /// this program with other rules for the zone stored the orders.
    pub by_other_rules: Vec<String>,
    /// The last arrival of an order.
    last_arrival: i64,
    /// Differences of the sums of the current group, with their days.
    of_sums: Vec<(Day, String)>,
    /// Days of the current group that have other orders by other rules.
    days_by_other_rules: BTreeSet<Day>,
    /// Orders of the current group that are being refunded.
    refunding: i64,
    /// Names of goods of the current group, with the times of their sales; `None` once the sale is
    /// found.
    names: BTreeMap<String, Option<(UnixMs, String)>>,
    /// Other goods that sales of the current group name; most are products.
    goods_without_name: BTreeSet<String>,
}

impl Upkeep<'_> {
    /// Checks the database file, and recounts each group in a separate snapshot. Damage is reported
    /// among the differences, and the recount continues after it.
    ///
    /// # Errors
    /// The store failed for a reason other than damaged data.
    pub async fn verify(self) -> Result<Verified, Error> {
        let mut verified = Verified::default();
        let check = async |read: &Read<'_>, found: &mut Verified| {
            found.differences.extend(read.integrity(&INTEGRITY)?);
            Ok::<_, Error>(())
        };
        self.check_part("the database file", &mut verified, check).await?;
        self.check_part("the devices", &mut verified, stocks_and_owners).await?;
        self.check_part("the dictionaries", &mut verified, stored_dictionaries).await?;
        self.verify_orders_across_groups(&mut verified).await?;
        for group in self.groups_to_verify(&mut verified).await? {
            let name = format!("group {}", group.id);
            let ledgers = group.clone();
            let check = async move |read: &Read<'_>, found: &mut Verified| {
                ledgers.check_ledgers(read, found).await?;
                ledgers.check_changes(read, found).await?;
                fleet::check(read, &ledgers, found).await
            };
            self.check_part(&name, &mut verified, check).await?;
            let zone = self.0.zone.clone();
            let check = async move |read: &Read<'_>, found: &mut Verified| {
                sums::check(read, &group, &zone, found).await
            };
            self.check_part(&name, &mut verified, check).await?;
        }
        // After the orders: a counter only grows.
        let last_arrival = verified.last_arrival;
        let check = async move |read: &Read<'_>, found: &mut Verified| {
            check_counters(read, last_arrival, found).await
        };
        self.check_part("the counters", &mut verified, check).await?;
        Ok(verified)
    }

    /// Runs a check in a snapshot, adds its results, and returns what it returns. Damage ends the
    /// check and is a difference; then nothing is returned.
    async fn check_part<T: Default + Send + 'static>(
        self,
        name: &str,
        verified: &mut Verified,
        check: impl AsyncFnOnce(&Read<'_>, &mut Verified) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let read = async move |read: &Read<'_>| {
            let mut found = Verified::default();
            let ran = check(read, &mut found).await;
            Ok::<_, Error>((found, ran))
        };
        let ran = match self.0.db.read(Deadline::None, read).await {
            Ok((found, ran)) => {
                verified.add(found);
                ran
            }
            Err(error) => Err(error),
        };
        verified.note_damage(name, ran)
    }

    /// Returns all groups, and reports orders of nonexistent groups.
    async fn groups_to_verify(self, verified: &mut Verified) -> Result<Vec<Group>, Error> {
        let groups = async |read: &Read<'_>, found: &mut Verified| {
            let mut groups: Vec<Group> = read.all(&GROUPS, &[]).await?;
            let mut after = GroupNo(i64::MIN);
            let mut differences = Vec::new();
            while let Some(number) = read.one::<GroupNo>(&NEXT_GROUP, &[after.into()]).await? {
                if !groups.iter().any(|group| group.number == number) {
                    let id = format!("number {}", number.0);
                    differences.push(format!("group {id}: it has orders and does not exist"));
                    groups.push(Group { number, id });
                }
                after = number;
            }
            found.differences = differences;
            Ok::<_, Error>(groups)
        };
        self.check_part("the groups", verified, groups).await
    }
}

impl Verified {
    fn add(&mut self, other: Verified) {
        self.orders += other.orders;
        self.ledgers += other.ledgers;
        self.sums += other.sums;
        self.last_arrival = self.last_arrival.max(other.last_arrival);
        self.differences.extend(other.differences);
        self.by_other_rules.extend(other.by_other_rules);
    }

    /// Reports that a part could not be read, if the cause is damaged data.
    fn note_damage<T: Default>(&mut self, name: &str, ran: Result<T, Error>) -> Result<T, Error> {
        match ran {
            Err(error) if error.is_damage() => {
                self.differences.push(format!("{name}: cannot be read further: {error}"));
                Ok(T::default())
            }
            ran => ran,
        }
    }
}

async fn stored_dictionaries(read: &Read<'_>, found: &mut Verified) -> Result<(), Error> {
    for number in dictionaries::damaged(read).await? {
        found
            .differences
            .push(format!("dictionary {number}: its content does not match its checksum"));
    }
    Ok(())
}

async fn stocks_and_owners(read: &Read<'_>, found: &mut Verified) -> Result<(), Error> {
    read.each(&STOCKS, &[], |row| {
        let StockRow { device_code, stored, counted } = row.read()?;
        if stored != counted {
            found.differences.push(format!(
                "device {device_code}: stock {stored} is stored, its aisles hold {counted}"
            ));
        }
        Ok(())
    })
    .await?;
    for code in aisle_texts::outdated(read).await? {
        found
            .differences
            .push(format!("device {code}: the stored aisle hierarchy does not match its aisles"));
    }
    for code in read.all::<String>(&WITHOUT_OWNER, &[]).await? {
        found.differences.push(format!("device {code}: it has no owner"));
    }
    fleet::check_periods(read, found).await
}

impl Group {
    async fn check_ledgers(&self, read: &Read<'_>, found: &mut Verified) -> Result<(), Error> {
        let mut in_ledgers = 0;
        let number = [self.number.into()];
        let ledgers: Vec<(LedgerRow, i64)> = read.all(&LEDGERS, &number).await?;
        for (ledger, last_change_no) in ledgers {
            found.ledgers += 1;
            let params = [self.number.into(), ledger.device_no.into()];
            let recount: OrderCounts = read.one(&RECOUNT, &params).await?.unwrap_or_default();
            in_ledgers += recount.count;
            let name = format!("group {}, device {}", self.id, ledger.device_code);
            found.differences.extend(ledger.differences(&name, &recount));
            if last_change_no != recount.last_change_no {
                found.differences.push(format!(
                    "{name}: the ledger has change {last_change_no} as the last one, \
                     orders have {}",
                    recount.last_change_no
                ));
            }
            check_blocks(read, &ledger, &name, found).await?;
        }
        let orders = read.one::<i64>(&ORDERS, &number).await?.unwrap_or(0);
        found.orders += orders;
        if in_ledgers != orders {
            found.differences.push(format!(
                "group {}: {orders} orders are stored, {in_ledgers} belong to a ledger",
                self.id
            ));
        }
        Ok(())
    }

    async fn check_changes(&self, read: &Read<'_>, found: &mut Verified) -> Result<(), Error> {
        let number = [self.number.into()];
        let last = read.one::<i64>(&LAST_CHANGE_COUNTED, &number).await?.unwrap_or(0);
        let highest = read.one::<i64>(&LAST_CHANGE, &number).await?.unwrap_or(0);
        if highest > last {
            found.differences.push(format!(
                "group {}: an order has change number {highest}, the counter is at {last}",
                self.id
            ));
        }
        let change = read.one::<i64>(&FIRST_CHANGE, &number).await?;
        let history = read.one::<i64>(&FIRST_HISTORY, &number).await?;
        if let Some(change) = change
            && history.is_none_or(|first| first > change)
        {
            found.differences.push(format!(
                "group {}: an order has change number {change}, which no history includes",
                self.id
            ));
        }
        Ok(())
    }
}

impl LedgerRow {
    fn differences(&self, name: &str, orders: &OrderCounts) -> Vec<String> {
        let LedgerRow { first_seq, archived_seq, last_seq, .. } = self;
        let OrderCounts { count, lowest, highest, distinct_count, .. } = orders;
        let mut differences = Vec::new();
        if *count != last_seq - first_seq + 1 {
            differences.push(format!(
                "{name}: the ledger has sequence {first_seq} to {last_seq}, \
                 {count} orders are stored"
            ));
        } else if *count > 0 && (lowest, highest) != (first_seq, last_seq) {
            differences.push(format!(
                "{name}: the ledger has sequence {first_seq} to {last_seq}, \
                 orders {lowest} to {highest}"
            ));
        } else if distinct_count != count {
            differences
                .push(format!("{name}: {count} orders share {distinct_count} sequence numbers"));
        }
        if *archived_seq < first_seq - 1 || archived_seq > last_seq {
            differences.push(format!(
                "{name}: the archive boundary {archived_seq} is outside of sequence \
                 {first_seq} to {last_seq}"
            ));
        }
        differences
    }
}

/// Compares the blocks of a device's orders with the orders.
async fn check_blocks(
    read: &Read<'_>,
    ledger: &LedgerRow,
    name: &str,
    found: &mut Verified,
) -> Result<(), Error> {
    let LedgerRow { group_no, device_no, last_seq: last, blocked_seq: blocked, .. } = *ledger;
    let of_device = [group_no.into(), device_no.into()];
    let blocks = read.one::<i64>(&BLOCKS, &of_device).await?.unwrap_or(0);
    if blocked != blocks * BLOCK_ORDERS || blocked > last {
        found.differences.push(format!(
            "{name}: orders up to {blocked} of {last} are in blocks, there are {blocks} blocks of \
             {BLOCK_ORDERS}"
        ));
    }
    let outside = read.one::<i64>(&OUTSIDE, &of_device).await?.unwrap_or(0);
    if outside > 0 {
        found.differences.push(format!(
            "{name}: {outside} orders started outside of the bounds of their blocks"
        ));
    }
    Ok(())
}

/// Checks that no counter is behind a number that was taken from it, and that no arrival is missing
/// after the first: only the oldest are ever deleted. `last_arrival` is the last one with orders.
async fn check_counters(
    read: &Read<'_>,
    last_arrival: i64,
    found: &mut Verified,
) -> Result<(), Error> {
    let arrivals: Arrivals = read.one(&ARRIVALS, &[]).await?.unwrap_or_default();
    let last = arrivals.last.max(metadata::last(read, metadata::ARRIVALS).await?);
    let Arrivals { count, first, .. } = arrivals;
    if count > 0 && count != last - first + 1 {
        found
            .differences
            .push(format!("arrivals {first} to {last} have numbers, {count} are stored"));
    }
    for (counter, highest) in [
        (metadata::ARRIVALS, arrivals.last.max(last_arrival)),
        (metadata::AUDIT, read.one(&LAST_ENTRY, &[]).await?.unwrap_or(0)),
        (metadata::REFUSED_REQUESTS, read.one(&LAST_REFUSED_REQUEST, &[]).await?.unwrap_or(0)),
    ] {
        let last = metadata::last(read, counter).await?;
        if highest > last {
            found.differences.push(format!(
                "counter {counter}: number {highest} is taken, the counter is at {last}"
            ));
        }
    }
    Ok(())
}
