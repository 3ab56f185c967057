//! Writes the devices that an apply changes, in sets. Rows that an order stream also writes are
//! written last, under the locks of their groups.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use futures_util::future::try_join_all;
use kiosque_model::fleet::Aisle;
use kiosque_model::{GroupNo, UnixMs};

use super::devices::{AislesChange, ChangedDevice};
use super::ownership::OwnersChange;
use crate::db::Write;
use crate::error::Error;
use crate::sql::{Sql, Value, statements};

statements! {
    SET_DEVICES() = "insert into devices (device_no, device_code, device_name, device_model,
            address, enabled, created_at_ms, total_curr_stock)
        select r.number, r.code, r.name, r.model, r.address, r.enabled, r.created, r.stock
        from {rows r: number bigint, code text, name text, model text, address text,
            enabled boolean, created bigint, stock bigint} where true
        on conflict (device_no) do update set device_name = excluded.device_name,
            device_model = excluded.device_model, address = excluded.address,
            enabled = excluded.enabled, total_curr_stock = excluded.total_curr_stock";
    DELETE_AISLES() = "delete from aisles using {rows r: device bigint, code text}
        where aisles.device_no = r.device and aisles.aisle_code = r.code";
    SET_AISLES() = "insert into aisles (device_no, aisle_code, position, cabinet_code, layer,
            goods_id, price, show_price, max_stock, curr_stock, enabled, broken)
        select r.device, r.code, r.place, r.cabinet, r.layer, r.goods, r.price, r.show_price,
            r.capacity, r.stock, r.enabled, r.broken
        from {rows r: device bigint, code text, place bigint, cabinet text, layer bigint,
            goods text, price bigint, show_price bigint, capacity bigint, stock bigint,
            enabled boolean, broken boolean} where true
        on conflict (device_no, aisle_code) do update set position = excluded.position,
            cabinet_code = excluded.cabinet_code, layer = excluded.layer,
            goods_id = excluded.goods_id, price = excluded.price,
            show_price = excluded.show_price, max_stock = excluded.max_stock,
            curr_stock = excluded.curr_stock, enabled = excluded.enabled,
            broken = excluded.broken";
    ADD_PERIODS() = "insert into device_owners
            (group_no, device_code, since_ms, until_ms, listed, device_no)
        select r.group_no, r.code, r.since_ms, r.until_ms, r.listed, r.device
        from {rows r: group_no bigint, code text, since_ms bigint, until_ms bigint,
            listed boolean, device bigint} where true";
    END_PERIODS(group_no) = "update device_owners set until_ms = r.until_ms
        from {rows r: code text, since_ms bigint, until_ms bigint}
        where device_owners.group_no = $group_no and device_owners.device_code = r.code
            and device_owners.since_ms = r.since_ms";
    DELETE_PERIODS(group_no) = "delete from device_owners
        using {rows r: code text, since_ms bigint}
        where device_owners.group_no = $group_no and device_owners.device_code = r.code
            and device_owners.since_ms = r.since_ms";
    SET_LISTED(group_no) = "update device_owners set listed = r.listed
        from {rows r: code text, listed boolean}
        where device_owners.group_no = $group_no and device_owners.device_code = r.code";
    /// A ledger without orders gets the number of the device. One with orders keeps its number,
    /// under which the orders are stored.
    OPEN_LEDGERS() = "insert into ledger
            (group_no, device_code, device_no, since_ms, first_seq, archived_seq, last_seq)
        select r.group_no, r.code, r.device, r.since_ms, 1, 0, 0
        from {rows r: group_no bigint, code text, device bigint, since_ms bigint} where true
        on conflict (group_no, device_code) do update set since_ms = excluded.since_ms,
            device_no = case when ledger.last_seq < ledger.first_seq
                then excluded.device_no else ledger.device_no end";
    /// For a group that never came to own the device. Its orders of the device remain.
    DELETE_EMPTY_LEDGERS(group_no) = "delete from ledger using {rows r: code text}
        where ledger.group_no = $group_no and ledger.device_code = r.code
            and ledger.last_seq < ledger.first_seq";
    /// A former owner keeps the name that the device had last while it owned it.
    SET_NAMES(group_no, now_ms) = "update ledger set device_name = r.name
        from {rows r: code text, name text}
        where ledger.group_no = $group_no and ledger.device_code = r.code
            and ledger.device_name <> r.name and exists (
                select 1 from device_owners o where o.group_no = $group_no
                    and o.device_code = r.code and o.until_ms > $now_ms
            )";
    COUNT_DEVICES(group_no) = "update group_changes set
            devices = (
                select count(*) from device_owners o where o.group_no = $group_no
                    and o.listed = true and o.until_ms = 9223372036854775807
            ),
            devices_from_ms = (
                select coalesce(max(case when o.until_ms < 9223372036854775807
                    then o.until_ms else o.since_ms end), 0)
                from device_owners o where o.group_no = $group_no
            )
        where group_no = $group_no";
    OPEN_CHANGES() = "insert into group_changes (group_no, last_change_no)
        select r.group_no, 0 from {rows r: group_no bigint} where true
        on conflict (group_no) do nothing";
}

