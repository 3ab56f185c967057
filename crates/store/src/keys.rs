//! The operator's keys. A key is valid from the commit that creates it to the commit that revokes
//! it: every request reads the row, and nothing is cached.

use std::collections::HashMap;

use kiosque_contract::AuditDetails;
use kiosque_model::audit::AuditEvent;
use kiosque_model::{ActedBy, KeyDigest, KeyEntry, KeyName, Rights, UnixMs};

use crate::audit::{self, Act};
use crate::db::{Bound, Deadline, Read, Write};
use crate::error::Error;
use crate::sql::{row, statements};
use crate::state::State;
use crate::usage::is_use_due;
use crate::views::Operators;

row! {
    struct HolderRow { key_name: String, may: String }
    struct UsedKeyRow { holder: HolderRow, used_at_ms: Option<UnixMs> }
    struct KeyRow {
        holder: HolderRow,
        key_digest: String,
        created_at_ms: UnixMs,
        revoked_at_ms: Option<UnixMs>,
        used_at_ms: Option<UnixMs>,
    }
}

statements! {
    KEY_IN_USE(key_digest) -> UsedKeyRow = "select key_name, may, used_at_ms
        from operator_keys where key_digest = $key_digest and revoked_at_ms is null";
    STORE_USE(key_digest, now_ms) = "update operator_keys set used_at_ms = $now_ms
        where key_digest = $key_digest";
    SESSION_USES() -> (String, UnixMs) = "select key_digest, max(used_at_ms)
        from console_sessions where opened_at_ms is not null group by key_digest";
    LIVE_KEY(key_name) -> UnixMs = "select created_at_ms from operator_keys
        where key_name = $key_name and revoked_at_ms is null";
    DIGEST_OF_LIVE_KEY(key_name) -> String = "select key_digest from operator_keys
        where key_name = $key_name and revoked_at_ms is null";
    INSERT_KEY(key_digest, key_name, may, created_at_ms) = "insert into operator_keys
            (key_digest, key_name, may, created_at_ms)
        values ($key_digest, $key_name, $may, $created_at_ms)";
    REVOKE_KEY(key_name, now_ms) = "update operator_keys set revoked_at_ms = $now_ms
        where key_name = $key_name and revoked_at_ms is null";
    ALL_KEYS() -> KeyRow = "select key_name, may, key_digest, created_at_ms, revoked_at_ms,
            used_at_ms
        from operator_keys order by created_at_ms";
}

/// The holder of a live key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHolder {
    /// The name of the key.
    pub name: KeyName,
    /// The calls that it may make.
    pub rights: Rights,
}

/// Whether the use of a key should be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyUse {
    /// The stored use is at most a minute old.
    Stored,
    /// [`Operators::store_key_use`] is to be called.
    Due,
}

/// The outcome of creating a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreatedKey {
    /// The key is valid now.
    Created,
    /// A live key, created at this time, already has the name.
    NameTaken(UnixMs),
}

