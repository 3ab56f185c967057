//! Device pages: the devices that a group owns now, by code.

mod page;

use std::sync::Arc;

use kiosque_contract::DeviceRecord;
use kiosque_model::ids::IdError;
use kiosque_model::{DeviceCode, DeviceNo, PageRequest, UnixMs};

use crate::accounts::GroupRow;
use crate::db::{Bound, Reading};
use crate::error::Error;
use crate::hints::GroupFilter;
use crate::scoped::HintedGroup;
use crate::sql::{Row, Value, row, statements};
use crate::state::State;

row! {
    /// A device, with its last activity in its group.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DeviceRow<'r> {
        pub(crate) device_no: DeviceNo,
        /// `deviceCode`.
        pub device_code: &'r str,
        /// `deviceName`.
        pub device_name: &'r str,
        pub(crate) device_model: &'r str,
        pub(crate) address: &'r str,
        /// The number of items in all its aisles, as last reported.
        pub(crate) total_curr_stock: i64,
        /// Its last activity in this group.
        pub last_active_ms: Option<UnixMs>,
        /// The time of the `apply` that created it.
        pub(crate) created_at_ms: UnixMs,
    }
}

statements! {
    [page]
    OWNER(group_no) -> GroupRow = "select group_no, group_id, group_name, active
        from groups where group_no = $group_no";
    /// No row for a group that never had a device.
    LISTED_COUNT(group_no, now_ms) -> i64 = "select case when c.devices_from_ms <= $now_ms
                then c.devices
                else (
                    select count(*) from device_owners o where o.group_no = $group_no
                        and o.since_ms <= $now_ms and o.until_ms > $now_ms and o.listed
                )
            end as devices
        from group_changes c where c.group_no = $group_no";
    LISTED(group_no, now_ms, after, size) -> DeviceRow<'_> = "select
            d.device_no, d.device_code, d.device_name, d.device_model, d.address,
            d.total_curr_stock, l.last_active_ms, d.created_at_ms
        from device_owners o
        join devices d on d.device_no = o.device_no
        join ledger l on l.group_no = $group_no and l.device_code = o.device_code
        where o.group_no = $group_no and o.device_code > $after and o.since_ms <= $now_ms
            and o.until_ms > $now_ms and o.listed
        order by o.device_code limit $size";
    LISTED_OF(group_no, now_ms) -> DeviceRow<'_> = "select
            d.device_no, d.device_code, d.device_name, d.device_model, d.address,
            d.total_curr_stock, l.last_active_ms, d.created_at_ms
        from {each r: code text} cross join device_owners o
        cross join devices d cross join ledger l
        where o.group_no = $group_no and o.device_code = r.code
            and o.since_ms <= $now_ms and o.until_ms > $now_ms and o.listed
            and d.device_no = o.device_no
            and l.group_no = $group_no and l.device_code = o.device_code";
}

/// The parameters of a device page.
#[derive(Clone, Debug)]
pub struct DeviceQuery {
    /// Another group of the account. The selected group stays selected.
    pub group: Option<GroupFilter>,
    /// Exactly this code, which must be in scope.
    pub code: Option<CodeFilter>,
    /// The name contains this text.
    pub name_part: Option<String>,
    /// 1: online, 0: not.
    pub is_online: Option<i64>,
    /// The page of the list.
    pub page: PageRequest,
}

/// A `deviceCode` filter; `Err` for a text that cannot be a code.
pub type CodeFilter = Result<DeviceCode, IdError>;

/// The earliest last activity with which a device counts as online.
#[derive(Clone, Copy, Debug)]
pub struct OnlineSince(pub UnixMs);

impl OnlineSince {
    /// Returns whether a device with this last activity is online.
    pub fn holds(self, last_active: Option<UnixMs>) -> bool {
        last_active.is_some_and(|last| last >= self.0)
    }
}

/// A device of a page, borrowed from its row, and the group that owns it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device<'a> {
    /// The device.
    pub row: DeviceRow<'a>,
    pub(crate) owner: &'a GroupRow,
}

impl<'a> Device<'a> {
    /// Returns the record of a device page (DEV-1).
    pub fn record(self, online: OnlineSince) -> DeviceRecord<'a> {
        let Device { row, owner } = self;
        DeviceRecord {
            device_code: row.device_code.into(),
            device_name: row.device_name.into(),
            group_id: owner.group_id.as_str().into(),
            group_name: owner.group_name.as_str().into(),
            device_model: row.device_model.into(),
            address: row.address.into(),
            is_online: i64::from(online.holds(row.last_active_ms)),
            total_curr_stock: row.total_curr_stock,
            last_active_timestamp: row.last_active_ms.map(|last| last.0),
            create_timestamp: row.created_at_ms.0,
        }
    }
}

impl DeviceQuery {
    /// Returns whether the page has no filters.
    pub(crate) fn is_plain(&self) -> bool {
        let DeviceQuery { group: _, code, name_part, is_online, page: _ } = self;
        code.is_none() && name_part.is_none() && is_online.is_none()
    }

    /// Returns whether a device matches the filters. The statement selects the group and the code.
    fn matches(&self, device: &Device<'_>, online: OnlineSince) -> bool {
        let DeviceQuery { group: _, code: _, name_part, is_online, page: _ } = self;
        let DeviceRow { device_name, last_active_ms, .. } = device.row;
        let named = name_part.as_ref().is_none_or(|part| device_name.contains(part.as_str()));
        let now_online = i64::from(online.holds(last_active_ms));
        named && is_online.is_none_or(|wanted| wanted == now_online)
    }
}

/// Reads devices of a group into `rows` with `add`, after the group itself.
pub(crate) fn devices_of<T: Send + 'static>(
    state: &State,
    group: HintedGroup,
    devices: Bound,
    rows: T,
    add: impl Fn(&mut T, Device<'_>) -> Result<(), Error> + Send + 'static,
) -> Reading<(Option<GroupRow>, T)> {
    let activity = Arc::clone(&state.activity);
    let add_owner = |(owner, _): &mut (Option<GroupRow>, T), row: &Row<'_>| {
        *owner = Some(row.read()?);
        Ok(())
    };
    let owner = Bound::new(&OWNER, [group.into()]).fold((None, rows), add_owner);
    owner.then(devices, move |(owner, rows), row| {
        let Some(owner) = owner else { return Ok(()) };
        let mut row: DeviceRow<'_> = row.read()?;
        let ledger = (owner.group_no, row.device_no);
        row.last_active_ms = activity.merged(ledger, row.last_active_ms);
        add(rows, Device { row, owner })
    })
}

/// Binds the count of the devices that a group lists now.
pub(crate) fn bind_listed_count(group: HintedGroup, now: UnixMs) -> Bound {
    Bound::new(&LISTED_COUNT, [group.into(), now.into()])
}

/// Counts the devices that a group lists now.
pub(crate) fn listed_count(group: HintedGroup, now: UnixMs) -> Reading<Option<i64>> {
    bind_listed_count(group, now).one()
}

/// Binds the list of the devices that a group owns now, by code: at most `size` after a code.
pub(crate) fn listed(group: HintedGroup, now: UnixMs, after: &str, size: Value<'_>) -> Bound {
    Bound::new(&LISTED, [group.into(), now.into(), after.into(), size])
}

/// Binds the look-up of the devices with some codes that a group owns now.
pub(crate) fn listed_with<'v>(
    group: HintedGroup,
    now: UnixMs,
    codes: impl IntoIterator<Item = Vec<Value<'v>>>,
) -> Bound {
    Bound::new(&LISTED_OF, [group.into(), now.into()]).with_rows(codes)
}
