//! The operator's keys. A key counts from its commit to the commit of its revocation: whoever asks
//! reads the row, for each request, and nothing answers for it.

use kiosque_model::audit::Act;
use kiosque_model::{ActedBy, KeyDigest, KeyName, Rights, UnixMs};

use crate::db::{Length, Read, Write};
use crate::sql::{Row, statements};
use crate::{Error, Store, audit};

statements! {
    HOLDER = "select key_name, may from operator_keys
        where key_digest = $1 and revoked_at_ms is null";
    LIVE = "select created_at_ms from operator_keys
        where key_name = $1 and revoked_at_ms is null";
    ADD = "insert into operator_keys (key_digest, key_name, may, created_at_ms)
        values ($1, $2, $3, $4)";
    REVOKE = "update operator_keys set revoked_at_ms = $2
        where key_name = $1 and revoked_at_ms is null";
    LIST = "select key_name, may, created_at_ms, revoked_at_ms
        from operator_keys order by created_at_ms";
}

/// Who a live key speaks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHolder {
    /// What the key is called.
    pub name: KeyName,
    /// What it may do.
    pub rights: Rights,
}

/// A key as people are shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyEntry {
    /// Whose it is and what it may do.
    pub holder: KeyHolder,
    /// Since when it counts.
    pub created_at: UnixMs,
    /// Since when it does not any more.
    pub revoked_at: Option<UnixMs>,
}

/// What became of a key that was to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreatedKey {
    /// It counts.
    Created,
    /// A live key has that name since then.
    NameTaken(UnixMs),
}

/// What became of a key that was to be revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevokedKey {
    /// It counts no more.
    Revoked,
    /// No live key has that name.
    Unknown,
}

impl Store {
    /// Who a key speaks for, if it is live.
    ///
    /// # Errors
    /// The store failed.
    pub async fn key_holder(&self, digest: &KeyDigest) -> Result<Option<KeyHolder>, Error> {
        self.db.one(&HOLDER, &[digest.as_str().into()], holder).await
    }

    /// Makes a key, unless a live one has its name.
    ///
    /// # Errors
    /// The store failed.
    pub async fn create_key(
        &self,
        holder: KeyHolder,
        digest: KeyDigest,
        now: UnixMs,
    ) -> Result<CreatedKey, Error> {
        let create = async move |write: &Write<'_>| {
            // One at a time: no index says that a live name is one key's alone.
            write.alone().await?;
            let name = holder.name.as_str();
            let taken = write.one(&LIVE, &[name.into()], |row| Ok(UnixMs(row.int(0)?))).await?;
            if let Some(since) = taken {
                return Ok(CreatedKey::NameTaken(since));
            }
            let may = holder.rights.to_string();
            let params = [digest.as_str().into(), name.into(), may.as_str().into(), now.0.into()];
            write.execute(&ADD, &params).await?;
            let act = Act::KeyCreated { name: holder.name.clone(), rights: holder.rights.clone() };
            audit::act(write, &act, &ActedBy::command(now)).await?;
            Ok(CreatedKey::Created)
        };
        self.db.write(Length::Short, create).await
    }

    /// Revokes the live key of that name; no request that starts after this is let in by it.
    ///
    /// # Errors
    /// The store failed.
    pub async fn revoke_key(&self, name: KeyName, now: UnixMs) -> Result<RevokedKey, Error> {
        let revoke = async move |write: &Write<'_>| {
            let revoked = write.execute(&REVOKE, &[name.as_str().into(), now.0.into()]).await?;
            if revoked == 0 {
                return Ok(RevokedKey::Unknown);
            }
            audit::act(write, &Act::KeyRevoked { name: name.clone() }, &ActedBy::command(now))
                .await?;
            Ok(RevokedKey::Revoked)
        };
        self.db.write(Length::Short, revoke).await
    }

    /// Every key that there ever was, the oldest first.
    ///
    /// # Errors
    /// The store failed.
    pub async fn keys(&self) -> Result<Vec<KeyEntry>, Error> {
        let entry = |row: &Row<'_>| {
            Ok(KeyEntry {
                holder: holder(row)?,
                created_at: UnixMs(row.int(2)?),
                revoked_at: row.maybe_int(3)?.map(UnixMs),
            })
        };
        self.db
            .read(Length::Short, async move |read: &Read<'_>| read.all(&LIST, &[], entry).await)
            .await
    }
}

/// Reads `key_name, may`.
fn holder(row: &Row<'_>) -> Result<KeyHolder, Error> {
    let unreadable = |fault: &dyn std::fmt::Display| Error::Data(format!("a kept key: {fault}"));
    let name = KeyName::parse(row.text(0)?).map_err(|fault| unreadable(&fault))?;
    let rights = row.text(1)?.parse().map_err(|fault| unreadable(&fault))?;
    Ok(KeyHolder { name, rights })
}
