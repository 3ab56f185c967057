//! The operations of workers and of the operator, at random.

use kiosque_testkit::Rng;

use super::model::{Change, Model, TokenNo, VALIDITY_MS};

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
pub(super) fn next(rng: &mut Rng, model: &Model, held: &[Option<TokenNo>; WORKERS]) -> Operation {
    let worker = rng.below(WORKERS);
    let token = token(rng, model, held[worker]);
    match (rng.below(100), token) {
        (0..=2, _) => Operation::Restart,
        (3..=10, _) => Operation::Pass { ms: a_while(rng, model) },
        (11..=25, _) => Operation::Apply(change(rng, model)),
        (26..=45, _) | (_, None) => {
            let account = rng.below(ACCOUNTS);
            let right = model.accounts[account].rights.password;
            let password = if rng.one_in(6) { 1 - right } else { right };
            Operation::LogIn { worker, account, password }
        }
        (46..=62, Some(token)) => Operation::Switch { worker, token, group: rng.below(GROUPS) },
        (63..=67, Some(token)) => Operation::LogOut { worker, token },
        (_, Some(token)) => Operation::Use { worker, token },
    }
}

/// Mostly the worker's own token, which another may have replaced; else the newest, or any.
fn token(rng: &mut Rng, model: &Model, held: Option<TokenNo>) -> Option<TokenNo> {
    let newest = model.issued.checked_sub(1)?;
    Some(match rng.below(4) {
        0 => rng.below(model.issued),
        1 => newest,
        _ => held.unwrap_or(newest),
    })
}

/// Some time, or until exactly the end of a session, or a millisecond before it.
fn a_while(rng: &mut Rng, model: &Model) -> i64 {
    let session = &model.accounts[rng.below(ACCOUNTS)].session;
    let left = session.as_ref().map(|session| session.expires - model.now);
    match (rng.below(4), left) {
        (0, Some(left)) if left > 0 => left,
        (1, Some(left)) if left > 1 => left - 1,
        (2, _) => rng.range(1..VALIDITY_MS + 2),
        _ => rng.range(1..60_000),
    }
}

/// Grants more often than it withdraws, so that there is always something to withdraw.
fn change(rng: &mut Rng, model: &Model) -> Change {
    let (account, group) = (rng.below(ACCOUNTS), rng.below(GROUPS));
    let mut rights = model.accounts[account].rights.clone();
    match rng.below(8) {
        0 => rights.password = rng.below(PASSWORDS.len()),
        1 => rights.enabled = !rights.enabled || rng.one_in(4),
        2 => rights.api = !rights.api || rng.one_in(4),
        3 => return Change::Active { group, active: !model.active[group] },
        4 => return Change::Active { group, active: true },
        5 => rights.enabled = true,
        6 => rights.groups = some_groups(rng),
        _ => {
            let revoked = rng.below(GROUPS);
            rights.groups.retain(|group| *group != revoked);
        }
    }
    Change::Rights { account, rights }
}

/// Some of the groups, or none, in any order.
fn some_groups(rng: &mut Rng) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..GROUPS).collect();
    for at in (1..GROUPS).rev() {
        groups.swap(at, rng.below(at + 1));
    }
    groups.truncate(rng.below(GROUPS + 1));
    groups
}
