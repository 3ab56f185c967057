//! Runs rules against a server.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use kiosque_https_client::HttpsClient;
use kiosque_model::UnixMs;

use crate::answer::Answer;
use crate::ask::{Ask, Caller, excerpt};
use crate::credentials::Credentials;
use crate::facts::Facts;
use crate::recorded::{Recorded, Recorder};
use crate::rule::{Effect, Mark, Needs, Rule};
use crate::secrets::Secrets;

/// Sends a request and returns its answer, or why there is none.
pub type Transport = Box<dyn Fn(Request<Bytes>) -> Exchange + Send + Sync>;

type Exchange = Pin<Box<dyn Future<Output = Result<Answer, String>> + Send>>;

/// The rules of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Whether rules that change the session are checked.
    pub sessions: Effect,
    /// Whether rules that other servers need not follow are checked.
    pub marks: Mark,
}

/// The check could not begin, or not continue.
#[derive(Debug, thiserror::Error)]
pub enum CannotRun {
    /// A request has no answer.
    #[error("{0}")]
    NoAnswer(String),
    /// The account cannot log in.
    #[error("the account cannot log in; the answer was {0}")]
    LogIn(String),
    /// The second account cannot log in.
    #[error("the second account cannot log in; the answer was {0}")]
    LogInSecond(String),
    /// An exchange was not recorded.
    #[error("an exchange was not recorded: {0}")]
    Record(io::Error),
}

/// A check that ended before its last rule.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct Ended {
    /// All rules of the check. Those that it did not reach are skipped.
    pub checked: Vec<Checked>,
    /// Why it ended.
    pub cause: CannotRun,
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
    /// The rule cannot be tested, for this reason.
    NotShown(&'static str),
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
    /// A command line that sends the request again.
    pub curl: String,
}

/// Checks the rules of a server.
pub struct Checker {
    transport: Transport,
    /// The base URL, for curl command lines.
    base: String,
    pub(crate) facts: Facts,
    secrets: Secrets,
    recorder: Option<Recorder>,
    /// The requests so far.
    sent: usize,
    /// The id of the rule that is checked.
    rule: &'static str,
}

impl Checker {
    /// Returns a checker of the server of this client.
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
    pub fn over(transport: Transport, base: String, account: &Credentials, now: UnixMs) -> Checker {
        let facts = Facts { account: account.clone(), now_ms: now.0, ..Facts::default() };
        let mut secrets = Secrets::default();
        secrets.add_password(&account.password);
        Checker { transport, base, facts, secrets, recorder: None, sent: 0, rule: "survey" }
    }

    /// Adds a second account, for the rules that need one.
    #[must_use]
    pub fn with_second(mut self, account: &Credentials) -> Checker {
        let caller = Caller::Second;
        let second = Facts { account: account.clone(), caller, ..Facts::default() };
        self.facts.second = Some(Box::new(second));
        self.secrets.add_password(&account.password);
        self
    }

    /// Passes every exchange to a recorder.
    #[must_use]
    pub fn recorded_by(self, recorder: Recorder) -> Checker {
        Checker { recorder: Some(recorder), ..self }
    }

    /// Checks rules, one after the other. The account is logged in before the first one.
    ///
    /// # Errors
    /// The server does not answer, the account cannot log in, or an exchange cannot be recorded.
    pub async fn run(
        &mut self,
        rules: impl Iterator<Item = &'static Rule>,
        scope: Scope,
    ) -> Result<Vec<Checked>, Ended> {
        let mut cause = self.survey().await.err();
        let mut checked = Vec::new();
        for rule in rules {
            let outcome = match skipped(rule, scope) {
                Some(reason) => Outcome::Skipped(reason),
                None if cause.is_some() => Outcome::Skipped("the check ended before this rule"),
                None => self.check(rule).await.unwrap_or_else(|error| {
                    cause = Some(error);
                    Outcome::Skipped("the check ended during this rule")
                }),
            };
            checked.push(Checked { rule, outcome });
        }
        match cause {
            Some(cause) => Err(Ended { checked, cause }),
            None => Ok(checked),
        }
    }

