//! The rules by which callers share a session, without input or output: events come in with their
//! time, and [`Machine::next`] decides what to do. A simulation runs it through random histories.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kiosque_clock::Entropy;
use kiosque_model::GroupId;

use super::action::{Action, Running, Started};
use super::grant::{Failure, Granted};
use super::held::Held;
use super::holdback::Holdback;
use super::lanes::{Lane, Lanes, Length, Ticket, Waiting};
use super::pace::Pace;
use crate::error::{Error, Refusal};
use crate::jitter;
use crate::transport::TransportError;

/// The state of a shared session.
#[derive(Debug)]
pub(super) struct Machine {
    pace: Pace,
    entropy: Entropy,
    lanes: Lanes,
    running: BTreeMap<Ticket, Running>,
    failed: VecDeque<(Ticket, Error)>,
    held: Option<Held>,
    epoch: u64,
    default: Option<GroupId>,
    /// A login, a switch or a log out is in progress.
    is_changing: bool,
    wants_log_out: bool,
    /// Whether the session was forgotten.
    wants_log_in: bool,
    /// Why no login is attempted, and until when; `None` for ever.
    refused: Option<(Refusal, Option<Instant>)>,
    hold_until: Option<Instant>,
    holdback: Holdback,
    unclear: u32,
    last_trouble: Option<Error>,
    turn_began: Instant,
    last_answer: Option<Instant>,
    switch_took: Option<Duration>,
    tickets: u64,
}

/// The time after a login that was refused for a reason other than its password, before the next
/// one.
const REFUSED_FOR: Duration = Duration::from_secs(10);
/// The largest `Retry-After` of a failed login or switch that is obeyed.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(24);

impl Machine {
    pub(super) fn new(pace: Pace, entropy: Entropy, now: Instant) -> Machine {
        Machine {
            pace,
            entropy,
            lanes: Lanes::default(),
            running: BTreeMap::new(),
            failed: VecDeque::new(),
            held: None,
            epoch: 0,
            default: None,
            is_changing: false,
            wants_log_out: false,
            wants_log_in: false,
            refused: None,
            hold_until: None,
            holdback: Holdback::default(),
            unclear: 0,
            last_trouble: None,
            turn_began: now,
            last_answer: None,
            switch_took: None,
            tickets: 0,
        }
    }

