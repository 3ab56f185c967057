//! Requests of integrators that were refused or failed, found by id for a day, on any node.
//!
//! A refused request adds an entry to a bounded queue in memory and waits for nothing. A node
//! writes its queue about once a second, in one transaction, which also deletes surplus rows: the
//! oldest ones of the largest shares, so that no account loses its rows to the failures of others.
//! Requests without a proven account have a separate limit and short details.

use std::borrow::Cow;
use std::collections::HashMap;

use kiosque_model::{AccountNo, LoginName, PresentedToken, UnixMs};

use crate::db::{Deadline, Read, Write};
use crate::error::Error;
use crate::json_records::json;
use crate::metadata;
use crate::refused_queue::{
    ACCOUNT, Exchange, LOGINS, RefusedQueue, RefusedRequest, Sender, WAITING_MAX, share_of,
};
use crate::sql::{Value, distinct, has_no_nul, row, statements};
use crate::views::{Sessions, Trail};

/// The maximum number of stored requests.
const REQUESTS_MAX: i64 = 100_000;
/// The number that remains after surplus ones were deleted.
const REQUESTS_KEPT: i64 = 93_000;
/// The number of stored requests after which all shares are trimmed again.
const TRIM_INTERVAL: i64 = 5_000;
const _: () = assert!(REQUESTS_KEPT + TRIM_INTERVAL + 2 * WAITING_MAX as i64 <= REQUESTS_MAX);
/// The maximum number stored without a proven account, which anyone can send.
const UNPROVEN_MAX: i64 = 3_500;
/// The maximum size in bytes of the details of a request without a proven account.
const UNPROVEN_DETAILS_MAX: usize = 1_500;
/// The maximum number of bytes that clients without an account can fill. A page of the database may
/// contain only one of their rows, once others were deleted from it.
const UNPROVEN_BYTES_MAX: i64 = 32 << 20;
/// The maximum number of bytes that a row can fill: a page of PostgreSQL, which is larger than one
/// of SQLite, and the row's index entries.
const ROW_BYTES_MAX: i64 = 8_192 + 512;
const _: () = assert!(UNPROVEN_MAX * ROW_BYTES_MAX <= UNPROVEN_BYTES_MAX);

/// The age at which they are deleted and can no longer be found.
pub const REFUSED_AGE_MS: i64 = 86_400_000;

row! {
    struct RequestRow {
        number: i64,
        share: String,
        request_id: String,
        at_ms: UnixMs,
        source: String,
        details: String,
        login_name: Option<String>,
    }
}

statements! {
    BY_ID(request_id, after_ms) -> RequestRow = "select r.number, r.share, r.request_id,
            r.at_ms, r.source, r.details, a.login_name
        from refused_requests r left join accounts a on a.account_no = r.account_no
        where r.request_id = $request_id and r.at_ms > $after_ms";
    OF_SHARE(share, after_ms, count) -> RequestRow = "select r.number, r.share, r.request_id,
            r.at_ms, r.source, r.details, a.login_name
        from refused_requests r left join accounts a on a.account_no = r.account_no
        where r.share = $share and r.at_ms > $after_ms
        order by r.number desc limit $count";
    ACCOUNTS() -> (String, AccountNo) = "select a.login_name, a.account_no
        from {rows r: login_name text} cross join accounts a where a.login_name = r.login_name";
    /// A request that an attempt with an unknown outcome has stored is not changed.
    INSERT() = "insert into refused_requests
            (number, share, request_id, at_ms, account_no, source, details)
        select r.number, r.share, r.request_id, r.at_ms, r.account_no, r.source, r.details
        from {rows r: number bigint, share text, request_id text, at_ms bigint,
            account_no bigint, source text, details text} where true
        on conflict do nothing";
    /// Keeps `$kept` requests of the shares from `$from_share` on, and deletes the oldest ones of
    /// the largest shares: first the requests with the most newer ones in their shares.
    TRIM(from_share, kept) = "delete from refused_requests where number in (
        select ranked.number from (
            select number, row_number() over (partition by share order by number desc) as place
            from refused_requests where share >= $from_share) ranked
        order by ranked.place, ranked.number desc limit 9223372036854775807 offset $kept)";
    /// Deletes old requests, up to the first one that is not old: the numbers are in the order of
    /// storage. One that is more than two days later was stored by a clock that was ahead, and does
    /// not keep the others.
    PURGE(until_ms, count) = "delete from refused_requests where number in (
        select number from refused_requests
        where number < coalesce((select number from refused_requests
            where at_ms > $until_ms and at_ms <= $until_ms + 172800000
            order by number limit 1), 9223372036854775807)
        order by number limit $count)";
}

/// A stored request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRequest {
    /// Its position in the order of storage.
    pub number: i64,
    /// The id in the header of the answer.
    pub request_id: String,
    /// When it arrived.
    pub at: UnixMs,
    /// The login name of the account, if known or claimed.
    pub account: Option<String>,
    /// Whether the request was the account's: its token is or was valid.
    pub is_proven: bool,
    /// The address of the sender.
    pub source: String,
    /// The request, and the answer to it.
    pub exchange: Exchange,
}

