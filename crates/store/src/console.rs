//! Sessions of the console and one-time sign-in links. A session is valid while its key is live,
//! until [`IDLE_MAX_MS`] after the last user activity and at most [`SESSION_MAX_MS`] after the
//! sign-in: every request reads both rows, and nothing is cached.

use kiosque_contract::AuditDetails;
use kiosque_model::audit::AuditEvent;
use kiosque_model::console::{IDLE_MAX_MS, LINK_VALIDITY_MS, SESSION_MAX_MS};
use kiosque_model::{ActedBy, ConsoleDigest, KeyDigest, KeyName, Origin, Right, UnixMs};

use crate::audit::{self, Act};
use crate::db::{Bound, Deadline, Write};
use crate::error::Error;
use crate::keys::{self, CreatedKey, KeyHolder};
use crate::sql::{row, statements};
use crate::usage::is_use_due;
use crate::views::Operators;

/// Maximum sessions of one key; at a further sign-in, the one that has been idle longest ends.
const SESSIONS_OF_KEY_MAX: i64 = 100;
/// Maximum expired rows that a sign-in or a new link removes. Each adds only one row, so the number
/// of expired rows decreases.
const PURGED_MAX: i64 = 100;
/// The maximum difference of the clocks of two nodes that use the same links.
const CLOCKS_DIFFER_MS: i64 = 10_000;

row! {
    struct SessionRow {
        key_digest: String,
        opened_at_ms: UnixMs,
        used_at_ms: UnixMs,
        expires_at_ms: UnixMs,
    }
}

statements! {
    SESSION(session_digest) -> SessionRow = "select key_digest, opened_at_ms, used_at_ms,
            expires_at_ms
        from console_sessions
        where session_digest = $session_digest and opened_at_ms is not null";
    OPEN(session_digest, key_digest, now_ms, expires_at_ms) = "insert into console_sessions
            (session_digest, key_digest, opened_at_ms, used_at_ms, expires_at_ms)
        values ($session_digest, $key_digest, $now_ms, $now_ms, $expires_at_ms)";
    USE(session_digest, now_ms, expires_at_ms) = "update console_sessions
        set used_at_ms = $now_ms, expires_at_ms = $expires_at_ms
        where session_digest = $session_digest and expires_at_ms > $now_ms";
    /// Also consumes a link.
    END(session_digest) = "delete from console_sessions where session_digest = $session_digest";
    END_EXPIRED(session_digest, now_ms) = "delete from console_sessions
        where session_digest = $session_digest and expires_at_ms <= $now_ms";
    END_OLDEST(key_digest, most) = "delete from console_sessions
        where key_digest = $key_digest and opened_at_ms is not null and session_digest not in (
            select s.session_digest from console_sessions s
            where s.key_digest = $key_digest and s.opened_at_ms is not null
            order by s.expires_at_ms desc, s.session_digest limit $most)";
    PURGE(now_ms, most) = "delete from console_sessions where session_digest in (
        select s.session_digest from console_sessions s where s.expires_at_ms <= $now_ms
        order by s.expires_at_ms limit $most)";
    SESSIONS_PASSED(latest_ms, end_max_ms) = "delete from console_sessions
        where opened_at_ms is not null
            and (expires_at_ms <= $latest_ms or expires_at_ms > $end_max_ms)";
    LINK(link_digest) -> (String, UnixMs) = "select key_digest, expires_at_ms from console_sessions
        where session_digest = $link_digest and opened_at_ms is null";
    ADD_LINK(link_digest, key_digest, expires_at_ms) = "insert into console_sessions
            (session_digest, key_digest, expires_at_ms)
        values ($link_digest, $key_digest, $expires_at_ms)";
    LINKS_PASSED(latest_ms) = "delete from console_sessions
        where opened_at_ms is null and expires_at_ms <= $latest_ms";
}

/// A live session of the console. Only [`Operators::console_session`] creates one, from a session
/// that has not expired and a key that is not revoked.
#[derive(Clone, Debug)]
pub struct ConsoleSession {
    digest: ConsoleDigest,
    key_digest: String,
    holder: KeyHolder,
}

impl ConsoleSession {
    /// Returns the name and the rights of the session's key.
    pub fn holder(&self) -> &KeyHolder {
        &self.holder
    }

    /// Returns proof that the key has a right, if it does.
    pub fn oversight(&self, right: Right) -> Option<Oversight<'_>> {
        self.holder.rights.contain(right).then_some(Oversight { session: self, right })
    }
}

/// Proof that a request belongs to a live session whose key has a right. Pages require it.
#[derive(Clone, Copy, Debug)]
pub struct Oversight<'s> {
    session: &'s ConsoleSession,
    right: Right,
}

