//! A rule, and the steps that test it.

use crate::answer::{Answer, Expected};
use crate::ask::Ask;
use crate::facts::Facts;

/// A rule of the interface that can be tested from outside.
#[derive(Debug)]
pub struct Rule {
    /// Its name among all rules of this library.
    pub id: &'static str,
    /// Its number in `docs/interface.md`.
    pub number: &'static str,
    /// What a server must do, as a sentence.
    pub text: &'static str,
    /// Whether every server must.
    pub mark: Mark,
    /// The effect of its check on sessions.
    pub effect: Effect,
    /// What its check needs.
    pub(crate) needs: Needs,
    pub(crate) steps: Vec<Step>,
}

/// The mark of a rule in `docs/interface.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// None: every server of the contract follows it.
    Contract,
    /// *(our choice)* or *(addition)*: other servers may differ.
    Kiosque,
}

/// The effect of a rule's check on the session of its account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Reads,
    /// It logs in, switches the group or logs out.
    ChangesSession,
}

/// What the check of a rule needs and a server or its accounts may lack.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Needs {
    /// Two groups with devices, and a device with orders.
    Orders,
    /// Two groups with devices, and a device with orders in each.
    OrdersOfEach,
    /// A second account, with data that the first one cannot see.
    SecondAccount,
    /// A path that the contract does not specify.
    KiosquePath,
}

/// A request, and what its answer must be.
#[derive(Debug)]
pub(crate) struct Step {
    /// Returns the request; `None` if the server's data does not allow the test.
    pub(crate) ask: fn(&Facts) -> Option<Ask>,
    /// Returns what was expected, if the answer differs.
    pub(crate) expect: Option<fn(&Facts, &Answer) -> Expected>,
}

/// Returns a rule without a text and without steps. Its check only reads.
pub(crate) const fn rule(id: &'static str, number: &'static str, mark: Mark) -> Rule {
    let (effect, needs) = (Effect::Reads, Needs::Orders);
    Rule { id, number, text: "", mark, effect, needs, steps: Vec::new() }
}

impl Rule {
    pub(crate) fn text(self, text: &'static str) -> Rule {
        Rule { text, ..self }
    }

    /// The check changes the session of its account.
    pub(crate) fn changes_session(self) -> Rule {
        Rule { effect: Effect::ChangesSession, ..self }
    }

    /// The check has other needs than [`Needs::Orders`].
    pub(crate) fn needs(self, needs: Needs) -> Rule {
        Rule { needs, ..self }
    }

    /// Adds a request.
    pub(crate) fn ask(mut self, ask: fn(&Facts) -> Option<Ask>) -> Rule {
        self.steps.push(Step { ask, expect: None });
        self
    }

    /// Adds what the answer must be: to each request since the previous expectation.
    pub(crate) fn expect(mut self, expect: fn(&Facts, &Answer) -> Expected) -> Rule {
        for step in self.steps.iter_mut().filter(|step| step.expect.is_none()) {
            step.expect = Some(expect);
        }
        self
    }

    /// Returns the part of the id before its point, which the rules on a subject share.
    pub fn chapter(&self) -> &'static str {
        self.id.split('.').next().unwrap_or_default()
    }
}

impl Mark {
    /// Returns the mark as shown in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Mark::Contract => "contract",
            Mark::Kiosque => "kiosque",
        }
    }
}
