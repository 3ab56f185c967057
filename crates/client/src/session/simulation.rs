//! Random histories of a shared session, in simulated time: workers of several groups, another user
//! of the account who logs in, lost answers, slow calls, and sessions that end early.

mod histories;

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use kiosque_clock::Entropy;
use kiosque_model::{GroupId, UnixMs};
use kiosque_testkit::Rng;

use super::action::{Action, Started};
use super::grant::{Failure, Grant, Granted};
use super::lanes::{Lane, Length, Ticket};
use super::machine::Machine;
use super::pace::Pace;
use crate::error::{Error, Refusal};
use crate::transport::{Token, TransportError};

const GROUPS: usize = 3;

/// The account at the server: one session, one selected group.
struct Server {
    tokens: u64,
    /// The current token, its group and its end.
    session: Option<(u64, usize, Instant)>,
    lifetime: Duration,
}

impl Server {
    fn open(&mut self, now: Instant, group: usize) -> Granted {
        self.tokens += 1;
        self.session = Some((self.tokens, group, now + self.lifetime));
        let grant = Grant {
            token: Token::new(self.tokens.to_string()),
            group: group_id(group),
            groups: vec![],
            expires_at: UnixMs(0),
        };
        // A time that no other session has.
        let logged_in_at = UnixMs(i64::try_from(self.tokens).expect("few tokens"));
        Granted { grant, lifetime: Some(self.lifetime), logged_in_at, age: Duration::ZERO }
    }

    /// Returns the selected group if the token is valid.
    fn group_of(&self, now: Instant, token: &Token) -> Option<usize> {
        let (present, group, ends) = self.session?;
        (present.to_string() == token.reveal() && now < ends).then_some(group)
    }
}

fn group_id(group: usize) -> GroupId {
    GroupId::parse(format!("g{group}")).expect("an id")
}

/// Something that happens at a time.
enum Happening {
    WorkerCalls(usize),
    CallEnds(Ticket, Started),
    LogInEnds(Fate),
    SwitchEnds(Grant, GroupId, Fate),
    OutsiderLogsIn,
}

/// Whether a request arrives at the server, and its answer at the client.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Answered,
    RequestLost,
    AnswerLost,
}

/// How a history goes.
struct Plan {
    workers: usize,
    calls: usize,
    think_us: i64,
    call_us: i64,
    switch_us: i64,
    /// The probability is one in this number; 0 for never.
    lost: usize,
    slow: usize,
    outsider_every: Option<Duration>,
    lifetime: Duration,
}

impl Plan {
    fn calm(workers: usize) -> Plan {
        Plan {
            workers,
            calls: usize::MAX,
            think_us: 100,
            call_us: 1_000,
            switch_us: 2_000,
            lost: 0,
            slow: 0,
            outsider_every: None,
            lifetime: Duration::from_secs(7_200),
        }
    }
}

struct World {
    plan: Plan,
    rng: Rng,
    begun: Instant,
    now: Instant,
    happenings: BTreeMap<(Instant, u64), Happening>,
    happened: u64,
    server: Server,
    machine: Machine,
    callers: HashMap<Ticket, usize>,
    /// Calls in progress with a token that was valid when they were sent.
    running: HashMap<Ticket, Token>,
    done: Vec<usize>,
    errors: Vec<Error>,
    log_ins: u64,
    switches: u64,
    /// Answers with -4.
    refused: u64,
    /// Events after which a login is due: replaced sessions and lost answers.
    causes: u64,
}

impl World {
    fn new(plan: Plan, pace: Pace, seed: u64) -> World {
        let begun = Instant::now();
        let chance = Mutex::new(Rng::seeded(seed ^ 1));
        let entropy = Entropy::from_fn(move |bytes| {
            let mut chance = chance.lock().expect("no panic before");
            bytes.fill_with(|| u8::try_from(chance.below(256)).expect("a byte"));
            Ok(())
        });
        let server = Server { tokens: 0, session: None, lifetime: plan.lifetime };
        let mut world = World {
            rng: Rng::seeded(seed),
            begun,
            now: begun,
            happenings: BTreeMap::new(),
            happened: 0,
            server,
            machine: Machine::new(pace, entropy, begun),
            callers: HashMap::new(),
            running: HashMap::new(),
            done: vec![0; plan.workers],
            errors: vec![],
            log_ins: 0,
            switches: 0,
            refused: 0,
            causes: 0,
            plan,
        };
        for worker in 0..world.plan.workers {
            world.after_us(0..1_000, Happening::WorkerCalls(worker));
        }
        if let Some(every) = world.plan.outsider_every {
            world.at(begun + every, Happening::OutsiderLogsIn);
        }
        world
    }

    fn at(&mut self, time: Instant, happening: Happening) {
        self.happened += 1;
        self.happenings.insert((time, self.happened), happening);
    }

    fn after_us(&mut self, range: std::ops::Range<i64>, happening: Happening) {
        let us = self.rng.range(range).unsigned_abs();
        self.at(self.now + Duration::from_micros(us), happening);
    }

    fn fate(&mut self) -> Fate {
        match self.plan.lost {
            0 => Fate::Answered,
            lost if !self.rng.one_in(lost) => Fate::Answered,
            _ if self.rng.one_in(2) => Fate::RequestLost,
            _ => Fate::AnswerLost,
        }
    }

