//! The audit trail, which is append-only: an entry is written in the transaction of the change that
//! it records, if any. Old entries are purged.

pub(crate) mod details;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use kiosque_contract::{AuditDetails, AuditEntry, ReplacedSession};
use kiosque_model::audit::{AccountChange, AuditEvent, AuditRecord};
use kiosque_model::{AccountNo, ActedBy, GroupNo, Origin, Source, UnixMs};

use crate::db::{Deadline, Read, Write};
use crate::error::Error;
use crate::json_records::json;
use crate::listing::{Listed, Listing};
use crate::sql::{Value, has_no_nul, row, statements};
use crate::views::Trail;
use crate::{accounts, metadata};
pub use details::Act;

row! {
    struct EntryRow {
        entry_no: i64,
        at_ms: UnixMs,
        event: String,
        account: Option<String>,
        actor: Option<String>,
        source: Option<String>,
        request_id: Option<String>,
        group_id: Option<String>,
        count: i64,
        reason: Option<String>,
        details: Option<String>,
        replaced: Option<ReplacedSession>,
    }
    for ReplacedSession { source, request_id, timestamp }
    struct SessionRow {
        opened: ReplacedSession,
        expires_at_ms: UnixMs,
        group_id: Option<String>,
    }
}

statements! {
    INSERT_ENTRY(
        entry_no, at_ms, event, account, actor, source, request_id, group_id, count, reason,
        details, other_source, other_request_id, other_at_ms
    ) = "insert into audit (entry_no, at_ms, event, account, actor, source, request_id,
            group_id, count, reason, details, other_source, other_request_id, other_at_ms)
        values ($entry_no, $at_ms, $event, $account, $actor, $source, $request_id,
            $group_id, $count, $reason, $details, $other_source, $other_request_id,
            $other_at_ms)";
    /// An empty text selects all events, or all sources.
    ENTRIES(before_no, after_no, since_ms, count, only_event, only_source) -> EntryRow = "
        select entry_no, at_ms, event, account, actor, source, request_id, group_id, count, reason,
            details, other_source as source, other_request_id as request_id,
            other_at_ms as timestamp
        from audit where entry_no < $before_no and entry_no > $after_no and at_ms >= $since_ms
            and ($only_event = '' or event = $only_event)
            and ($only_source = '' or source = $only_source)
        order by entry_no desc limit $count";
    ENTRIES_OF_ACCOUNT(
        before_no, after_no, since_ms, count, only_event, only_source, account
    ) -> EntryRow = "
        select entry_no, at_ms, event, account, actor, source, request_id, group_id, count, reason,
            details, other_source as source, other_request_id as request_id,
            other_at_ms as timestamp
        from audit where entry_no < $before_no and entry_no > $after_no and at_ms >= $since_ms
            and ($only_event = '' or event = $only_event)
            and ($only_source = '' or source = $only_source)
            and account = $account
        order by entry_no desc limit $count";
    /// The first entry that a part which searches `$searched` entries does not reach.
    UNSEARCHED(before_no, searched) -> i64 = "select entry_no from audit
        where entry_no < $before_no order by entry_no desc limit 1 offset $searched";
    UNSEARCHED_OF_ACCOUNT(before_no, searched, account) -> i64 = "select entry_no from audit
        where entry_no < $before_no and account = $account
        order by entry_no desc limit 1 offset $searched";
    FLEET_CHANGES_AFTER(after_no) -> i64 = "select count(*) from audit
        where entry_no > $after_no and event in ('fleetApplied', 'deviceDeleted')";
    /// The lowest number of the latest entries before a time.
    LATEST_BEFORE(time_ms, most) -> Option<i64> = "select min(entry_no) from (
        select entry_no from audit where at_ms < $time_ms order by at_ms desc limit $most) latest";
    RECORDED_EVENT(entry_no) -> (UnixMs, Option<String>) = "select at_ms, request_id
        from audit where entry_no = $entry_no";
    OLDEST() -> UnixMs = "select at_ms from audit order by at_ms limit 1";
    PURGE(before_ms, most) = "delete from audit where entry_no in (
        select entry_no from audit where at_ms < $before_ms order by at_ms limit $most)";
    LOGIN_NAME(account_no) -> String = "select login_name from accounts
        where account_no = $account_no";
    SESSION_OF(account_no) -> SessionRow = "select s.source, s.request_id,
            s.opened_at_ms as timestamp, s.expires_at_ms, g.group_id
        from sessions s left join groups g on g.group_no = s.group_no
        where s.account_no = $account_no";
}

