//! The operations of workers and of the operator, at random.

use super::model::{Change, Model, TokenNo, VALIDITY_MS};
use crate::chance::Chance;

/// Passwords, by number.
pub(super) const PASSWORDS: [&str; 2] = ["secret", "changed"];

pub(super) const WORKERS: usize = 3;
pub(super) const GROUPS: usize = 4;
pub(super) const ACCOUNTS: usize = 3;

#[derive(Clone, Debug)]
pub(super) enum Operation {
    LogIn { worker: usize, account: usize, password: usize },
    Switch { worker: usize, token: TokenNo, group: usize },
    LogOut { worker: usize, token: TokenNo },
    Use { worker: usize, token: TokenNo },
    Pass { ms: i64 },
    Restart,
    Apply(Change),
}

/// Returns the next operation; `held` is the token that each worker believes to be valid.
pub(super) fn next(
    chance: &mut Chance,
    model: &Model,
    held: &[Option<TokenNo>; WORKERS],
) -> Operation {
    let worker = chance.below(WORKERS);
    let token = token(chance, model, held[worker]);
    match (chance.below(100), token) {
        (0..=2, _) => Operation::Restart,
        (3..=10, _) => Operation::Pass { ms: a_while(chance, model) },
        (11..=25, _) => Operation::Apply(change(chance, model)),
        (26..=45, _) | (_, None) => {
            let account = chance.below(ACCOUNTS);
            let right = model.accounts[account].password;
            let password = if chance.once_in(6) { 1 - right } else { right };
            Operation::LogIn { worker, account, password }
        }
        (46..=62, Some(token)) => Operation::Switch { worker, token, group: chance.below(GROUPS) },
        (63..=67, Some(token)) => Operation::LogOut { worker, token },
        (_, Some(token)) => Operation::Use { worker, token },
    }
}

/// Mostly the worker's own token, which another may have replaced; else the newest, or any.
fn token(chance: &mut Chance, model: &Model, held: Option<TokenNo>) -> Option<TokenNo> {
    let newest = model.issued.checked_sub(1)?;
    Some(match chance.below(4) {
        0 => chance.below(model.issued),
        1 => newest,
        _ => held.unwrap_or(newest),
    })
}

/// Some time, or until exactly the end of a session, or a millisecond before it.
fn a_while(chance: &mut Chance, model: &Model) -> i64 {
    let session = &model.accounts[chance.below(ACCOUNTS)].session;
    let left = session.as_ref().map(|session| session.expires - model.now);
    match (chance.below(4), left) {
        (0, Some(left)) if left > 0 => left,
        (1, Some(left)) if left > 1 => left - 1,
        (2, _) => chance.within(1..VALIDITY_MS + 2),
        _ => chance.within(1..60_000),
    }
}

/// Grants more often than it withdraws, so that there is always something to withdraw.
fn change(chance: &mut Chance, model: &Model) -> Change {
    let (account, group) = (chance.below(ACCOUNTS), chance.below(GROUPS));
    let who = &model.accounts[account];
    match chance.below(8) {
        0 => Change::Password { account, password: chance.below(PASSWORDS.len()) },
        1 => Change::Enabled { account, enabled: !who.enabled || chance.once_in(4) },
        2 => Change::Api { account, api: !who.api || chance.once_in(4) },
        3 => Change::Active { group, active: !model.active[group] },
        4 => Change::Active { group, active: true },
        5 => Change::Enabled { account, enabled: true },
        6 => Change::Groups { account, groups: some_groups(chance) },
        _ => {
            let revoked = chance.pick(&[0, 1, 2, 3]);
            let groups = who.groups.iter().copied().filter(|group| group != revoked).collect();
            Change::Groups { account, groups }
        }
    }
}

/// Some of the groups, or none, in any order.
fn some_groups(chance: &mut Chance) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..GROUPS).collect();
    for at in (1..GROUPS).rev() {
        groups.swap(at, chance.below(at + 1));
    }
    groups.truncate(chance.below(GROUPS + 1));
    groups
}
