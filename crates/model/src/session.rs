//! The session promise: one row per account is the session. Once the answer to a login, switch or
//! log out is sent, no request that starts later is accepted with an older token.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::ids::{AccountNo, GroupNo};
use crate::time::UnixMs;

/// Random bytes of a token.
pub const TOKEN_RANDOM_BYTES: usize = 32;
const TOKEN_BYTES: usize = 8 + 8 + TOKEN_RANDOM_BYTES;

/// An access token as it travels: base64url of the account's and the group's number, which are
/// hints that the session row confirms or not, and of 256 random bits.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

impl Token {
    /// Makes the token of a new session.
    #[must_use]
    pub fn mint(account: AccountNo, group: GroupNo, random: [u8; TOKEN_RANDOM_BYTES]) -> Token {
        let mut bytes = [0; TOKEN_BYTES];
        bytes[..8].copy_from_slice(&account.0.to_be_bytes());
        bytes[8..16].copy_from_slice(&group.0.to_be_bytes());
        bytes[16..].copy_from_slice(&random);
        Token(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The text for the integrator, and for nobody else.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    #[must_use]
    pub fn digest(&self) -> TokenDigest {
        TokenDigest::of(self.0.as_bytes())
    }
}

/// The digest of a token's exact characters; only this is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenDigest(String);

impl TokenDigest {
    fn of(characters: &[u8]) -> TokenDigest {
        TokenDigest(URL_SAFE_NO_PAD.encode(Sha256::digest(characters)))
    }

    /// The digest as a store keeps it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A token that a request brought: well formed, and not yet believed.
#[derive(Clone, Debug)]
pub struct PresentedToken {
    account_hint: AccountNo,
    group_hint: GroupNo,
    digest: TokenDigest,
}

impl PresentedToken {
    /// Reads a header's exact value; `None` when no session can have such a token.
    #[must_use]
    pub fn read(header: &[u8]) -> Option<PresentedToken> {
        let bytes = URL_SAFE_NO_PAD.decode(header).ok()?;
        let bytes: [u8; TOKEN_BYTES] = bytes.try_into().ok()?;
        let (account, rest) = bytes.split_first_chunk::<8>()?;
        let (group, _) = rest.split_first_chunk::<8>()?;
        Some(PresentedToken {
            account_hint: AccountNo(i64::from_be_bytes(*account)),
            group_hint: GroupNo(i64::from_be_bytes(*group)),
            digest: TokenDigest::of(header),
        })
    }

    /// Whose session row to look at.
    #[must_use]
    pub fn account_hint(&self) -> AccountNo {
        self.account_hint
    }

    /// Which group to look at meanwhile: the one that the session selected when the token was made.
    #[must_use]
    pub fn group_hint(&self) -> GroupNo {
        self.group_hint
    }

    /// The digest to compare with the row's.
    #[must_use]
    pub fn digest(&self) -> &TokenDigest {
        &self.digest
    }
}

/// An account's session as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Whose session it is.
    pub account: AccountNo,
    /// The selected group.
    pub group: GroupNo,
    /// The digest of the one token that stands.
    pub token_digest: String,
    /// When it ends.
    pub expires_at: UnixMs,
}

/// A live session: only [`Session::prove`] makes one, from a row that the presented token matches.
#[derive(Clone, Debug)]
pub struct Session {
    account: AccountNo,
    group: GroupNo,
}

impl Session {
    /// The one rule that says whether a token is good: its account's row carries its digest and has
    /// not run out. Otherwise `None`, which is answered -4.
    #[must_use]
    pub fn prove(
        presented: &PresentedToken,
        row: Option<&SessionRow>,
        now: UnixMs,
    ) -> Option<Session> {
        let row = row?;
        let stands = row.account == presented.account_hint
            && row.token_digest == presented.digest.as_str()
            && now < row.expires_at;
        stands.then_some(Session { account: row.account, group: row.group })
    }

    /// Whose session it is.
    #[must_use]
    pub fn account(&self) -> AccountNo {
        self.account
    }

    /// The selected group, which may have been closed meanwhile; [`crate::Scope`] knows.
    #[must_use]
    pub fn selected_group(&self) -> GroupNo {
        self.group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> Token {
        Token::mint(AccountNo(7), GroupNo(3), [9; TOKEN_RANDOM_BYTES])
    }

    fn row() -> SessionRow {
        SessionRow {
            account: AccountNo(7),
            group: GroupNo(3),
            token_digest: token().digest().as_str().to_owned(),
            expires_at: UnixMs(1_000),
        }
    }

    #[test]
    fn a_token_stands_until_its_expiry_and_only_with_its_exact_characters() {
        let presented = PresentedToken::read(token().reveal().as_bytes()).expect("well formed");
        assert!(Session::prove(&presented, Some(&row()), UnixMs(999)).is_some());
        assert!(Session::prove(&presented, Some(&row()), UnixMs(1_000)).is_none());
        assert!(Session::prove(&presented, None, UnixMs(0)).is_none());

        let mut replaced = row();
        replaced.token_digest = Token::mint(AccountNo(7), GroupNo(3), [8; 32]).digest().0;
        assert!(Session::prove(&presented, Some(&replaced), UnixMs(0)).is_none());
    }

    #[test]
    fn every_altered_character_makes_another_token_or_none() {
        let text = token().reveal().to_owned();
        for at in 0..text.len() {
            let mut altered = text.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let stands = PresentedToken::read(&altered)
                .and_then(|presented| Session::prove(&presented, Some(&row()), UnixMs(0)));
            assert!(stands.is_none(), "character {at}");
        }
        for wrong in [format!("Bearer {text}"), format!(" {text}"), String::new(), "é".to_owned()]
        {
            assert!(PresentedToken::read(wrong.as_bytes()).is_none(), "{wrong:?}");
        }
    }
}
