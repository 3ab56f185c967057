//! Sessions: one row per account. `kiosque_model::session` documents the guarantee.

use kiosque_contract::SwitchableGroup;
use kiosque_model::audit::{AccountChange, AuditEvent};
use kiosque_model::session::TOKEN_RANDOM_BYTES;
use kiosque_model::{
    AccountNo, ActedBy, Claim, GroupId, GroupNo, LoginName, Origin, Refusal, Token, TokenDigest,
    UnixMs,
};

use crate::accounts::{self, AccountRow, Credentials, GroupRow};
use crate::audit::{self, LiveSession};
use crate::db::{Deadline, Write};
use crate::error::{Error, Refused};
use crate::known_sources;
use crate::scoped::{ended_if_expired, live_session};
use crate::sql::statements;
use crate::views::Sessions;

statements! {
    ACCOUNT(account_no) -> AccountRow = "select display_name, password_hash, third_party_api,
            enabled
        from accounts where account_no = $account_no";
    LOCK(account_no) = "insert into sessions (account_no, group_no, token_digest, expires_at_ms,
            source, request_id, opened_at_ms)
        values ($account_no, 0, '', 0, '', '', 0)
        on conflict (account_no) do update set group_no = sessions.group_no";
    REPLACE(account_no, group_no, token_digest, expires_at_ms, source, request_id, opened_at_ms) =
        "insert into sessions (account_no, group_no, token_digest, expires_at_ms,
            source, request_id, opened_at_ms)
        values ($account_no, $group_no, $token_digest, $expires_at_ms,
            $source, $request_id, $opened_at_ms)
        on conflict (account_no) do update set group_no = excluded.group_no,
            token_digest = excluded.token_digest, expires_at_ms = excluded.expires_at_ms,
            source = excluded.source, request_id = excluded.request_id,
            opened_at_ms = excluded.opened_at_ms";
    SWAP(account_no, presented_digest, group_no, token_digest, expires_at_ms) = "update sessions
        set group_no = $group_no, token_digest = $token_digest, expires_at_ms = $expires_at_ms
        where account_no = $account_no and token_digest = $presented_digest";
    END(account_no, token_digest) = "delete from sessions
        where account_no = $account_no and token_digest = $token_digest";
    ACCOUNT_NAMED(login_name) -> AccountNo = "select account_no from accounts
        where login_name = $login_name";
    DELETE(account_no) = "delete from sessions where account_no = $account_no";
}

/// A session that has just been opened or switched.
#[derive(Clone, Debug)]
pub struct OpenedSession {
    /// The one valid token.
    pub token: Token,
    /// The selected group's id.
    pub group_id: String,
    /// The groups that the account may select, its default first.
    pub switchable: Vec<SwitchableGroup>,
    /// The end of the session.
    pub expires_at: UnixMs,
}

/// The outcome of ending the session of an account.
#[derive(Clone, Debug, PartialEq)]
pub enum EndedSession {
    /// The session ended.
    Ended(LiveSession),
    /// The account had no live session.
    NoSession,
    /// There is no such account.
    UnknownAccount,
}

/// The random part of a new token, and the end of its session.
#[derive(Clone, Copy)]
struct NewToken {
    random: [u8; TOKEN_RANDOM_BYTES],
    expires_at: UnixMs,
}

