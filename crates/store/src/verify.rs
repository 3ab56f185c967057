//! Recounts from the orders everything that is stored as a count or a sum, and lists each
//! difference.

mod sums;

use kiosque_model::{DeviceNo, GroupNo, Zone};

use crate::db::{Deadline, Read};
use crate::sql::{Sql, row, statements};
use crate::{Error, Store};

row! {
    struct LedgerRow {
        group_no: GroupNo,
        device_no: DeviceNo,
        group_id: String,
        device_code: String,
        first_seq: i64,
        archived_seq: i64,
        last_seq: i64,
    }
    #[derive(Default)]
    struct SeqCounts { count: i64, lowest: i64, highest: i64, distinct_count: i64 }
    struct ChangeCounter { group_no: GroupNo, group_id: String, last_change_no: i64 }
    struct StockRow<'r> { device_code: &'r str, stored: i64, counted: i64 }
}

statements! {
    LEDGERS() -> LedgerRow = "select l.group_no, l.device_no, g.group_id, l.device_code,
            l.first_seq, l.archived_seq, l.last_seq
        from ledger l join groups g on g.group_no = l.group_no
        order by l.group_no, l.device_code";
    RECOUNT(group_no, device_no) -> SeqCounts = "select count(*) as count,
            coalesce(min(seq), 0) as lowest, coalesce(max(seq), 0) as highest,
            count(distinct seq) as distinct_count
        from orders where group_no = $group_no and device_no = $device_no";
    ORDERS() -> i64 = "select count(*) from orders";
    CHANGES() -> ChangeCounter = "select g.group_no, g.group_id,
            coalesce(c.last_change_no, 0) as last_change_no
        from groups g left join group_changes c on c.group_no = g.group_no order by g.group_no";
    LAST_CHANGE(group_no) -> i64 = "select coalesce(max(change_no), 0) from orders
        where group_no = $group_no";
    STOCKS() -> StockRow<'_> = "select d.device_code, d.total_curr_stock as stored, (
            select cast(coalesce(sum(a.curr_stock), 0) as bigint)
            from aisles a where a.device_no = d.device_no
        ) as counted from devices d order by d.device_code";
    WITHOUT_OWNER() -> String = "select d.device_code from devices d
        where not exists (select 1 from device_owners o
            where o.device_no = d.device_no and o.until_ms = 9223372036854775807)";
}

/// The result of a recount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Orders counted.
    pub orders: i64,
    /// Ledgers compared with them.
    pub ledgers: usize,
    /// Sums of sales recounted from them.
    pub sums: usize,
    /// A description of each difference.
    pub differences: Vec<String>,
}

impl Store {
    /// Recounts within one snapshot.
    ///
    /// # Errors
    /// The store failed.
    pub async fn verify(&self) -> Result<Verified, Error> {
        let zone = self.zone.clone();
        self.db.read(Deadline::None, async move |read: &Read<'_>| verify(read, &zone).await).await
    }
}

/// Every statement of this module and of those below it.
pub(crate) fn all() -> impl Iterator<Item = &'static Sql> {
    [ALL, sums::ALL].into_iter().flatten().copied()
}

async fn verify(read: &Read<'_>, zone: &Zone) -> Result<Verified, Error> {
    let mut verified = Verified::default();
    let in_ledgers = ledgers(read, &mut verified).await?;
    verified.orders = read.one(&ORDERS, &[], |row| row.read()).await?.unwrap_or(0);
    if in_ledgers != verified.orders {
        verified.differences.push(format!(
            "orders: {} are stored, {in_ledgers} belong to a ledger",
            verified.orders
        ));
    }
    changes(read, &mut verified).await?;
    read.each(&STOCKS, &[], |row| {
        let StockRow { device_code, stored, counted } = row.read()?;
        if stored != counted {
            verified.differences.push(format!(
                "device {device_code}: stock {stored} is stored, its aisles hold {counted}"
            ));
        }
        Ok(())
    })
    .await?;
    read.each(&WITHOUT_OWNER, &[], |row| {
        let device: &str = row.read()?;
        verified.differences.push(format!("device {device}: it has no owner"));
        Ok(())
    })
    .await?;
    sums::Recount { read, zone }.run(&mut verified).await?;
    Ok(verified)
}

async fn ledgers(read: &Read<'_>, verified: &mut Verified) -> Result<i64, Error> {
    let mut counted = 0;
    let ledgers = read.all(&LEDGERS, &[], |row| row.read::<LedgerRow>()).await?;
    for ledger in ledgers {
        verified.ledgers += 1;
        let params = [ledger.group_no.into(), ledger.device_no.into()];
        let recount = read.one(&RECOUNT, &params, |row| row.read::<SeqCounts>()).await?;
        let recount = recount.unwrap_or_default();
        counted += recount.count;
        verified.differences.extend(ledger.differences(&recount));
    }
    Ok(counted)
}

impl LedgerRow {
    fn differences(&self, orders: &SeqCounts) -> Vec<String> {
        let LedgerRow { group_id, device_code, first_seq, archived_seq, last_seq, .. } = self;
        let SeqCounts { count, lowest, highest, distinct_count } = orders;
        let name = format!("group {group_id}, device {device_code}");
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
                "{name}: the archive mark {archived_seq} is outside of sequence \
                 {first_seq} to {last_seq}"
            ));
        }
        differences
    }
}

async fn changes(read: &Read<'_>, verified: &mut Verified) -> Result<(), Error> {
    let counters = read.all(&CHANGES, &[], |row| row.read::<ChangeCounter>()).await?;
    for ChangeCounter { group_no, group_id: id, last_change_no: last } in counters {
        let highest = read.one(&LAST_CHANGE, &[group_no.into()], |row| row.read::<i64>()).await?;
        let highest = highest.unwrap_or(0);
        if highest > last {
            verified.differences.push(format!(
                "group {id}: an order has change number {highest}, the counter is at {last}"
            ));
        }
    }
    Ok(())
}
