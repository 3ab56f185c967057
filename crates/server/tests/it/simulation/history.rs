//! Plays one history against the server, and compares each answer with the model's.

use std::time::Duration;

use kiosque_testkit::{
    Client, DEVICES_PATH, FleetToml, LOGOUT_PATH, Reply, Rng, SWITCH_PATH, TOKEN_PATH, TestServer,
    cheap_hash,
};

use super::model::{Account, Answer, Change, Model, Rights, TokenNo};
use super::operation::{self, ACCOUNTS, GROUPS, Operation, PASSWORDS, WORKERS};

/// A server with a connection for each worker, on which histories are played one after another,
/// each with accounts and groups of its own.
pub(super) struct Lane {
    server: TestServer,
    callers: Vec<Client>,
    hashes: [String; PASSWORDS.len()],
    played: usize,
    /// A planted bug: the token that a switch has replaced is passed on as the new one.
    pub(super) is_stale: bool,
}

/// One history in progress.
struct Play<'a> {
    lane: &'a mut Lane,
    model: Model,
    /// The texts of the tokens, by number.
    tokens: Vec<String>,
    held: [Option<TokenNo>; WORKERS],
    steps: Vec<String>,
    /// The last token that a switch has replaced, and the new one.
    replaced: Option<(TokenNo, TokenNo)>,
}

impl Lane {
    pub(super) async fn new() -> Lane {
        let server = TestServer::start("").await;
        let hashes = PASSWORDS.map(cheap_hash);
        let mut lane = Lane { server, callers: Vec::new(), hashes, played: 0, is_stale: false };
        lane.connect().await;
        lane
    }

    async fn connect(&mut self) {
        self.callers.clear();
        for _ in 0..WORKERS {
            self.callers.push(self.server.connect().await);
        }
    }

    fn group(&self, group: usize) -> String {
        format!("group-{group}-{}", self.played)
    }

    fn account(&self, account: usize) -> String {
        format!("account-{account}-{}", self.played)
    }

    /// Plays the history of a seed.
    pub(super) async fn play(&mut self, seed: u64) {
        self.played += 1;
        let mut rng = Rng::seeded(seed);
        let model = Model {
            now: self.server.now().0,
            active: vec![true; GROUPS],
            accounts: (0..ACCOUNTS).map(start_of).collect(),
            issued: 0,
        };
        self.server.apply(&self.fleet(&model)).await.unwrap();
        let (tokens, held, steps) = (Vec::new(), [None; WORKERS], Vec::new());
        let mut play = Play { lane: self, model, tokens, held, steps, replaced: None };
        let length = 12 + rng.below(19);
        for _ in 0..length {
            let operation = operation::next(&mut rng, &play.model, &play.held);
            play.step(seed, operation).await;
        }
        // In the end every token that ever existed is tried.
        for token in 0..play.model.issued {
            play.step(seed, Operation::Use { worker: token % WORKERS, token }).await;
        }
    }

    fn fleet(&self, model: &Model) -> String {
        let mut fleet = FleetToml::new();
        for group in 0..GROUPS {
            let (id, device) = (self.group(group), format!("device-{group}-{}", self.played));
            fleet = fleet.group(&id, &format!("Group {group}")).device(&device, "Kiosk", &id);
        }
        let accounts = model.accounts.iter().enumerate();
        let accounts = accounts.map(|(account, start)| self.account_of(account, &start.rights));
        accounts.fold(fleet.to_string(), |fleet, account| fleet + &account)
    }

    /// Returns the entry of an account.
    fn account_of(&self, account: usize, rights: &Rights) -> String {
        let Rights { password, enabled, api, groups } = rights;
        let (name, hash) = (self.account(account), &self.hashes[*password]);
        let groups: Vec<String> = groups.iter().map(|group| self.group(*group)).collect();
        format!(
            "[[account]]\nlogin_name = {name:?}\npassword_hash = {hash:?}\nenabled = {enabled}\n\
             third_party_api = {api}\ngroups = {groups:?}\n"
        )
    }

    fn fleet_of_change(&self, change: &Change) -> String {
        match change {
            Change::Rights { account, rights } => self.account_of(*account, rights),
            Change::Active { group, active } => {
                format!("[[group]]\nid = {:?}\nactive = {active}", self.group(*group))
            }
        }
    }
}

