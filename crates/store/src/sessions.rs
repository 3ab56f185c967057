//! Sessions: one row per account. See `kiosque_model::session` for the promise that this keeps.

use kiosque_model::audit::AuditEvent;
use kiosque_model::scope::GroupAccess;
use kiosque_model::session::TOKEN_RANDOM_BYTES;
use kiosque_model::{
    AccountNo, GroupId, GroupNo, Origin, PresentedToken, Refusal, Session, SessionRow, Token,
    UnixMs,
};

use crate::accounts::{self, Credentials, SwitchableGroup};
use crate::db::{Ask, Batch, Length, Write};
use crate::sql::{Row, Sql, statements};
use crate::{Error, Refused, Store, audit, known_sources};

statements! {
    SESSION = "select s.account_no, s.group_no, s.token_digest, s.expires_at_ms,
            coalesce((
                select g.active from account_groups ag join groups g on g.group_no = ag.group_no
                where ag.account_no = s.account_no and ag.group_no = s.group_no
            ), false)
        from sessions s where s.account_no = $1";
    STANDING_OF_ACCOUNT = "select password_hash, enabled, third_party_api
        from accounts where account_no = $1";
    LOCK = "insert into sessions (account_no, group_no, token_digest, expires_at_ms)
        values ($1, 0, '', 0)
        on conflict (account_no) do update set group_no = sessions.group_no";
    REPLACE = "insert into sessions (account_no, group_no, token_digest, expires_at_ms,
            source, request_id, opened_at_ms)
        values ($1, $2, $3, $4, $5, $6, $7)
        on conflict (account_no) do update set group_no = excluded.group_no,
            token_digest = excluded.token_digest, expires_at_ms = excluded.expires_at_ms,
            source = excluded.source, request_id = excluded.request_id,
            opened_at_ms = excluded.opened_at_ms";
    SWAP = "update sessions set group_no = $3, token_digest = $4, expires_at_ms = $5
        where account_no = $1 and token_digest = $2";
    END = "delete from sessions where account_no = $1 and token_digest = $2";
}

/// A session that has just been opened or switched.
#[derive(Clone, Debug)]
pub struct OpenedSession {
    /// The one token that stands now.
    pub token: Token,
    /// The selected group's id.
    pub group_id: String,
    /// What the account may select, its default first.
    pub switchable: Vec<SwitchableGroup>,
    /// When the session ends.
    pub expires_at: UnixMs,
}

/// When a session starts and ends, and the chance that makes its token.
#[derive(Clone, Copy)]
struct Lease {
    random: [u8; TOKEN_RANDOM_BYTES],
    expires_at: UnixMs,
}

/// Proves a session, for a request that will be refused for what it asks.
struct Proof {
    account: AccountNo,
    presented: PresentedToken,
    now: UnixMs,
}

impl Batch for Proof {
    type Found = Option<(Session, GroupAccess)>;

    fn asks(&self) -> Vec<Ask<'_>> {
        vec![ask(self.account)]
    }

    fn row(&self, found: &mut Self::Found, _: usize, row: &Row<'_>) -> Result<(), Error> {
        *found = proven(row, &self.presented, self.now)?;
        Ok(())
    }

    fn proven(&self, found: &Self::Found) -> Result<(), Refused> {
        found.as_ref().map(|_| ()).ok_or(Refusal::TokenInvalid.into())
    }
}

/// The statement that asks for a session.
pub(crate) fn proof() -> &'static Sql {
    &SESSION
}

/// Asks for the session of an account.
pub(crate) fn ask(account: AccountNo) -> Ask<'static> {
    Ask::new(&SESSION, [account.0.into()])
}

/// The session that a row of [`ask`] is, for whoever presents its token.
pub(crate) fn proven(
    row: &Row<'_>,
    presented: &PresentedToken,
    now: UnixMs,
) -> Result<Option<(Session, GroupAccess)>, Error> {
    let kept = SessionRow {
        account: AccountNo(row.int(0)?),
        group: GroupNo(row.int(1)?),
        token_digest: row.text(2)?.to_owned(),
        expires_at: UnixMs(row.int(3)?),
    };
    let standing = if row.flag(4)? { GroupAccess::Open } else { GroupAccess::Closed };
    Ok(Session::prove(presented, Some(&kept), now).map(|session| (session, standing)))
}

impl Store {
    /// Proves a session, for a request that will be refused for what it asks: the token is judged
    /// before the body.
    ///
    /// # Errors
    /// `TokenInvalid`, or the store failed.
    pub async fn session(&self, presented: &PresentedToken, now: UnixMs) -> Result<(), Refused> {
        let (account, presented) = (presented.account_hint(), presented.clone());
        self.db.batch(Proof { account, presented, now }, Length::Short).await.map(|_| ())
    }

    /// Opens a session in the account's default group, replacing any earlier one. The password was
    /// found right for `credentials`; what `apply` took away since then counts. The trail tells of
    /// it, and the source is known from now on, in the same transaction.
    ///
    /// # Errors
    /// `Credentials`, `ApiNotEnabled`, `NoGroup`, or the store failed.
    pub async fn log_in(
        &self,
        credentials: Credentials,
        random: [u8; TOKEN_RANDOM_BYTES],
        expires_at: UnixMs,
        origin: Origin,
    ) -> Result<OpenedSession, Refused> {
        let lease = Lease { random, expires_at };
        let open = async move |write: &Write<'_>| open(write, &credentials, lease, &origin).await;
        self.change_session(open).await
    }