impl<'s> Trail<'s> {
    /// Returns the requests that the next [`Trail::write_refused`] stores.
    pub fn refused(self) -> &'s RefusedQueue {
        &self.0.refused
    }

    /// Returns the sender of a request with a token, which its refusal did not prove: the account
    /// if the token is or was valid for it, as far as this process remembers.
    pub fn sender_of(self, token: &PresentedToken) -> Sender {
        match self.0.proven_before.had_token(token) {
            true => Sender::Account(token.account_hint()),
            false => Sender::Claimed(token.account_hint()),
        }
    }

    /// Stores the requests of the queue, in one transaction, and deletes surplus ones.
    ///
    /// # Errors
    /// The store failed. The requests remain in the queue.
    pub async fn write_refused(self) -> Result<(), Error> {
        let batch = self.0.refused.take();
        if batch.is_empty() {
            return Ok(());
        }
        let requests = batch.clone();
        let write = async move |write: &Write<'_>| store(write, &requests).await;
        let written = self.0.db.write(Deadline::OfRequest, write).await;
        if written.is_err() {
            self.0.refused.put_back(batch);
        }
        written
    }

    /// Deletes the requests that can no longer be found.
    ///
    /// # Errors
    /// The store failed; those deleted so far remain deleted.
    pub async fn purge_refused(self, now: UnixMs) -> Result<(), Error> {
        self.0.db.purge(&PURGE, now.plus_ms(-REFUSED_AGE_MS)).await.map(|_| ())
    }

    /// Returns the request with an id, if it was refused or failed in the last day.
    ///
    /// # Errors
    /// The store failed.
    pub async fn refused_request(
        self,
        request_id: String,
        now: UnixMs,
    ) -> Result<Option<FoundRequest>, Error> {
        if !has_no_nul(&request_id) {
            return Ok(None);
        }
        let params = [request_id.as_str().into(), now.plus_ms(-REFUSED_AGE_MS).into()];
        Ok(self.0.db.one(&BY_ID, &params).await?.map(found))
    }

    /// Returns at most `count` of the latest requests of an account in the last day, the last one
    /// first.
    ///
    /// # Errors
    /// The store failed.
    pub async fn refused_of(
        self,
        account: &LoginName,
        count: usize,
        now: UnixMs,
    ) -> Result<Vec<FoundRequest>, Error> {
        let Some(credentials) = Sessions(self.0).credentials(account).await? else {
            return Ok(Vec::new());
        };
        let list = async move |read: &Read<'_>| {
            let mut requests: Vec<FoundRequest> = Vec::new();
            for kind in [ACCOUNT, LOGINS] {
                let share = share_of(kind, credentials.account);
                let after = now.plus_ms(-REFUSED_AGE_MS);
                let params = [share.as_str().into(), after.into(), count.into()];
                requests.extend(read.all(&OF_SHARE, &params).await?.into_iter().map(found));
            }
            requests.sort_by_key(|request| std::cmp::Reverse(request.number));
            requests.truncate(count);
            Ok(requests)
        };
        self.0.db.read(Deadline::OfRequest, list).await
    }
}

fn found(row: RequestRow) -> FoundRequest {
    FoundRequest {
        number: row.number,
        request_id: row.request_id,
        at: row.at_ms,
        account: row.login_name,
        is_proven: row.share.starts_with(ACCOUNT),
        source: row.source,
        // Details that a later version wrote in another form are left out.
        exchange: serde_json::from_str(&row.details).unwrap_or_default(),
    }
}

/// Stores a batch, and deletes surplus rows.
async fn store(write: &Write<'_>, batch: &[RefusedRequest]) -> Result<(), Error> {
    let count = i64::try_from(batch.len()).unwrap_or(i64::MAX);
    // Locks the counter: one node writes at a time.
    let last = metadata::take(write, metadata::REFUSED_REQUESTS, count).await?;
    let before = last - count;
    let names = batch.iter().filter_map(|request| match &request.sender {
        Sender::Login(name) => Some(name.as_str()),
        Sender::Account(_) | Sender::Claimed(_) | Sender::Unknown => None,
    });
    let accounts = write.all_of(&ACCOUNTS, &distinct(names), &[]).await?;
    let accounts: HashMap<String, AccountNo> = accounts.into_iter().collect();
    let rows = batch.iter().zip(before + 1..).map(|(request, number)| {
        let (share, account) = match &request.sender {
            Sender::Account(account) | Sender::Claimed(account) => (None, Some(*account)),
            // A login name that does not exist is not stored: people type passwords there.
            Sender::Login(name) => match accounts.get(name.as_str()) {
                Some(account) => (Some(share_of(LOGINS, *account)), Some(*account)),
                None => (None, None),
            },
            Sender::Unknown => (None, None),
        };
        Ok([
            number.into(),
            Value::Text(share.map_or(Cow::from(&request.share), Cow::from)),
            request.request_id.as_str().into(),
            request.at.into(),
            account.into(),
            Value::Text(request.source.to_string().into()),
            Value::Text(details(request)?.into()),
        ])
    });
    let rows: Vec<[Value<'_>; 7]> = rows.collect::<Result<_, Error>>()?;
    write.execute_each(&INSERT, rows.iter(), &[]).await?;
    write.execute(&TRIM, &[LOGINS.into(), UNPROVEN_MAX.into()]).await?;
    if last / TRIM_INTERVAL > before / TRIM_INTERVAL {
        write.execute(&TRIM, &["".into(), REQUESTS_KEPT.into()]).await?;
    }
    Ok(())
}

/// Returns the exchange as JSON, without its body and answer if they are too long.
fn details(request: &RefusedRequest) -> Result<String, Error> {
    let text = json(&request.exchange)?;
    if text.len() <= UNPROVEN_DETAILS_MAX || matches!(request.sender, Sender::Account(_)) {
        return Ok(text);
    }
    let Exchange { method, path, status, refusal, .. } = request.exchange.clone();
    json(&Exchange { method, path, status, refusal, ..Exchange::default() })
}
