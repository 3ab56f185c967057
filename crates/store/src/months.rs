//! Roll-ups of months: the sales of a group in a month, in dollars, by product, by device, and by
//! product of a device. A report over years reads them instead of the sums of every day.
//!
//! They are derived from the sums by day, and made in the background once a month has ended:
//!
//! 1. [`Store::mark_months`] inserts a row into `sales_months`, the mark of the month. From then on
//!    each change of a day of the month deletes the mark, in its own transaction, and so does each
//!    change of a rate that the month was converted with. The row of the group, which a batch reads
//!    anyway, has the last day that may be in a marked month; mostly no order is that old.
//! 2. [`Store::close_months`] reads the days of months that were marked some time ago, writes the
//!    rows of the roll-up, and closes the month, if its mark is still there. Only then do reports
//!    read them.
//!
//! So a month is read only while nothing that it follows from has changed. A month that has changed
//! is marked again later.

mod device_set;
mod month_sums;
mod roll_up;
mod rows;

use std::collections::BTreeSet;

use kiosque_model::{Day, GroupNo, UnixMs};

use crate::db::{Deadline, Read, Write};
use crate::sql::{Sql, row, statements};
use crate::{Error, Store, metadata, owners};

pub(crate) use device_set::DeviceSet;
pub(crate) use month_sums::{DeviceRange, MonthBounds, MonthProducts, MonthSums, ProductTotals};
pub(crate) use rows::{DeviceMonthRow, ProductMonthRow, ProductTotalsRow};

row! {
    /// The columns of a group by which a batch decides whether it changes marked months.
    pub(crate) struct MonthMarks {
        /// No month after this day is marked.
        marked_to_day: Option<Day>,
        /// The last change by a program that deletes marks.
        months_change_no: i64,
    }
    struct GroupChanges { last_change_no: i64, months_change_no: i64 }
}

statements! {
    GROUPS() -> GroupNo = "select group_no from groups order by group_no";
    DAYS_WITH_SALES(group_no, last_day) -> Day = "select distinct day from sales_by_day
        where group_no = $group_no and day <= $last_day order by day";
    MARKED(group_no) -> Day = "select first_day from sales_months where group_no = $group_no";
    CHANGES(group_no) -> GroupChanges = "select last_change_no, months_change_no
        from group_changes where group_no = $group_no";
    MARK(group_no, roll_up_no, now_ms) = "insert into sales_months
            (group_no, first_day, roll_up_no, closed, since_ms)
        select g.group_no, r.first_day, $roll_up_no, false, $now_ms
        from {rows r: first_day bigint} cross join group_changes g where g.group_no = $group_no
        on conflict (group_no, first_day) do nothing";
    SET_MARKED_TO(group_no, last_day) = "update group_changes
        set months_change_no = last_change_no, marked_to_day = case
            when marked_to_day > $last_day then marked_to_day else $last_day end
        where group_no = $group_no";
    REOPEN(group_no) = "delete from sales_months using {rows r: first_day bigint}
        where sales_months.group_no = $group_no and sales_months.first_day = r.first_day";
    REOPEN_GROUP(group_no) = "delete from sales_months where group_no = $group_no";
    REOPEN_SINCE(first_day) = "delete from sales_months where first_day >= $first_day";
}

/// Every statement of this module and of those below it.
pub(crate) fn all() -> impl Iterator<Item = &'static Sql> {
    [ALL, month_sums::ALL, roll_up::ALL].into_iter().flatten().copied()
}

/// The time after its end at which a month is marked: orders of its last hours still arrive.
const MARK_AFTER_MS: i64 = 86_400_000;

