//! What a process remembers from earlier requests, to send statements before their parameters are
//! proven: tokens and groups, the devices of filters, and best-selling goods. Hints prove nothing:
//! each is checked by the snapshot of the request that uses it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, RwLock};

use kiosque_locks::{lock_ignoring_poison, read_ignoring_poison, write_ignoring_poison};
use kiosque_model::ids::IdError;
use kiosque_model::session::TokenDigest;
use kiosque_model::{AccountNo, DeviceNo, GroupId, GroupNo, PresentedToken, Scope};

use crate::error::Refused;
use crate::sums::device_set::DeviceSet;

/// A `groupId` filter; `Err` for a text that cannot be an id.
pub type GroupFilter = Result<GroupId, IdError>;

/// A cache of the last token of each account, and of the groups that each account has requested by
/// id, as they were proven.
///
/// They are hints and prove nothing: each query that uses one is checked in its own snapshot. They
/// decide whether statements may run before that check is answered. There are never more entries
/// than accounts, and groups of accounts.
#[derive(Debug, Default)]
pub(crate) struct ProvenBefore {
    tokens: RwLock<HashMap<AccountNo, Tokens>>,
    groups: RwLock<HashMap<AccountNo, HashMap<GroupId, GroupNo>>>,
}

/// The tokens of an account.
#[derive(Debug, Default)]
struct Tokens {
    /// The last proven one, unless it was refused since.
    last: Option<TokenDigest>,
    /// The latest ones before it.
    earlier: VecDeque<TokenDigest>,
}

/// The number of an account's earlier tokens that are kept.
const EARLIER_MAX: usize = 8;

impl Tokens {
    /// Replaces the last token.
    fn replace(&mut self, new: Option<TokenDigest>) {
        let before = std::mem::replace(&mut self.last, new);
        self.earlier.extend(before.filter(|before| !self.earlier.contains(before)));
        if self.earlier.len() > EARLIER_MAX {
            self.earlier.pop_front();
        }
    }
}

impl ProvenBefore {
    /// Returns whether a token is the last proven one of its account.
    pub(crate) fn has_token(&self, token: &PresentedToken) -> bool {
        let tokens = read_ignoring_poison(&self.tokens);
        tokens.get(&token.account_hint()).is_some_and(|of| of.last.as_ref() == Some(token.digest()))
    }

    /// Returns whether a token is or was valid for the account whose number it contains, as far as
    /// this process remembers.
    pub(crate) fn had_token(&self, token: &PresentedToken) -> bool {
        let tokens = read_ignoring_poison(&self.tokens);
        tokens.get(&token.account_hint()).is_some_and(|of| {
            of.last.as_ref() == Some(token.digest()) || of.earlier.contains(token.digest())
        })
    }

    /// Adds a token that was proven, or was just issued.
    pub(crate) fn add_token(&self, account: AccountNo, digest: &TokenDigest) {
        let mut tokens = write_ignoring_poison(&self.tokens);
        let of_account = tokens.entry(account).or_default();
        if of_account.last.as_ref() != Some(digest) {
            of_account.replace(Some(digest.clone()));
        }
    }

    /// Removes a token that was refused.
    pub(crate) fn forget_refused(&self, token: &PresentedToken, refused: &Refused) {
        if matches!(refused, Refused::Refusal(_))
            && let Some(of) = write_ignoring_poison(&self.tokens).get_mut(&token.account_hint())
            && of.last.as_ref() == Some(token.digest())
        {
            of.replace(None);
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

/// The numbers of devices by code, as filters of each group found them. They say nothing about a
/// filter of another group.
#[derive(Debug, Default)]
pub(crate) struct KnownDevices(Mutex<HashMap<GroupNo, HashMap<String, DeviceNo>>>);

/// The numbers of a group, and of all groups, are cleared when there are more.
const KNOWN_MAX: usize = 50_000;
const KNOWN_GROUPS_MAX: usize = 1_000;

impl KnownDevices {
    /// Returns the devices of a group with these codes, except for those that no filter has found
    /// yet.
    pub(crate) fn of(&self, codes: &[&str], group: Option<GroupNo>) -> DeviceSet {
        let known = lock_ignoring_poison(&self.0);
        let known = group.and_then(|group| known.get(&group));
        codes.iter().filter_map(|code| known?.get(*code)).copied().collect()
    }

    /// Adds the devices that a filter of a group has found.
    pub(crate) fn insert(&self, group: GroupNo, found: Vec<(String, DeviceNo)>) {
        let mut known = lock_ignoring_poison(&self.0);
        if known.len() >= KNOWN_GROUPS_MAX {
            known.clear();
        }
        let of_group = known.entry(group).or_default();
        if of_group.len() + found.len() > KNOWN_MAX {
            of_group.clear();
        }
        of_group.extend(found);
    }
}

/// Maximum number of goods that are looked up for one report, unless more have just been best
/// sellers.
const HINTED_MAX: usize = 32;
/// Groups with hints; the hints are cleared when there are more.
const SELLING_GROUPS_MAX: usize = 10_000;

/// The best-selling goods in the latest answers about each group, the latest first.
#[derive(Debug, Default)]
pub(crate) struct BestSellerHints(Mutex<HashMap<GroupNo, Vec<String>>>);

impl BestSellerHints {
    pub(crate) fn get(&self, group: GroupNo) -> Vec<String> {
        lock_ignoring_poison(&self.0).get(&group).cloned().unwrap_or_default()
    }

    /// Puts the goods of an answer before the earlier ones.
    pub(crate) fn insert(&self, group: GroupNo, mut latest: Vec<String>) {
        let mut by_group = lock_ignoring_poison(&self.0);
        if by_group.len() >= SELLING_GROUPS_MAX {
            by_group.clear();
        }
        let hinted = by_group.entry(group).or_default();
        for earlier in hinted.drain(..) {
            if latest.len() < HINTED_MAX && !latest.contains(&earlier) {
                latest.push(earlier);
            }
        }
        *hinted = latest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_goods_are_hinted_first_and_their_number_is_bounded() {
        let (hints, group) = (BestSellerHints::default(), GroupNo(1));
        let goods = |ids: std::ops::Range<usize>| ids.map(|id| id.to_string()).collect::<Vec<_>>();
        hints.insert(group, goods(0..20));
        hints.insert(group, goods(15..30));
        let hinted = hints.get(group);
        assert_eq!(hinted.len(), 30);
        assert_eq!(hinted[..15], goods(15..30));
        hints.insert(group, goods(30..40));
        assert_eq!(hints.get(group).len(), HINTED_MAX);
        assert_eq!(hints.get(group)[..25], [goods(30..40), goods(15..30)].concat());
        assert_eq!(hints.get(GroupNo(2)), [""; 0]);
    }
}
