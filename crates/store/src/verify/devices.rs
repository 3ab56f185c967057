//! Compares the rows of a group about its devices with the fleet from which they derive.

use kiosque_model::UnixMs;

use super::{Group, Verified};
use crate::db::Read;
use crate::error::Error;
use crate::sql::{row, statements};

row! {
    struct NameRow { device_code: String, stored: String, device_name: String }
    #[derive(PartialEq)]
    struct CountRow { devices: i64, devices_from_ms: UnixMs }
}

statements! {
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
}

pub(super) async fn check(
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
