//! The order in which the orders of a file, or of a chunk of a stream, are stored: sorted for page
//! locality, except for lines that depend on one another.

use std::collections::HashSet;

use kiosque_model::GroupNo;
use kiosque_store::{DeviceGroups, Incoming, yield_if_due};

/// Orders of a group that are sorted by device together.
const RUN: usize = 4_096;

/// A valid order and its line.
#[derive(Debug)]
pub(crate) struct CheckedOrder {
    pub(crate) line: u64,
    pub(crate) incoming: Incoming,
}

/// Orders in the order in which they are stored.
#[derive(Debug)]
pub(crate) struct StorageOrder {
    /// Lines that depend on no earlier one, by group; each device's lines by trade start.
    pub(crate) sorted: Vec<CheckedOrder>,
    /// The other lines, in their order. They are stored after the sorted ones.
    pub(crate) by_line: Vec<CheckedOrder>,
}

impl StorageOrder {
    pub(crate) fn is_empty(&self) -> bool {
        self.sorted.is_empty() && self.by_line.is_empty()
    }

    /// Rotates the groups so that `group` is the first. The order of the groups is arbitrary.
    pub(crate) fn rotate_to(&mut self, group: GroupNo, groups: &DeviceGroups) {
        let is_before = |one: &CheckedOrder| group_of(one, groups) < Some(group);
        let start = self.sorted.partition_point(is_before);
        self.sorted.rotate_left(start);
    }
}

/// Returns the group of an order's device.
pub(crate) fn group_of(one: &CheckedOrder, groups: &DeviceGroups) -> Option<GroupNo> {
    groups.latest(one.incoming.device_code.as_str())
}

/// Sorts orders for storage.
pub(crate) fn sort_for_storage(
    mut orders: Vec<CheckedOrder>,
    groups: &DeviceGroups,
) -> StorageOrder {
    orders.sort_by_key(|one| one.line);
    let depends = dependent_lines(&orders, groups);
    let mut by_line = Vec::new();
    let mut sorted = Vec::with_capacity(orders.len());
    for (one, depends) in orders.into_iter().zip(depends) {
        yield_if_due();
        if depends { by_line.push(one) } else { sorted.push(one) }
    }
    sort_by_locality(&mut sorted, groups);
    StorageOrder { sorted, by_line }
}

/// The group in which ids and internal trade numbers are unique. `None` means any group: the
/// orders of a device that moved may belong to several.
type Scope = Option<GroupNo>;

/// Returns which lines, in order, depend on earlier ones: those whose order id or internal trade
/// number an earlier line has. The first line of an id and a number has its place among the sorted
/// ones, so that an order is not stored last because a later line claims its number.
fn dependent_lines(orders: &[CheckedOrder], groups: &DeviceGroups) -> Vec<bool> {
    let of_moved = names_of_moved_devices(orders, groups);
    let scope = |one: &CheckedOrder, name: &str| -> Scope {
        if of_moved.contains(name) { None } else { group_of(one, groups) }
    };
    let mut ids: HashSet<(Scope, &str)> = HashSet::with_capacity(orders.len());
    let mut numbers: HashSet<(Scope, &str)> = HashSet::new();
    let lines = orders.iter().map(|one| {
        yield_if_due();
        let id = one.incoming.order_id.as_str();
        let is_new_id = ids.insert((scope(one, id), id));
        let number = one.incoming.trade_no_in.as_ref().map(|number| number.as_str());
        let is_new_number = number.is_none_or(|it| numbers.insert((scope(one, it), it)));
        !is_new_id || !is_new_number
    });
    lines.collect()
}

/// Returns the ids and internal trade numbers on lines of devices that moved.
fn names_of_moved_devices<'a>(
    orders: &'a [CheckedOrder],
    groups: &DeviceGroups,
) -> HashSet<&'a str> {
    let moved = orders.iter().map(|one| &one.incoming);
    let moved = moved.filter(|one| groups.has_moved(one.device_code.as_str()));
    let names = moved.flat_map(|one| {
        let number = one.trade_no_in.as_ref().map(|number| number.as_str());
        std::iter::once(one.order_id.as_str()).chain(number)
    });
    names.collect()
}

