//! The totals of the data, and the state of the store.

use kiosque_contract::inventory::{LastBackup, Status};
use kiosque_model::{Day, UnixMs};

use crate::db::{Db, Deadline, Read, Write};
use crate::error::Error;
use crate::json_records::json;
use crate::metadata;
use crate::sql::{row, statements};
use crate::views::{Inventory, Upkeep};

row! {
    struct Entries {
        group_count: i64,
        account_count: i64,
        product_count: i64,
        device_count: i64,
        key_count: i64,
    }
    /// The orders of ledgers.
    pub(super) struct Orders {
        pub(super) orders: i64,
        pub(super) archived: i64,
        pub(super) last_active_ms: Option<UnixMs>,
    }
}

/// What the operator is to do from time to time.
#[derive(Clone, Debug, PartialEq)]
pub struct Maintenance {
    /// The date of the latest exchange rate.
    pub last_rate: Option<Day>,
    /// Whether there are orders without any rate.
    pub lacks_rates: bool,
    /// The last backup that `kiosque backup` made.
    pub last_backup: Option<LastBackup>,
}

statements! {
    ENTRIES() -> Entries = "select (select count(*) from groups) as group_count,
        (select count(*) from accounts) as account_count,
        (select count(*) from products) as product_count,
        (select count(*) from devices) as device_count,
        (select count(*) from operator_keys where revoked_at_ms is null) as key_count";
    ORDERS() -> Orders = "select
            cast(coalesce(sum(last_seq - first_seq + 1), 0) as bigint) as orders,
            cast(coalesce(sum(archived_seq - first_seq + 1), 0) as bigint) as archived,
            max(last_active_ms) as last_active_ms
        from ledger";
    LIVE_SESSIONS(now_ms) -> i64 = "select count(*) from sessions where expires_at_ms > $now_ms";
    LAYOUT() -> i64 = "select max(number) from migrations";
    LAST_ACTIVE() -> Option<UnixMs> = "select max(last_active_ms) from ledger";
    // One look-up a currency: there may be rates of many years.
    LAST_RATE() -> Option<Day> = "with recursive latest (currency, day) as (
            select min(currency), cast(null as bigint) from rates
            union all
            select (select min(r.currency) from rates r where r.currency > latest.currency),
                (select max(r.day) from rates r where r.currency = latest.currency)
            from latest where latest.currency is not null
        )
        select max(day) from latest";
    ANY_ORDER() -> i64 = "select 1 from ledger where last_seq >= first_seq limit 1";
    LIVE_NODES(since_ms) -> UnixMs = "select beat_at_ms from nodes where beat_at_ms >= $since_ms
        order by beat_at_ms desc";
}

/// The age at which the lease of a node is considered released.
const NODE_AGE_MAX_MS: i64 = 30_000;
/// The name of the entry about the last backup: a [`LastBackup`] in JSON.
const LAST_BACKUP: &str = "last_backup";
/// The name of the entry about damage found by the check of the latest backup.
const DAMAGE: &str = "damage";

impl Inventory<'_> {
    /// Returns the totals of the data and the state of the store. It reads no row of an order.
    ///
    /// # Errors
    /// The store failed.
    pub async fn status(self, now: UnixMs) -> Result<Status, Error> {
        let files = self.0.db.file_sizes();
        let zone = self.0.zone.name().to_owned();
        let database_bytes = self.0.db.database_bytes().await?;
        let latest = self.0.activity.latest_unwritten().into_values().max();
        let overview = async move |read: &Read<'_>| {
            let status = Status {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                time_zone: zone,
                database_bytes,
                log_bytes: files.map(|files| files.log),
                ..status(read, now).await?
            };
            let stored = status.last_active_timestamp;
            Ok(Status { last_active_timestamp: stored.max(latest.map(|at| at.0)), ..status })
        };
        self.0.db.read(Deadline::OfRequest, overview).await
    }

    /// Returns the time of the last order or heartbeat of any device.
    ///
    /// # Errors
    /// The store failed.
    pub async fn last_active(self) -> Result<Option<UnixMs>, Error> {
        let latest = self.0.activity.latest_unwritten().into_values().max();
        let stored = async |read: &Read<'_>| read.one::<Option<UnixMs>>(&LAST_ACTIVE, &[]).await;
        let stored = self.0.db.read(Deadline::OfRequest, stored).await?;
        Ok(stored.flatten().max(latest))
    }
}