    fn is_finished(&self) -> bool {
        let calls = self.plan.calls;
        self.done.iter().sum::<usize>() + self.errors.len() >= calls.saturating_mul(self.done.len())
    }

    /// Runs until every worker has made its calls, or until a time.
    fn run(&mut self, until: Duration) {
        while !self.is_finished() && self.now < self.begun + until {
            let rest = loop {
                match self.machine.next(self.now) {
                    Action::Rest(rest) => break rest,
                    action => self.act(action),
                }
            };
            let next = self.happenings.first_key_value().map(|((time, _), _)| *time);
            let wake = next.into_iter().chain(rest).min().expect("a worker is about to act");
            self.now = self.now.max(wake);
            if next.is_some_and(|next| next <= self.now) {
                let (_, happening) = self.happenings.pop_first().expect("it is there");
                self.happen(happening);
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Call(ticket, started) => self.send(ticket, started),
            Action::Fail(ticket, error) => {
                let worker = self.callers.remove(&ticket).expect("a caller");
                self.errors.push(error);
                self.after_us(0..1_000, Happening::WorkerCalls(worker));
            }
            Action::LogIn => {
                self.log_ins += 1;
                self.assert_drained("a login");
                let fate = self.fate();
                self.after_us(5_000..50_000, Happening::LogInEnds(fate));
            }
            Action::Switch(grant, group) => {
                self.switches += 1;
                self.assert_drained("a switch");
                let (fate, us) = (self.fate(), self.plan.switch_us);
                let grant = Grant::clone(&grant);
                self.after_us(us..us * 2, Happening::SwitchEnds(grant, group, fate));
            }
            Action::LogOut(_) | Action::Interrupt(_) | Action::Rest(_) => {
                unreachable!("{action:?}")
            }
        }
    }

    /// A login or a switch invalidates the token of calls in progress.
    fn assert_drained(&self, what: &str) {
        let (now, server) = (self.now, &self.server);
        let valid = self.running.values().filter(|token| server.group_of(now, token).is_some());
        assert_eq!(valid.count(), 0, "calls under way at {what}");
    }

    fn send(&mut self, ticket: Ticket, started: Started) {
        self.running.insert(ticket, started.grant.token.clone());
        let us = match self.plan.slow {
            slow if slow > 0 && self.rng.one_in(slow) => self.plan.call_us * 1_000,
            _ => self.plan.call_us,
        };
        self.after_us(us..us * 2, Happening::CallEnds(ticket, started));
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::WorkerCalls(worker) => {
                let group = group_id(worker % GROUPS);
                let ticket = self.machine.add(self.now, Lane::Group(group), Length::Short);
                self.callers.insert(ticket, worker);
            }
            Happening::CallEnds(ticket, started) => self.call_ends(ticket, &started),
            Happening::LogInEnds(fate) => {
                let granted = (fate != Fate::RequestLost).then(|| self.server.open(self.now, 0));
                let result = self.outcome(fate, granted);
                self.machine.logged_in(self.now, result);
            }
            Happening::SwitchEnds(grant, group, fate) => self.switch_ends(&grant, &group, fate),
            Happening::OutsiderLogsIn => {
                self.causes += 1;
                self.server.open(self.now, 0);
                let every = self.plan.outsider_every.expect("it is planned");
                self.at(self.now + every, Happening::OutsiderLogsIn);
            }
        }
    }

    fn call_ends(&mut self, ticket: Ticket, started: &Started) {
        self.running.remove(&ticket);
        let worker = self.callers[&ticket];
        match self.server.group_of(self.now, &started.grant.token) {
            None => {
                self.refused += 1;
                self.machine.token_refused(self.now, ticket, refusal());
            }
            Some(group) => {
                assert_eq!(group, worker % GROUPS, "an answer of a foreign group");
                self.machine.ended(self.now, ticket);
                self.callers.remove(&ticket);
                self.done[worker] += 1;
                if self.done[worker] < self.plan.calls {
                    let think = self.plan.think_us;
                    self.after_us(0..think, Happening::WorkerCalls(worker));
                }
            }
        }
    }

    fn switch_ends(&mut self, grant: &Grant, group: &GroupId, fate: Fate) {
        let number = (0..GROUPS).find(|number| group_id(*number) == *group).expect("a group");
        let is_valid = self.server.group_of(self.now, &grant.token).is_some();
        let result = match (fate, is_valid) {
            (Fate::Answered, false) => Err(Failure::Refused(refusal())),
            (fate, is_valid) => {
                let is_done = is_valid && fate != Fate::RequestLost;
                let granted = is_done.then(|| self.server.open(self.now, number));
                self.outcome(fate, granted)
            }
        };
        self.machine.switched(self.now, Duration::from_millis(2), group, result);
    }

    fn outcome(&mut self, fate: Fate, granted: Option<Granted>) -> Result<Granted, Failure> {
        match granted.filter(|_| fate == Fate::Answered) {
            Some(granted) => Ok(granted),
            None => {
                self.causes += 1;
                let (to, cause) = ("it".to_owned(), "lost".to_owned());
                let lost = TransportError { to, cause, is_final: false };
                Err(Failure::Unclear(Error::Transport(lost), None))
            }
        }
    }
}

fn refusal() -> Refusal {
    let msg = "Token is incorrect or invalid,please login again".to_owned();
    Refusal { code: -4, msg, data: None, request_id: None, retry_after_s: None }
}