/// The maximum time by which an entry may be written after entries of later events: refused logins
/// are recorded once a minute, and clocks are adjusted.
const WRITE_DELAY_MAX_MS: i64 = 3_600_000;

/// The number of entries with too early a time, from a clock that was set back for a while, after
/// which a list of later entries still has all that were written before them.
const MISDATED_MAX: i64 = 1_000;

/// The maximum number of entries that a part of a list searches for an event or a source; with an
/// account, entries of the account. The next part continues after them.
const SEARCHED_MAX: i64 = 100_000;

/// Selects entries of the audit trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only entries of this account.
    pub account: Option<String>,
    /// Only events of this kind.
    pub event: Option<AuditEvent>,
    /// Only events from this source.
    pub source: Option<Source>,
    /// Only events at or after this time.
    pub since: Option<UnixMs>,
    /// The maximum number of entries.
    pub limit: usize,
    /// Only entries with a smaller number, to continue after a page.
    pub before: Option<i64>,
}

impl AuditQuery {
    /// Returns a query for the latest entries.
    pub fn latest(limit: usize) -> AuditQuery {
        AuditQuery { account: None, event: None, source: None, since: None, limit, before: None }
    }
}

/// A page of entries, newest first. Before the last one it may have fewer than requested, or none.
/// `next` is `before` of the next page.
pub type AuditPage = Listed<AuditEntry, i64>;

/// Events to be recorded together, once. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PendingEvents {
    events: Arc<[AuditRecord]>,
    /// The number that the last attempt assigned to the first entry; 0 before the first attempt.
    attempted_no: Arc<AtomicI64>,
}

impl Trail<'_> {
    /// Records an operation of the operator.
    ///
    /// # Errors
    /// The store failed.
    pub async fn record_act(self, act: Act, by: ActedBy) -> Result<(), Error> {
        let record = async move |write: &Write<'_>| self::act(write, &act, &by).await;
        self.0.db.write(Deadline::OfRequest, record).await
    }

    /// Records events that belong to no other transaction, such as refused logins. After
    /// [`Error::Unknown`], the same `events` can be recorded again; they are never stored twice.
    ///
    /// # Errors
    /// The store failed. Unless the error is `Unknown`, nothing was recorded.
    pub async fn record_events(self, events: &PendingEvents) -> Result<(), Error> {
        let events = events.clone();
        let record = async move |write: &Write<'_>| events.record(write).await;
        self.0.db.write(Deadline::OfRequest, record).await
    }

    /// Returns a page of the trail.
    ///
    /// # Errors
    /// The store failed.
    pub async fn entries(self, query: AuditQuery) -> Result<AuditPage, Error> {
        let list = async move |read: &Read<'_>| page(read, &query).await;
        self.0.db.read(Deadline::OfRequest, list).await
    }

    /// Returns the time of the oldest entry.
    ///
    /// # Errors
    /// The store failed.
    pub async fn oldest_entry(self) -> Result<Option<UnixMs>, Error> {
        self.0.db.one(&OLDEST, &[]).await
    }

    /// Deletes the entries of events before `before`, the oldest first. Returns their number.
    ///
    /// # Errors
    /// The store failed; entries purged so far stay purged.
    pub async fn purge(self, before: UnixMs) -> Result<u64, Error> {
        self.0.db.purge(&PURGE, before).await
    }
}

impl PendingEvents {
    /// Returns events that no attempt has recorded yet.
    pub fn new(events: Vec<AuditRecord>) -> PendingEvents {
        PendingEvents { events: events.into(), attempted_no: Arc::default() }
    }

