//! Runs rules against a server.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use kiosque_https_client::HttpsClient;
use kiosque_model::UnixMs;
use serde_json::Value;

use crate::answer::Answer;
use crate::ask::Ask;
use crate::facts::Facts;
use crate::rule::{Effect, Mark, Rule};

/// Sends a request and returns its answer, or why there is none.
pub type Transport = Box<dyn Fn(Request<Bytes>) -> Exchange + Send + Sync>;

type Exchange = Pin<Box<dyn Future<Output = Result<Answer, String>> + Send>>;

/// The account that a check logs in to.
#[derive(Clone)]
pub struct Credentials {
    /// The login name.
    pub username: String,
    /// The password, which reports do not show.
    pub password: String,
}

/// The rules of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Whether rules that change the session are checked.
    pub sessions: Effect,
    /// Whether rules that other servers need not follow are checked.
    pub marks: Mark,
}

/// The check could not begin.
#[derive(Debug, thiserror::Error)]
pub enum CannotRun {
    /// A request has no answer.
    #[error("{0}")]
    NoAnswer(String),
    /// The account cannot log in.
    #[error("the account cannot log in; the answer was {0}")]
    LogIn(String),
}

/// A rule and the outcome of its check.
#[derive(Debug)]
pub struct Checked {
    /// The rule.
    pub rule: &'static Rule,
    /// The outcome.
    pub outcome: Outcome,
}

/// The outcome of the check of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every answer was as expected.
    Met,
    /// An answer was not.
    Broken(Box<Finding>),
    /// The server has no data that show the rule.
    NotShown,
    /// The rule is out of the scope of the check.
    Skipped(&'static str),
}

/// An answer that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The request, without secrets.
    pub sent: String,
    /// What was expected.
    pub expected: String,
    /// The answer.
    pub came: String,
    /// A line that sends the request again.
    pub curl: String,
}

/// Checks the rules of a server.
pub struct Checker {
    transport: Transport,
    /// The base URL, for lines of curl.
    base: String,
    pub(crate) facts: Facts,
}

impl Checker {
    /// Returns a checker of the server of this client.
    #[must_use]
    pub fn new(client: HttpsClient, account: &Credentials, now: UnixMs) -> Checker {
        let base = client.url().to_string();
        let client = Arc::new(client);
        let transport: Transport = Box::new(move |request| {
            let client = Arc::clone(&client);
            Box::pin(async move { exchange(&client, request).await })
        });
        Checker::over(transport, base, account, now)
    }

    /// Returns a checker of any server.
    #[must_use]
    pub fn over(transport: Transport, base: String, account: &Credentials, now: UnixMs) -> Checker {
        let facts = Facts::new(&account.username, &account.password, now);
        Checker { transport, base, facts }
    }

    /// Checks rules, one after the other. The account is logged in before the first one.
    ///
    /// # Errors
    /// The server does not answer, or the account cannot log in.
    pub async fn run(
        &mut self,
        rules: impl Iterator<Item = &'static Rule>,
        scope: Scope,
    ) -> Result<Vec<Checked>, CannotRun> {
        self.survey().await?;
        let mut checked = Vec::new();
        for rule in rules {
            let outcome = match skipped(rule, scope) {
                Some(reason) => Outcome::Skipped(reason),
                None => self.check(rule).await?,
            };
            checked.push(Checked { rule, outcome });
        }
        Ok(checked)
    }

    async fn check(&mut self, rule: &'static Rule) -> Result<Outcome, CannotRun> {
        if self.facts.token.is_empty() {
            self.log_in().await?;
        }
        let mut outcome = Outcome::Met;
        for step in rule.steps {
            let Some(ask) = (step.ask)(&self.facts) else {
                outcome = Outcome::NotShown;
                break;
            };
            let answer = match self.send(&ask).await {
                Ok(answer) => answer,
                Err(error) => {
                    let expected = "an answer".to_owned();
                    outcome = self.broken(&ask, expected, error.to_string());
                    break;
                }
            };
            if let Err(expected) = (step.expect)(&self.facts, &answer) {
                outcome = self.broken(&ask, expected, answer.shown());
                break;
            }
            self.facts.learn(&ask, &answer);
            self.facts.before = Some(answer);
        }
        self.facts.before = None;
        if rule.effect == Effect::ChangesSession {
            // Later rules begin with a session of the default group.
            self.facts.token.clear();
        }
        Ok(outcome)
    }

    fn broken(&self, ask: &Ask, expected: String, came: String) -> Outcome {
        let Facts { password, token, earlier_token, .. } = &self.facts;
        let in_json = Value::from(password.as_str()).to_string();
        let secrets = [in_json.trim_matches('"'), password, token, earlier_token];
        Outcome::Broken(Box::new(Finding {
            sent: ask.shown(&secrets),
            expected,
            came,
            curl: ask.curl(&self.base, &secrets),
        }))
    }

    /// Logs in.
    pub(crate) async fn log_in(&mut self) -> Result<(), CannotRun> {
        let ask = self.facts.log_in();
        let answer = self.send(&ask).await?;
        self.facts.learn(&ask, &answer);
        if answer.success().is_err() || self.facts.token.is_empty() {
            return Err(CannotRun::LogIn(answer.shown()));
        }
        Ok(())
    }

    pub(crate) async fn send(&self, ask: &Ask) -> Result<Answer, CannotRun> {
        let no_answer = || CannotRun::NoAnswer("a token of the server is no header".to_owned());
        let request = ask.request().ok_or_else(no_answer)?;
        (self.transport)(request).await.map_err(CannotRun::NoAnswer)
    }
}

fn skipped(rule: &Rule, scope: Scope) -> Option<&'static str> {
    if rule.effect == Effect::ChangesSession && scope.sessions == Effect::Reads {
        return Some("it changes the session, and --read-only was given");
    }
    let is_ours = rule.mark == Mark::Kiosque && scope.marks == Mark::Contract;
    is_ours.then_some("other servers need not follow it; --extension checks it")
}

async fn exchange(client: &HttpsClient, request: Request<Bytes>) -> Result<Answer, String> {
    let response = client.exchange(request).await.map_err(|error| error.to_string())?;
    let (head, body) = response.into_parts();
    Ok(Answer::new(head.status.as_u16(), head.headers, &body))
}
