//! Archiving moves a device's mark up to the first order that is not older than a given time; a
//! late arrival stays current until all before it are old.

use kiosque_model::audit::Act;
use kiosque_model::{GroupNo, UnixMs};

use crate::db::{Length, Read, Write};
use crate::sql::statements;
use crate::{Error, Store, owners};

statements! {
    LEDGERS = "select group_no, device_code, device_no, archived_seq, last_seq from ledger
        where last_seq > archived_seq order by group_no, device_code";
    FIRST_KEPT_CURRENT = "select seq from orders
        where group_no = $1 and device_no = $2 and seq > $3 and trade_start_ms >= $4
        order by seq limit 1";
    RAISE_MARK = "update ledger set archived_seq = $4
        where group_no = $1 and device_code = $2 and archived_seq = $3";
}

/// How many marks one transaction raises: others wait for it.
const MARKS_AT_A_TIME: usize = 200;

/// What an archive run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Archived {
    /// Orders that became history.
    pub orders: i64,
    /// Devices whose mark moved.
    pub devices: usize,
}

impl From<Archived> for Act {
    fn from(archived: Archived) -> Act {
        Act::Archived { orders: archived.orders, devices: archived.devices }
    }
}

struct Mark {
    group: i64,
    code: String,
    was: i64,
    becomes: i64,
}

impl Store {
    /// Makes history of what is older than `before`.
    ///
    /// # Errors
    /// The store failed; what was archived until then stays so, and a repetition does the rest.
    pub async fn archive(&self, before: UnixMs) -> Result<Archived, Error> {
        let marks = self
            .db
            .read(Length::Long, async move |read: &Read<'_>| marks(read, before).await)
            .await?;
        let mut archived = Archived::default();
        let mut marks = marks.into_iter().peekable();
        while marks.peek().is_some() {
            let some: Vec<Mark> = marks.by_ref().take(MARKS_AT_A_TIME).collect();
            let raised = self
                .db
                .write(Length::Short, async move |write: &Write<'_>| raise(write, &some).await)
                .await?;
            archived.orders += raised.orders;
            archived.devices += raised.devices;
        }
        Ok(archived)
    }
}

async fn marks(read: &Read<'_>, before: UnixMs) -> Result<Vec<Mark>, Error> {
    let ledgers = read
        .all(&LEDGERS, &[], |row| {
            let mark = Mark {
                group: row.int(0)?,
                code: row.text(1)?.to_owned(),
                was: row.int(3)?,
                becomes: row.int(4)?,
            };
            Ok((row.int(2)?, mark))
        })
        .await?;
    let mut marks = Vec::new();
    for (device, mut mark) in ledgers {
        let params = [mark.group.into(), device.into(), mark.was.into(), before.0.into()];
        if let Some(first) = read.one(&FIRST_KEPT_CURRENT, &params, |row| row.int(0)).await? {
            mark.becomes = first - 1;
        }
        if mark.becomes > mark.was {
            marks.push(mark);
        }
    }
    Ok(marks)
}

/// A mark that somebody else moved meanwhile is left to them.
async fn raise(write: &Write<'_>, marks: &[Mark]) -> Result<Archived, Error> {
    let mut archived = Archived::default();
    for mark in marks {
        owners::lock_groups(write, &[GroupNo(mark.group)]).await?;
        let params =
            [mark.group.into(), mark.code.as_str().into(), mark.was.into(), mark.becomes.into()];
        if write.execute(&RAISE_MARK, &params).await? == 1 {
            archived.orders += mark.becomes - mark.was;
            archived.devices += 1;
        }
    }
    Ok(archived)
}
