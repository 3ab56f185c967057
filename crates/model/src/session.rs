//! Sessions, their tokens, and the permission scope that a session grants. Each account has at most
//! one session, which is a row in the store. Once a login, a switch or a logout is answered,
//! requests with an older token are refused.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::ids::{AccountNo, GroupNo};
use crate::refusal::Refusal;
use crate::secret::secret;
use crate::time::UnixMs;

/// Random bytes of a token.
pub const TOKEN_RANDOM_BYTES: usize = 32;
const TOKEN_BYTES: usize = 8 + 8 + TOKEN_RANDOM_BYTES;

secret!(
    /// An access token in plain text: the numbers of account and group, and 256 random bits, in
    /// base64url. The numbers are hints that the session row must confirm.
    Token,
    /// The SHA-256 digest of a token; only the digest is stored.
    TokenDigest
);

impl Token {
    /// Returns the token of a new session.
    pub fn mint(account: AccountNo, group: GroupNo, random: [u8; TOKEN_RANDOM_BYTES]) -> Token {
        let mut bytes = [0; TOKEN_BYTES];
        bytes[..8].copy_from_slice(&account.0.to_be_bytes());
        bytes[8..16].copy_from_slice(&group.0.to_be_bytes());
        bytes[16..].copy_from_slice(&random);
        Token(URL_SAFE_NO_PAD.encode(bytes))
    }
}

/// A well-formed token of a request, not verified yet.
#[derive(Clone, Debug)]
pub struct PresentedToken {
    account_hint: AccountNo,
    group_hint: GroupNo,
    digest: TokenDigest,
}

impl PresentedToken {
    /// Parses the exact value of a header; `None` if it is not a token.
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

    /// Returns a token that no account has, for a session check that must end in a refusal.
    pub fn unissued() -> PresentedToken {
        PresentedToken {
            account_hint: AccountNo(-1),
            group_hint: GroupNo(-1),
            digest: TokenDigest(String::new()),
        }
    }

    /// Returns the account whose session row may match.
    pub fn account_hint(&self) -> AccountNo {
        self.account_hint
    }

    /// Returns the group that the session selected when the token was created. Statements of the
    /// same batch use it before the session row is known.
    pub fn group_hint(&self) -> GroupNo {
        self.group_hint
    }

    /// Returns the digest to compare with the row's.
    pub fn digest(&self) -> &TokenDigest {
        &self.digest
    }
}

/// A claim to a session: the token that a request presented, and the time of the request.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The presented token.
    pub token: PresentedToken,
    /// The time at which the token must be valid.
    pub now: UnixMs,
}

/// The stored session of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionRow<'r> {
    /// The account.
    pub account: AccountNo,
    /// Selected group.
    pub selected_group: GroupNo,
    /// The digest of the one valid token.
    pub token_digest: &'r str,
    /// The end of the session.
    pub expires_at: UnixMs,
    /// Whether the selected group is active, and assigned to the account.
    pub is_open: bool,
}

/// A live session, verified by [`Session::prove`].
#[derive(Clone, Debug)]
pub struct Session {
    account: AccountNo,
    group: GroupNo,
    is_open: bool,
}

impl Session {
    /// Returns the session that a claim proves: the row of the token's account has the token's
    /// digest and has not expired. This is the only check of tokens.
    ///
    /// The selected group is the row's. The group in the token is only a hint.
    ///
    /// # Errors
    /// `TokenInvalid` for a token that was replaced, ended or never issued; `SessionExpired`.
    pub fn prove(claim: &Claim, row: &SessionRow<'_>) -> Result<Session, Refusal> {
        let SessionRow { account, selected_group: group, token_digest, expires_at, is_open } = *row;
        let Claim { token, now } = claim;
        let is_its_token = account == token.account_hint && token_digest == token.digest.as_str();
        match is_its_token {
            false => Err(Refusal::TokenInvalid),
            true if *now >= expires_at => Err(Refusal::SessionExpired),
            true => Ok(Session { account, group, is_open }),
        }
    }