/// Writes devices, their aisles, the owners of new devices, whether devices are listed, and the
/// versions of groups that own their first device, now or later. No order stream writes these rows.
pub(super) async fn write(write: &Write<'_>, changes: &[ChangedDevice<'_>]) -> Result<(), Error> {
    let rows = changes.iter().filter(|device| device.has_new_row()).map(device_row);
    write.execute_each(&SET_DEVICES, rows, &[]).await?;
    let aisles = || changes.iter().filter_map(|device| Some((device, device.aisles.as_ref()?)));
    let removed = aisles().flat_map(|(device, change)| {
        change.removed().map(|aisle| [device.number.into(), aisle.code.as_str().into()])
    });
    write.execute_each(&DELETE_AISLES, removed, &[]).await?;
    let set = aisles().flat_map(|(device, change)| {
        change.set().map(|(place, aisle)| aisle_row(device, place, aisle))
    });
    write.execute_each(&SET_AISLES, set, &[]).await?;
    let listed = changes.iter().filter(|device| device.is_toggled()).flat_map(|device| {
        device.groups.iter().map(|group| (*group, [device.code.into(), device.new.enabled.into()]))
    });
    execute_by_group(write, &SET_LISTED, listed, &[]).await?;
    let added = with_owners(changes.iter()).flat_map(|(_, owners)| owners.added());
    let groups: BTreeSet<GroupNo> = added.map(|(period, _)| period.group_no).collect();
    write.execute_each(&OPEN_CHANGES, groups.iter().map(|group| [(*group).into()]), &[]).await?;
    add_owners(write, || changes.iter().filter(|device| device.old.is_none())).await
}

/// Writes the moves of stored devices. The groups are locked.
pub(super) async fn write_moves(
    write: &Write<'_>,
    changes: &[ChangedDevice<'_>],
) -> Result<(), Error> {
    let moved = || changes.iter().filter(|device| device.old.is_some());
    let ended = with_owners(moved()).filter_map(|(device, owners)| {
        let (period, until) = owners.ended()?;
        Some((period.group_no, [device.code.into(), period.since.into(), until.into()]))
    });
    execute_by_group(write, &END_PERIODS, ended, &[]).await?;
    let removed = || {
        with_owners(moved()).flat_map(|(device, owners)| {
            owners.removed().iter().map(move |period| (device.code, owners, period))
        })
    };
    let periods =
        removed().map(|(code, _, period)| (period.group_no, [code.into(), period.since.into()]));
    execute_by_group(write, &DELETE_PERIODS, periods, &[]).await?;
    let left = removed().filter(|(_, owners, period)| owners.first_of(period.group_no).is_none());
    let left = left.map(|(code, _, period)| (period.group_no, [code.into()]));
    execute_by_group(write, &DELETE_EMPTY_LEDGERS, left, &[]).await?;
    add_owners(write, moved).await
}

/// Writes the names of devices for their current and later owners. The groups are locked.
pub(super) async fn write_names(
    write: &Write<'_>,
    changes: &[ChangedDevice<'_>],
    now: UnixMs,
) -> Result<(), Error> {
    let named = changes.iter().filter(|one| one.is_renamed() || one.owners.is_some());
    let named = named.flat_map(|device| {
        let row = [device.code.into(), device.new.device_name.as_str().into()];
        device.present_groups.iter().map(move |group| (*group, row.clone()))
    });
    execute_by_group(write, &SET_NAMES, named, &[now.into()]).await
}

/// Counts the devices of groups, which are locked.
pub(super) async fn count_devices(
    write: &Write<'_>,
    groups: impl IntoIterator<Item = GroupNo>,
) -> Result<(), Error> {
    let counts = groups
        .into_iter()
        .map(|group| async move { write.execute(&COUNT_DEVICES, &[group.into()]).await });
    try_join_all(counts).await.map(|_| ())
}

/// Adds the new periods of devices, and the ledgers of their groups.
async fn add_owners<'c, I>(write: &Write<'_>, devices: impl Fn() -> I) -> Result<(), Error>
where
    I: Iterator<Item = &'c ChangedDevice<'c>>,
{
    let added = || {
        with_owners(devices()).flat_map(|(device, owners)| {
            owners.added().map(move |(period, until)| (device, owners, period, until))
        })
    };
    let ledgers = added().map(|(device, owners, period, _)| {
        let since = owners.first_of(period.group_no).unwrap_or(period.since);
        [period.group_no.into(), device.code.into(), device.number.into(), since.into()]
    });
    write.execute_each(&OPEN_LEDGERS, ledgers, &[]).await?;
    let periods = added().map(|(device, _, period, until)| {
        [
            period.group_no.into(),
            device.code.into(),
            period.since.into(),
            until.into(),
            device.new.enabled.into(),
            device.number.into(),
        ]
    });
    write.execute_each(&ADD_PERIODS, periods, &[]).await
}

fn with_owners<'c>(
    devices: impl Iterator<Item = &'c ChangedDevice<'c>>,
) -> impl Iterator<Item = (&'c ChangedDevice<'c>, &'c OwnersChange)> {
    devices.filter_map(|device| Some((device, device.owners.as_ref()?)))
}

