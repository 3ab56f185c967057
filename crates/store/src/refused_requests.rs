//! Requests of integrators that were refused or failed, found by their ids for a day, on any node.
//!
//! A request that is refused adds an entry to a bounded queue in memory and waits for nothing. A
//! node writes its queue about once a second, in one transaction, which also deletes old rows and
//! those beyond [`REQUESTS_MAX`]: the oldest ones of the largest shares, so that no account loses
//! its entries to the failures of others. Requests without a proven account have a limit of their
//! own, [`UNPROVEN_MAX`], and short details.

mod shares;

use std::collections::{BTreeMap, HashMap};

use kiosque_model::{AccountNo, LoginName, PresentedToken, Source, UnixMs};
use serde::{Deserialize, Serialize};

use crate::db::{Deadline, Read, Write};
use crate::error::Error;
use crate::inventory::{Listed, Listing};
use crate::metadata;
use crate::refused_queue::{Exchange, RefusedRequest, Sender};
use crate::sql::{Row, Sql, Value, has_no_nul, row, statements};
use crate::views::{Sessions, Trail};
use shares::{Share, Stored};

/// The most requests that are stored.
const REQUESTS_MAX: i64 = 100_000;
/// The most of them that are stored without a proven account, which anyone can send.
const UNPROVEN_MAX: i64 = 3_500;
/// The most bytes of the details of such a request.
const UNPROVEN_DETAILS_MAX: usize = 1_500;
/// The bytes that clients without an account can fill at most. A page of the database may have but
/// one of their rows, once others were deleted from it.
const UNPROVEN_BYTES_MAX: i64 = 32 << 20;
/// The size of a page of PostgreSQL, the larger one, in which a row lies alone, and that of its
/// entries in the indexes.
const ROW_BYTES_MAX: i64 = 8_192 + 512;
const _: () = assert!(UNPROVEN_MAX * ROW_BYTES_MAX <= UNPROVEN_BYTES_MAX);

/// The age at which they are deleted, and no longer found.
pub const REFUSED_AGE_MS: i64 = 86_400_000;

row! {
    struct RequestRow<'r> {
        number: i64,
        request_id: String,
        at_ms: UnixMs,
        details: &'r str,
    }
    struct NameRow { account_no: AccountNo, login_name: String }
}

statements! {
    BY_ID(request_id, after_ms) -> RequestRow<'_> = "select number, request_id, at_ms, details
        from refused_requests where request_id = $request_id and at_ms > $after_ms
        order by number desc limit 1";
    OF_SHARE(share, before_no, after_ms, count) -> RequestRow<'_> = "select number, request_id,
            at_ms, details
        from refused_requests
        where share = $share and number < $before_no and at_ms > $after_ms
        order by number desc limit $count";
    RECORDED(request_id) -> i64 = "select number from refused_requests
        where request_id = $request_id limit 1";
    INSERT() = "insert into refused_requests (number, share, request_id, at_ms, details)
        select r.number, r.share, r.request_id, r.at_ms, r.details
        from {rows r: number bigint, share text, request_id text, at_ms bigint, details text}
        where true";
    ACCOUNTS_NAMED() -> NameRow = "select a.account_no, a.login_name
        from {rows r: login_name text} cross join accounts a where a.login_name = r.login_name";
    NAMES() -> NameRow = "select a.account_no, a.login_name
        from {rows r: account_no bigint} cross join accounts a
        where a.account_no = r.account_no";
}

/// Every statement of this module and of that below it.
pub(crate) fn all() -> impl Iterator<Item = &'static Sql> {
    [ALL, shares::ALL].into_iter().flatten().copied()
}

/// A stored request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRequest {
    /// Its place in the order of storage.
    pub number: i64,
    /// The id in the header of the answer.
    pub request_id: String,
    /// When it arrived.
    pub at: UnixMs,
    /// The login name of the account, if it is known or claimed.
    pub account: Option<String>,
    /// Whether the request was one of the account: its token was valid, or was given to it before.
    pub is_proven: bool,
    /// The address of the sender.
    pub source: String,
    /// The request, and the answer to it.
    pub exchange: Exchange,
}

/// The stored details.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    account: Option<String>,
    is_proven: bool,
    source: String,
    #[serde(flatten)]
    exchange: Exchange,
}