    /// Adds a call.
    pub(super) fn add(&mut self, now: Instant, lane: Lane, length: Length) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let lane = match (lane, &self.default) {
            (Lane::Default, Some(group)) => Lane::Group(group.clone()),
            (lane, _) => lane,
        };
        self.lanes.add(lane, ticket, Waiting { since: now, refusals: 0, length });
        ticket
    }

    /// Logs out as soon as no call is in progress.
    pub(super) fn log_out(&mut self) {
        self.wants_log_out = true;
    }

    /// Replaces the session by another one, unless a login or a switch is in progress, whose token
    /// is the later one. `None` forgets the session, and the one that a switch is about to open:
    /// the next call logs in as soon as no other is in progress.
    pub(super) fn replace(&mut self, now: Instant, session: Option<(Granted, GroupId)>) {
        match session {
            None => self.wants_log_in = true,
            Some(_) if self.is_changing => {}
            Some((granted, default)) => {
                self.wants_log_in = false;
                self.default = Some(default);
                self.hold(now, Held::new(now, granted, &self.pace));
            }
        }
    }

    /// Returns the current session and the default group, unless it was forgotten, or a login or a
    /// switch is in progress.
    pub(super) fn held(&self) -> Option<(&Held, &GroupId)> {
        let is_usable = !self.is_changing && !self.wants_log_in;
        let held = self.held.as_ref().filter(|_| is_usable)?;
        Some((held, self.default.as_ref()?))
    }

    /// Returns how many sessions other users of the account have replaced.
    pub(super) fn replaced(&self) -> u64 {
        self.holdback.all()
    }

    /// Returns the calls that wait, by lane: their number, and when the oldest was made.
    pub(super) fn waiting(&self) -> BTreeMap<Lane, (usize, Instant)> {
        self.lanes.waiting()
    }

    /// Returns what to do now.
    pub(super) fn next(&mut self, now: Instant) -> Action {
        self.fail_late_calls(now);
        if let Some((ticket, error)) = self.failed.pop_front() {
            return Action::Fail(ticket, error);
        }
        if self.is_changing {
            return self.rest(None);
        }
        if self.wants_log_out {
            return self.next_log_out();
        }
        if self.lanes.is_empty() {
            return self.rest(None);
        }
        let Some(held) = &self.held else { return self.next_log_in(now) };
        if self.wants_log_in || held.is_due(now) {
            return self.when_drained(Machine::start_log_in);
        }
        let selected = Lane::Group(held.grant.group.clone());
        self.next_call(now, &selected)
    }

    fn rest(&self, until: Option<Instant>) -> Action {
        let late = self.lanes.oldest_since().map(|since| since + self.pace.wait_max);
        Action::Rest(until.into_iter().chain(late).min())
    }

    fn fail_late_calls(&mut self, now: Instant) {
        let Some(made) = now.checked_sub(self.pace.wait_max) else { return };
        if self.lanes.oldest_since().is_none_or(|oldest| oldest > made) {
            return;
        }
        for (ticket, waiting) in self.lanes.take_until(made) {
            let last = self.last_trouble.clone().unwrap_or_else(|| {
                let cause = format!("its turn did not come within {:?}", self.pace.wait_max);
                let to = "the shared session".to_owned();
                Error::Transport(TransportError { to, cause, is_final: false })
            });
            self.failed.push_back((ticket, Error::gave_up(waiting.refusals, last)));
        }
    }

    fn next_log_out(&mut self) -> Action {
        self.when_drained(|machine| {
            machine.wants_log_out = false;
            machine.is_changing = true;
            Action::LogOut(machine.held.take().map(|held| held.grant))
        })
    }

    fn next_log_in(&mut self, now: Instant) -> Action {
        match &self.refused {
            Some((refusal, until)) if until.is_none_or(|until| now < until) => {
                let error = Error::Refused(refusal.clone());
                self.fail_all(&error);
                return self.next(now);
            }
            _ => self.refused = None,
        }
        match self.hold_until.filter(|until| now < *until) {
            Some(until) => self.rest(Some(until)),
            None => self.start_log_in(),
        }
    }

    fn start_log_in(&mut self) -> Action {
        self.is_changing = true;
        self.wants_log_in = false;
        self.held = None;
        Action::LogIn
    }

    /// Does something for which no call may be in progress: it would be refused with -4.
    fn when_drained(&mut self, act: impl FnOnce(&mut Machine) -> Action) -> Action {
        if self.running.is_empty() {
            return act(self);
        }
        let long = self.running.iter_mut().filter(|(_, call)| call.length == Length::Long);
        let long: Vec<Ticket> = long
            .map(|(ticket, call)| {
                // Each is interrupted once.
                call.length = Length::Short;
                *ticket
            })
            .collect();
        if long.is_empty() { self.rest(None) } else { Action::Interrupt(long) }
    }

    fn next_call(&mut self, now: Instant, selected: &Lane) -> Action {
        let turn_ends = self.turn_began + self.pace.turn;
        let runs = |lane: &Lane| lane == selected || *lane == Lane::Any;
        let own = self.lanes.oldest_of(runs).cloned();
        let Some(other) = self.lanes.oldest_of(|lane| !runs(lane)).cloned() else {
            return match own {
                Some(lane) => self.start_from(now, &lane),
                None => self.rest(None),
            };
        };
        if let Some(lane) = &own
            && now < turn_ends
        {
            return self.start_from(now, lane);
        }
        let group = match other {
            Lane::Group(group) => group,
            // The answer to a login contains that group.
            Lane::Default | Lane::Any => return self.when_drained(Machine::start_log_in),
        };
        // After the last answer of a turn, its worker is about to make the next call.
        let lingers_until = self.last_answer.map(|answer| (answer + self.linger()).min(turn_ends));
        match lingers_until.filter(|until| now < *until && own.is_none()) {
            Some(until) if self.running.is_empty() => self.rest(Some(until)),
            _ => self.when_drained(|machine| machine.start_switch(group)),
        }
    }

    fn linger(&self) -> Duration {
        let half = self.switch_took.map(|took| took / 2);
        half.map_or(self.pace.linger_max, |half| half.min(self.pace.linger_max))
    }

    fn start_switch(&mut self, group: GroupId) -> Action {
        let Some(held) = &self.held else { return self.start_log_in() };
        self.is_changing = true;
        Action::Switch(Arc::clone(&held.grant), group)
    }

    fn start_from(&mut self, now: Instant, lane: &Lane) -> Action {
        let short = self.running.values().filter(|call| call.length == Length::Short);
        let has_room = short.count() < self.pace.calls_max;
        let Some(held) = self.held.as_ref().filter(|_| has_room) else { return self.rest(None) };
        let grant = Arc::clone(&held.grant);
        let Some((ticket, waiting)) = self.lanes.take(lane) else { return self.rest(None) };
        let (lane, length) = (lane.clone(), waiting.length);
        let running = Running { lane, epoch: self.epoch, length, waiting };
        self.running.insert(ticket, running);
        let waited = now.saturating_duration_since(waiting.since);
        let started = Started { grant, epoch: self.epoch, waited, refusals: waiting.refusals };
        Action::Call(ticket, started)
    }

    /// A call ended: with an answer, without one, or because its caller has gone.
    pub(super) fn ended(&mut self, now: Instant, ticket: Ticket) {
        self.running.remove(&ticket);
        self.last_answer = Some(now);
    }

    /// A call was answered with -4. It waits again, and the session ends if the call had its
    /// current token: of many such answers the first one causes a login.
    pub(super) fn token_refused(&mut self, now: Instant, ticket: Ticket, refusal: Refusal) {
        let Some(mut call) = self.running.remove(&ticket) else { return };
        self.session_refused(now, call.epoch, &refusal);
        call.waiting.refusals += 1;
        if call.waiting.refusals >= self.pace.refusals_max {
            let error = Error::gave_up(call.waiting.refusals, Error::Refused(refusal));
            self.failed.push_back((ticket, error));
        } else {
            self.lanes.add(call.lane, ticket, call.waiting);
        }
    }

    fn session_refused(&mut self, now: Instant, epoch: u64, refusal: &Refusal) {
        self.last_trouble = Some(Error::Refused(refusal.clone()));
        if epoch == self.epoch
            && let Some(held) = self.held.take()
            && let Some(lived) = held.lived(now)
        {
            let hold = self.holdback.replaced(lived, &self.pace);
            // Two clients that hold back equally long would collide again.
            let hold = hold + jitter::below(&self.entropy, hold / 4);
            self.hold_until = Some(now + hold);
        }
    }

    /// A login ended.
    pub(super) fn logged_in(&mut self, now: Instant, result: Result<Granted, Failure>) {
        self.is_changing = false;
        match result {
            Ok(granted) => {
                self.default = Some(granted.grant.group.clone());
                self.lanes.resolve_default(&granted.grant.group);
                self.hold(now, Held::new(now, granted, &self.pace));
            }
            Err(Failure::Refused(refusal)) => self.log_in_refused(now, refusal),
            Err(Failure::Unclear(error, after)) => self.unclear(now, error, after),
            Err(Failure::Unusable(error)) => self.fail_all(&error),
        }
    }

    fn hold(&mut self, now: Instant, held: Held) {
        self.epoch += 1;
        self.unclear = 0;
        self.hold_until = None;
        self.turn_began = now;
        self.last_answer = None;
        self.held = Some(held);
    }

    /// A wrong password is not tried again; it would use up the account's attempts.
    fn log_in_refused(&mut self, now: Instant, refusal: Refusal) {
        let until = match (refusal.code, refusal.retry_after_s) {
            (-2, _) => None,
            (_, Some(seconds)) => Some(now + Duration::from_secs(seconds).min(RETRY_AFTER_MAX)),
            (_, None) => Some(now + REFUSED_FOR),
        };
        self.fail_all(&Error::Refused(refusal.clone()));
        self.refused = Some((refusal, until));
    }

    /// It is unknown whether a login or a switch happened: the current token may be invalid, so a
    /// login is next.
    fn unclear(&mut self, now: Instant, error: Error, after: Option<Duration>) {
        self.held = None;
        self.unclear += 1;
        self.last_trouble = Some(error.clone());
        if self.unclear >= self.pace.tries_max {
            let tries = std::mem::take(&mut self.unclear);
            self.fail_all(&Error::gave_up(tries, error));
            return;
        }
        let wait = jitter::before_retry(&self.entropy, self.pace.retry_first, self.unclear);
        self.hold_until = Some(now + after.unwrap_or_default().min(RETRY_AFTER_MAX) + wait);
    }

    /// A switch to a group ended.
    pub(super) fn switched(
        &mut self,
        now: Instant,
        took: Duration,
        to: &GroupId,
        result: Result<Granted, Failure>,
    ) {
        self.is_changing = false;
        let lane = Lane::Group(to.clone());
        let is_of_lane = |other: &Lane| *other == lane;
        match result {
            Ok(granted) => {
                let got = granted.grant.group.clone();
                self.switch_took = Some(took);
                let mut held = Held::new(now, granted, &self.pace);
                if let Some(before) = &self.held {
                    held = held.after_switch(before);
                }
                self.hold(now, held);
                if got != *to {
                    let (wanted, got) = (to.to_string(), got.to_string());
                    self.fail_all_of(is_of_lane, &Error::WrongGroup { wanted, got });
                }
            }
            Err(Failure::Refused(refusal)) if refusal.code == -4 => {
                self.session_refused(now, self.epoch, &refusal);
                // Each call that waits for the switch counts as refused.
                let refusals_max = self.pace.refusals_max;
                let refused = self.lanes.refuse(&lane, refusals_max);
                let error = Error::gave_up(refusals_max, Error::Refused(refusal));
                self.failed.extend(refused.into_iter().map(|ticket| (ticket, error.clone())));
            }
            Err(Failure::Refused(refusal)) => {
                self.fail_all_of(is_of_lane, &Error::Refused(refusal))
            }
            Err(Failure::Unclear(error, after)) => self.unclear(now, error, after),
            Err(Failure::Unusable(error)) => {
                self.held = None;
                self.fail_all_of(is_of_lane, &error);
            }
        }
    }

    /// A log out ended, with any outcome.
    pub(super) fn logged_out(&mut self) {
        self.is_changing = false;
    }

    fn fail_all_of(&mut self, belongs: impl Fn(&Lane) -> bool, error: &Error) {
        let calls = self.lanes.take_all_of(belongs);
        self.failed.extend(calls.into_iter().map(|ticket| (ticket, error.clone())));
    }

    fn fail_all(&mut self, error: &Error) {
        self.fail_all_of(|_| true, error);
    }
}

#[cfg(test)]
mod tests;