impl Sessions<'_> {
    /// Opens a session in the account's default group, replacing any earlier one. The caller has
    /// verified the password against `credentials`; the account is read again, because `apply` may
    /// have changed it since. The same transaction writes the audit entry and stores the source.
    ///
    /// # Errors
    /// `Credentials`, `ApiNotEnabled`, `NoGroup`, or the store failed.
    pub async fn log_in(
        self,
        credentials: Credentials,
        random: [u8; TOKEN_RANDOM_BYTES],
        expires_at: UnixMs,
        origin: Origin,
    ) -> Result<OpenedSession, Refused> {
        let new = NewToken { random, expires_at };
        let account = credentials.account;
        let open = async move |write: &Write<'_>| open(write, &credentials, new, &origin).await;
        let opened = self.change_session(open).await?;
        self.token_changed(account, &opened.token.digest());
        Ok(opened)
    }

    /// Selects another group and replaces the token, if the presented one is still valid.
    ///
    /// # Errors
    /// `TokenInvalid`, `SessionExpired`, `GroupClosed`, or the store failed. A refused switch
    /// changes nothing.
    pub async fn switch_group(
        self,
        claim: Claim,
        group: Option<GroupId>,
        random: [u8; TOKEN_RANDOM_BYTES],
        expires_at: UnixMs,
        origin: Origin,
    ) -> Result<OpenedSession, Refused> {
        let new = NewToken { random, expires_at };
        let account = claim.token.account_hint();
        let now = claim.now;
        let swap =
            async move |write: &Write<'_>| swap(write, &claim, group.as_ref(), new, &origin).await;
        let swapped = self.change_session(swap).await;
        let opened = ended_if_expired(self.0, account, now, swapped).await?;
        self.token_changed(account, &opened.token.digest());
        Ok(opened)
    }

    fn token_changed(self, account: AccountNo, digest: &TokenDigest) {
        self.0.proven_before.add_token(account, digest);
        self.0.followers.session_changed(account, Some(digest.as_str()));
    }

    /// Ends the session of the presented token.
    ///
    /// # Errors
    /// `TokenInvalid`, `SessionExpired`, or the store failed.
    pub async fn log_out(self, claim: Claim, origin: Origin) -> Result<(), Refused> {
        let (account, now) = (claim.token.account_hint(), claim.now);
        let end = async move |write: &Write<'_>| {
            let session = live_session(write, &claim).await?;
            let params = [session.account().into(), claim.token.digest().as_str().into()];
            if write.execute(&END, &params).await? != 1 {
                return Err(Refusal::TokenInvalid.into());
            }
            let (account, group) = (session.account(), session.selected_group());
            audit::session_changed(write, AuditEvent::Logout, account, group, &origin).await?;
            Ok(())
        };
        let ended = self.change_session(end).await;
        ended_if_expired(self.0, account, now, ended).await?;
        self.0.followers.session_changed(account, None);
        Ok(())
    }

    /// Ends the session of an account, which may log in again, and records it in the audit trail.
    ///
    /// # Errors
    /// The store failed.
    pub async fn end(self, account: LoginName, by: ActedBy) -> Result<EndedSession, Error> {
        let end_it = async move |write: &Write<'_>| {
            write.wait_for_earlier_leases().await?;
            let name = account.as_str();
            let number = write.one(&ACCOUNT_NAMED, &[name.into()]).await?;
            let Some(number) = number else { return Ok(EndedSession::UnknownAccount) };
            let Some(live) = end(write, number, by.at).await? else {
                return Ok(EndedSession::NoSession);
            };
            let why = AccountChange::EndedByOperator;
            audit::session_ended(write, name, why, live.clone(), &by).await?;
            Ok(EndedSession::Ended(live))
        };
        self.0.db.write(Deadline::OfRequest, end_it).await
    }

    /// Changes a session. This node must hold the session lease before and after: another primary
    /// may have been promoted meanwhile.
    async fn change_session<T: Send + 'static>(
        self,
        change: impl AsyncFn(&Write<'_>) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        let change = async move |write: &Write<'_>| {
            write.check_session_lease()?;
            change(write).await
        };
        let changed = self.0.db.write(Deadline::OfRequest, change).await?;
        self.0.db.check_session_lease()?;
        Ok(changed)
    }
}

/// Locks the session of an account until the transaction ends. Without it, a login that read the
/// account before an `apply` that disables it would open a session after it.
pub(crate) async fn lock(write: &Write<'_>, account: AccountNo) -> Result<(), Error> {
    write.execute(&LOCK, &[account.into()]).await.map(|_| ())
}