impl Trail<'_> {
    /// Adds a request to those that the next [`Trail::write_refused`] stores. `exchange` is called
    /// if there is room for it. This never waits, and writes nothing.
    pub fn add_refused(
        self,
        (request_id, at): (&str, UnixMs),
        (sender, source): (Sender, Source),
        exchange: impl FnOnce() -> Exchange,
    ) {
        if !self.0.refused.reserve(&sender, source) {
            return;
        }
        let request_id = request_id.to_owned();
        let exchange = exchange();
        self.0.refused.add(RefusedRequest { request_id, at, sender, source, exchange });
    }

    /// Returns the sender of a request with a token, which its refusal did not prove: the account
    /// if the token is, or was, its own, as far as this process remembers.
    #[must_use]
    pub fn sender_of(self, token: &PresentedToken) -> Sender {
        match self.0.proven_before.had_token(token) {
            true => Sender::Account(token.account_hint()),
            false => Sender::Claimed(token.account_hint()),
        }
    }

    /// Returns how many requests had no room in the queue since the start of the process.
    #[must_use]
    pub fn refused_dropped(self) -> u64 {
        self.0.refused.dropped()
    }

    /// Stores the requests of the queue, in one transaction, and deletes some of the old ones. Does
    /// nothing if there are none, but for the deletion, about once a minute.
    ///
    /// # Errors
    /// The store failed. The requests stay in the queue.
    pub async fn write_refused(self, now: UnixMs) -> Result<(), Error> {
        let Some(batch) = self.0.refused.take(now) else { return Ok(()) };
        let requests = batch.clone();
        let write = async move |write: &Write<'_>| store(write, &requests, now).await;
        let written = self.0.db.write(Deadline::OfRequest, write).await;
        if written.is_err() {
            // They may be stored all the same; the next attempt finds out.
            self.0.refused.put_back(batch);
        }
        written
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
        self.0.db.one(&BY_ID, &params, found).await
    }

    /// Returns a part of the requests of an account in the last day, the last one first: those with
    /// smaller numbers than `after`.
    ///
    /// # Errors
    /// The store failed.
    pub async fn refused_of(
        self,
        account: &LoginName,
        listing: Listing<i64>,
        now: UnixMs,
    ) -> Result<Listed<FoundRequest, i64>, Error> {
        let Some(credentials) = Sessions(self.0).credentials(account).await? else {
            return Ok(listing.cut(Vec::new(), |request: &FoundRequest| request.number));
        };
        let account = credentials.account;
        let list = async move |read: &Read<'_>| {
            let mut requests: Vec<FoundRequest> = Vec::new();
            for share in [Share::Account(account), Share::Logins(account)] {
                let share = share.text();
                let params = [
                    share.as_str().into(),
                    listing.after.unwrap_or(i64::MAX).into(),
                    now.plus_ms(-REFUSED_AGE_MS).into(),
                    listing.count().into(),
                ];
                requests.extend(read.all(&OF_SHARE, &params, found).await?);
            }
            requests.sort_by_key(|request| std::cmp::Reverse(request.number));
            requests.truncate(usize::try_from(listing.count()).unwrap_or(usize::MAX));
            Ok(listing.cut(requests, |request| request.number))
        };
        self.0.db.read(Deadline::OfRequest, list).await
    }
}

fn found(row: &Row<'_>) -> Result<FoundRequest, Error> {
    let RequestRow { number, request_id, at_ms, details } = row.read()?;
    // A text that a later version wrote in another form is left out.
    let Details { account, is_proven, source, exchange } =
        serde_json::from_str(details).unwrap_or_default();
    Ok(FoundRequest { number, request_id, at: at_ms, account, is_proven, source, exchange })
}