    /// Selects another group and replaces the token, if the presented one still stands.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, or the store failed. A refused switch changes nothing.
    pub async fn switch_group(
        &self,
        presented: PresentedToken,
        group: Option<GroupId>,
        random: [u8; TOKEN_RANDOM_BYTES],
        expires_at: UnixMs,
        origin: Origin,
    ) -> Result<OpenedSession, Refused> {
        let lease = Lease { random, expires_at };
        let swap = async move |write: &Write<'_>| {
            swap(write, &presented, group.as_ref(), lease, &origin).await
        };
        self.change_session(swap).await
    }

    /// Ends the session that the presented token stands for.
    ///
    /// # Errors
    /// `TokenInvalid`, or the store failed.
    pub async fn log_out(&self, presented: PresentedToken, origin: Origin) -> Result<(), Refused> {
        let end = async move |write: &Write<'_>| {
            let session = prove(write, &presented, origin.at).await?;
            let params = [session.account().0.into(), presented.digest().as_str().into()];
            if write.execute(&END, &params).await? != 1 {
                return Err(Refusal::TokenInvalid.into());
            }
            let whose = (session.account(), session.selected_group());
            audit::session_changed(write, AuditEvent::Logout, whose, &origin).await?;
            Ok(())
        };
        self.change_session(end).await
    }

    /// Changes who has a session. The answer is given only where answers about sessions stand,
    /// before and after: another primary may have taken the place of this one.
    async fn change_session<T: Send + 'static>(
        &self,
        change: impl AsyncFn(&Write<'_>) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        self.db.sessions_stand()?;
        let changed = self.db.write(Length::Short, change).await?;
        self.db.sessions_stand()?;
        Ok(changed)
    }
}

async fn prove(
    write: &Write<'_>,
    presented: &PresentedToken,
    now: UnixMs,
) -> Result<Session, Refused> {
    let account = [presented.account_hint().0.into()];
    let found = write.one(&SESSION, &account, |row| proven(row, presented, now)).await?;
    let (session, _) = found.flatten().ok_or(Refusal::TokenInvalid)?;
    Ok(session)
}

/// Until the transaction ends, no other touches the session of an account: an `apply` that takes
/// it away and a login that read what stood before would not see each other.
pub(crate) async fn lock(write: &Write<'_>, account: AccountNo) -> Result<(), Error> {
    write.execute(&LOCK, &[account.0.into()]).await.map(|_| ())
}

async fn open(
    write: &Write<'_>,
    credentials: &Credentials,
    lease: Lease,
    origin: &Origin,
) -> Result<OpenedSession, Refused> {
    let account = credentials.account;
    lock(write, account).await?;
    let api_enabled = write
        .one(&STANDING_OF_ACCOUNT, &[account.0.into()], |row| {
            let may_log_in = row.text(0)? == credentials.password_hash && row.flag(1)?;
            Ok(if may_log_in { Some(row.flag(2)?) } else { None })
        })
        .await?
        .flatten()
        .ok_or(Refusal::Credentials)?;
    if !api_enabled {
        return Err(Refusal::ApiNotEnabled.into());
    }
    let groups = accounts::switchable(write, account).await?;
    let (group, _) = groups.first().ok_or(Refusal::NoGroup)?;
    let token = Token::mint(account, *group, lease.random);
    replace(write, (account, *group), &token, lease, origin).await?;
    opened(token, *group, groups, lease)
}

/// Makes the one session of an account, and notes what that did.
async fn replace(
    write: &Write<'_>,
    (account, group): (AccountNo, GroupNo),
    token: &Token,
    lease: Lease,
    origin: &Origin,
) -> Result<(), Error> {
    let earlier = audit::live_session(write, account, origin.at).await?;
    let (digest, source) = (token.digest(), origin.source.to_string());
    let params = [
        account.0.into(),
        group.0.into(),
        digest.as_str().into(),
        lease.expires_at.0.into(),
        source.as_str().into(),
        origin.request_id.as_str().into(),
        origin.at.0.into(),
    ];
    write.execute(&REPLACE, &params).await?;
    audit::session_changed(write, AuditEvent::Login, (account, group), origin).await?;
    if let Some(earlier) = earlier {
        audit::session_replaced(write, account, earlier, origin).await?;
    }
    known_sources::remember(write, account, origin.source.place(), origin.at).await
}

/// Compare and swap: the row changes only while the presented token stands.
async fn swap(
    write: &Write<'_>,
    presented: &PresentedToken,
    group: Option<&GroupId>,
    lease: Lease,
    origin: &Origin,
) -> Result<OpenedSession, Refused> {
    let session = prove(write, presented, origin.at).await?;
    let account = session.account();
    let group = match group {
        Some(group) => accounts::open_group(write, account, group).await?,
        None => None,
    };
    let group = group.ok_or(Refusal::GroupClosed)?;
    let token = Token::mint(account, group, lease.random);
    let digest = token.digest();
    let params = [
        account.0.into(),
        presented.digest().as_str().into(),
        group.0.into(),
        digest.as_str().into(),
        lease.expires_at.0.into(),
    ];
    if write.execute(&SWAP, &params).await? != 1 {
        return Err(Refusal::TokenInvalid.into());
    }
    audit::session_changed(write, AuditEvent::SwitchGroup, (account, group), origin).await?;
    opened(token, group, accounts::switchable(write, account).await?, lease)
}

fn opened(
    token: Token,
    group: GroupNo,
    groups: Vec<(GroupNo, SwitchableGroup)>,
    lease: Lease,
) -> Result<OpenedSession, Refused> {
    let selected = groups.iter().find(|(number, _)| *number == group);
    let (_, selected) =
        selected.ok_or_else(|| Error::Data(format!("group {} is open and not listed", group.0)))?;
    let group_id = selected.group_id.clone();
    let switchable = groups.into_iter().map(|(_, group)| group).collect();
    Ok(OpenedSession { token, group_id, switchable, expires_at: lease.expires_at })
}
