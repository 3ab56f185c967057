//! Renews what programs of an earlier layout leave out of date.
//!
//! A node of an earlier version continues when a newer one has upgraded the layout. A fleet that it
//! applies may change no element of the hierarchy of aisles and no list of a group's devices, and
//! invalidates no cached list. Its entries in the audit trail have no layout, by which the newer
//! nodes notice.

use std::collections::BTreeSet;

use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use crate::db::{Deadline, Read, Write};
use crate::sql::statements;
use crate::{Error, Store, aisle_texts, list_versions, metadata};

statements! {
    LAST_CHANGE(after_no) -> i64 = "select entry_no from audit
        where layout is null and entry_no > $after_no
            and event in ('fleetApplied', 'deviceDeleted')
        order by entry_no desc limit 1";
    GROUPS() -> GroupNo = "select group_no from groups order by group_no";
}

impl Store {
    /// Renews the lists of devices after changes by older programs, in short transactions. Returns
    /// whether there were any since the last time. The program calls it at intervals.
    ///
    /// # Errors
    /// The store failed; the next call renews all of them.
    pub async fn renew_after_older_programs(&self, now: UnixMs) -> Result<bool, Error> {
        let last_change = async |read: &Read<'_>| {
            let renewed = metadata::last_of_older_programs(read).await?;
            read.one(&LAST_CHANGE, &[renewed.into()], |row| row.read::<i64>()).await
        };
        let Some(entry) = self.db.read(Deadline::OfRequest, last_change).await? else {
            return Ok(false);
        };
        let groups =
            async |read: &Read<'_>| read.all(&GROUPS, &[], |row| row.read::<GroupNo>()).await;
        let groups = self.db.read(Deadline::OfRequest, groups).await?;
        self.renew_device_lists_of(&groups, now).await?;
        self.renew_aisle_texts().await?;
        let groups: BTreeSet<GroupNo> = groups.into_iter().collect();
        let end = async move |write: &Write<'_>| {
            metadata::lock_fleet(write).await?;
            list_versions::increment(write, &groups).await?;
            metadata::set_last_of_older_programs(write, entry).await
        };
        self.db.write(Deadline::OfRequest, end).await?;
        Ok(true)
    }

    async fn renew_aisle_texts(&self) -> Result<(), Error> {
        let mut last = DeviceNo(i64::MIN);
        loop {
            let step = async move |write: &Write<'_>| {
                metadata::lock_fleet(write).await?;
                aisle_texts::renew_after(write, last).await
            };
            match self.db.write(Deadline::OfRequest, step).await? {
                Some(end) => last = end,
                None => return Ok(()),
            }
        }
    }
}
