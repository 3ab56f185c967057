//! The audit trail, only ever added to: entries are written in the transaction of what they tell
//! wherever there is one, and purged from their old end.

use kiosque_model::audit::{
    Act, Actor, AuditEntry, AuditEvent, EarlierSession, Happened, TakenAway,
};
use kiosque_model::{AccountNo, ActedBy, GroupNo, Origin, Source, UnixMs};

use crate::db::{Length, Read, Write};
use crate::sql::{Row, has_no_nul, statements};
use crate::{Error, Store, metadata};

statements! {
    ADD = "insert into audit (entry_no, at_ms, event, account, actor, source, request_id, group_id,
            count, detail, other_source, other_request_id, other_at_ms)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    LIST = "select entry_no, at_ms, event, account, actor, source, request_id, group_id, count,
            detail, other_source, other_request_id, other_at_ms
        from audit where entry_no < $1 and entry_no > $2 and at_ms >= $3
        order by entry_no desc limit $4";
    LIST_OF_ACCOUNT = "select entry_no, at_ms, event, account, actor, source, request_id, group_id,
            count, detail, other_source, other_request_id, other_at_ms
        from audit where entry_no < $1 and entry_no > $2 and at_ms >= $3 and account = $5
        order by entry_no desc limit $4";
    LAST_BEFORE = "select entry_no from audit where at_ms < $1 order by entry_no desc limit 1";
    OLDEST = "select entry_no, at_ms from audit where entry_no > $1 order by entry_no limit $2";
    DROP = "delete from audit where entry_no > $1 and entry_no <= $2 and at_ms < $3";
    LOGIN_NAME = "select login_name from accounts where account_no = $1";
    GROUP_ID = "select group_id from groups where group_no = $1";
    SESSION_OF = "select s.source, s.request_id, s.opened_at_ms, s.expires_at_ms, g.group_id
        from sessions s left join groups g on g.group_no = s.group_no where s.account_no = $1";
}

/// How much later than others that happened after it an entry may be written: refusals are told a
/// minute's worth together, and clocks are set.
const LATE_MS: i64 = 3_600_000;
/// Entries that one transaction purges: others wait for it.
const PURGED_AT_A_TIME: usize = 500;

/// Which entries to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditQuery {
    /// Those of one account alone.
    pub account: Option<String>,
    /// None that happened before this.
    pub since: Option<UnixMs>,
    /// At most so many.
    pub limit: usize,
    /// Those before this number alone, to go on where a page ended.
    pub before: Option<i64>,
}

/// Entries, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditPage {
    /// The entries.
    pub entries: Vec<AuditEntry>,
    /// `before` of the next page; none when this is the last.
    pub next: Option<i64>,
}

impl Store {
    /// Notes what the operator did.
    ///
    /// # Errors
    /// The store failed.
    pub async fn note_act(&self, act: Act, by: ActedBy) -> Result<(), Error> {
        self.db
            .write(Length::Short, async move |write: &Write<'_>| self::act(write, &act, &by).await)
            .await
    }

    /// Notes what happened outside of any transaction: refused logins.
    ///
    /// # Errors
    /// The store failed; nothing was noted.
    pub async fn note_all(&self, happened: Vec<Happened>) -> Result<(), Error> {
        let note = async move |write: &Write<'_>| {
            for one in &happened {
                add(write, one).await?;
            }
            Ok(())
        };
        self.db.write(Length::Short, note).await
    }

    /// Lists the trail.
    ///
    /// # Errors
    /// The store failed.
    pub async fn audit(&self, ask: AuditQuery) -> Result<AuditPage, Error> {
        self.db.read(Length::Short, async move |read: &Read<'_>| page(read, &ask).await).await
    }

    /// Forgets what happened before `before`, from the old end, and says how many entries that
    /// were.
    ///
    /// # Errors
    /// The store failed; what was purged until then stays so.
    pub async fn purge_audit(&self, before: UnixMs) -> Result<usize, Error> {
        let (mut purged, mut from) = (0, 0);
        loop {
            let some = self
                .db
                .write(Length::Short, async move |write: &Write<'_>| {
                    purge(write, from, before).await
                })
                .await?;
            purged += some.purged;
            match some.seen_to {
                Some(seen_to) => from = seen_to,
                None => return Ok(purged),
            }
        }
    }
}

