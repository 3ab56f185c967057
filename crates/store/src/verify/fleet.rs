//! Compares devices, their owners, their ledgers and the counts of them with each other, and looks
//! for orders of a device that several groups have.

use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use super::{Group, Verified};
use crate::db::Read;
use crate::error::Error;
use crate::receive::stored_orders;
use crate::sql::{Value, row, statements};
use crate::views::Upkeep;

row! {
    struct PeriodRow {
        device_no: DeviceNo,
        device_code: String,
        since_ms: UnixMs,
        until_ms: UnixMs,
    }
    struct NumberRow { device_code: String, stored: i64, device_no: Option<i64> }
    struct SinceRow { device_code: String, stored: UnixMs, since_ms: UnixMs }
    struct LedgerRow { group_no: GroupNo, group_id: String, device_no: DeviceNo }
    struct NameRow { device_code: String, stored: String, device_name: String }
    #[derive(PartialEq)]
    struct CountRow { devices: i64, devices_from_ms: UnixMs }
}

statements! {
    PERIODS() -> PeriodRow = "select device_no, device_code, since_ms, until_ms
        from device_owners order by device_no, since_ms";
    OWNED_WITHOUT_LEDGER(group_no) -> String = "select distinct o.device_code
        from device_owners o
        left join ledger l on l.group_no = $group_no and l.device_code = o.device_code
        where o.group_no = $group_no and l.device_code is null order by o.device_code";
    EMPTY_WITHOUT_OWNER(group_no) -> String = "select l.device_code
        from ledger l
        left join device_owners o on o.group_no = $group_no and o.device_code = l.device_code
        where l.group_no = $group_no and l.last_seq < l.first_seq and o.device_code is null
        order by l.device_code";
    NUMBERS_OF_OWNERS(group_no) -> NumberRow = "select distinct o.device_code,
            o.device_no as stored, d.device_no
        from device_owners o left join devices d on d.device_code = o.device_code
        where o.group_no = $group_no and (d.device_no is null or d.device_no <> o.device_no)
        order by o.device_code";
    NUMBERS_OF_LEDGERS(group_no) -> NumberRow = "select l.device_code,
            l.device_no as stored, d.device_no
        from ledger l left join devices d on d.device_code = l.device_code
        where l.group_no = $group_no and (d.device_no is null or d.device_no <> l.device_no)
        order by l.device_code";
    /// The ledgers that do not begin with the first period of their group.
    OTHER_BEGINNINGS(group_no) -> SinceRow = "select l.device_code, l.since_ms as stored,
            min(o.since_ms) as since_ms
        from ledger l
        join device_owners o on o.group_no = $group_no and o.device_code = l.device_code
        where l.group_no = $group_no
        group by l.device_code, l.since_ms having l.since_ms <> min(o.since_ms)
        order by l.device_code";
    /// The last owner's ledgers in which the device has another name.
    OTHER_NAMES(group_no) -> NameRow = "select l.device_code, l.device_name as stored,
            d.device_name
        from device_owners o
        join ledger l on l.group_no = $group_no and l.device_code = o.device_code
        join devices d on d.device_no = o.device_no
        where o.group_no = $group_no and o.until_ms = 9223372036854775807
            and l.device_name <> d.device_name
        order by l.device_code";
    LISTED_OTHERWISE(group_no) -> (String, bool) = "select distinct o.device_code, o.listed
        from device_owners o join devices d on d.device_no = o.device_no
        where o.group_no = $group_no and o.listed <> d.enabled
        order by o.device_code";
    COUNTED(group_no) -> CountRow = "select devices, devices_from_ms
        from group_changes where group_no = $group_no";
    /// The number of periods, and the count that follows from them.
    LISTED(group_no) -> (i64, CountRow) = "select count(*) as periods,
            coalesce(sum(case when listed and until_ms = 9223372036854775807
                then 1 else 0 end), 0) as devices,
            coalesce(max(case when until_ms < 9223372036854775807
                then until_ms else since_ms end), 0) as devices_from_ms
        from device_owners where group_no = $group_no";
    /// The devices with orders in several groups.
    SHARED() -> String = "select device_code from ledger where last_seq >= first_seq
        group by device_code having count(*) > 1 order by device_code";
    /// The ledgers of a device with orders, the shortest one first.
    LEDGERS(device_code) -> LedgerRow = "select l.group_no, g.group_id, l.device_no
        from ledger l join groups g on g.group_no = l.group_no
        where l.device_code = $device_code and l.last_seq >= l.first_seq
        order by l.last_seq - l.first_seq, l.group_no";
    ORDERS(group_no, device_no, after_seq, limit) -> (i64, String) = "select seq, order_id
        from orders
        where group_no = $group_no and device_no = $device_no and seq > $after_seq
        order by seq limit $limit";
}

/// Number of orders that are looked up in the other groups at a time.
const CHUNK: usize = 1_000;

/// Checks that the periods of each device cover all time exactly once.
pub(super) async fn check_periods(read: &Read<'_>, found: &mut Verified) -> Result<(), Error> {
    let mut last: Option<PeriodRow> = None;
    read.each(&PERIODS, &[], |row| {
        let period: PeriodRow = row.read()?;
        let before = last.take().filter(|last| last.device_no == period.device_no);
        let expected = before.map_or(UnixMs(0), |before| before.until_ms);
        if period.since_ms != expected {
            found.differences.push(format!(
                "device {}: the owners until {} are known, the next one begins at {}",
                period.device_code,
                expected.rfc3339(),
                period.since_ms.rfc3339()
            ));
        }
        last = Some(period);
        Ok(())
    })
    .await
}

