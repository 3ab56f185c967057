//! Histories of clients that share sessions. A call goes through four steps (it is sent, reads the
//! clock, takes effect, is answered), and the client that takes the next step is chosen at random.

use std::time::{Duration, Instant};

use kiosque_testkit::Rng;

use super::sessions::{Fault, NODES, Sessions, Started, VALIDITY_MS};
use super::{Answer, Ask, Call, Op, Reply, check};

const GROUPS: usize = 3;

#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) clients: usize,
    pub(super) accounts: usize,
    /// About four make a call.
    pub(super) steps: usize,
    /// At one step in this many a client loses the answer to its call.
    pub(super) breaks_one_in: usize,
}

/// About sixty calls of each account.
pub(super) const USUAL: Size = Size { clients: 8, accounts: 2, steps: 500, breaks_one_in: 60 };

#[derive(Clone, Copy, Debug)]
struct Request {
    op: usize,
    call: Call,
    started: Option<Started>,
    answer: Option<Answer>,
}

struct Schedule {
    size: Size,
    rng: Rng,
    now_ns: u64,
    sessions: Sessions,
    clients: Vec<Option<Request>>,
    /// Requests whose answer no client awaits any longer, and that may still take effect.
    strays: Vec<Request>,
    /// The tokens of each account, in the order in which they were answered.
    tokens: Vec<Vec<u64>>,
    ops: Vec<Op>,
}

/// Returns the history of a seed. Some of its calls have no answer yet when it ends.
pub(super) fn history(seed: u64, size: Size, fault: Option<Fault>) -> Vec<Op> {
    let sessions = Sessions::of(size.accounts, fault, Rng::seeded(!seed));
    let mut schedule = Schedule {
        size,
        rng: Rng::seeded(seed),
        now_ns: 0,
        sessions,
        clients: vec![None; size.clients],
        strays: Vec::new(),
        tokens: vec![Vec::new(); size.accounts],
        ops: Vec::new(),
    };
    for _ in 0..size.steps {
        schedule.step();
    }
    schedule.ops
}

impl Schedule {
    fn step(&mut self) {
        self.now_ns += 1 + u64::try_from(self.rng.below(20_000)).unwrap();
        if !self.strays.is_empty() && self.rng.one_in(10) {
            let stray = self.rng.below(self.strays.len());
            let Request { call, started, .. } = self.strays.swap_remove(stray);
            let started = started.unwrap_or_else(|| self.sessions.start(call));
            self.sessions.perform(self.now_ns, call, started);
        }
        let client = self.rng.below(self.clients.len());
        self.clients[client] = match self.clients[client].take() {
            None => Some(self.ask(client)),
            Some(request) if self.rng.one_in(self.size.breaks_one_in) => {
                self.break_off(request);
                None
            }
            Some(request) => self.go_on(request),
        };
    }

    fn ask(&mut self, client: usize) -> Request {
        let (op, call) = (self.ops.len(), self.call());
        self.ops.push(Op { client, call, asked_ns: self.now_ns, reply: None });
        Request { op, call, started: None, answer: None }
    }

    fn break_off(&mut self, request: Request) {
        if self.rng.one_in(2) {
            self.reply(request.op, Answer::Unknown);
        }
        if request.answer.is_none() {
            self.strays.push(request);
        }
    }

    fn go_on(&mut self, request: Request) -> Option<Request> {
        let Some(started) = request.started else {
            let started = Some(self.sessions.start(request.call));
            return Some(Request { started, ..request });
        };
        let Some(answer) = request.answer else {
            let answer = Some(self.sessions.perform(self.now_ns, request.call, started));
            return Some(Request { answer, ..request });
        };
        self.reply(request.op, answer);
        if let (Some(account), Answer::OpenedSession(session)) = (request.call.account(), answer) {
            self.tokens[account].push(session.token);
        }
        None
    }

    fn reply(&mut self, op: usize, answer: Answer) {
        self.ops[op].reply = Some(Reply { at_ns: self.now_ns, answer });
    }

    fn call(&mut self) -> Call {
        if self.rng.one_in(40) {
            let ms = self.rng.choose(&[VALIDITY_MS, VALIDITY_MS / 3]);
            return Call::Advance { now_ms: self.sessions.now_ms() + ms };
        }
        let account = self.rng.below(self.size.accounts);
        let ask = self.ask_of(account);
        Call::Session { node: self.rng.below(NODES), account, ask }
    }

    fn ask_of(&mut self, account: usize) -> Ask {
        let latest: Vec<u64> = self.tokens[account].iter().rev().take(3).copied().collect();
        let log_in = Ask::LogIn { default_group: account };
        if latest.is_empty() {
            return log_in;
        }
        // The newest most often.
        let oldest = self.rng.below(latest.len());
        let token = latest[self.rng.below(oldest + 1)];
        match self.rng.below(40) {
            0..=2 => log_in,
            3..=8 => Ask::Switch { token, group: self.rng.below(GROUPS) },
            9 => Ask::LogOut { token },
            _ => Ask::Use { token },
        }
    }
}

fn each_is_explained(histories: u64, size: Size) {
    let (mut slowest, mut all, mut calls) = (Duration::ZERO, Duration::ZERO, 0);
    for seed in 0..histories {
        let ops = history(seed, size, None);
        let begun = Instant::now();
        let checked = check(&ops);
        let took = begun.elapsed();
        if let Err(violation) = checked {
            panic!("seed {seed}: {violation}");
        }
        (slowest, all, calls) = (slowest.max(took), all + took, calls + ops.len());
    }
    println!(
        "{histories} histories, {calls} calls, checked in {all:?}, the slowest in {slowest:?}"
    );
}

#[test]
fn a_single_row_is_linearizable() {
    each_is_explained(4_000, USUAL);
}

/// One call in four has no answer.
#[test]
fn what_a_single_row_answers_is_explained_when_many_answers_are_lost() {
    each_is_explained(500, Size { breaks_one_in: 12, ..USUAL });
}

#[test]
fn a_long_history_of_one_account_is_explained() {
    each_is_explained(20, Size { accounts: 1, steps: 4_000, ..USUAL });
}