impl MonthMarks {
    /// Deletes the marks of the months with these days. `last_change` is the last change of the
    /// group before the transaction, which has locked the group and changes it.
    pub(crate) async fn reopen(
        &self,
        write: &Write<'_>,
        (group, last_change): (GroupNo, i64),
        days: impl Iterator<Item = Day>,
    ) -> Result<(), Error> {
        if self.months_change_no != last_change {
            // An older program, which deletes no marks, may have changed any day.
            return write.execute(&REOPEN_GROUP, &[group.into()]).await.map(|_| ());
        }
        let Some(marked_to) = self.marked_to_day else { return Ok(()) };
        let months: BTreeSet<Day> =
            days.filter(|day| *day <= marked_to).map(Day::first_of_month).collect();
        if months.is_empty() {
            return Ok(());
        }
        let rows = months.iter().map(|month| [(*month).into()]);
        write.execute_each(&REOPEN, rows, &[group.into()]).await
    }
}

/// Deletes the marks of all months that have rates of this day or of later ones.
pub(crate) async fn reopen_since(write: &Write<'_>, day: Day) -> Result<(), Error> {
    // Waits for months that are being marked, which would not be seen here.
    metadata::next_roll_up(write).await?;
    write.execute(&REOPEN_SINCE, &[day.first_of_month().into()]).await.map(|_| ())
}

impl Store {
    /// Marks the months that have ended and have sales, to be rolled up by [`Store::close_months`].
    /// Returns their number.
    ///
    /// # Errors
    /// The store failed; months that are marked stay marked.
    pub async fn mark_months(&self, now: UnixMs) -> Result<usize, Error> {
        let last_day = self.zone.day_of(now.plus_ms(-MARK_AFTER_MS)).first_of_month();
        let last_day = Day(last_day.0 - 1);
        let groups =
            async |read: &Read<'_>| read.all(&GROUPS, &[], |row| row.read::<GroupNo>()).await;
        let mut marked = 0;
        for group in self.db.read(Deadline::None, groups).await? {
            let unmarked =
                async move |read: &Read<'_>| unmarked_months(read, group, last_day).await;
            let months = self.db.read(Deadline::None, unmarked).await?;
            if months.is_empty() {
                continue;
            }
            marked += months.len();
            let mark =
                async move |write: &Write<'_>| mark(write, group, &months, (last_day, now)).await;
            self.db.write(Deadline::OfRequest, mark).await?;
        }
        Ok(marked)
    }
}

/// Returns the months up to `last_day` that have sales and no valid mark.
async fn unmarked_months(
    read: &Read<'_>,
    group: GroupNo,
    last_day: Day,
) -> Result<Vec<Day>, Error> {
    let of_group = [group.into()];
    let params = [group.into(), last_day.into()];
    let days = read.all(&DAYS_WITH_SALES, &params, |row| row.read::<Day>()).await?;
    let mut months: Vec<Day> = days.into_iter().map(Day::first_of_month).collect();
    months.dedup();
    let changes = read.one(&CHANGES, &of_group, |row| row.read::<GroupChanges>()).await?;
    if changes.is_some_and(|changes| changes.last_change_no == changes.months_change_no) {
        let marked = read.all(&MARKED, &of_group, |row| row.read::<Day>()).await?;
        let marked: BTreeSet<Day> = marked.into_iter().collect();
        months.retain(|month| !marked.contains(month));
    }
    Ok(months)
}

async fn mark(
    write: &Write<'_>,
    group: GroupNo,
    months: &[Day],
    (last_day, now): (Day, UnixMs),
) -> Result<(), Error> {
    let of_group = [group.into()];
    let roll_up_no = metadata::next_roll_up(write).await?;
    owners::lock_groups(write, &[group]).await?;
    let changes = write.one(&CHANGES, &of_group, |row| row.read::<GroupChanges>()).await?;
    if changes.is_some_and(|changes| changes.last_change_no != changes.months_change_no) {
        write.execute(&REOPEN_GROUP, &of_group).await?;
    }
    write.execute(&SET_MARKED_TO, &[group.into(), last_day.into()]).await?;
    let rows = months.iter().map(|month| [(*month).into()]);
    write.execute_each(&MARK, rows, &[group.into(), roll_up_no.into(), now.into()]).await
}
