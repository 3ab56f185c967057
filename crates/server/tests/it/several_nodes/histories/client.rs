//! A client: its requests, at random, and its reading of the answers.

use std::time::Duration;

use http_body_util::Full;
use kiosque_testkit::{
    Client as HttpClient, DEVICES_PATH, LOGOUT_PATH, LoggedIn, ORDERS_PATH, Reply, Rng,
    SWITCH_PATH, TOKEN_PATH, post,
};
use serde_json::{Value, json};

use super::super::linear::{Answer, Ask, Call, Session};
use super::{ACCOUNTS, GROUPS, History, Nodes, WANDERER};

/// The validity of a session, and a part of it.
const CLOCK_MOVES: [Duration; 2] = [Duration::from_secs(7_200), Duration::from_secs(2_400)];

/// The tokens in the answers so far.
#[derive(Default)]
pub(super) struct KnownTokens(Vec<Token>);

struct Token {
    number: u64,
    account: usize,
    text: String,
}

impl KnownTokens {
    /// Returns the number of a token; the same text has the same number.
    fn number(&mut self, account: usize, text: String) -> u64 {
        if let Some(known) = self.0.iter().find(|token| token.text == text) {
            return known.number;
        }
        let number = u64::try_from(self.0.len()).unwrap();
        self.0.push(Token { number, account, text });
        number
    }

    /// Returns the meaning of a reply.
    fn answer(&mut self, account: usize, ask: Ask, reply: &Reply) -> Answer {
        match (reply.code(), ask) {
            (200, Ask::LogIn { .. } | Ask::Switch { .. }) => {
                let LoggedIn { token, group, expires_in } = LoggedIn::of(reply);
                let (token, group) = (self.number(account, token), group[1..].parse().unwrap());
                Answer::OpenedSession(Session { token, group, expires_at_ms: expires_in })
            }
            (200, Ask::LogOut { .. }) => Answer::Ended,
            (200, Ask::Use { .. }) => Answer::Seen { group: group_of(reply.data()) },
            (-4, _) => Answer::Refused,
            (500, _) => Answer::Unknown,
            _ => panic!("{ask:?}: {reply:?}"),
        }
    }

    fn text(&self, number: u64) -> String {
        self.0[usize::try_from(number).unwrap()].text.clone()
    }

    /// Returns the latest tokens of an account, the newest first.
    fn latest(&self, account: usize) -> Vec<u64> {
        let of_account = self.0.iter().rev().filter(|token| token.account == account);
        of_account.map(|token| token.number).take(3).collect()
    }
}

/// A request as it is sent.
struct Request {
    path: &'static str,
    token: Option<String>,
    body: Value,
}

pub(super) struct Client {
    number: usize,
    rng: Rng,
    /// A connection to each node.
    lines: Vec<HttpClient>,
}