impl Oversight<'_> {
    /// Returns the proven right.
    pub fn right(&self) -> Right {
        self.right
    }

    /// Returns the name and the rights of the session's key.
    pub fn holder(&self) -> &KeyHolder {
        &self.session.holder
    }
}

/// The cause of a request with a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionUse {
    /// User activity, which prolongs the session.
    Act,
    /// The script of an open page, which refreshes its figures.
    Renewal,
}

/// The credential with which a person signs in.
#[derive(Clone, Debug)]
pub enum SignInProof {
    /// The key.
    Key(KeyDigest),
    /// A link of [`Operators::create_link`], which this consumes.
    Link(ConsoleDigest),
}

impl Operators<'_> {
    /// Returns the session of a presented cookie, if it is live. User activity is stored once a
    /// minute.
    ///
    /// # Errors
    /// The store failed, or this node may not answer for sessions.
    pub async fn console_session(
        self,
        presented: ConsoleDigest,
        session_use: SessionUse,
        now: UnixMs,
    ) -> Result<Option<ConsoleSession>, Error> {
        self.0.db.check_session_lease()?;
        let row = self.0.db.one(&SESSION, &[presented.as_str().into()]).await?;
        let Some(row) = row else { return Ok(None) };
        let SessionRow { key_digest, opened_at_ms, used_at_ms, expires_at_ms } = row;
        let holder = keys::holder_of_live_key(self.0, &key_digest).await?;
        self.0.db.check_session_lease()?;
        if expires_at_ms <= now {
            // It stays ended when the clock is set back. The answer is right even if this fails.
            let expired = [presented.as_str().into(), now.into()];
            let _ = self.0.db.execute(Bound::new(&END_EXPIRED, expired)).await;
            return Ok(None);
        }
        if session_use == SessionUse::Act && is_use_due(used_at_ms, now) {
            // A page is shown even while nothing can be written; the next use tries again.
            let expires_at = now.plus_ms(IDLE_MAX_MS).min(opened_at_ms.plus_ms(SESSION_MAX_MS));
            let used = [presented.as_str().into(), now.into(), expires_at.into()];
            let _ = self.0.db.execute(Bound::new(&USE, used)).await;
        }
        Ok(holder.map(|holder| ConsoleSession { digest: presented, key_digest, holder }))
    }

    /// Opens a session with the digest `new`, and ends the session of the `earlier` cookie. Returns
    /// the holder of the key; `None` if the key is not live, or the link is unknown, used or too
    /// old. A link is consumed in the same transaction.
    ///
    /// # Errors
    /// The store failed, or this node may not answer for sessions.
    pub async fn sign_in(
        self,
        proof: SignInProof,
        new: ConsoleDigest,
        earlier: Option<ConsoleDigest>,
        origin: Origin,
    ) -> Result<Option<KeyHolder>, Error> {
        self.0.db.check_session_lease()?;
        if !self.may_sign_in(&proof).await? {
            self.0.db.check_session_lease()?;
            return Ok(None);
        }
        let sign_in = async move |write: &Write<'_>| {
            write.check_session_lease()?;
            let (key_digest, by) = match &proof {
                SignInProof::Key(key) => (key.as_str().to_owned(), "key"),
                SignInProof::Link(link) => match spend(write, link, origin.at).await? {
                    Some(key_digest) => (key_digest, "link"),
                    None => return Ok(None),
                },
            };
            let Some(holder) = keys::live_holder(write, &key_digest).await? else {
                return Ok(None);
            };
            if let Some(earlier) = &earlier {
                write.execute(&END, &[earlier.as_str().into()]).await?;
            }
            open(write, &new, &key_digest, origin.at).await?;
            let acted_by = ActedBy::key(holder.name.clone(), origin.clone());
            let login = Act::new(AuditEvent::ConsoleLogin, AuditDetails::default());
            audit::act(write, &Act { reason: Some(by), ..login }, &acted_by).await?;
            Ok::<_, Error>(Some(holder))
        };
        let signed_in = self.0.db.write(Deadline::OfRequest, sign_in).await?;
        self.0.db.check_session_lease()?;
        Ok(signed_in)
    }

    /// Returns whether there is such a live key or such a link. Anyone can send a wrong one, which
    /// must not occupy the writer.
    async fn may_sign_in(self, proof: &SignInProof) -> Result<bool, Error> {
        Ok(match proof {
            SignInProof::Key(key) => {
                keys::holder_of_live_key(self.0, key.as_str()).await?.is_some()
            }
            SignInProof::Link(link) => {
                self.0.db.one::<(String, UnixMs)>(&LINK, &[link.as_str().into()]).await?.is_some()
            }
        })
    }

    /// Ends a session.
    ///
    /// # Errors
    /// The store failed.
    pub async fn sign_out(self, session: &ConsoleSession, by: ActedBy) -> Result<(), Error> {
        let digest = session.digest.clone();
        let sign_out = async move |write: &Write<'_>| {
            write.wait_for_earlier_leases().await?;
            if write.execute(&END, &[digest.as_str().into()]).await? > 0 {
                let logout = Act::new(AuditEvent::ConsoleLogout, AuditDetails::default());
                audit::act(write, &logout, &by).await?;
            }
            Ok(())
        };
        self.0.db.write(Deadline::OfRequest, sign_out).await
    }

    /// Creates a one-time sign-in link with the live key of a name, valid for [`LINK_VALIDITY_MS`]
    /// from `by.at`. Returns whether there is such a key.
    ///
    /// # Errors
    /// The store failed.
    pub async fn create_link(
        self,
        name: KeyName,
        link: ConsoleDigest,
        by: ActedBy,
    ) -> Result<bool, Error> {
        let create = async move |write: &Write<'_>| {
            let Some(key_digest) = keys::live_digest(write, &name).await? else {
                return Ok(false);
            };
            write.execute(&PURGE, &[by.at.into(), PURGED_MAX.into()]).await?;
            let expires_at = by.at.plus_ms(LINK_VALIDITY_MS);
            let params = [link.as_str().into(), key_digest.as_str().into(), expires_at.into()];
            write.execute(&ADD_LINK, &params).await?;
            let key_name = Some(name.to_string());
            let details = AuditDetails { key_name, ..AuditDetails::default() };
            audit::act(write, &Act::new(AuditEvent::ConsoleLinkCreated, details), &by).await?;
            Ok(true)
        };
        self.0.db.write(Deadline::OfRequest, create).await
    }

    /// Creates a key for the holder of another one. Returns `None`, and creates nothing, unless
    /// that key is still live, and has the right `keys` and every right of the new one.
    ///
    /// # Errors
    /// The store failed.
    pub async fn grant_key(
        self,
        granter: Oversight<'_>,
        holder: KeyHolder,
        digest: KeyDigest,
        by: ActedBy,
    ) -> Result<Option<CreatedKey>, Error> {
        let granter = granter.session.key_digest.clone();
        let grant = async move |write: &Write<'_>| {
            // The key cannot be revoked before the new one is created.
            write.take_layout_lock().await?;
            let live = keys::live_holder(write, &granter).await?;
            let may_grant = live.is_some_and(|KeyHolder { rights, .. }| {
                rights.contain(Right::Keys) && rights.contain_all(&holder.rights)
            });
            match may_grant {
                true => keys::create(write, &holder, &digest, &by).await.map(Some),
                false => Ok(None),
            }
        };
        self.0.db.write(Deadline::OfRequest, grant).await
    }
}