impl Upkeep<'_> {
    /// Returns what the operator did last. Its cost does not grow with the data: each page of the
    /// console reads it.
    ///
    /// # Errors
    /// The store failed.
    pub async fn maintenance(self) -> Result<Maintenance, Error> {
        self.0.db.read(Deadline::OfRequest, maintenance).await
    }

    /// Records that a backup was made, and that it is undamaged.
    ///
    /// # Errors
    /// The store failed.
    pub async fn record_backup(self, backup: &LastBackup) -> Result<(), Error> {
        let text = json(backup)?;
        let record = async move |write: &Write<'_>| {
            metadata::set_marker(write, LAST_BACKUP, &text).await?;
            metadata::delete_entry(write, DAMAGE).await
        };
        self.0.db.write(Deadline::OfRequest, record).await
    }

    /// Records that the check of a backup has found the database damaged, until a later one finds
    /// it undamaged. A server that reads this is not ready.
    ///
    /// # Errors
    /// The store failed.
    pub async fn record_damage(self, found: String) -> Result<(), Error> {
        let record =
            async move |write: &Write<'_>| metadata::set_entry(write, DAMAGE, &found).await;
        self.0.db.write(Deadline::OfRequest, record).await
    }
}

/// Returns the damage found by the check of the latest backup, if any.
pub(crate) async fn damage_found(db: &Db) -> Result<Option<String>, Error> {
    metadata::entry_now(db, DAMAGE).await
}

/// Returns the number of orders, including archived ones. It only reads the ledgers.
pub(crate) async fn order_count(read: &Read<'_>) -> Result<i64, Error> {
    let orders: Option<Orders> = read.one(&ORDERS, &[]).await?;
    Ok(orders.map_or(0, |orders| orders.orders))
}

async fn status(read: &Read<'_>, now: UnixMs) -> Result<Status, Error> {
    let entries: Option<Entries> = read.one(&ENTRIES, &[]).await?;
    let orders: Option<Orders> = read.one(&ORDERS, &[]).await?;
    let (Some(entries), Some(orders)) = (entries, orders) else {
        return Err(Error::Data("the counts of the data cannot be read".to_owned()));
    };
    let sessions = read.one(&LIVE_SESSIONS, &[now.into()]).await?;
    let Maintenance { last_rate, last_backup, .. } = maintenance(read).await?;
    let since = now.plus_ms(-NODE_AGE_MAX_MS);
    let nodes: Vec<UnixMs> = read.all(&LIVE_NODES, &[since.into()]).await?;
    Ok(Status {
        layout: read.one(&LAYOUT, &[]).await?.unwrap_or_default(),
        group_count: entries.group_count,
        account_count: entries.account_count,
        session_count: sessions.unwrap_or_default(),
        key_count: entries.key_count,
        product_count: entries.product_count,
        device_count: entries.device_count,
        order_count: orders.orders,
        archived_count: orders.archived,
        last_active_timestamp: orders.last_active_ms.map(|at| at.0),
        last_rate_date: last_rate.map(|day| day.to_string()),
        last_backup,
        node_timestamps: nodes.into_iter().map(|at| at.0).collect(),
        ..Status::default()
    })
}

async fn maintenance(read: &Read<'_>) -> Result<Maintenance, Error> {
    let last_rate = read.one::<Option<Day>>(&LAST_RATE, &[]).await?.flatten();
    let lacks_rates = last_rate.is_none() && read.one::<i64>(&ANY_ORDER, &[]).await?.is_some();
    let backup = metadata::entry(read, &metadata::marker_entry(LAST_BACKUP)).await?;
    Ok(Maintenance {
        last_rate,
        lacks_rates,
        // Details that a later version wrote in another form are left out.
        last_backup: backup.and_then(|text| serde_json::from_str(&text).ok()),
    })
}
