//! What needs the operator's attention: devices, by the reason, and orders that are being refunded.

use std::collections::{BTreeSet, HashMap};

use kiosque_model::need::Attention;
use kiosque_model::{Day, DeviceNo, GroupNo, Need, UnixMs};

use super::super::figures::habits::Habits;
use super::FleetSalesQuery;
use crate::activity::Activity;
use crate::db::Read;
use crate::error::Error;
use crate::sql::{row, statements};
use crate::sums::device_block::{DevicesOfDay, each_device};

row! {
    struct ListedRow { device_no: DeviceNo, device_code: String, last_active_ms: Option<UnixMs> }
    struct AisleRow { device_no: DeviceNo, broken: bool }
}

statements! {
    /// The devices that a group owns now and device pages list; of a deactivated group none.
    LISTED_DEVICES(group_no, now_ms) -> ListedRow = "select o.device_no, l.device_code,
            l.last_active_ms
        from device_owners o
        join ledger l on l.group_no = $group_no and l.device_code = o.device_code
        join groups g on g.group_no = o.group_no and g.active
        where o.group_no = $group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms
            and o.listed";
    AISLES(group_no, now_ms) -> AisleRow = "select a.device_no, a.broken
        from device_owners o cross join aisles a
        where o.group_no = $group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms
            and o.listed and a.device_no = o.device_no
            and (a.broken or a.enabled and a.curr_stock <= 0)";
    SALES(group_no, first_day, last_day) -> DevicesOfDay<'_> = "select day, device_block, devices
        from sales_by_device
        where group_no = $group_no and day >= $first_day and day <= $last_day";
    REFUNDING(group_no) -> i64 = "select refunding from group_changes where group_no = $group_no";
}

/// Adds the devices and the orders of a group.
pub(super) async fn add(
    attention: &mut Attention,
    read: &Read<'_>,
    group: GroupNo,
    (query, today): (&FleetSalesQuery, Day),
    activity: &Activity,
) -> Result<(), Error> {
    let of_now = [group.into(), query.now.into()];
    let mut aisles: HashMap<DeviceNo, BTreeSet<Need>> = HashMap::new();
    read.each(&AISLES, &of_now, |row| {
        let AisleRow { device_no, broken } = row.read()?;
        let need = if broken { Need::Broken } else { Need::Empty };
        aisles.entry(device_no).or_default().insert(need);
        Ok(())
    })
    .await?;
    let mut habits: HashMap<DeviceNo, Habits> = HashMap::new();
    let days = [group.into(), Habits::first_day(today).into(), today.into()];
    read.each(&SALES, &days, |row| {
        let DevicesOfDay { day, device_block, devices } = row.read()?;
        each_device(devices, device_block, |device, figures| {
            habits.entry(device).or_default().add(today, day, figures);
        })
    })
    .await?;
    read.each(&LISTED_DEVICES, &of_now, |row| {
        let ListedRow { device_no, device_code, last_active_ms } = row.read()?;
        let is_online = query.online.holds(activity.merged((group, device_no), last_active_ms));
        let habits = habits.get(&device_no).copied().unwrap_or_default();
        let mut needs = aisles.remove(&device_no).unwrap_or_default();
        needs.extend((!is_online).then_some(Need::Silent));
        needs.extend((is_online && habits.has_stopped_selling()).then_some(Need::Unsold));
        needs.extend(habits.fails_more().then_some(Need::Failing));
        for need in needs {
            attention.needs.entry(need).or_default().insert(device_code.clone());
        }
        attention.device_count += 1;
        Ok(())
    })
    .await?;
    let refunding = read.one(&REFUNDING, &[group.into()], |row| row.read::<i64>()).await?;
    attention.refunding += refunding.unwrap_or_default();
    Ok(())
}
