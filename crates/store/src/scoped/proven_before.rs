//! Tokens and groups that have been proven before.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::RwLock;

use kiosque_locks::{read_ignoring_poison, write_ignoring_poison};
use kiosque_model::session::TokenDigest;
use kiosque_model::{AccountNo, GroupId, GroupNo, PresentedToken, Scope};

use super::GroupFilter;
use crate::error::Refused;

/// A cache of the last token of each account, and of the groups that each account has asked for by
/// their ids, as they were proven.
///
/// They are hints, and prove nothing: each query that uses one is checked in its own snapshot. They
/// decide whether statements may run before that check is answered. There are never more entries
/// than accounts, and groups of accounts.
#[derive(Debug, Default)]
pub(crate) struct ProvenBefore {
    hasher: RandomState,
    tokens: RwLock<HashMap<AccountNo, TokenHash>>,
    /// Tokens of the account before the last one, the latest ones.
    earlier: RwLock<HashMap<AccountNo, VecDeque<TokenHash>>>,
    groups: RwLock<HashMap<AccountNo, HashMap<GroupId, GroupNo>>>,
}

/// The earlier tokens of an account that are remembered.
const EARLIER_MAX: usize = 8;

/// A hash of a token. Another token with the same hash is refused by its check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TokenHash(u64);

/// A token that a request presents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Presented {
    account: AccountNo,
    hash: TokenHash,
}

impl ProvenBefore {
    fn hash(&self, digest: &TokenDigest) -> TokenHash {
        TokenHash(self.hasher.hash_one(digest.as_str()))
    }

    pub(crate) fn presented(&self, token: &PresentedToken) -> Presented {
        Presented { account: token.account_hint(), hash: self.hash(token.digest()) }
    }

    /// Returns whether a token is the last one of its account that was proven.
    pub(crate) fn has_token(&self, token: &PresentedToken) -> bool {
        let known = read_ignoring_poison(&self.tokens).get(&token.account_hint()).copied();
        known.is_some_and(|known| known == self.hash(token.digest()))
    }

    /// Returns whether a token is, or was, one of the account that it names, as far as this process
    /// remembers.
    pub(crate) fn had_token(&self, token: &PresentedToken) -> bool {
        let (account, hash) = (token.account_hint(), self.hash(token.digest()));
        let earlier = read_ignoring_poison(&self.earlier);
        self.has_token(token) || earlier.get(&account).is_some_and(|known| known.contains(&hash))
    }

    /// Adds a token that was proven, or has just been given out.
    pub(crate) fn add_token(&self, account: AccountNo, digest: &TokenDigest) {
        let hash = self.hash(digest);
        let before = write_ignoring_poison(&self.tokens).insert(account, hash);
        if let Some(before) = before.filter(|before| *before != hash) {
            self.remember(account, before);
        }
    }

    fn remember(&self, account: AccountNo, hash: TokenHash) {
        let mut earlier = write_ignoring_poison(&self.earlier);
        let known = earlier.entry(account).or_default();
        if !known.contains(&hash) {
            known.push_back(hash);
        }
        if known.len() > EARLIER_MAX {
            known.pop_front();
        }
    }

    /// Removes a token that was refused.
    pub(crate) fn forget_refused(&self, presented: Presented, refused: &Refused) {
        if matches!(refused, Refused::Refusal(_)) {
            let Presented { account, hash } = presented;
            let mut tokens = write_ignoring_poison(&self.tokens);
            if tokens.get(&account) == Some(&hash) {
                tokens.remove(&account);
                drop(tokens);
                self.remember(account, hash);
            }
        }
    }

    /// Returns the number of a filter's group, if the account was allowed to see it.
    pub(crate) fn group(&self, account: AccountNo, filter: &GroupFilter) -> Option<GroupNo> {
        let group = filter.as_ref().ok()?;
        read_ignoring_poison(&self.groups).get(&account)?.get(group).copied()
    }

    /// Adds the group of a filter, which the account may see.
    pub(crate) fn add_group(&self, filter: &GroupFilter, scope: Scope) {
        let Ok(group) = filter else { return };
        let mut groups = write_ignoring_poison(&self.groups);
        groups.entry(scope.account()).or_default().insert(group.clone(), scope.group());
    }

    /// Removes the group of a filter, which the account may not see.
    pub(crate) fn forget_group(&self, account: AccountNo, filter: &GroupFilter) {
        let Ok(group) = filter else { return };
        if let Some(groups) = write_ignoring_poison(&self.groups).get_mut(&account) {
            groups.remove(group);
        }
    }
}