impl Client {
    pub(super) fn new(number: usize, rng: Rng, lines: Vec<HttpClient>) -> Client {
        Client { number, rng, lines }
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Logs in, without a random choice.
    pub(super) async fn log_in(&mut self, history: &History, account: usize) {
        let node = self.rng.below(self.lines.len());
        self.call(history, (node, account), Ask::LogIn { default_group: account }).await;
    }

    /// Sends a random request.
    pub(super) async fn ask(&mut self, history: &History) {
        if self.rng.one_in(80) {
            return self.move_clock(history).await;
        }
        let (node, account) = (self.rng.below(self.lines.len()), self.rng.below(ACCOUNTS));
        let ask = self.ask_of(history, account);
        self.call(history, (node, account), ask).await;
    }

    async fn move_clock(&mut self, history: &History) {
        let by = self.rng.choose(&CLOCK_MOVES);
        let nodes = &history.nodes;
        let _alone = nodes.moving.lock().await;
        let server = nodes.servers[0].read().await;
        let now_ms = server.now().0 + i64::try_from(by.as_millis()).unwrap();
        let asked = history.recorder.asks(self.number, Call::Advance { now_ms });
        server.advance(by);
        history.recorder.answered(asked, Answer::Advanced);
    }

    fn ask_of(&mut self, history: &History, account: usize) -> Ask {
        let latest = history.tokens.lock().unwrap().latest(account);
        let log_in = Ask::LogIn { default_group: account };
        if latest.is_empty() {
            return log_in;
        }
        // The newest most often.
        let oldest = self.rng.below(latest.len());
        let token = latest[self.rng.below(oldest + 1)];
        match self.rng.below(40) {
            0..=3 => log_in,
            4..=10 => Ask::Switch { token, group: self.rng.below(GROUPS) },
            11..=12 => Ask::LogOut { token },
            _ => Ask::Use { token },
        }
    }

    async fn call(&mut self, history: &History, (node, account): (usize, usize), ask: Ask) {
        let request = self.request(history, account, ask);
        let copy = history.nodes.copy_before(node).zip(request.token.as_deref());
        let copy = copy.filter(|_| matches!(ask, Ask::Use { .. }));
        let asked = history.recorder.asks(self.number, Call::Session { node, account, ask });
        let now = history.nodes.servers[node].read().await.now();
        if let Some(group) = copy.and_then(|(copy, token)| copy.group_of(token, now)) {
            return history.recorder.answered(asked, Answer::Seen { group });
        }
        let reply = self.send(&history.nodes, node, &request).await;
        let answer = {
            // Other clients learn a token only after its answer has been recorded.
            let mut tokens = history.tokens.lock().unwrap();
            let answer = reply.map_or(Answer::Unknown, |reply| tokens.answer(account, ask, &reply));
            history.recorder.answered(asked, answer);
            answer
        };
        match (copy, answer) {
            (Some((copy, token)), Answer::Seen { group }) => copy.keep(token, group, now),
            // The next request is sent when the disturbance is over.
            (_, Answer::Unknown) => drop(history.disturbance.read().await),
            _ => {}
        }
    }

    fn request(&mut self, history: &History, account: usize, ask: Ask) -> Request {
        let (path, token, body) = match ask {
            Ask::LogIn { .. } => {
                let body = json!({"username": format!("ops{account}"), "password": "secret"});
                (TOKEN_PATH, None, body)
            }
            Ask::Switch { token, group } => {
                (SWITCH_PATH, Some(token), json!({"groupId": format!("g{group}")}))
            }
            Ask::LogOut { token } => (LOGOUT_PATH, Some(token), Value::Null),
            Ask::Use { token } if self.rng.one_in(2) => (DEVICES_PATH, Some(token), json!({})),
            Ask::Use { token } => (ORDERS_PATH, Some(token), json!({"deviceCode": WANDERER})),
        };
        let token = token.map(|number| history.tokens.lock().unwrap().text(number));
        Request { path, token, body }
    }

    /// Opens another connection when there is no answer.
    async fn send(&mut self, nodes: &Nodes, node: usize, request: &Request) -> Option<Reply> {
        let mut parts = post(&format!("/v8/{}", request.path));
        if let Some(token) = &request.token {
            parts = parts.header("third-api-token", token);
        }
        let body = Full::from(request.body.to_string());
        let reply = self.lines[node].try_send(parts.body(body).unwrap()).await;
        if reply.is_none() {
            self.lines[node] = nodes.connect(node).await;
        }
        reply
    }
}

/// Returns the group in a page of devices, or of the orders of the device that moved.
fn group_of(data: &Value) -> usize {
    let number = |record: &Value| {
        let name = record["groupId"].as_str().or(record["orderId"].as_str());
        name.and_then(|name| name[1..].parse().ok()).unwrap()
    };
    let mut groups: Vec<usize> = data["records"].as_array().unwrap().iter().map(number).collect();
    groups.dedup();
    let [group] = groups[..] else { panic!("one group is shown: {data}") };
    group
}