/// Each account has all groups but one, in its own order.
fn start_of(account: usize) -> Account {
    let groups = (0..GROUPS - 1).map(|place| (account + place) % GROUPS).collect();
    Account { rights: Rights { password: 0, enabled: true, api: true, groups }, session: None }
}

impl Play<'_> {
    async fn step(&mut self, seed: u64, operation: Operation) {
        self.steps.push(format!("{operation:?}"));
        let (reply, expected) = match operation {
            Operation::Pass { ms } => {
                self.model.now += ms;
                self.lane.server.advance(Duration::from_millis(u64::try_from(ms).unwrap()));
                return;
            }
            Operation::Restart => {
                self.lane.server.restart().await;
                self.lane.connect().await;
                return;
            }
            Operation::Apply(change) => {
                self.model.change(&change);
                let fleet = self.lane.fleet_of_change(&change);
                self.lane.server.apply(&fleet).await.unwrap();
                return;
            }
            Operation::LogIn { worker, account, password } => {
                let (username, secret) = (self.lane.account(account), PASSWORDS[password]);
                let body = format!(r#"{{"username":"{username}","password":"{secret}"}}"#);
                let reply = self.lane.callers[worker].call(TOKEN_PATH, None, &body).await;
                self.hold(worker, &reply);
                (reply, self.model.log_in(account, password))
            }
            Operation::Switch { worker, token, group } => {
                let body = format!(r#"{{"groupId":"{}"}}"#, self.lane.group(group));
                let reply = self.call(worker, SWITCH_PATH, token, &body).await;
                let issued = self.tokens.len();
                self.hold(worker, &reply);
                if self.tokens.len() > issued {
                    self.replaced = Some((token, issued));
                }
                (reply, self.model.switch(token, group))
            }
            Operation::LogOut { worker, token } => {
                let reply = self.call(worker, LOGOUT_PATH, token, "").await;
                (reply, self.model.log_out(token))
            }
            Operation::Use { worker, token } => {
                let reply = self.call(worker, DEVICES_PATH, token, "{}").await;
                (reply, self.model.devices(token))
            }
        };
        let steps = self.steps.join("\n  ");
        assert_eq!(
            self.answer(&reply),
            Some(expected),
            "KIOSQUE_SEED={seed}: {reply:?}\n  {steps}"
        );
    }

    async fn call(&mut self, worker: usize, path: &str, token: TokenNo, body: &str) -> Reply {
        let token = match self.replaced {
            Some((old, new)) if self.lane.is_stale && old == token => new,
            _ => token,
        };
        self.lane.callers[worker].call(path, Some(&self.tokens[token]), body).await
    }

    /// A token in an answer gets the next number, and its worker uses it from now on.
    fn hold(&mut self, worker: usize, reply: &Reply) {
        if let Some(token) = reply.json["data"]["accessToken"].as_str() {
            assert!(!self.tokens.iter().any(|old| old == token), "a token was issued twice");
            self.held[worker] = Some(self.tokens.len());
            self.tokens.push(token.to_owned());
        }
    }

    /// Returns a reply in the model's terms.
    fn answer(&self, reply: &Reply) -> Option<Answer> {
        let data = reply.data();
        let group = |id: &serde_json::Value| {
            (0..GROUPS).find(|group| id.as_str() == Some(&*self.lane.group(*group)))
        };
        if reply.status != 200 {
            None
        } else if reply.code() != 200 {
            let msg = reply.json["msg"].as_str()?.to_owned();
            (reply.data() == msg.as_str()).then_some(Answer::Refused(reply.code(), msg))
        } else if data.is_null() {
            Some(Answer::Ended)
        } else if let Some(records) = data["records"].as_array() {
            let [device] = records.as_slice() else { return None };
            Some(Answer::Devices { of_group: group(&device["groupId"])? })
        } else {
            let entries = data["switchableGroups"].as_array()?;
            let switchable =
                entries.iter().map(|entry| group(&entry["groupId"])).collect::<Option<_>>()?;
            let (group, expires) = (group(&data["groupId"])?, data["expiresIn"].as_i64()?);
            Some(Answer::OpenedSession { group, switchable, expires })
        }
    }
}