    async fn record(&self, write: &Write<'_>) -> Result<(), Error> {
        let Some((first, others)) = self.events.split_first() else { return Ok(()) };
        // Locks the counter: an attempt with an unknown outcome has ended by now.
        let entry_no = metadata::take(write, metadata::AUDIT, 1).await?;
        let attempted_no = self.attempted_no.load(Ordering::Relaxed);
        let recorded = write.one(&RECORDED_EVENT, &[attempted_no.into()]).await?;
        let is_first = |(at, request_id): (UnixMs, Option<String>)| {
            at == first.at && request_id == first.request_id
        };
        if recorded.is_some_and(is_first) {
            return Ok(());
        }
        self.attempted_no.store(entry_no, Ordering::Relaxed);
        insert_as(write, entry_no, first, AuditDetails::default(), None).await?;
        for event in others {
            insert(write, event, AuditDetails::default(), None).await?;
        }
        Ok(())
    }
}

/// Records an operation in its transaction.
pub(crate) async fn act(write: &Write<'_>, act: &Act, by: &ActedBy) -> Result<(), Error> {
    let detail = act.reason.map(str::to_owned);
    let happened = AuditRecord { detail, ..AuditRecord::by_operator(act.event, by) };
    insert(write, &happened, details::with_run(act.details.clone(), by), None).await
}

/// Returns whether a fleet was applied, or a device deleted, after an entry of the trail.
pub(crate) async fn is_fleet_changed_since(read: &Read<'_>, entry: i64) -> Result<bool, Error> {
    let count = read.one::<i64>(&FLEET_CHANGES_AFTER, &[entry.into()]).await?;
    Ok(count != Some(0))
}

/// Records that an account logged in, switched its group or logged out.
pub(crate) async fn session_changed(
    write: &Write<'_>,
    event: AuditEvent,
    account: AccountNo,
    group: GroupNo,
    origin: &Origin,
) -> Result<(), Error> {
    let happened = AuditRecord::to_account(event, login_name(write, account).await?, origin);
    let group_id = accounts::group_id(write, group).await?;
    insert(write, &AuditRecord { group_id, ..happened }, AuditDetails::default(), None).await
}

/// A live session that is about to end.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveSession {
    /// The login that opened it.
    pub opened: ReplacedSession,
    /// The group that it selects.
    pub group_id: Option<String>,
}

/// Records that a login replaced a session.
pub(crate) async fn session_replaced(
    write: &Write<'_>,
    account: AccountNo,
    live: LiveSession,
    origin: &Origin,
) -> Result<(), Error> {
    let account = login_name(write, account).await?;
    let happened = AuditRecord::to_account(AuditEvent::SessionReplaced, account, origin);
    let happened = AuditRecord { group_id: live.group_id, ..happened };
    insert(write, &happened, AuditDetails::default(), Some(&live.opened)).await
}

/// Records that the operator ended a session.
pub(crate) async fn session_ended(
    write: &Write<'_>,
    account: &str,
    why: AccountChange,
    live: LiveSession,
    by: &ActedBy,
) -> Result<(), Error> {
    let happened = AuditRecord {
        account: Some(account.to_owned()),
        detail: Some(why.name().to_owned()),
        group_id: live.group_id,
        ..AuditRecord::by_operator(AuditEvent::SessionEnded, by)
    };
    let details = details::with_run(AuditDetails::default(), by);
    insert(write, &happened, details, Some(&live.opened)).await
}

/// Returns the account's session, if it is live.
pub(crate) async fn live_session(
    read: &Read<'_>,
    account: AccountNo,
    now: UnixMs,
) -> Result<Option<LiveSession>, Error> {
    let session: Option<SessionRow> = read.one(&SESSION_OF, &[account.into()]).await?;
    let live = session.filter(|session| now < session.expires_at_ms);
    Ok(live.map(|SessionRow { opened, group_id, .. }| LiveSession { opened, group_id }))
}

async fn login_name(read: &Read<'_>, account: AccountNo) -> Result<Option<String>, Error> {
    read.one(&LOGIN_NAME, &[account.into()]).await
}

/// Inserts an entry. Its text is only the reason; the text of other details is rendered when it is
/// read.
async fn insert(
    write: &Write<'_>,
    happened: &AuditRecord,
    details: AuditDetails,
    ended: Option<&ReplacedSession>,
) -> Result<(), Error> {
    // Numbers are never reused, even after all earlier entries have been purged.
    let entry_no = metadata::take(write, metadata::AUDIT, 1).await?;
    insert_as(write, entry_no, happened, details, ended).await
}

