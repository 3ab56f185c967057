//! The file of a copy: its tables, and the transactions that write them.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::Path;

use kiosque_client::session::Group;
use kiosque_client::{Device, Instants, WallTime, Zone};
use kiosque_contract::{
    DeviceRecord, LineItem, OrderChange, OrderChanges, OrderRecord, OrderTotals, SalesTotals,
};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use serde::Deserialize;

use crate::error::CommandError;
use crate::files;

const TABLES: &str = include_str!("tables.sql");
/// The `application_id` of the file, "KMir".
const APPLICATION: i64 = 0x4b4d_6972;
/// KiB of the file that are cached in memory.
const CACHE_KIB: i64 = 64 << 10;

/// An order that is already in the file keeps its number.
const PUT_ORDER: &str = "replace into orders values (
        (select order_no from orders where group_id = ?1 and order_id = ?2),
        ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
        ?21, ?22)
    returning order_no";
const PUT_LINE: &str =
    "insert into order_lines values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
const PUT_DEVICE: &str = "replace into devices values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1)";
const PUT_GROUP: &str = "insert into groups (group_id, group_name, in_account) values (?1, ?2, 1)
    on conflict (group_id) do update set group_name = excluded.group_name, in_account = 1";
/// Sales according to DASH-10.
const TOTALS: &str = "select group_id, currency, count(*), max(change_no), sum(is_sale),
        sum(is_sale * pay_amount), sum(is_sale * refund_amount)
    from (select *, pay_status in (1, 3, 4) and pay_end_time is not null as is_sale from orders)
    group by group_id, currency order by group_id, currency";

/// A file with a copy, locked against other processes that would write it.
#[derive(Debug)]
pub(super) struct MirrorFile {
    connection: Connection,
    zone: Option<Zone>,
    /// Closed after the connection: closing a file releases SQLite's locks on it.
    _lock: File,
}

impl MirrorFile {
    pub(super) fn open(path: &Path, url: &str, username: &str) -> Result<MirrorFile, CommandError> {
        let usage = |cause: &str| CommandError::Usage(format!("{}: {cause}", path.display()));
        // An absolute path is no name that SQLite treats specially, such as `:memory:`.
        let path = &std::path::absolute(path).map_err(|error| usage(&error.to_string()))?;
        let lock = files::open_lock(path).map_err(|error| usage(&error.to_string()))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => usage(
                "another process writes this file; end that `kiosque remote mirror`, or specify \
                 another file with --into",
            ),
            TryLockError::Error(error) => usage(&error.to_string()),
        })?;
        let mut connection = Connection::open(path)?;
        let transaction = begin(&mut connection)?;
        let tables: i64 =
            transaction.query_row("select count(*) from sqlite_master", [], |row| row.get(0))?;
        if tables == 0 {
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.execute("insert into mirror values (?1, ?2, null)", [url, username])?;
        }
        let application: i64 =
            transaction.pragma_query_value(None, "application_id", |row| row.get(0))?;
        if application != APPLICATION {
            return Err(usage(
                "a database that `kiosque remote mirror` has not created; specify another file \
                 with --into",
            ));
        }
        let account = transaction.query_row("select url, username from mirror", [], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?;
        if (account.0.as_str(), account.1.as_str()) != (url, username) {
            let (of_url, of_username) = account;
            return Err(usage(&format!(
                "it has the orders of the account {of_username} at {of_url}, and this is \
                 {username} at {url}; use a file for each account"
            )));
        }
        transaction.commit()?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
        Ok(MirrorFile { connection, zone: None, _lock: lock })
    }

    /// Stores the groups of the account, and marks all others.
    pub(super) fn set_groups(
        &mut self,
        groups: &[Group],
        zone: Option<Zone>,
    ) -> Result<(), CommandError> {
        let transaction = begin(&mut self.connection)?;
        transaction.execute("update mirror set time_zone = ?1", [zone.as_ref().map(Zone::name)])?;
        transaction.execute("update groups set in_account = 0", [])?;
        for group in groups {
            transaction.execute(PUT_GROUP, [&group.id, &group.name])?;
        }
        self.zone = zone;
        Ok(transaction.commit()?)
    }

    /// Returns the groups that the account has.
    pub(super) fn groups(&self) -> Result<Vec<String>, CommandError> {
        let groups = "select group_id from groups where in_account order by group_id";
        let mut groups = self.connection.prepare_cached(groups)?;
        Ok(groups.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// Stores the devices of a group, and marks those that have left it.
    pub(super) fn store_devices(
        &mut self,
        group: &str,
        devices: &[Device],
    ) -> Result<(), CommandError> {
        let transaction = begin(&mut self.connection)?;
        transaction.execute("update devices set in_group = 0 where group_id = ?1", [group])?;
        for device in devices {
            let device = DeviceRecord::deserialize(device.json()).map_err(|error| {
                CommandError::Usage(format!(
                    "the device {} cannot be copied: {error}",
                    device.code()
                ))
            })?;
            transaction.prepare_cached(PUT_DEVICE)?.execute(params![
                group,
                device.device_code,
                device.device_name,
                device.device_model,
                device.address,
                device.is_online,
                device.total_curr_stock,
                device.last_active_timestamp,
                device.create_timestamp,
            ])?;
        }
        Ok(transaction.commit()?)
    }

    /// Returns the cursor after the stored changes of a group.
    pub(super) fn cursor(&self, group: &str) -> Result<Option<String>, CommandError> {
        let cursor = "select cursor from groups where group_id = ?1";
        let cursor = self.connection.query_row(cursor, [group], |row| row.get(0)).optional()?;
        Ok(cursor.flatten())
    }

    /// Starts again at the first change. The orders remain until all have been read.
    pub(super) fn begin_again(&mut self, group: &str) -> Result<(), CommandError> {
        let begin = "update groups set cursor = null, is_complete = 0, reading = reading + 1
            where group_id = ?1";
        self.connection.execute(begin, [group])?;
        Ok(())
    }

    /// Stores changes of a group with the cursor after them. At the last change, orders that were
    /// not among the changes since the first one are deleted.
    pub(super) fn store(&mut self, group: &str, page: &OrderChanges) -> Result<(), CommandError> {
        let transaction = begin(&mut self.connection)?;
        let state = "select reading, is_complete from groups where group_id = ?1";
        let (reading, is_complete): (i64, bool) =
            transaction.query_row(state, [group], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for OrderChange { change_no, order } in &page.records {
            let zone = self.zone.as_ref();
            let order_no = put_order(&transaction, group, reading, *change_no, order, zone)?;
            put_lines(&transaction, order_no, &order.head.currency, &order.detail_vo_list)?;
        }
        let cursor = "update groups set cursor = ?2, is_complete = is_complete or not ?3
            where group_id = ?1";
        transaction.execute(cursor, params![group, page.next, page.more])?;
        if !page.more && !is_complete && reading > 1 {
            let lines = "delete from order_lines where order_no in (
                select order_no from orders where group_id = ?1 and reading < ?2)";
            transaction.execute(lines, params![group, reading])?;
            let orders = "delete from orders where group_id = ?1 and reading < ?2";
            transaction.execute(orders, params![group, reading])?;
        }
        Ok(transaction.commit()?)
    }

    /// Counts the orders of each group in the file.
    pub(super) fn totals(&self) -> Result<BTreeMap<String, OrderTotals>, CommandError> {
        let mut totals = BTreeMap::<String, OrderTotals>::new();
        let mut groups = self.connection.prepare("select group_id from groups")?;
        for group in groups.query_map([], |row| row.get(0))? {
            totals.insert(group?, OrderTotals::default());
        }
        let mut statement = self.connection.prepare(TOTALS)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let of_group = totals.entry(row.get(0)?).or_default();
            of_group.orders += row.get::<_, i64>(2)?;
            of_group.change_no = of_group.change_no.max(row.get(3)?);
            let currency = row.get(1)?;
            let orders = row.get(4)?;
            let pay_amount = row.get(5)?;
            let refund_amount = row.get(6)?;
            if orders > 0 {
                let sales = SalesTotals { currency, orders, pay_amount, refund_amount };
                of_group.sales.push(sales);
            }
        }
        Ok(totals)
    }
}