impl Operators<'_> {
    /// Returns the holder of a key that is used now, if the key is live, and whether to store the
    /// use.
    ///
    /// # Errors
    /// The store failed, or this node may not answer for keys: it might read one that has been
    /// revoked.
    pub async fn key_in_use(
        self,
        digest: &KeyDigest,
        now: UnixMs,
    ) -> Result<Option<(KeyHolder, KeyUse)>, Error> {
        self.0.db.check_session_lease()?;
        let found = self.0.db.one(&KEY_IN_USE, &[digest.as_str().into()]).await?;
        self.0.db.check_session_lease()?;
        let Some(UsedKeyRow { holder, used_at_ms }) = found else { return Ok(None) };
        let is_due = used_at_ms.is_none_or(|stored| is_use_due(stored, now));
        Ok(Some((holder.parse()?, if is_due { KeyUse::Due } else { KeyUse::Stored })))
    }

    /// Stores the time of a key's last use.
    ///
    /// # Errors
    /// The store failed.
    pub async fn store_key_use(self, digest: KeyDigest, now: UnixMs) -> Result<(), Error> {
        let store = Bound::new(&STORE_USE, [digest.as_str().into(), now.into()]);
        self.0.db.execute(store).await.map(|_| ())
    }

    /// Creates a key, unless a live one has its name.
    ///
    /// # Errors
    /// The store failed.
    pub async fn create_key(
        self,
        holder: KeyHolder,
        digest: KeyDigest,
        by: ActedBy,
    ) -> Result<CreatedKey, Error> {
        let create = async move |write: &Write<'_>| create(write, &holder, &digest, &by).await;
        self.0.db.write(Deadline::OfRequest, create).await
    }

    /// Revokes the live key with that name. No request that starts afterwards is accepted with it.
    /// Returns whether there was one.
    ///
    /// # Errors
    /// The store failed.
    pub async fn revoke_key(self, name: KeyName, by: ActedBy) -> Result<bool, Error> {
        let revoke = async move |write: &Write<'_>| {
            write.wait_for_earlier_leases().await?;
            // This key cannot be creating another one meanwhile.
            write.take_layout_lock().await?;
            let revoked = write.execute(&REVOKE_KEY, &[name.as_str().into(), by.at.into()]).await?;
            if revoked == 0 {
                return Ok(false);
            }
            let key_name = Some(name.to_string());
            let details = AuditDetails { key_name, ..AuditDetails::default() };
            audit::act(write, &Act::new(AuditEvent::KeyRevoked, details), &by).await?;
            Ok(true)
        };
        self.0.db.write(Deadline::OfRequest, revoke).await
    }

    /// Returns all keys, including revoked ones, the oldest first.
    ///
    /// # Errors
    /// The store failed.
    pub async fn keys(self) -> Result<Vec<KeyEntry>, Error> {
        let read = async move |read: &Read<'_>| {
            let uses = read.all(&SESSION_USES, &[]).await?;
            let uses: HashMap<String, UnixMs> = uses.into_iter().collect();
            let entry = |row: KeyRow| {
                let KeyHolder { name, rights } = row.holder.parse()?;
                Ok(KeyEntry {
                    name,
                    rights,
                    created_at: row.created_at_ms,
                    revoked_at: row.revoked_at_ms,
                    used_at: row.used_at_ms.max(uses.get(&row.key_digest).copied()),
                })
            };
            let keys = read.all(&ALL_KEYS, &[]).await?.into_iter().map(entry);
            keys.collect::<Result<Vec<_>, Error>>()
        };
        self.0.db.read(Deadline::OfRequest, read).await
    }
}

/// Returns the holder of the key with a stored digest, if the key is live.
pub(crate) async fn holder_of_live_key(
    state: &State,
    key_digest: &str,
) -> Result<Option<KeyHolder>, Error> {
    let found: Option<UsedKeyRow> = state.db.one(&KEY_IN_USE, &[key_digest.into()]).await?;
    found.map(|found| found.holder.parse()).transpose()
}

/// Creates a key in the transaction, unless a live one has its name.
pub(crate) async fn create(
    write: &Write<'_>,
    holder: &KeyHolder,
    digest: &KeyDigest,
    by: &ActedBy,
) -> Result<CreatedKey, Error> {
    // Serializes creations: no index makes the names of live keys unique.
    write.take_layout_lock().await?;
    let name = holder.name.as_str();
    if let Some(since) = write.one(&LIVE_KEY, &[name.into()]).await? {
        return Ok(CreatedKey::NameTaken(since));
    }
    let may = holder.rights.to_string();
    let params = [digest.as_str().into(), name.into(), may.as_str().into(), by.at.into()];
    write.execute(&INSERT_KEY, &params).await?;
    let details = AuditDetails {
        key_name: Some(name.to_owned()),
        rights: holder.rights.iter().map(|right| right.name().to_owned()).collect(),
        ..AuditDetails::default()
    };
    audit::act(write, &Act::new(AuditEvent::KeyCreated, details), by).await?;
    Ok(CreatedKey::Created)
}

/// Returns the holder of the key with a digest, if the key is live.
pub(crate) async fn live_holder(
    read: &Read<'_>,
    key_digest: &str,
) -> Result<Option<KeyHolder>, Error> {
    let found: Option<UsedKeyRow> = read.one(&KEY_IN_USE, &[key_digest.into()]).await?;
    found.map(|found| found.holder.parse()).transpose()
}

/// Returns the digest of the live key with a name.
pub(crate) async fn live_digest(read: &Read<'_>, name: &KeyName) -> Result<Option<String>, Error> {
    read.one(&DIGEST_OF_LIVE_KEY, &[name.as_str().into()]).await
}

impl HolderRow {
    fn parse(&self) -> Result<KeyHolder, Error> {
        let invalid = |error: &dyn std::fmt::Display| Error::Data(format!("a stored key: {error}"));
        let name = KeyName::parse(&self.key_name).map_err(|error| invalid(&error))?;
        let rights = self.may.parse().map_err(|error| invalid(&error))?;
        Ok(KeyHolder { name, rights })
    }
}