/// Ends the sessions and links that had expired at the `latest` time before the clock was set back
/// to `now`, and the sessions that would live too long from then on. Returns the number of
/// sessions.
pub(crate) async fn end_passed(
    write: &Write<'_>,
    latest: UnixMs,
    now: UnixMs,
) -> Result<u64, Error> {
    write.execute(&LINKS_PASSED, &[latest.into()]).await?;
    write.execute(&SESSIONS_PASSED, &[latest.into(), now.plus_ms(IDLE_MAX_MS).into()]).await
}

/// Consumes a link. Returns the digest of its key; `None` if it is unknown, used or too old. Only
/// one transaction deletes the row.
async fn spend(
    write: &Write<'_>,
    link: &ConsoleDigest,
    now: UnixMs,
) -> Result<Option<String>, Error> {
    let digest = [link.as_str().into()];
    let link = write.one::<(String, UnixMs)>(&LINK, &digest).await?;
    let Some((key_digest, expires_at)) = link else { return Ok(None) };
    let is_spent = write.execute(&END, &digest).await? == 0;
    // A link from the future was created before the clock was set back.
    let left_ms = expires_at.0.saturating_sub(now.0);
    let is_valid = !is_spent && (1..=LINK_VALIDITY_MS + CLOCKS_DIFFER_MS).contains(&left_ms);
    Ok(is_valid.then_some(key_digest))
}

async fn open(
    write: &Write<'_>,
    new: &ConsoleDigest,
    key_digest: &str,
    now: UnixMs,
) -> Result<(), Error> {
    write.execute(&PURGE, &[now.into(), PURGED_MAX.into()]).await?;
    let expires_at = now.plus_ms(IDLE_MAX_MS);
    let params = [new.as_str().into(), key_digest.into(), now.into(), expires_at.into()];
    write.execute(&OPEN, &params).await?;
    write.execute(&END_OLDEST, &[key_digest.into(), SESSIONS_OF_KEY_MAX.into()]).await?;
    Ok(())
}