/// Stores a batch, and deletes rows that are old or too many.
async fn store(write: &Write<'_>, batch: &[RefusedRequest], now: UnixMs) -> Result<(), Error> {
    let count = i64::try_from(batch.len()).unwrap_or(i64::MAX);
    // This locks the counter: one node writes at a time, and an attempt of this batch with an
    // unknown outcome has ended now.
    let last = metadata::take_refused_numbers(write, count).await?;
    let mut stored = Stored::read(write).await?;
    if !is_recorded(write, batch).await? {
        let accounts = Accounts::read(write, batch).await?;
        let rows = batch.iter().zip(last - count + 1..).map(|(request, number)| {
            let (share, details) = accounts.row(request)?;
            stored.add(&share);
            Ok((number, share.text(), request, details))
        });
        let rows = rows.collect::<Result<Vec<_>, Error>>()?;
        let rows: Vec<[Value<'_>; 5]> = rows.iter().map(values).collect();
        write.execute_each(&INSERT, rows.iter(), &[]).await?;
    }
    stored.delete_old(write, now.plus_ms(-REFUSED_AGE_MS)).await?;
    stored.delete_beyond(write, UNPROVEN_MAX, |share| !shares::is_proven(share)).await?;
    stored.delete_beyond(write, REQUESTS_MAX, |_| true).await?;
    stored.write(write).await
}

fn values<'r>(row: &'r (i64, String, &'r RefusedRequest, String)) -> [Value<'r>; 5] {
    let (number, share, request, details) = row;
    [
        (*number).into(),
        share.as_str().into(),
        request.request_id.as_str().into(),
        request.at.into(),
        details.as_str().into(),
    ]
}

fn json(details: &Details) -> Result<String, Error> {
    serde_json::to_string(details).map_err(|error| Error::Data(format!("rendering: {error}")))
}

/// Returns whether an earlier attempt has stored a batch.
async fn is_recorded(read: &Read<'_>, batch: &[RefusedRequest]) -> Result<bool, Error> {
    let Some(first) = batch.first() else { return Ok(true) };
    let id = [first.request_id.as_str().into()];
    Ok(read.one(&RECORDED, &id, |row| row.read::<i64>()).await?.is_some())
}

/// The accounts that the requests of a batch name.
struct Accounts {
    by_name: HashMap<String, AccountNo>,
    names: BTreeMap<AccountNo, String>,
}

impl Accounts {
    async fn read(read: &Read<'_>, batch: &[RefusedRequest]) -> Result<Accounts, Error> {
        let (mut by_name, mut names) = (HashMap::new(), BTreeMap::new());
        let (mut logins, mut numbers): (Vec<[Value<'_>; 1]>, Vec<[Value<'_>; 1]>) =
            (Vec::new(), Vec::new());
        for request in batch {
            match &request.sender {
                Sender::Login(name) => logins.push([name.as_str().into()]),
                Sender::Account(number) | Sender::Claimed(number) => {
                    numbers.push([(*number).into()]);
                }
                Sender::Unknown => {}
            }
        }
        for (sql, keys) in [(&ACCOUNTS_NAMED, logins), (&NAMES, numbers)] {
            read.each_of(sql, &keys, &[], |row| {
                let NameRow { account_no, login_name } = row.read()?;
                by_name.insert(login_name.clone(), account_no);
                names.insert(account_no, login_name);
                Ok(())
            })
            .await?;
        }
        Ok(Accounts { by_name, names })
    }

    /// Returns the share of a request, and its details as JSON. A login name that does not exist is
    /// not stored: people type passwords there.
    fn row(&self, request: &RefusedRequest) -> Result<(Share, String), Error> {
        let source = Share::Source(request.source.prefix());
        let (share, account) = match &request.sender {
            Sender::Account(number) => (Share::Account(*number), Some(number)),
            Sender::Login(name) => {
                let account = self.by_name.get(name.as_str());
                (account.map_or(source, |number| Share::Logins(*number)), account)
            }
            Sender::Claimed(number) => (source, Some(number)),
            Sender::Unknown => (source, None),
        };
        let mut details = Details {
            account: account.and_then(|number| self.names.get(number).cloned()),
            is_proven: matches!(request.sender, Sender::Account(_)),
            source: request.source.to_string(),
            exchange: request.exchange.clone(),
        };
        let mut text = json(&details)?;
        if !details.is_proven && text.len() > UNPROVEN_DETAILS_MAX {
            let Exchange { method, path, status, refusal, .. } = details.exchange;
            details.exchange = Exchange { method, path, status, refusal, ..Exchange::default() };
            text = json(&details)?;
        }
        Ok((share, text))
    }
}
