//! The search against the simplest one: every order of a few calls, tried one by one.

use kiosque_testkit::Rng;

use super::schedule::{Size, history};
use super::sessions::FAULTS;
use super::{Answer, Ask, Call, Op, Reply, Session, check};

const HISTORIES: u64 = 20_000;
const CALLS: usize = 7;
const INSTANTS: usize = 40;

/// A session row and a clock, as a server has them.
#[derive(Clone, Copy)]
struct Row {
    now_ms: i64,
    session: Option<Session>,
}

impl Row {
    fn accepts(self, token: u64) -> bool {
        let accepts =
            |session: Session| session.token == token && self.now_ms < session.expires_at_ms;
        self.session.is_some_and(accepts)
    }

    /// Returns the row after a call, if it answers in this way.
    fn after(self, op: &Op) -> Option<Row> {
        let Call::Session { ask, .. } = op.call else { return self.advanced(op.call) };
        let (token, group) = match ask {
            Ask::LogIn { default_group } => (None, default_group),
            Ask::Switch { token, group } => (Some(token), group),
            Ask::LogOut { token } | Ask::Use { token } => (Some(token), 0),
        };
        let accepted = token.is_none_or(|token| self.accepts(token));
        let session = match (ask, op.answer()) {
            (_, Answer::Refused) => return (!accepted).then_some(self),
            _ if !accepted => return None,
            (Ask::LogIn { .. } | Ask::Switch { .. }, Answer::OpenedSession(session)) => {
                (session.group == group).then_some(Some(session))?
            }
            (Ask::Use { .. }, Answer::Unknown) => self.session,
            // A token that no client knows is as good as none.
            (Ask::LogOut { .. }, Answer::Ended) | (_, Answer::Unknown) => None,
            (Ask::Use { .. }, Answer::Seen { group }) => {
                self.session.filter(|session| session.group == group).map(Some)?
            }
            _ => return None,
        };
        Some(Row { session, ..self })
    }

    fn advanced(self, call: Call) -> Option<Row> {
        let Call::Advance { now_ms } = call else { return None };
        Some(Row { now_ms: now_ms.max(self.now_ms), ..self })
    }
}

fn some_order_explains(left: &[Op], row: Row) -> bool {
    let is_answered = |op: &&Op| op.answer() != Answer::Unknown;
    let answers = left.iter().filter(is_answered).filter_map(|op| op.reply);
    let Some(first_ns) = answers.map(|reply| reply.at_ns).min() else { return true };
    (0..left.len()).filter(|next| left[*next].asked_ns <= first_ns).any(|next| {
        let mut others = left.to_vec();
        let op = others.remove(next);
        row.after(&op).is_some_and(|after| some_order_explains(&others, after))
    })
}

/// Returns random calls and answers, right ones and wrong ones.
fn any_history(rng: &mut Rng) -> Vec<Op> {
    let calls = 2 + rng.below(CALLS - 1);
    let mut instants: Vec<u64> =
        (0..calls).map(|_| u64::try_from(rng.below(INSTANTS)).unwrap()).collect();
    instants.sort_unstable();
    let mut tokens = vec![1];
    (0..).zip(instants).map(|(client, at)| any_op(rng, client, at, &mut tokens)).collect()
}

fn any_op(rng: &mut Rng, client: usize, asked_ns: u64, tokens: &mut Vec<u64>) -> Op {
    let (token, group) = (rng.choose(tokens), rng.below(2));
    let opened = Session {
        token: tokens[tokens.len() - 1] + 1,
        group: if rng.one_in(20) { 1 } else { group },
        expires_at_ms: rng.choose(&[10, 20, 20]),
    };
    let (ask, answer) = match rng.below(12) {
        0..=2 => (Ask::LogIn { default_group: group }, Answer::OpenedSession(opened)),
        3..=4 => (Ask::Switch { token, group }, Answer::OpenedSession(opened)),
        5 => (Ask::LogOut { token }, Answer::Ended),
        6 => (rng.choose(&[Ask::LogOut { token }, Ask::Switch { token, group }]), Answer::Refused),
        7..=8 => (Ask::Use { token }, Answer::Refused),
        9 => {
            let call = Call::Advance { now_ms: rng.choose(&[10, 20]) };
            let reply = any_reply(rng, asked_ns, Answer::Advanced);
            return Op { client, call, asked_ns, reply };
        }
        _ => (Ask::Use { token }, Answer::Seen { group }),
    };
    if matches!(answer, Answer::OpenedSession(_)) {
        tokens.push(opened.token);
    }
    let reply = any_reply(rng, asked_ns, answer);
    Op { client, call: Call::Session { node: 0, account: 0, ask }, asked_ns, reply }
}

fn any_reply(rng: &mut Rng, asked_ns: u64, answer: Answer) -> Option<Reply> {
    let at_ns = asked_ns + u64::try_from(rng.below(INSTANTS / 2)).unwrap();
    let answer = if rng.one_in(6) { Answer::Unknown } else { answer };
    (!rng.one_in(20)).then_some(Reply { at_ns, answer })
}

fn is_explained(seed: u64, ops: &[Op]) -> bool {
    let expected = some_order_explains(ops, Row { now_ms: i64::MIN, session: None });
    assert_eq!(check(ops).is_ok(), expected, "seed {seed}: {ops:#?}");
    expected
}

#[test]
fn the_search_agrees_with_trying_every_order() {
    let of_seed = |seed: &u64| is_explained(*seed, &any_history(&mut Rng::seeded(*seed)));
    let explained = (0..HISTORIES).filter(of_seed).count();
    println!("{explained} of {HISTORIES} histories are explained");
    assert!((2_000..18_000).contains(&explained), "{explained}");
}

/// Calls of clients to sessions with a fault: nearly right, and right most often.
#[test]
fn the_search_agrees_on_sessions_with_a_fault() {
    const SIZE: Size = Size { clients: 4, accounts: 1, steps: 60, breaks_one_in: 20 };
    for fault in FAULTS {
        let of_seed = |seed: &u64| is_explained(*seed, &history(*seed, SIZE, Some(fault)));
        let explained = (0..500).filter(of_seed).count();
        println!("{fault:?}: {explained} of 500 histories are explained");
        assert!((1..500).contains(&explained), "{fault:?}");
    }
}
