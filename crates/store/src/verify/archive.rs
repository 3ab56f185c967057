//! Compares the marks of archive runs with the ledgers.

use super::{Group, Verified};
use crate::Error;
use crate::db::Read;
use crate::sql::{row, statements};

row! {
    struct MarkRow {
        device_code: String,
        run_no: i64,
        old_seq: i64,
        new_seq: i64,
        archived_seq: Option<i64>,
    }
}

statements! {
    MARKS(group_no) -> MarkRow = "select m.device_code, m.run_no, m.old_seq, m.new_seq,
            l.archived_seq
        from archive_marks m
        left join ledger l on l.group_no = $group_no and l.device_code = m.device_code
        where m.group_no = $group_no order by m.device_code, m.run_no";
}

/// Checks that the runs of each device archived orders one after the other, up to its mark at most.
pub(super) async fn check(
    read: &Read<'_>,
    group: &Group,
    found: &mut Verified,
) -> Result<(), Error> {
    let marks = read.all(&MARKS, &[group.number.into()], |row| row.read::<MarkRow>()).await?;
    for of_device in marks.chunk_by(|one, next| one.device_code == next.device_code) {
        let mut last = 0;
        for MarkRow { device_code, run_no, old_seq, new_seq, archived_seq } in of_device {
            if *old_seq < last || new_seq <= old_seq || Some(*new_seq) > *archived_seq {
                let mark = archived_seq.map_or("none".to_owned(), |mark| mark.to_string());
                found.differences.push(format!(
                    "group {}, device {device_code}: archive run {run_no} has the sequence after \
                     {old_seq} up to {new_seq}, runs before it end at {last}, the archive mark is \
                     {mark}",
                    group.id
                ));
            }
            last = *new_seq;
        }
    }
    Ok(())
}