async fn insert_as(
    write: &Write<'_>,
    entry_no: i64,
    happened: &AuditRecord,
    details: AuditDetails,
    ended: Option<&ReplacedSession>,
) -> Result<(), Error> {
    let has_details = details != AuditDetails::default();
    let details = has_details.then(|| json(&details)).transpose()?;
    let (actor, source) = (text(happened.actor.as_ref()), text(happened.source));
    let params = [
        entry_no.into(),
        happened.at.into(),
        happened.event.name().into(),
        happened.account.as_deref().into(),
        actor.as_deref().into(),
        source.as_deref().into(),
        happened.request_id.as_deref().into(),
        happened.group_id.as_deref().into(),
        happened.count.into(),
        happened.detail.as_deref().into(),
        details.as_deref().into(),
        ended.map(|ended| ended.source.as_str()).into(),
        ended.map(|ended| ended.request_id.as_str()).into(),
        ended.map(|ended| ended.timestamp).into(),
    ];
    write.execute(&INSERT_ENTRY, &params).await?;
    Ok(())
}

fn text<T: ToString>(value: Option<T>) -> Option<String> {
    value.map(|value| value.to_string())
}

async fn page(read: &Read<'_>, query: &AuditQuery) -> Result<AuditPage, Error> {
    let listing = Listing { after: query.before, limit: query.limit };
    let before = query.before.unwrap_or(i64::MAX);
    let since = query.since.unwrap_or(UnixMs(i64::MIN));
    // Numbers increase with time, except for delayed entries: the scan towards older entries stops
    // here.
    let stop = [since.plus_ms(-WRITE_DELAY_MAX_MS).into(), MISDATED_MAX.into()];
    let oldest = read.one(&LATEST_BEFORE, &stop).await?.flatten().unwrap_or(0_i64);
    let account = query.account.as_deref();
    if !account.is_none_or(has_no_nul) {
        return Ok(AuditPage { entries: Vec::new(), next: None });
    }
    let mut searched = vec![before.into(), SEARCHED_MAX.into()];
    searched.extend(account.map(Value::from));
    let unsearched: Option<i64> = match (query.event.is_some() || query.source.is_some(), account) {
        (false, _) => None,
        (true, None) => read.one(&UNSEARCHED, &searched).await?,
        (true, Some(_)) => read.one(&UNSEARCHED_OF_ACCOUNT, &searched).await?,
    };
    let unsearched = unsearched.filter(|entry| *entry > oldest);
    let floor = unsearched.unwrap_or(oldest);
    let event = query.event.map_or("", AuditEvent::name);
    let source = text(query.source).unwrap_or_default();
    let mut params = vec![before.into(), floor.into(), since.into(), listing.count().into()];
    params.extend([event.into(), Value::from(source.as_str())]);
    params.extend(account.map(Value::from));
    let rows = match account {
        None => read.all(&ENTRIES, &params).await?,
        Some(_) => read.all(&ENTRIES_OF_ACCOUNT, &params).await?,
    };
    let entries = rows.into_iter().map(entry).collect::<Result<Vec<_>, Error>>()?;
    let page = listing.cut(entries, |entry| entry.entry_no);
    let next = page.next.or(unsearched.map(|entry| entry + 1));
    Ok(AuditPage { next, ..page })
}

fn entry(row: EntryRow) -> Result<AuditEntry, Error> {
    let unknown = |_| Error::Data(format!("the audit trail has an unknown event: {:?}", row.event));
    let event: AuditEvent = row.event.parse().map_err(unknown)?;
    // Details that a later version wrote in another form are left out.
    let details: Option<AuditDetails> =
        row.details.and_then(|text| serde_json::from_str(&text).ok());
    let detail = row.reason.or_else(|| details::text(event, details.as_ref()?));
    Ok(AuditEntry {
        entry_no: row.entry_no,
        timestamp: row.at_ms.0,
        event: event.name().into(),
        account: row.account,
        actor: row.actor,
        source: row.source,
        request_id: row.request_id,
        group_id: row.group_id,
        count: row.count,
        details: details::with_reason(details, event, detail.as_deref()),
        detail,
        replaced: row.replaced,
    })
}