/// Sorts orders by group, and within a group in runs by time, each sorted by device. Orders that
/// are read together are then adjacent, and a transaction touches few pages of each index. The
/// order of the devices is arbitrary; each device's orders stay sorted by trade start.
fn sort_by_locality(orders: &mut [CheckedOrder], groups: &DeviceGroups) {
    let group = |one: &CheckedOrder| group_of(one, groups);
    orders.sort_by_cached_key(|one| (group(one), one.incoming.trade_start, one.line));
    for of_group in orders.chunk_by_mut(|one, next| group(one) == group(next)) {
        for run in of_group.chunks_mut(RUN) {
            // A stable sort: each device's orders stay sorted by trade start.
            run.sort_by(|one, next| one.incoming.device_code.cmp(&next.incoming.device_code));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use kiosque_model::{UnixMs, Zone};
    use kiosque_store::ProductNames;

    use super::*;
    use crate::given_order::{self, DateRules};
    use crate::unknown_keys::UnknownKeys;

    /// Devices and the numbers of their groups. `m2` moved from group 1 to group 2.
    pub(crate) fn groups() -> DeviceGroups {
        let periods = [("a1", 1), ("a2", 1), ("b1", 2), ("c1", 3), ("m2", 1), ("m2", 2)];
        let mut groups = DeviceGroups::default();
        groups.extend(periods.map(|(device, group)| (device.to_owned(), GroupNo(group))));
        groups
    }

    /// Returns orders for `ID@DEVICE` or `ID@DEVICE#NUMBER`, each started a second after the
    /// previous one.
    pub(crate) fn checked(orders: &[&str]) -> Vec<CheckedOrder> {
        let orders = orders.iter().zip(1..).map(|(order, line)| {
            let (id, rest) = order.split_once('@').expect("ID@DEVICE");
            let (device, trade_no_in) = rest.split_once('#').unwrap_or((rest, ""));
            let text = format!(
                r#"{{"orderId":"{id}","deviceCode":"{device}","currency":"USD","totalAmount":1,
                "tradeNoIn":"{trade_no_in}","tradeStartTime":"2026-03-01 10:00:{:02}"}}"#,
                59 - line
            );
            let zone = Zone::utc();
            let dates = DateRules { zone: &zone, now: UnixMs::MAX, lead_max: Duration::ZERO };
            let order = given_order::parse(text.as_bytes(), &dates, &mut UnknownKeys::default());
            let order = order.expect("a valid order");
            let incoming = Incoming::of(order, &zone, &ProductNames::new()).expect("rendered");
            CheckedOrder { line, incoming }
        });
        orders.collect()
    }

    fn ids(orders: &[CheckedOrder]) -> String {
        let ids: Vec<_> = orders.iter().map(|one| one.incoming.order_id.as_str()).collect();
        ids.join(" ")
    }

    /// The order of the devices is arbitrary; each device's orders are sorted by trade start, and
    /// repeated ones are last.
    #[test]
    fn orders_are_sorted_by_group_and_rotate_to_any_group() {
        let orders =
            ["1@c1", "2@a1", "3@b1", "4@a2", "3@b1", "5@a1", "6@x", "2@a1", "7@c1", "8@b1"];
        for (first_group, sorted) in [
            (None, "6 5 2 4 8 3 7 1"),
            (Some(1), "5 2 4 8 3 7 1 6"),
            (Some(2), "8 3 7 1 6 5 2 4"),
            (Some(3), "7 1 6 5 2 4 8 3"),
            (Some(4), "6 5 2 4 8 3 7 1"),
        ] {
            let mut order = sort_for_storage(checked(&orders), &groups());
            if let Some(group) = first_group {
                order.rotate_to(GroupNo(group), &groups());
            }
            assert_eq!(ids(&order.sorted), sorted, "beginning with {first_group:?}");
            assert_eq!(ids(&order.by_line), "3 2");
        }
    }

    /// ORD-3: the first lines of an id and an internal trade number are sorted; those after them
    /// follow in their order.
    #[test]
    fn lines_that_depend_on_one_another_are_stored_in_their_order() {
        for (orders, sorted, by_line) in [
            // A number claimed by two orders of a group, and by one order on two devices.
            (&["1@a1#N", "2@a2#N", "3@a1", "1@a1"][..], "3 1", "2 1"),
            (&["1@a2", "2@a1", "1@a1", "3@b1"], "2 1 3", "1"),
            // The order's own number, and another group's.
            (&["1@a1#N", "1@a1#N", "2@b1#N", "1@c1"], "1 2 1", "1"),
            // A number of a later line of an order.
            (&["1@a1", "2@a2#N", "3@a1", "1@a1#N"], "3 1 2", "1"),
            // A device that moved may share ids and numbers with any group.
            (&["1@m2", "1@c1", "2@c1", "3@m2#N", "4@a1#N", "5@a1"], "5 3 1 2", "1 4"),
        ] {
            let order = sort_for_storage(checked(orders), &groups());
            assert_eq!(ids(&order.sorted), sorted, "{orders:?}");
            assert_eq!(ids(&order.by_line), by_line, "{orders:?}");
        }
    }
}
