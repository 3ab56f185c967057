//! The rows that each group has about its devices, and that follow from the fleet: the list of its
//! device pages, the prices of its aisles, and the names in its ledgers.
//!
//! An apply reads their sources before and after its changes, for the devices that it changes, and
//! writes the difference. Ownership also changes as time passes: the list and the prices of a
//! group hold until the next change of ownership, and are made anew after it. In between, requests
//! scan the owners.

mod list;

use std::collections::{BTreeMap, BTreeSet};

use kiosque_model::{GroupNo, UnixMs};

use crate::db::{Deadline, Read, Write};
use crate::sql::{Sql, Value, row, statements};
use crate::{Error, Store, owners};

row! {
    struct PeriodRow {
        group_no: GroupNo,
        device_code: String,
        since_ms: UnixMs,
        until_ms: UnixMs,
        listed: bool,
        device_name: String,
        stored_name: String,
    }
    struct PriceRow { group_no: GroupNo, goods_id: String, price: i64, aisles: i64 }
}

statements! {
    PERIODS_OF() -> PeriodRow = "select o.group_no, o.device_code, o.since_ms,
            o.until_ms, o.listed, d.device_name, l.device_name as stored_name
        from {rows r: code text} cross join devices d cross join device_owners o
        cross join ledger l
        where d.device_code = r.code and o.device_no = d.device_no
            and l.group_no = o.group_no and l.device_code = o.device_code";
    PRICES_OF(now_ms) -> PriceRow = "select o.group_no, a.goods_id, a.price, count(*) as aisles
        from {rows r: code text} cross join devices d cross join device_owners o
        cross join aisles a
        where d.device_code = r.code and o.device_no = d.device_no
            and o.since_ms <= $now_ms and o.until_ms > $now_ms and o.listed
            and a.device_no = d.device_no and a.enabled
        group by o.group_no, a.goods_id, a.price";
    SET_NAME(group_no) = "update ledger set device_name = r.name
        from {rows r: code text, name text}
        where ledger.group_no = $group_no and ledger.device_code = r.code";
    DUE(now_ms) -> GroupNo = "select group_no from group_changes
        where listed_until_ms < 9223372036854775807 and listed_until_ms <= $now_ms
        order by group_no";
}

/// Every statement of this module and of those below it.
pub(crate) fn all() -> impl Iterator<Item = &'static Sql> {
    [ALL, list::ALL].into_iter().flatten().copied()
}

/// The parts of the fleet that the rows of groups follow from, for some devices at some time.
#[derive(Default)]
pub(crate) struct GroupDevices {
    by_group: BTreeMap<GroupNo, OfGroup>,
}

#[derive(Default)]
struct OfGroup {
    /// The codes of the devices on its pages.
    listed: BTreeSet<String>,
    /// The number of enabled aisles of these devices, by product and price.
    prices: BTreeMap<(String, i64), i64>,
    /// Codes and names of devices whose name in the ledger is another. A former owner keeps the
    /// name that the device had with it.
    other_names: BTreeMap<String, String>,
    /// The last change of ownership until now, and the next one.
    changes: (Option<UnixMs>, Option<UnixMs>),
}

impl GroupDevices {
    /// Reads the parts of the fleet for the devices with these codes, each given once.
    pub(crate) async fn read(
        read: &Read<'_>,
        codes: &[[Value<'_>; 1]],
        now: UnixMs,
    ) -> Result<GroupDevices, Error> {
        let mut devices = GroupDevices::default();
        read.each_of(&PERIODS_OF, codes, &[], |row| {
            let period: PeriodRow = row.read()?;
            devices.by_group.entry(period.group_no).or_default().add(period, now);
            Ok(())
        })
        .await?;
        read.each_of(&PRICES_OF, codes, &[now.into()], |row| {
            let PriceRow { group_no, goods_id, price, aisles } = row.read()?;
            let prices = &mut devices.by_group.entry(group_no).or_default().prices;
            *prices.entry((goods_id, price)).or_default() += aisles;
            Ok(())
        })
        .await?;
        Ok(devices)
    }

    /// Writes the difference to the rows of the groups, which are locked. `self` was read before
    /// the changes, for the same devices and the same time.
    pub(crate) async fn write_changes(
        mut self,
        write: &Write<'_>,
        codes: &[[Value<'_>; 1]],
        now: UnixMs,
    ) -> Result<(), Error> {
        let after = GroupDevices::read(write, codes, now).await?;
        let mut changed: BTreeMap<GroupNo, (OfGroup, OfGroup)> = BTreeMap::new();
        for (group, new) in after.by_group {
            let old = self.by_group.remove(&group).unwrap_or_default();
            if new.differs_from(&old) {
                changed.insert(group, (old, new));
            }
        }
        for (group, old) in self.by_group {
            changed.insert(group, (old, OfGroup::default()));
        }
        for (group, (old, new)) in &changed {
            let names = new.other_names.iter();
            let names = names.map(|(code, name)| [code.as_str().into(), name.as_str().into()]);
            write.execute_each(&SET_NAME, names, &[(*group).into()]).await?;
            list::update(write, *group, old, new, now).await?;
        }
        Ok(())
    }
}

impl OfGroup {
    fn add(&mut self, period: PeriodRow, now: UnixMs) {
        let PeriodRow { since_ms: since, until_ms: until, .. } = period;
        if period.listed && since <= now && now < until {
            self.listed.insert(period.device_code.clone());
        }
        if now < until && period.stored_name != period.device_name {
            self.other_names.insert(period.device_code, period.device_name);
        }
        for change in [since, until] {
            if change <= now {
                self.changes.0 = self.changes.0.max(Some(change));
            } else if change.0 < i64::MAX {
                self.changes.1 = Some(self.changes.1.map_or(change, |next| next.min(change)));
            }
        }
    }

    fn differs_from(&self, old: &OfGroup) -> bool {
        self.listed != old.listed
            || self.prices != old.prices
            || self.changes != old.changes
            || !self.other_names.is_empty()
    }
}

impl Store {
    /// Makes the device lists anew whose groups have gained or lost a device by the time `now`,
    /// because a move has taken effect. Returns their number.
    ///
    /// # Errors
    /// The store failed.
    pub async fn renew_device_lists(&self, now: UnixMs) -> Result<usize, Error> {
        let due = async move |read: &Read<'_>| {
            read.all(&DUE, &[now.into()], |row| row.read::<GroupNo>()).await
        };
        let due = self.db.read(Deadline::OfRequest, due).await?;
        for group in due.iter().copied() {
            let renew = async move |write: &Write<'_>| {
                owners::lock_groups(write, &[group]).await?;
                list::renew(write, group, now).await
            };
            self.db.write(Deadline::OfRequest, renew).await?;
        }
        Ok(due.len())
    }
}
