//! Recounts from the orders everything that is stored as a count or a sum, and lists each
//! difference.

mod sums;

use kiosque_model::Zone;

use crate::db::{Length, Read};
use crate::record::RecordShape;
use crate::sql::{Sql, statements};
use crate::{Error, Store};

statements! {
    LEDGERS = "select l.group_no, l.device_no, g.group_id, l.device_code,
            l.first_seq, l.archived_seq, l.last_seq
        from ledger l join groups g on g.group_no = l.group_no
        order by l.group_no, l.device_code";
    RECOUNT = "select count(*), coalesce(min(seq), 0), coalesce(max(seq), 0), count(distinct seq)
        from orders where group_no = $1 and device_no = $2";
    ORDERS = "select count(*) from orders";
    CHANGES = "select g.group_no, g.group_id, coalesce(c.last_change_no, 0)
        from groups g left join group_changes c on c.group_no = g.group_no order by g.group_no";
    LAST_CHANGE = "select coalesce(max(change_no), 0) from orders where group_no = $1";
    STOCKS = "select d.device_code, d.total_curr_stock, (
            select cast(coalesce(sum(a.curr_stock), 0) as bigint)
            from aisles a where a.device_no = d.device_no
        ) from devices d order by d.device_code";
    WITHOUT_OWNER = "select d.device_code from devices d
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
        let (zone, shape) = (self.zone.clone(), std::sync::Arc::clone(&self.shape));
        self.db
            .read(Length::Long, async move |read: &Read<'_>| verify(read, &zone, &*shape).await)
            .await
    }
}

/// Every statement of this module and of those below it.
pub(crate) fn all() -> impl Iterator<Item = &'static Sql> {
    [ALL, sums::ALL].into_iter().flatten().copied()
}

async fn verify(read: &Read<'_>, zone: &Zone, shape: &dyn RecordShape) -> Result<Verified, Error> {
    let mut verified = Verified::default();
    let in_ledgers = ledgers(read, &mut verified).await?;
    verified.orders = read.one(&ORDERS, &[], |row| row.int(0)).await?.unwrap_or(0);
    if in_ledgers != verified.orders {
        verified.differences.push(format!(
            "orders: {} are stored, {in_ledgers} belong to a ledger",
            verified.orders
        ));
    }
    changes(read, &mut verified).await?;
    read.each(&STOCKS, &[], |row| {
        if row.int(1)? != row.int(2)? {
            let (code, stored, counted) = (row.text(0)?, row.int(1)?, row.int(2)?);
            verified.differences.push(format!(
                "device {code}: stock {stored} is stored, its aisles hold {counted}"
            ));
        }
        Ok(())
    })
    .await?;
    read.each(&WITHOUT_OWNER, &[], |row| {
        verified.differences.push(format!("device {}: it has no owner", row.text(0)?));
        Ok(())
    })
    .await?;
    sums::Recount { read, zone, shape }.run(&mut verified).await?;
    Ok(verified)
}

async fn ledgers(read: &Read<'_>, verified: &mut Verified) -> Result<i64, Error> {
    let mut counted = 0;
    let ledgers = read
        .all(&LEDGERS, &[], |row| {
            let name = format!("group {}, device {}", row.text(2)?, row.text(3)?);
            Ok((name, [row.int(0)?, row.int(1)?], [row.int(4)?, row.int(5)?, row.int(6)?]))
        })
        .await?;
    for (name, [group, device], [first, archived, last]) in ledgers {
        verified.ledgers += 1;
        let recount = read
            .one(&RECOUNT, &[group.into(), device.into()], |row| {
                Ok((row.int(0)?, row.int(1)?, row.int(2)?, row.int(3)?))
            })
            .await?;
        let (count, lowest, highest, distinct) = recount.unwrap_or_default();
        counted += count;
        if count != last - first + 1 {
            verified.differences.push(format!(
                "{name}: the ledger has sequence {first} to {last}, {count} orders are stored"
            ));
        } else if count > 0 && (lowest, highest) != (first, last) {
            verified.differences.push(format!(
                "{name}: the ledger has sequence {first} to {last}, orders {lowest} to {highest}"
            ));
        } else if distinct != count {
            verified
                .differences
                .push(format!("{name}: {count} orders share {distinct} sequence numbers"));
        }
        if archived < first - 1 || archived > last {
            verified.differences.push(format!(
                "{name}: the archive mark {archived} is outside of sequence {first} to {last}"
            ));
        }
    }
    Ok(counted)
}

async fn changes(read: &Read<'_>, verified: &mut Verified) -> Result<(), Error> {
    let counters = read
        .all(&CHANGES, &[], |row| Ok((row.int(0)?, row.text(1)?.to_owned(), row.int(2)?)))
        .await?;
    for (group, id, last) in counters {
        let highest = read.one(&LAST_CHANGE, &[group.into()], |row| row.int(0)).await?.unwrap_or(0);
        if highest > last {
            verified.differences.push(format!(
                "group {id}: an order has change number {highest}, the counter is at {last}"
            ));
        }
    }
    Ok(())
}