/// Checks that a group has a ledger of each device that it owns at any time, from its first period
/// on, that both belong to the device with their code, and that it has no other ledgers without
/// orders.
pub(super) async fn check(
    read: &Read<'_>,
    group: &Group,
    found: &mut Verified,
) -> Result<(), Error> {
    let number = [group.number.into()];
    for (sql, difference) in [
        (&OWNED_WITHOUT_LEDGER, "the group owns the device and has no ledger of it"),
        (&EMPTY_WITHOUT_OWNER, "the ledger has no orders, and the group never owns the device"),
    ] {
        for code in read.all::<String>(sql, &number).await? {
            let name = format!("group {}, device {code}", group.id);
            found.differences.push(format!("{name}: {difference}"));
        }
    }
    for (sql, rows) in [(&NUMBERS_OF_OWNERS, "owners have"), (&NUMBERS_OF_LEDGERS, "ledger has")] {
        for NumberRow { device_code, stored, device_no } in read.all(sql, &number).await? {
            let device = match device_no {
                Some(number) => format!("the device has number {number}"),
                None => "the device does not exist".to_owned(),
            };
            found.differences.push(format!(
                "group {}, device {device_code}: the {rows} device number {stored}, {device}",
                group.id
            ));
        }
    }
    for SinceRow { device_code, stored, since_ms } in read.all(&OTHER_BEGINNINGS, &number).await? {
        found.differences.push(format!(
            "group {}, device {device_code}: the ledger begins at {}, the group owns the device \
             from {} on",
            group.id,
            stored.rfc3339(),
            since_ms.rfc3339()
        ));
    }
    check_names_and_counts(read, group, found).await
}

/// Compares the rows of a group about its devices with the fleet from which they derive.
async fn check_names_and_counts(
    read: &Read<'_>,
    group: &Group,
    found: &mut Verified,
) -> Result<(), Error> {
    let number = [group.number.into()];
    for row in read.all(&OTHER_NAMES, &number).await? {
        let NameRow { device_code, stored, device_name } = row;
        found.differences.push(format!(
            "group {}, device {device_code}: the name {stored:?} is stored, the device is called \
             {device_name:?}",
            group.id
        ));
    }
    for (device_code, listed) in read.all::<(String, bool)>(&LISTED_OTHERWISE, &number).await? {
        let error = match listed {
            true => "it is listed, the device is not enabled",
            false => "it is not listed, the device is enabled",
        };
        found.differences.push(format!("group {}, device {device_code}: {error}", group.id));
    }
    let counted = read.one::<CountRow>(&COUNTED, &number).await?;
    let listed = read.one::<(i64, CountRow)>(&LISTED, &number).await?;
    match (counted, listed) {
        (None, Some((1.., _))) => {
            found.differences.push(format!("group {}: it has no change counter", group.id));
        }
        (Some(counted), Some((_, listed))) if counted != listed => {
            found.differences.push(format!(
                "group {}: {} devices are counted from {} on, {} are listed from {} on",
                group.id,
                counted.devices,
                counted.devices_from_ms.rfc3339(),
                listed.devices,
                listed.devices_from_ms.rfc3339()
            ));
        }
        _ => {}
    }
    Ok(())
}

impl Upkeep<'_> {
    /// Checks that no order of a device is stored in several groups, each device in a separate
    /// snapshot. Orders of different devices may have the same id in different groups.
    pub(super) async fn verify_orders_across_groups(
        self,
        verified: &mut Verified,
    ) -> Result<(), Error> {
        let shared =
            async |read: &Read<'_>, _: &mut Verified| read.all::<String>(&SHARED, &[]).await;
        for code in self.check_part("the ledgers", verified, shared).await? {
            let name = format!("device {code}");
            let check = async move |read: &Read<'_>, found: &mut Verified| {
                check_orders_of(read, &code, found).await
            };
            self.check_part(&name, verified, check).await?;
        }
        Ok(())
    }
}

/// Looks up the orders that each group has of a device in the groups that have more of them.
async fn check_orders_of(read: &Read<'_>, code: &str, found: &mut Verified) -> Result<(), Error> {
    let ledgers = read.all::<LedgerRow>(&LEDGERS, &[code.into()]).await?;
    for (at, ledger) in ledgers.iter().enumerate() {
        let others = ledgers.get(at + 1..).unwrap_or_default();
        let mut after = if others.is_empty() { None } else { Some(0) };
        while let Some(seq) = after {
            let key = [ledger.group_no.into(), ledger.device_no.into(), seq.into(), CHUNK.into()];
            let orders = read.all::<(i64, String)>(&ORDERS, &key).await?;
            let ids: Vec<[Value<'_>; 1]> =
                orders.iter().map(|(_, id)| [id.as_str().into()]).collect();
            for other in others.iter().filter(|_| !ids.is_empty()) {
                let stored = stored_orders(read, other.group_no, &ids).await?.into_iter();
                let of_device = stored.filter(|(_, (device, _))| *device == other.device_no);
                found.differences.extend(of_device.map(|(order, _)| {
                    format!(
                        "device {code}: order {order} is stored in group {} and in group {}",
                        ledger.group_id, other.group_id
                    )
                }));
            }
            after = orders.last().filter(|_| orders.len() == CHUNK).map(|(seq, _)| *seq);
        }
    }
    Ok(())
}