    /// Returns the account.
    pub fn account(&self) -> AccountNo {
        self.account
    }

    /// Returns the selected group. It may have been closed since; see [`crate::Scope::selected`].
    pub fn selected_group(&self) -> GroupNo {
        self.group
    }
}

/// The group that a request may see. Every scoped query requires a scope, and only a [`Session`]
/// yields one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    account: AccountNo,
    group: GroupNo,
}

impl Scope {
    /// Returns the scope of a session's selected group, unless the group has been closed.
    pub fn selected(session: &Session) -> Option<Scope> {
        let Session { account, group, is_open } = *session;
        is_open.then_some(Scope { account, group })
    }

    /// Returns the scope of another open group of the account, for a `groupId` filter. The
    /// session's selected group stays the same.
    #[must_use]
    pub fn narrowed(self, open_group: GroupNo) -> Scope {
        Scope { group: open_group, ..self }
    }

    /// Returns the account.
    pub fn account(self) -> AccountNo {
        self.account
    }

    /// Returns the group whose devices and orders are visible.
    pub fn group(self) -> GroupNo {
        self.group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> Token {
        Token::mint(AccountNo(7), GroupNo(3), [9; TOKEN_RANDOM_BYTES])
    }

    fn row(digest: &str) -> SessionRow<'_> {
        SessionRow {
            account: AccountNo(7),
            selected_group: GroupNo(3),
            token_digest: digest,
            expires_at: UnixMs(1_000),
            is_open: true,
        }
    }

    #[test]
    fn a_token_is_valid_until_its_expiry_and_only_with_its_exact_characters() {
        let digest = token().digest();
        let row = row(digest.as_str());
        let token = PresentedToken::read(token().reveal().as_bytes()).expect("well formed");
        let claim = |now| Claim { token: token.clone(), now: UnixMs(now) };
        let error = |now, row| Session::prove(&claim(now), row).err();
        assert_eq!(error(999, &row), None);
        assert_eq!(error(1_000, &row), Some(Refusal::SessionExpired));

        let other = Token::mint(AccountNo(7), GroupNo(3), [8; 32]).digest();
        let replaced = SessionRow { token_digest: other.as_str(), ..row };
        assert_eq!(error(0, &replaced), Some(Refusal::TokenInvalid));
        assert_eq!(error(1_000, &replaced), Some(Refusal::TokenInvalid));
    }

    #[test]
    fn a_token_is_not_shown_and_one_that_no_account_has_names_none() {
        assert_eq!(format!("{:?}", token()), "Token(***)");
        let unissued = PresentedToken::unissued();
        let hints = (unissued.account_hint(), unissued.group_hint());
        assert_eq!(hints, (AccountNo(-1), GroupNo(-1)));
    }

    /// SCOPE-1: a session sees its selected group, or another one of its account, while it is open.
    #[test]
    fn a_scope_has_an_open_group_of_the_session() {
        let session = |is_open| Session { account: AccountNo(7), group: GroupNo(3), is_open };
        assert_eq!(Scope::selected(&session(false)), None);
        let scope = Scope::selected(&session(true)).expect("a scope");
        assert_eq!((scope.account(), scope.group()), (AccountNo(7), GroupNo(3)));
        let other = scope.narrowed(GroupNo(4));
        assert_eq!((other.account(), other.group()), (AccountNo(7), GroupNo(4)));
    }

    #[test]
    fn every_altered_character_makes_another_token_or_none() {
        let (text, digest) = (token().reveal().to_owned(), token().digest());
        for at in 0..text.len() {
            let mut altered = text.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let proven = PresentedToken::read(&altered).and_then(|token| {
                Session::prove(&Claim { token, now: UnixMs(0) }, &row(digest.as_str())).ok()
            });
            assert!(proven.is_none(), "character {at}");
        }
        for wrong in [format!("Bearer {text}"), format!(" {text}"), String::new(), "é".to_owned()]
        {
            assert!(PresentedToken::read(wrong.as_bytes()).is_none(), "{wrong:?}");
        }
    }
}