/// Stores the one session of an account, and writes the audit entries.
async fn open(
    write: &Write<'_>,
    credentials: &Credentials,
    new: NewToken,
    origin: &Origin,
) -> Result<OpenedSession, Refused> {
    let account = credentials.account;
    lock(write, account).await?;
    let stored: Option<AccountRow> = write.one(&ACCOUNT, &[account.into()]).await?;
    let may_log_in =
        |stored: &AccountRow| stored.password_hash == credentials.password_hash && stored.enabled;
    let stored = stored.filter(may_log_in).ok_or(Refusal::Credentials)?;
    if !stored.third_party_api {
        return Err(Refusal::ApiNotEnabled.into());
    }
    let groups = accounts::switchable(write, account).await?;
    let group = groups.first().ok_or(Refusal::NoGroup)?.group_no;
    let token = Token::mint(account, group, new.random);
    let earlier = audit::live_session(write, account, origin.at).await?;
    let digest = token.digest();
    let source = origin.source.to_string();
    let params = [
        account.into(),
        group.into(),
        digest.as_str().into(),
        new.expires_at.into(),
        source.as_str().into(),
        origin.request_id.as_str().into(),
        origin.at.into(),
    ];
    write.execute(&REPLACE, &params).await?;
    known_sources::remember(write, account, origin.source.prefix(), origin.at).await?;
    // Last, because every login waits for the counter of the audit trail.
    audit::session_changed(write, AuditEvent::Login, account, group, origin).await?;
    if let Some(earlier) = earlier {
        audit::session_replaced(write, account, earlier, origin).await?;
    }
    opened(token, group, groups, new.expires_at)
}

/// Replaces the token by compare and swap: the row changes only while the presented token is
/// valid.
async fn swap(
    write: &Write<'_>,
    claim: &Claim,
    group: Option<&GroupId>,
    new: NewToken,
    origin: &Origin,
) -> Result<OpenedSession, Refused> {
    let session = live_session(write, claim).await?;
    let account = session.account();
    let group = match group {
        Some(group) => accounts::open_group(write, account, group).await?,
        None => None,
    };
    let group = group.ok_or(Refusal::GroupClosed)?;
    let token = Token::mint(account, group, new.random);
    let digest = token.digest();
    let params = [
        account.into(),
        claim.token.digest().as_str().into(),
        group.into(),
        digest.as_str().into(),
        new.expires_at.into(),
    ];
    if write.execute(&SWAP, &params).await? != 1 {
        return Err(Refusal::TokenInvalid.into());
    }
    let switchable = accounts::switchable(write, account).await?;
    audit::session_changed(write, AuditEvent::SwitchGroup, account, group, origin).await?;
    opened(token, group, switchable, new.expires_at)
}

fn opened(
    token: Token,
    group: GroupNo,
    groups: Vec<GroupRow>,
    expires_at: UnixMs,
) -> Result<OpenedSession, Refused> {
    let selected = groups.iter().find(|row| row.group_no == group);
    let selected =
        selected.ok_or_else(|| Error::Data(format!("group {} is open but not listed", group.0)))?;
    let group_id = selected.group_id.clone();
    let switchable = groups
        .into_iter()
        .map(|GroupRow { group_id, group_name, .. }| SwitchableGroup { group_id, group_name });
    Ok(OpenedSession { token, group_id, switchable: switchable.collect(), expires_at })
}

/// Deletes the session of an account. Returns it if it was live.
pub(crate) async fn end(
    write: &Write<'_>,
    account: AccountNo,
    now: UnixMs,
) -> Result<Option<LiveSession>, Error> {
    lock(write, account).await?;
    let live = audit::live_session(write, account, now).await?;
    write.execute(&DELETE, &[account.into()]).await?;
    Ok(live)
}