/// Notes an act in the transaction that it is done in.
pub(crate) async fn act(write: &Write<'_>, act: &Act, by: &ActedBy) -> Result<(), Error> {
    let happened = Happened::by_operator(act.event(), by);
    add(write, &Happened { detail: Some(act.detail()), ..happened }).await
}

/// Notes that a fleet was applied.
pub(crate) async fn fleet_applied(
    write: &Write<'_>,
    by: &ActedBy,
    detail: String,
) -> Result<(), Error> {
    let happened = Happened::by_operator(AuditEvent::FleetApplied, by);
    add(write, &Happened { detail: Some(detail), ..happened }).await
}

/// Notes that an account logged in, switched or logged out.
pub(crate) async fn session_changed(
    write: &Write<'_>,
    event: AuditEvent,
    (account, group): (AccountNo, GroupNo),
    origin: &Origin,
) -> Result<(), Error> {
    let happened = Happened::to_account(event, login_name(write, account).await?, origin);
    let group_id =
        write.one(&GROUP_ID, &[group.0.into()], |row| Ok(row.text(0)?.to_owned())).await?;
    add(write, &Happened { group_id, ..happened }).await
}

/// A session that is about to end: from where it was opened, and the group that it selects.
pub(crate) struct Live {
    opened: EarlierSession,
    group_id: Option<String>,
}

/// Notes that a login replaced a session.
pub(crate) async fn session_replaced(
    write: &Write<'_>,
    account: AccountNo,
    live: Live,
    origin: &Origin,
) -> Result<(), Error> {
    let event = AuditEvent::SessionReplaced;
    let happened = Happened::to_account(event, login_name(write, account).await?, origin);
    add(write, &Happened { group_id: live.group_id, earlier: Some(live.opened), ..happened }).await
}

/// Notes that an apply ended a session.
pub(crate) async fn session_ended(
    write: &Write<'_>,
    (account, why): (&str, TakenAway),
    live: Live,
    by: &ActedBy,
) -> Result<(), Error> {
    let happened = Happened {
        account: Some(account.to_owned()),
        detail: Some(why.name().to_owned()),
        ..Happened::by_operator(AuditEvent::SessionEnded, by)
    };
    add(write, &Happened { group_id: live.group_id, earlier: Some(live.opened), ..happened }).await
}

/// The account's session, if it is live.
pub(crate) async fn live_session(
    read: &Read<'_>,
    account: AccountNo,
    now: UnixMs,
) -> Result<Option<Live>, Error> {
    let session = read
        .one(&SESSION_OF, &[account.0.into()], |row| {
            let group_id = row.maybe_text(4)?.map(str::to_owned);
            Ok((row.int(3)?, Live { opened: earlier(row, 0)?, group_id }))
        })
        .await?;
    Ok(session.filter(|(expires_at_ms, _)| now.0 < *expires_at_ms).map(|(_, live)| live))
}

async fn login_name(read: &Read<'_>, account: AccountNo) -> Result<Option<String>, Error> {
    read.one(&LOGIN_NAME, &[account.0.into()], |row| Ok(row.text(0)?.to_owned())).await
}

async fn add(write: &Write<'_>, happened: &Happened) -> Result<(), Error> {
    // A number is given once, also when everything before it has been purged.
    let entry_no = metadata::next_audit_entry(write).await?;
    let (actor, source) = (text(happened.actor.as_ref()), text(happened.source));
    let earlier = happened.earlier.as_ref();
    let earlier_source = text(earlier.and_then(|earlier| earlier.source));
    let params = [
        entry_no.into(),
        happened.at.0.into(),
        happened.event.name().into(),
        happened.account.as_deref().into(),
        actor.as_deref().into(),
        source.as_deref().into(),
        happened.request_id.as_deref().into(),
        happened.group_id.as_deref().into(),
        happened.count.into(),
        happened.detail.as_deref().into(),
        earlier_source.as_deref().into(),
        earlier.and_then(|earlier| earlier.request_id.as_deref()).into(),
        earlier.and_then(|earlier| earlier.at).map(|at| at.0).into(),
    ];
    write.execute(&ADD, &params).await?;
    Ok(())
}

