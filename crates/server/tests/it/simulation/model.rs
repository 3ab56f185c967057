//! The model of a session, in plain structs: the reference for the server's answers.

/// Tokens are identified by the order in which they were issued.
pub(super) type TokenNo = usize;

pub(super) const VALIDITY_MS: i64 = 7_200_000;

/// The answer to a call; groups by their number in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    OpenedSession { group: usize, switchable: Vec<usize>, expires: i64 },
    Ended,
    Devices { of_group: usize },
    Refused(i64, String),
}

fn refused(code: i64, msg: &str) -> Answer {
    Answer::Refused(code, msg.to_owned())
}

fn token_invalid() -> Answer {
    refused(-4, "Token is incorrect or invalid,please login again")
}

fn group_closed() -> Answer {
    refused(-1, "Group does not exist or has been deactivated")
}

/// What `apply` changes.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Rights { account: usize, rights: Rights },
    Active { group: usize, active: bool },
}

/// The rights of an account.
#[derive(Clone, Debug)]
pub(super) struct Rights {
    pub(super) password: usize,
    pub(super) enabled: bool,
    pub(super) api: bool,
    /// The assigned groups, in the account's own order.
    pub(super) groups: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) token: TokenNo,
    group: usize,
    pub(super) expires: i64,
}

#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) rights: Rights,
    pub(super) session: Option<Session>,
}

#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) now: i64,
    pub(super) active: Vec<bool>,
    pub(super) accounts: Vec<Account>,
    pub(super) issued: TokenNo,
}

impl Model {
    fn switchable(&self, account: usize) -> Vec<usize> {
        let assigned = self.accounts[account].rights.groups.iter().copied();
        assigned.filter(|group| self.active[*group]).collect()
    }

    /// Returns the account whose one live session has the token.
    fn proven(&self, token: TokenNo) -> Option<usize> {
        let is_live = |session: &Session| session.token == token && self.now < session.expires;
        self.accounts.iter().position(|account| account.session.as_ref().is_some_and(is_live))
    }

    fn open(&mut self, account: usize, group: usize) -> Answer {
        let expires = self.now + VALIDITY_MS;
        self.accounts[account].session = Some(Session { token: self.issued, group, expires });
        self.issued += 1;
        Answer::OpenedSession { group, switchable: self.switchable(account), expires }
    }

    pub(super) fn log_in(&mut self, account: usize, password: usize) -> Answer {
        let who = &self.accounts[account].rights;
        if password != who.password || !who.enabled {
            return refused(-2, "User name or password is wrong.");
        }
        if !who.api {
            let off = "Third-party API access is not enabled for this account. \
                       Please contact the platform operator.";
            return refused(-1, off);
        }
        match self.switchable(account).first() {
            Some(default) => self.open(account, *default),
            None => refused(-1, "Current user is not bound to any group, login denied"),
        }
    }

    pub(super) fn switch(&mut self, token: TokenNo, group: usize) -> Answer {
        let Some(account) = self.proven(token) else { return token_invalid() };
        if !self.switchable(account).contains(&group) {
            return group_closed();
        }
        self.open(account, group)
    }

    pub(super) fn log_out(&mut self, token: TokenNo) -> Answer {
        let Some(account) = self.proven(token) else { return token_invalid() };
        self.accounts[account].session = None;
        Answer::Ended
    }

    pub(super) fn devices(&self, token: TokenNo) -> Answer {
        let Some(account) = self.proven(token) else { return token_invalid() };
        let selected = self.accounts[account].session.as_ref().map(|session| session.group);
        match selected.filter(|group| self.switchable(account).contains(group)) {
            Some(of_group) => Answer::Devices { of_group },
            None => group_closed(),
        }
    }

    /// AUTH-24: a right that is withdrawn ends the session at once; granting it again does not
    /// restore the session.
    pub(super) fn change(&mut self, change: &Change) {
        match change {
            Change::Active { group, active } => self.active[*group] = *active,
            Change::Rights { account, rights } => {
                let account = &mut self.accounts[*account];
                let same_password = account.rights.password == rights.password;
                if !(same_password && rights.enabled && rights.api) {
                    account.session = None;
                }
                account.rights = rights.clone();
            }
        }
    }
}