/// Runs a bulk statement once for each group, with the group before its other parameters. The
/// statements are pipelined.
async fn execute_by_group<'v, const N: usize>(
    write: &Write<'_>,
    sql: &'static Sql,
    rows: impl Iterator<Item = (GroupNo, [Value<'v>; N])>,
    params: &[Value<'v>],
) -> Result<(), Error> {
    let mut by_group: BTreeMap<GroupNo, Vec<[Value<'v>; N]>> = BTreeMap::new();
    for (group, row) in rows {
        by_group.entry(group).or_default().push(row);
    }
    let statements = by_group.iter().map(|(group, rows)| async move {
        let params = [&[(*group).into()], params].concat();
        write.execute_each(sql, rows.iter(), &params).await
    });
    try_join_all(statements).await.map(|_| ())
}

fn device_row<'v>(device: &'v ChangedDevice<'_>) -> [Value<'v>; 8] {
    let row = &device.new;
    [
        row.device_no.into(),
        row.device_code.as_str().into(),
        row.device_name.as_str().into(),
        row.device_model.as_str().into(),
        row.address.as_str().into(),
        row.enabled.into(),
        row.created_at_ms.into(),
        row.total_curr_stock.into(),
    ]
}

fn aisle_row<'v>(device: &ChangedDevice<'_>, place: i64, aisle: &'v Aisle) -> [Value<'v>; 12] {
    [
        device.number.into(),
        aisle.code.as_str().into(),
        place.into(),
        aisle.cabinet.as_str().into(),
        aisle.layer.into(),
        aisle.goods_id.as_str().into(),
        aisle.price.into(),
        aisle.show_price.into(),
        aisle.capacity.into(),
        aisle.stock.into(),
        aisle.enabled.into(),
        aisle.broken.into(),
    ]
}

impl AislesChange<'_> {
    /// Returns the old aisles that are not among the new ones.
    fn removed(&self) -> impl Iterator<Item = &Aisle> {
        let codes: HashSet<&str> = self.new.iter().map(|aisle| aisle.code.as_str()).collect();
        self.old.iter().filter(move |aisle| !codes.contains(aisle.code.as_str()))
    }

    /// Returns the aisles that are new or differ from the old ones, each with its position.
    fn set(&self) -> impl Iterator<Item = (i64, &Aisle)> {
        let places = self.old.iter().zip(0_i64..);
        let old: HashMap<&str, (i64, &Aisle)> =
            places.map(|(aisle, place)| (aisle.code.as_str(), (place, aisle))).collect();
        let new = (0_i64..).zip(self.new);
        new.filter(move |new| old.get(new.1.code.as_str()) != Some(new))
    }
}