fn text<T: ToString>(maybe: Option<T>) -> Option<String> {
    maybe.map(|value| value.to_string())
}

async fn page(read: &Read<'_>, ask: &AuditQuery) -> Result<AuditPage, Error> {
    let before = ask.before.unwrap_or(i64::MAX);
    let since = ask.since.unwrap_or(UnixMs(i64::MIN));
    // Numbers grow as time does, but for what was written late: the walk to the old end stops
    // there.
    let stop = [since.plus_ms(-LATE_MS).0.into()];
    let floor = read.one(&LAST_BEFORE, &stop, |row| row.int(0)).await?.unwrap_or(0);
    let one_more = i64::try_from(ask.limit).unwrap_or(i64::MAX - 1) + 1;
    let mut params = vec![before.into(), floor.into(), since.0.into(), one_more.into()];
    let mut entries = match &ask.account {
        None => read.all(&LIST, &params, entry).await?,
        Some(account) if !has_no_nul(account) => Vec::new(),
        Some(account) => {
            params.push(account.as_str().into());
            read.all(&LIST_OF_ACCOUNT, &params, entry).await?
        }
    };
    let is_last = entries.len() <= ask.limit;
    entries.truncate(ask.limit);
    let next = entries.last().filter(|_| !is_last).map(|last| last.entry_no);
    Ok(AuditPage { entries, next })
}

fn entry(row: &Row<'_>) -> Result<AuditEntry, Error> {
    let owned = |column| Ok::<_, Error>(row.maybe_text(column)?.map(str::to_owned));
    let event = AuditEvent::named(row.text(2)?).ok_or_else(|| unread("event", row.text(2)))?;
    let actor =
        row.maybe_text(4)?.map(|text| Actor::named(text).ok_or_else(|| unread("actor", Ok(text))));
    let told = earlier(row, 10)?;
    // A replaced or ended session is told, also one of which nothing is known.
    let ended = matches!(event, AuditEvent::SessionReplaced | AuditEvent::SessionEnded);
    let happened = Happened {
        at: UnixMs(row.int(1)?),
        event,
        account: owned(3)?,
        actor: actor.transpose()?,
        source: source(row, 5)?,
        request_id: owned(6)?,
        group_id: owned(7)?,
        count: row.int(8)?,
        detail: owned(9)?,
        earlier: ended.then_some(told),
    };
    Ok(AuditEntry { entry_no: row.int(0)?, happened })
}

fn earlier(row: &Row<'_>, first: usize) -> Result<EarlierSession, Error> {
    Ok(EarlierSession {
        source: source(row, first)?,
        request_id: row.maybe_text(first + 1)?.map(str::to_owned),
        at: row.maybe_int(first + 2)?.map(UnixMs),
    })
}

fn source(row: &Row<'_>, column: usize) -> Result<Option<Source>, Error> {
    let Some(text) = row.maybe_text(column)? else { return Ok(None) };
    text.parse().map(Some).map_err(|_| unread("source", Ok(text)))
}

fn unread(what: &str, text: Result<&str, Error>) -> Error {
    Error::Data(format!("the trail has an unknown {what}: {:?}", text.unwrap_or_default()))
}

/// What one transaction of a purge did.
struct Purged {
    purged: usize,
    /// Where the next one goes on, unless there is nothing more to purge.
    seen_to: Option<i64>,
}

async fn purge(write: &Write<'_>, from: i64, before: UnixMs) -> Result<Purged, Error> {
    let most = i64::try_from(PURGED_AT_A_TIME).unwrap_or(i64::MAX);
    let oldest = write
        .all(&OLDEST, &[from.into(), most.into()], |row| Ok((row.int(0)?, row.int(1)?)))
        .await?;
    let old = oldest.iter().rfind(|(_, at_ms)| *at_ms < before.0);
    let Some((last_old, _)) = old else { return Ok(Purged { purged: 0, seen_to: None }) };
    let purged = write.execute(&DROP, &[from.into(), (*last_old).into(), before.0.into()]).await?;
    let seen_to = oldest.last().filter(|_| oldest.len() == PURGED_AT_A_TIME);
    let purged = usize::try_from(purged).unwrap_or(usize::MAX);
    Ok(Purged { purged, seen_to: seen_to.map(|(last, _)| *last) })
}
