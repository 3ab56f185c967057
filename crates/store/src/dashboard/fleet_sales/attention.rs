//! What needs the operator's attention: devices, by reason, and orders that are being refunded.

use std::collections::{BTreeSet, HashMap};

use kiosque_model::need::Attention;
use kiosque_model::{Day, DeviceNo, GroupNo, Need, UnixMs, Zone};

use super::super::figures::habits::{DeviceState, Habits};
use super::FleetSalesQuery;
use crate::activity::Activity;
use crate::db::Read;
use crate::error::Error;
use crate::owners::with_earlier_groups;
use crate::sql::{numbers, row, statements};
use crate::sums::device_block::{SumsOfDay, each_device};

row! {
    struct ListedRow {
        group_no: GroupNo,
        device_no: DeviceNo,
        device_code: String,
        is_new: bool,
        last_active_ms: Option<UnixMs>,
    }
}

statements! {
    /// The devices that groups own now and device pages list; none of a deactivated group.
    LISTED_DEVICES(now_ms, new_ms) -> ListedRow = "select o.group_no, o.device_no, l.device_code,
            o.since_ms >= $new_ms as is_new, l.last_active_ms
        from {rows r: group_no bigint} cross join device_owners o
        join ledger l on l.group_no = o.group_no and l.device_code = o.device_code
        join groups g on g.group_no = o.group_no and g.active
        where o.group_no = r.group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms
            and o.listed";
    AISLES(now_ms) -> (DeviceNo, bool) = "select a.device_no, a.broken
        from {rows r: group_no bigint} cross join device_owners o cross join aisles a
        where o.group_no = r.group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms
            and o.listed and a.device_no = o.device_no
            and (a.broken or a.enabled and a.curr_stock <= 0)";
    SALES(first_day, last_day) -> SumsOfDay<'_> = "select s.day, s.device_block, s.currency,
            s.devices as sums
        from {rows r: group_no bigint} cross join sales_by_device s
        where s.group_no = r.group_no and s.day >= $first_day and s.day <= $last_day";
    REFUNDING() -> i64 = "select c.refunding
        from {rows r: group_no bigint} cross join group_changes c where c.group_no = r.group_no";
}

/// Returns the devices and the orders of groups. The sales of a device are its sales in all groups;
/// one that moved since the beginning of yesterday need not have sold.
pub(super) async fn of_groups(
    read: &Read<'_>,
    zone: &Zone,
    activity: &Activity,
    groups: &[GroupNo],
    query: &FleetSalesQuery,
) -> Result<Attention, Error> {
    let now = query.now;
    let rows = numbers(groups.iter().copied());
    let mut aisles: HashMap<DeviceNo, BTreeSet<Need>> = HashMap::new();
    read.each_of(&AISLES, &rows, &[now.into()], |row| {
        let (device_no, broken) = row.read()?;
        let need = if broken { Need::Broken } else { Need::Empty };
        aisles.entry(device_no).or_default().insert(need);
        Ok(())
    })
    .await?;
    let yesterday = zone.start_of(Day(zone.day_of(now).0 - 1));
    let habits = habits(read, zone, groups, now).await?;
    let mut attention = Attention::default();
    read.each_of(&LISTED_DEVICES, &rows, &[now.into(), yesterday.into()], |row| {
        let ListedRow { group_no, device_no, device_code, is_new, last_active_ms } = row.read()?;
        let last_active = activity.merged((group_no, device_no), last_active_ms);
        let state = DeviceState { is_online: query.online.holds(last_active), is_new };
        let habits = habits.get(&device_no).copied().unwrap_or_default();
        let of_aisles = aisles.remove(&device_no).unwrap_or_default();
        for need in of_aisles.into_iter().chain(habits.needs(state)) {
            attention.needs.entry(need).or_default().insert(device_code.clone());
        }
        attention.device_count += 1;
        Ok(())
    })
    .await?;
    attention.refunding = read.all_of::<i64>(&REFUNDING, &rows, &[]).await?.into_iter().sum();
    Ok(attention)
}

/// Returns the latest sales of the current devices of a group, or of all groups, and of others.
async fn habits(
    read: &Read<'_>,
    zone: &Zone,
    groups: &[GroupNo],
    now: UnixMs,
) -> Result<HashMap<DeviceNo, Habits>, Error> {
    let today = zone.day_of(now);
    let first_day = Habits::first_day(today);
    let from = zone.start_of(first_day);
    let groups = with_earlier_groups(read, groups.to_vec(), from, now).await?;
    let mut habits: HashMap<DeviceNo, Habits> = HashMap::new();
    read.each_of(&SALES, &numbers(groups), &[first_day.into(), today.into()], |row| {
        let SumsOfDay { day, device_block, sums, .. } = row.read()?;
        each_device(sums, device_block, |device, figures| {
            habits.entry(device).or_default().add(today, day, figures);
        })
    })
    .await?;
    Ok(habits)
}