fn begin(connection: &mut Connection) -> Result<Transaction<'_>, rusqlite::Error> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

/// Stores an order, and returns its number in the file.
fn put_order(
    transaction: &Transaction<'_>,
    group: &str,
    reading: i64,
    change_no: i64,
    OrderRecord { head, .. }: &OrderRecord,
    zone: Option<&Zone>,
) -> Result<i64, rusqlite::Error> {
    let ms = |text: &str| match WallTime::parse(text)?.in_zone(zone?) {
        Instants::One(at) => Some(at.0),
        Instants::None | Instants::Two(..) => None,
    };
    let order = params![
        group,
        head.order_id,
        head.device_code,
        head.trade_no,
        head.trade_no_in,
        head.currency,
        head.total_amount,
        head.pay_amount,
        head.refund_amount,
        head.pay_status,
        head.shipment_status,
        head.pay_channel_name,
        head.card_number,
        head.phone,
        head.trade_start_time,
        ms(&head.trade_start_time),
        head.pay_end_time,
        head.pay_end_time.as_deref().and_then(ms),
        head.shipment_time,
        head.shipment_time.as_deref().and_then(ms),
        change_no,
        reading,
    ];
    transaction.prepare_cached(PUT_ORDER)?.query_row(order, |row| row.get(0))
}

/// Replaces the lines of an order.
fn put_lines(
    transaction: &Transaction<'_>,
    order_no: i64,
    currency: &str,
    lines: &[LineItem],
) -> Result<(), rusqlite::Error> {
    let delete = "delete from order_lines where order_no = ?1";
    transaction.prepare_cached(delete)?.execute([order_no])?;
    let mut put = transaction.prepare_cached(PUT_LINE)?;
    for (line_no, line) in (1_i64..).zip(lines) {
        put.execute(params![
            order_no,
            line_no,
            line.goods_id,
            line.goods_name,
            line.aisle_code,
            line.count,
            currency,
            line.goods_price,
            line.sale_price,
            line.pay_amount,
            line.shipment_status,
            line.shipment_err_code,
            line.shipment_fail_desc,
        ])?;
    }
    Ok(())
}
