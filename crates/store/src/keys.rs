//! The operator's keys. A key is valid from the commit that creates it to the commit that revokes
//! it: every request reads the row, and nothing is cached.

use kiosque_model::audit::Act;
use kiosque_model::{ActedBy, KeyDigest, KeyName, Rights, UnixMs};

use crate::db::{Deadline, Read, Write};
use crate::sql::{Row, row, statements};
use crate::{Error, Store, audit};

row! {
    struct HolderRow<'r> { key_name: &'r str, may: &'r str }
    struct KeyRow<'r> {
        holder: HolderRow<'r>,
        created_at_ms: UnixMs,
        revoked_at_ms: Option<UnixMs>,
    }
}

statements! {
    HOLDER_OF_KEY(key_digest) -> HolderRow<'_> = "select key_name, may from operator_keys
        where key_digest = $key_digest and revoked_at_ms is null";
    LIVE_KEY(key_name) -> UnixMs = "select created_at_ms from operator_keys
        where key_name = $key_name and revoked_at_ms is null";
    INSERT_KEY(key_digest, key_name, may, created_at_ms) = "insert into operator_keys
            (key_digest, key_name, may, created_at_ms)
        values ($key_digest, $key_name, $may, $created_at_ms)";
    REVOKE_KEY(key_name, now_ms) = "update operator_keys set revoked_at_ms = $now_ms
        where key_name = $key_name and revoked_at_ms is null";
    ALL_KEYS() -> KeyRow<'_> = "select key_name, may, created_at_ms, revoked_at_ms
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

/// A key in the list of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyEntry {
    /// Its name and its rights.
    pub holder: KeyHolder,
    /// When it was created.
    pub created_at: UnixMs,
    /// When it was revoked, if it was.
    pub revoked_at: Option<UnixMs>,
}

/// The outcome of creating a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreatedKey {
    /// The key is valid now.
    Created,
    /// A live key, created at this time, has the name.
    NameTaken(UnixMs),
}

/// The outcome of revoking a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevokedKey {
    /// The key is no longer valid.
    Revoked,
    /// No live key has the name.
    Unknown,
}

impl Store {
    /// Returns the holder of a key, if the key is live.
    ///
    /// # Errors
    /// The store failed.
    pub async fn key_holder(&self, digest: &KeyDigest) -> Result<Option<KeyHolder>, Error> {
        self.db
            .one(&HOLDER_OF_KEY, &[digest.as_str().into()], |row| {
                row.read::<HolderRow<'_>>()?.parse()
            })
            .await
    }

    /// Creates a key, unless a live one has its name.
    ///
    /// # Errors
    /// The store failed.
    pub async fn create_key(
        &self,
        holder: KeyHolder,
        digest: KeyDigest,
        by: ActedBy,
    ) -> Result<CreatedKey, Error> {
        let create = async move |write: &Write<'_>| {
            // Serializes creations: no index makes the names of live keys unique.
            write.take_layout_lock().await?;
            let name = holder.name.as_str();
            let taken = write.one(&LIVE_KEY, &[name.into()], |row| row.read()).await?;
            if let Some(since) = taken {
                return Ok(CreatedKey::NameTaken(since));
            }
            let may = holder.rights.to_string();
            let params = [digest.as_str().into(), name.into(), may.as_str().into(), by.at.into()];
            write.execute(&INSERT_KEY, &params).await?;
            let act = Act::KeyCreated { name: holder.name.clone(), rights: holder.rights.clone() };
            audit::act(write, &act, &by).await?;
            Ok(CreatedKey::Created)
        };
        self.db.write(Deadline::OfRequest, create).await
    }

    /// Revokes the live key of that name. No request that starts afterwards is accepted with it.
    ///
    /// # Errors
    /// The store failed.
    pub async fn revoke_key(&self, name: KeyName, by: ActedBy) -> Result<RevokedKey, Error> {
        let revoke = async move |write: &Write<'_>| {
            let revoked = write.execute(&REVOKE_KEY, &[name.as_str().into(), by.at.into()]).await?;
            if revoked == 0 {
                return Ok(RevokedKey::Unknown);
            }
            audit::act(write, &Act::KeyRevoked { name: name.clone() }, &by).await?;
            Ok(RevokedKey::Revoked)
        };
        self.db.write(Deadline::OfRequest, revoke).await
    }

    /// Returns all keys, revoked ones included, the oldest first.
    ///
    /// # Errors
    /// The store failed.
    pub async fn keys(&self) -> Result<Vec<KeyEntry>, Error> {
        let entry = |row: &Row<'_>| {
            let KeyRow { holder, created_at_ms, revoked_at_ms } = row.read()?;
            let holder = holder.parse()?;
            Ok(KeyEntry { holder, created_at: created_at_ms, revoked_at: revoked_at_ms })
        };
        self.db
            .read(Deadline::OfRequest, async move |read: &Read<'_>| {
                read.all(&ALL_KEYS, &[], entry).await
            })
            .await
    }
}

impl HolderRow<'_> {
    fn parse(&self) -> Result<KeyHolder, Error> {
        let invalid = |fault: &dyn std::fmt::Display| Error::Data(format!("a stored key: {fault}"));
        let name = KeyName::parse(self.key_name).map_err(|fault| invalid(&fault))?;
        let rights = self.may.parse().map_err(|fault| invalid(&fault))?;
        Ok(KeyHolder { name, rights })
    }
}