    async fn check(&mut self, rule: &'static Rule) -> Result<Outcome, CannotRun> {
        self.rule = rule.id;
        if self.facts.token.is_empty() {
            self.log_in().await?;
        }
        if self.facts.second.as_ref().is_some_and(|second| second.token.is_empty()) {
            self.log_in_second().await?;
        }
        let mut outcome = Outcome::Met;
        for step in &rule.steps {
            let Some(ask) = (step.ask)(&self.facts) else {
                outcome = Outcome::NotShown(self.missing(rule.needs));
                break;
            };
            let answer = match self.send(&ask).await {
                Ok(answer) => answer,
                Err(CannotRun::NoAnswer(error)) => {
                    outcome = self.broken(&ask, "an answer".to_owned(), error);
                    break;
                }
                Err(error) => return Err(error),
            };
            let expected = step.expect.map_or(Ok(()), |expect| expect(&self.facts, &answer));
            if let Err(expected) = expected {
                outcome = self.broken(&ask, expected, answer.shown(&self.secrets));
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
        let sent = self.secrets.starred(&ask.text());
        Outcome::Broken(Box::new(Finding {
            sent: excerpt(&sent).to_owned(),
            expected: self.secrets.starred(&expected),
            came,
            curl: ask.curl(&self.base, &self.secrets),
        }))
    }

    /// Logs in.
    pub(crate) async fn log_in(&mut self) -> Result<(), CannotRun> {
        self.log_in_with(self.facts.log_in(), CannotRun::LogIn).await
    }

    /// Logs the second account in, if there is one.
    pub(crate) async fn log_in_second(&mut self) -> Result<(), CannotRun> {
        match self.facts.second.as_ref().map(|second| second.log_in()) {
            Some(ask) => self.log_in_with(ask, CannotRun::LogInSecond).await,
            None => Ok(()),
        }
    }

    async fn log_in_with(
        &mut self,
        ask: Ask,
        refused: fn(String) -> CannotRun,
    ) -> Result<(), CannotRun> {
        let answer = self.send(&ask).await?;
        self.facts.learn(&ask, &answer);
        if answer.success().is_err() || answer.token().is_empty() {
            return Err(refused(answer.shown(&self.secrets)));
        }
        Ok(())
    }

    pub(crate) async fn send(&mut self, ask: &Ask) -> Result<Answer, CannotRun> {
        let no_answer = || CannotRun::NoAnswer("a token of the server is no header".to_owned());
        let request = ask.request().ok_or_else(no_answer)?;
        self.sent += 1;
        let answer = (self.transport)(request).await;
        if let Ok(answer) = &answer {
            self.secrets.add_token(answer.token());
        }
        self.record(ask, &answer).map_err(CannotRun::Record)?;
        answer.map_err(CannotRun::NoAnswer)
    }

    fn record(&mut self, ask: &Ask, answer: &Result<Answer, String>) -> io::Result<()> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        let came = match answer {
            Ok(answer) => answer.text(),
            Err(error) => format!("no answer: {error}"),
        };
        let text = self.secrets.starred(&format!("{}\n\n{came}\n", ask.text()));
        recorder(&Recorded { number: self.sent, rule: self.rule, text })
    }

    /// Returns what is missing to test a rule.
    fn missing(&self, needs: Needs) -> &'static str {
        match needs {
            Needs::Orders => "needs two groups with devices, and a device with orders",
            Needs::OrdersOfEach => {
                "needs two groups with devices, and a device with orders in each"
            }
            Needs::SecondAccount if self.facts.second.is_none() => "needs --second-account",
            Needs::SecondAccount => {
                "needs a second account with devices and orders in a default group that the \
                 first one lacks"
            }
            Needs::KiosquePath => "needs the path of Kiosque, which the contract does not specify",
        }
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
